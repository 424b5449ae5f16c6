"""Formats the table as text and as Markdown, with notes on its rows and how to repeat the run."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from textwrap import wrap

from proof.compare import trials
from proof.compare.measures import CAP, DONE_ON, FAMILY, SMALL_CAP, Plan, Row
from proof.compare.sandbox import CHECK
from proof.compare.tool import Tool

NARROWEST = 10
AGAIN = "again: make compare REPORT=compare.md (the first run installs the tools)"


@dataclass(frozen=True, slots=True)
class Report:
    tools: Sequence[Tool]
    absent: Sequence[Tool]
    rows: Sequence[Row]
    plan: Plan
    circumstances: Sequence[str]

    @property
    def grid(self) -> list[list[str]]:
        heads = ["", *(tool.name for tool in self.tools)]
        return [heads, *([row.title, *(row.cells[tool.name] for tool in self.tools)] for row in self.rows)]

    @property
    def notes(self) -> list[str]:
        return [*meanings(self.plan), *(f"{tool.name}: {note}" for tool in self.tools for note in tool.notes)]

    @property
    def not_compared(self) -> list[str]:
        return [f"{tool.name}: {tool.reason_absent()}" for tool in self.absent]


def as_text(report: Report) -> str:
    absent = [f"not compared: {line}" for line in report.not_compared]
    table = text_table(*report.grid) if report.rows else []
    parts = [report.circumstances, table, absent, [f"- {note}" for note in report.notes]]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def text_table(heads: list[str], *body: list[str]) -> list[str]:
    """The table as lines, as narrow as its cells allow; long headings are wrapped."""
    widths = [max(max(map(len, cells)), NARROWEST) for cells in zip(*body, strict=True)]
    wrapped = [wrap(head, width) for head, width in zip(heads, widths, strict=True)]
    lines = [*zip_longest(*wrapped, fillvalue=""), ["─" * width for width in widths], *body]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def as_markdown(report: Report) -> str:
    head, *body = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in report.grid)
    absent = [f"- not compared: {line}" for line in report.not_compared]
    parts = [
        ["# untildone compared with other loop tools"],
        [f"- {fact}" for fact in report.circumstances],
        [head, "| --- " * len(report.grid[0]) + "|", *body],
        absent,
        ["## Notes"],
        [f"- {note}" for note in report.notes],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def meanings(plan: Plan) -> list[str]:
    """Explanations of the rows, in order."""
    orphans = (
        f"{FAMILY} processes: an agent, its child, and its child in another session; none of them forwards signals"
    )
    killed = (
        f"in call {', '.join(map(str, plan.killed_in))} of {SMALL_CAP}, which takes {trials.KILLED_CALL_TAKES:.0f} s"
    )
    gaps = f"the median of {plan.iterations - 1} gaps, and of {plan.pace_runs} runs, in turn (least–most)"
    helpers = (
        f"of all its processes that live longer than {trials.SHORT_LIVED} s, every {1000 * trials.SAMPLE_EVERY:.0f} ms"
    )
    return [
        f"The agent is the same for all: a fake `claude`. The work is done when the check passes: `{CHECK}`.",
        f"Runs per cell: {plan.runs}, with a cap of {CAP} calls; {SMALL_CAP} for exit codes at the cap and for early ends.",
        "Believed: the tool ended before the cap with exit code 0, and the work was not done.",
        "Gave up: the tool ended before the cap with another exit code. Crashed: it ended by a signal or an uncaught error.",
        f"Claims once: at call 1 with nothing done; works at call 2; has done the work from call {DONE_ON} on.",
        "Neither done nor claimed: one agent works and never claims; another also quotes the promise in backticks.",
        f"Alive after a signal: of {orphans}. Runs: {plan.orphan_runs}.",
        "TERM and KILL go to the tool's process only; Ctrl-C to its process group, and again after a second if it has not ended.",
        f"After kill -9: killed {killed}; restarted at once, as its documentation says. Correct are {SMALL_CAP} calls, 1 at a time.",
        f"ms between two calls: from the agent's last line to its next first line, in a git repository, no check set; {gaps}.",
        f"MB: the sum of the resident sets {helpers}; the larger of {plan.memory_runs} runs.",
    ]


def load() -> str:
    return ", ".join(f"{value:.1f}" for value in os.getloadavg())


def circumstances() -> list[str]:
    alone = [name for _, name in socket.if_nameindex()] == ["lo"]
    return [
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load average before: {load()}",
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}",
        "network: none but loopback" if alone else "network: the machine's own",
        AGAIN,
    ]
