"""`python -m proof.cheats`: plays the corpus; exits with 1 if a cheat is believed that is not out of reach."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proof.cheats.case import Cheat, Verdict
from proof.cheats.families import ALL
from proof.cheats.play import Stage
from proof.cheats.report import table


def main() -> int:
    chosen = options()
    cases = selected(chosen)
    folder = Path(tempfile.mkdtemp(prefix="cheats-"))
    try:
        stage = Stage(folder, chosen.room, chosen.sandbox)
        with ThreadPoolExecutor(chosen.jobs) as pool:
            verdicts = list(pool.map(lambda case: shown(stage.play(*case)), cases))
    finally:
        if not chosen.keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(table(verdicts))
    return 1 if any(verdict.is_hole for verdict in verdicts) else 0


def selected(chosen: argparse.Namespace) -> list[tuple[str, Cheat, int]]:
    """The cases with their families and numbers."""
    every = ((family, cheat) for family, cheats in ALL.items() for cheat in cheats)
    numbered = [(family, cheat, number) for number, (family, cheat) in enumerate(every, 1)]
    return [
        (family, cheat, number)
        for family, cheat, number in numbered
        if (not chosen.family or family in chosen.family) and (not chosen.case or chosen.case in cheat.name)
    ]


def shown(verdict: Verdict) -> Verdict:
    """Print one line about a case on standard error."""
    mark = "HOLE " if verdict.is_hole else ""
    noticed = ", noticed" if verdict.is_noticed else ""
    line = f"{mark}{verdict.family}: {verdict.cheat.name}: {verdict.result.value}{noticed} ({verdict.seconds:.1f} s)"
    sys.stderr.write("\n".join(part for part in (line, verdict.detail) if part) + "\n")
    return verdict


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.cheats", description=__doc__)
    parser.add_argument("--family", action="append", choices=list(ALL), help="only this family; repeatable")
    parser.add_argument("--case", help="only cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time (2)")
    parser.add_argument("--room", choices=("sealed", "restored", "plain"), default="", help="where gates run")
    parser.add_argument("--sandbox", choices=("off", "on"), default="off", help="whether agents run in a box (off)")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folders")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
