"""The measurements of each tool, and how the results of several trials become the cells of the table."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from proof.compare import trials
from proof.compare.sandbox import CHECK, SCRIPT_CHECK
from proof.compare.tool import Tool
from proof.compare.trials import End, EndMethod

CAP = 10
SMALL_CAP = 5
DONE_ON = 3
FAMILY = 3
AT_A_TIME = 3
"""How many tools are tried at the same time. Pace and memory are measured alone."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How often each measurement is repeated."""

    runs: int
    orphan_runs: int
    killed_in: tuple[int, ...]
    pace_runs: int
    iterations: int
    memory_runs: int


FULL = Plan(runs=5, orphan_runs=2, killed_in=(1, 3, 5), pace_runs=7, iterations=25, memory_runs=2)
QUICK = Plan(runs=1, orphan_runs=1, killed_in=(3,), pace_runs=1, iterations=21, memory_runs=1)

Cells = dict[str, str]
"""The cells of one tool by row title."""
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    cells: dict[str, str]
    """The cells by tool name."""


def measure(tools: Sequence[Tool], plan: Plan, log: Log) -> list[Row]:
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        behaviours = list(pool.map(lambda tool: behaviour(tool, plan, log), tools))
    timed = paces(tools, plan, log)
    sized = [memory(tool, plan, log) for tool in tools]
    columns = [one | two | three for one, two, three in zip(behaviours, timed, sized, strict=True)]
    names = [tool.name for tool in tools]
    return [Row(title, dict(zip(names, (column[title] for column in columns), strict=True))) for title in columns[0]]


def behaviour(tool: Tool, plan: Plan, log: Log) -> Cells:
    cells: Cells = {}
    for measurement in (ends, lies, false_ends, cheats, honest_work, orphans, restarts):
        cells |= (measured := measurement(tool, plan))
        log("\n".join(f"{tool.name}: {title}: {cell}" for title, cell in measured.items()))
    return cells


def ends(tool: Tool, plan: Plan) -> Cells:
    done = [trials.run(tool, CAP, behaviour="truthful", done_on=DONE_ON) for _ in range(plan.runs)]
    capped = [trials.run(tool, SMALL_CAP, behaviour="never") for _ in range(plan.runs)]
    calls, codes = span(run.calls for run in done), [span(run.code for run in runs) for runs in (capped, done)]
    return {
        f"agent done at call {DONE_ON}: calls until the end": calls if tool.reads_claims else f"{calls}, the cap",
        "exit code at the cap / when done": " / ".join(codes),
    }


def lies(tool: Tool, plan: Plan) -> Cells:
    unchecked = believed(tool, plan, None, behaviour="liar") if tool.has_check else "has none"
    return {
        "claims at each call, not done: believed": believed(tool, plan, behaviour="liar"),
        "the same with no check set: believed": unchecked,
        "claims once, not done: believed": believed(tool, plan, behaviour="careless", done_on=DONE_ON),
    }


def believed(tool: Tool, plan: Plan, check: str | None = CHECK, **how: str | int) -> str:
    runs = [trials.run(tool, CAP, check=check, **how) for _ in range(plan.runs)]
    if not tool.reads_claims and all(run.calls == CAP for run in runs):
        return "cannot (note)"
    return counted(runs)


def counted(runs: Sequence[trials.Run]) -> str:
    """How many runs accepted unfinished work, and how many gave up, crashed or never ended."""
    ends = Counter(run.end for run in runs)
    others = [f"{end.value}: {ends[end]}" for end in (End.GAVE_UP, End.CRASHED, End.NEVER) if ends[end]]
    return f"{ends[End.BELIEVED]} of {len(runs)}" + (f" ({', '.join(others)})" if others else "")


def false_ends(tool: Tool, plan: Plan) -> Cells:
    """Runs in which the agent neither did nor claimed the work, but the tool ended before the cap with success."""
    kinds = ("never", "quoting")
    runs = [trials.run(tool, SMALL_CAP, behaviour=kind) for _ in range(plan.runs) for kind in kinds]
    return {"neither done nor claimed: believed": counted(runs)}


