"""`python -m proof.honest`: plays all honest cases; exits with 1 if one is refused or warned of without a reason."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proof.honest import releases
from proof.honest.case import Honest, Verdict
from proof.honest.groups import ALL, with_releases
from proof.honest.play import Stage
from proof.honest.report import table


def main() -> int:
    chosen = options()
    if chosen.install:
        releases.install()
        return 0
    cases = selected(chosen)
    folder = Path(tempfile.mkdtemp(prefix="honest-"))
    try:
        stage = Stage(folder, chosen.room)
        for _, case, _ in cases:
            stage.prepare(case.packages)
        with ThreadPoolExecutor(chosen.jobs) as pool:
            verdicts = list(pool.map(lambda case: shown(stage.play(*case)), cases))
    finally:
        if not chosen.keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(table(verdicts))
    return 1 if any(verdict.is_wrong for verdict in verdicts) else 0


def selected(chosen: argparse.Namespace) -> list[tuple[str, Honest, int]]:
    """The cases with their groups and numbers."""
    every = ((group, case) for group, cases in with_releases().items() for case in cases)
    return [
        (group, case, number)
        for number, (group, case) in enumerate(every, 1)
        if (not chosen.group or group in chosen.group) and (not chosen.case or chosen.case in case.name)
    ]


def shown(verdict: Verdict) -> Verdict:
    """Print one line about a case on standard error."""
    mark = "WRONG " if verdict.is_wrong else ""
    line = f"{mark}{verdict.group}: {verdict.case.name}: {verdict.result.value} ({verdict.seconds:.1f} s)"
    sys.stderr.write("\n".join(part for part in (line, verdict.detail) if part) + "\n")
    return verdict


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.honest", description=__doc__)
    parser.add_argument("--install", action="store_true", help="only download the releases, into the user's cache")
    parser.add_argument("--group", action="append", choices=[*ALL, releases.GROUP], help="only this group; repeatable")
    parser.add_argument("--case", help="only cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time (2)")
    parser.add_argument("--room", choices=("sealed", "restored", "plain"), default="", help="where gates run")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folders")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
