"""untildone and other loop tools side by side, in one run, with the same stand-in agents: facts and figures only."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from proof.compare import installing, tools
from proof.compare.measures import FULL, QUICK, Row, measure
from proof.compare.report import Report, as_markdown, as_text, circumstances, load
from proof.compare.stage import DidNotBegin


def main() -> int:
    chosen = options()
    if chosen.install:
        installing.install_all()
        return 0
    # A job in the background of a shell ignores Ctrl-C, and hands that on to all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wanted = [tool for tool in tools.ALL if not chosen.only or tool.name in chosen.only]
    present = [tool for tool in wanted if not tool.why_absent()]
    plan = QUICK if chosen.quick else FULL
    facts = circumstances()
    versions = Row("version", {tool.name: tool.told_version() for tool in present})
    try:
        rows = [versions, *measure(present, plan, installing.say)] if present else []
    except DidNotBegin as failure:
        installing.say(str(failure))
        return 1
    facts = [facts[0] + f", after: {load()}", *facts[1:]]
    report = Report(present, [tool for tool in wanted if tool not in present], rows, plan, facts)
    sys.stdout.write(as_text(report))
    if chosen.report:
        chosen.report.write_text(as_markdown(report))
    return 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.compare", description=__doc__)
    parser.add_argument("--install", action="store_true", help="install the tools in the user's cache, and no more")
    parser.add_argument(
        "--only", nargs="+", choices=[tool.name for tool in tools.ALL], metavar="TOOL", help="some of them"
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs of each")
    parser.add_argument("--report", type=Path, help="write the table to a file as well, as markdown")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
