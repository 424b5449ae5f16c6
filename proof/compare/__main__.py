"""Compares untildone with other loop tools in one run, with the same fake agents."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from proof.compare import installing, tools
from proof.compare.measures import FULL, QUICK, Row, measure
from proof.compare.report import Report, as_markdown, as_text, circumstances, load
from proof.compare.sandbox import AgentNotCalled


def main() -> int:
    chosen = options()
    if chosen.install:
        installing.install_all()
        return 0
    # A background job of a shell ignores SIGINT, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    selected = [tool for tool in tools.ALL if not chosen.only or tool.name in chosen.only]
    present = [tool for tool in selected if not tool.reason_absent()]
    plan = QUICK if chosen.quick else FULL
    facts = circumstances()
    versions = Row("version", {tool.name: tool.own_version() for tool in present})
    try:
        rows = [versions, *measure(present, plan, installing.log)] if present else []
    except AgentNotCalled as failure:
        installing.log(str(failure))
        return 1
    facts = [facts[0] + f", after: {load()}", *facts[1:]]
    report = Report(present, [tool for tool in selected if tool not in present], rows, plan, facts)
    sys.stdout.write(as_text(report))
    if chosen.report:
        chosen.report.write_text(as_markdown(report))
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.compare", description=__doc__)
    parser.add_argument("--install", action="store_true", help="only install the tools, in the user's cache")
    parser.add_argument(
        "--only", nargs="+", choices=[tool.name for tool in tools.ALL], metavar="TOOL", help="compare only these tools"
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs")
    parser.add_argument("--report", type=Path, help="also write the table to a file, as Markdown")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
