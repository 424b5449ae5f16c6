"""The part of a prompt that says which gates failed, and why."""

from __future__ import annotations

import re
from collections.abc import Callable

from untildone.core.answers.gate_output import plain_line
from untildone.core.model import GateResult
from untildone.core.plugins.gate import NOT_COMPARED, Gate

GATE_CHARACTERS = 4000
REPORT_CHARACTERS = 12000
COMMAND_CHARACTERS = 300
NOTES_CHARACTERS = 800
ROOM_FOR_THE_REST = 60
LONGEST_FENCE = 20


GateNamed = Callable[[str], Gate | None]


def report(results: tuple[GateResult, ...], gate_named: GateNamed) -> str:
    """The part of the next prompt about the gates that failed, bounded in length."""
    failed = [result for result in results if not result.passed]
    report = ""
    for position, result in enumerate(failed):
        section = _section(result, gate_named(result.gate))
        if len(report) + len(section) > REPORT_CHARACTERS - ROOM_FOR_THE_REST:
            return f"{report}More gates failed: {len(failed) - position}."
        report += section + "\n\n"
    return report.rstrip()


_LAST_LINES = "The last lines of its output:"


def _section(result: GateResult, gate: Gate | None) -> str:
    headline = _headline(result, gate)
    if result.tampered:
        from untildone.core.judging.wording import for_agent

        headline = f"{headline} {for_agent(result.tampered)}"
    if notes := [note for note in result.notes if note != NOT_COMPARED and note != result.tail]:
        headline = f"{headline} {_beginning(' '.join(notes), NOTES_CHARACTERS)}"
    output = "\n".join(plain_line(line) for line in result.tail.split("\n")).strip("\n")
    if not output:
        return headline
    most = GATE_CHARACTERS - len(headline) - len(_LAST_LINES) - 3 * LONGEST_FENCE
    if not result.command:
        return f"{headline}\n{_beginning(output, most)}"
    fence = _fence_around(output)
    return f"{headline} {_LAST_LINES}\n{fence}\n{_end(output, most)}\n{fence}"


def _fence_around(output: str) -> str:
    """A fence that is longer than any run of backticks in the output, up to `LONGEST_FENCE`."""
    longest = max((len(run) for run in re.findall("`+", output)), default=0)
    return "`" * min(max(3, longest + 1), LONGEST_FENCE)


def _headline(result: GateResult, gate: Gate | None) -> str:
    reason = _beginning(result.reason, COMMAND_CHARACTERS) or "it does not agree"
    if gate is None:
        return f"The gate `{result.gate}` failed: {reason}."
    return gate.headline(reason, _beginning(result.command, COMMAND_CHARACTERS))


def _beginning(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _end(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    kept = text[-most:]
    first_line, line_end, whole_lines = kept.partition("\n")
    return "…\n" + (whole_lines if line_end and len(first_line) < most // 2 else kept)
