"""What a run did and found, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proof.chaos.conductor import Run
from proof.chaos.stories import MODES, Host


def report(run: Run) -> str:
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterator[str]:
    tally = run.tally
    broken = len(tally.violations)
    yield f"## Chaos, seed {run.wishes.seed}"
    yield ""
    yield (
        f"{tally.killed} processes killed with `kill -9` and {sum(tally.hits.values())} blows in all, at "
        f"{sum(tally.loops.values())} loops in {run.seconds:.0f} seconds. "
        f"{sum(tally.laws.values())} looks at {len(tally.laws)} promises: "
        + ("**all of them held.**" if not broken else f"**{broken} times one did not hold.**")
    )
    yield ""
    if not run.small_disks:
        yield "Nobody may mount here: no disk was filled or made read-only in this run."
        yield ""
    yield from _table("killed with `kill -9`", tally.kills)
    yield from _table("blow", tally.hits)
    yield from _loops(tally.loops)
    yield from _table("promise", tally.laws, counted="looked at")
    yield from _table("exit code of a command", Counter({str(code): times for code, times in tally.exits.items()}))
    tally.notes["blows that fell on nothing, and are not counted above"] = sum(tally.misses.values())
    if tally.notes:
        yield from _table("also", tally.notes)
    if broken:
        yield f"What did not hold (files in {run.folder}):"
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
