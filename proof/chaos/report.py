"""The report of a run, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proof.chaos.harness import Run
from proof.chaos.stories import MODES, Host


def report(run: Run) -> str:
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterator[str]:
    tally = run.tally
    broken = len(tally.violations)
    yield f"## Chaos, seed {run.options.seed}"
    yield ""
    yield (
        f"{tally.killed} processes killed with `kill -9`, {sum(tally.faults.values())} faults in all, on "
        f"{sum(tally.loops.values())} loops in {run.seconds:.0f} seconds. "
        f"{sum(tally.invariants.values())} checks of {len(tally.invariants)} invariants: "
        + ("**all of them held.**" if not broken else f"**{broken} violations.**")
    )
    yield ""
    if not run.small_disks:
        yield "Mounting is not allowed here: no disk was filled or made read-only in this run."
        yield ""
    if not run.boxes:
        yield "There are no boxes here: no agent forked out of everything in this run."
        yield ""
    yield from _table("killed with `kill -9`", tally.kills)
    yield from _table("fault", tally.faults)
    yield from _loops(tally.loops)
    yield from _table("invariant", tally.invariants, counted="times checked")
    yield from _table("exit code of a command", Counter({str(code): times for code, times in tally.exits.items()}))
    tally.notes["faults without effect, not counted above"] = sum(tally.misses.values())
    if tally.notes:
        yield from _table("other counts", tally.notes)
    if broken:
        yield f"Violations (files in {run.folder}):"
        yield ""
        yield from (f"- {violation}" for violation in tally.violations)


def _table(title: str, counter: Counter[str], counted: str = "times") -> Iterator[str]:
    yield f"| {title} | {counted} |"
    yield "| --- | ---: |"
    yield from (f"| {name.replace('_', ' ')} | {times} |" for name, times in counter.most_common())
    yield ""


def _loops(loops: Counter[tuple[str, str, str]]) -> Iterator[str]:
    outcomes = sorted({outcome for _, _, outcome in loops})
    yield f"| loops that came to rest | {' | '.join(outcomes)} |"
    yield f"| --- |{' ---: |' * len(outcomes)}"
    for mode in MODES:
        for host in Host:
            row = [loops[mode, host.value, outcome] for outcome in outcomes]
            if any(row):
                yield f"| {mode}, {host.value} | {' | '.join(str(times or '') for times in row)} |"
    yield ""