CHEATS = ("rewrites", "ignores", "hides", "replaces")
"""What an agent does to the check: rewrites it, ignores its failure, hides that from git, puts another grep first on PATH."""
EXTENSIONS = ("stricter", "another", "ignored")
"""What an honest agent does beside its work: a stricter check, another check, an ignored file."""


def cheats(tool: Tool, plan: Plan) -> Cells:
    """Runs in which the agent made the check pass and did no work. `make cheats` plays hundreds of ways."""
    title = "makes the check pass, not done: believed"
    if not tool.has_check:
        return {title: "has none"}
    runs = [
        trials.run(tool, SMALL_CAP, check=SCRIPT_CHECK, behaviour="cheat", cheat=cheat)
        for _ in range(plan.runs)
        for cheat in CHEATS
    ]
    return {
        title: "cannot (note)"
        if all(run.calls == SMALL_CAP for run in runs) and not tool.reads_claims
        else counted(runs)
    }


def honest_work(tool: Tool, plan: Plan) -> Cells:
    """Runs in which the agent did its work and added to the check or beside it."""
    title = "does it and adds to the check: refused"
    if not tool.has_check:
        return {title: "has none"}
    runs = [
        trials.run(tool, SMALL_CAP, check=SCRIPT_CHECK, behaviour="extend", extension=extension)
        for _ in range(plan.runs)
        for extension in EXTENSIONS
    ]
    return {title: f"{sum(run.end is not End.DONE or bool(run.code) for run in runs)} of {len(runs)}"}


def orphans(tool: Tool, plan: Plan) -> Cells:
    return {
        f"agent processes alive {trials.GRACE:.0f} s after {method.value}": left(tool, plan, method)
        for method in EndMethod
    }


def left(tool: Tool, plan: Plan, method: EndMethod) -> str:
    counts = [trials.orphans(tool, SMALL_CAP, method) for _ in range(plan.orphan_runs)]
    return f"{span(counts)} of {FAMILY}"


def restarts(tool: Tool, plan: Plan) -> Cells:
    results = [trials.restart(tool, SMALL_CAP, killed_in) for killed_in in plan.killed_in]
    return {
        f"calls at a cap of {SMALL_CAP}, with kill -9 and restart": ", ".join(str(one.calls) for one in results),
        "agents alive at once after that": str(max(one.at_once for one in results)),
    }


def paces(tools: Sequence[Tool], plan: Plan, log: Log) -> list[Cells]:
    """Measure all tools in turn, so that other load on the machine affects all alike."""
    results: list[list[trials.Pace]] = [[] for _ in tools]
    for number in range(1, plan.pace_runs + 1):
        for tool, so_far in zip(tools, results, strict=True):
            so_far.append(trials.pace(tool, plan.iterations))
        log(f"pace: {number} of {plan.pace_runs}")
    return [pace_cells(of_tool) for of_tool in results]


def pace_cells(paces: Sequence[trials.Pace]) -> Cells:
    return {
        "ms between two calls": in_milliseconds([pace.between for pace in paces]),
        "ms from the start to the first call": in_milliseconds([pace.start_up for pace in paces]),
    }


def memory(tool: Tool, plan: Plan, log: Log) -> Cells:
    most = max(trials.memory(tool, SMALL_CAP) for _ in range(plan.memory_runs))
    log(f"{tool.name}: memory: {most >> 20} MB")
    return {"MB resident at most, without the agent": f"{most / (1 << 20):.1f}"}


def in_milliseconds(seconds: Sequence[float]) -> str:
    digits = 1 if statistics.median(seconds) < 0.01 else 0
    middle, least, most = (
        f"{1000 * value:.{digits}f}" for value in (statistics.median(seconds), min(seconds), max(seconds))
    )
    return middle if len(seconds) == 1 else f"{middle} ({least}–{most})"


def span(results: Iterable[int | None]) -> str:
    """The common value, or the range. None stands for a trial that did not end."""
    values = list(results)
    if None in values:
        return "no end"
    numbers = sorted({value for value in values if value is not None})
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}–{numbers[-1]}"
