"""`python -m proof.prove`: plays the corpus; exits with 1 if a rate misses its goal."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proof.prove.case import Case, Verdict
from proof.prove.families import ALL
from proof.prove.play import Stage
from proof.prove.report import holds, table

QUICK = 4
"""With `--quick`, one of so many cases of each family is played."""


def main() -> int:
    chosen = options()
    folder = Path(tempfile.mkdtemp(prefix="prove-"))
    try:
        stage = Stage(folder)
        with ThreadPoolExecutor(chosen.jobs) as pool:
            played = pool.map(lambda case: shown(stage.play(*case)), selected(chosen))
            verdicts = [verdict for verdict in played if verdict]
    finally:
        if not chosen.keep:
            shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(table(verdicts))
    return 0 if holds(verdicts) else 1


def selected(chosen: argparse.Namespace) -> list[tuple[str, Case, int]]:
    """The cases with their families and numbers."""
    every = [(family, case, place) for family, cases in ALL.items() for place, case in enumerate(cases)]
    return [
        (family, case, number)
        for number, (family, case, place) in enumerate(every, 1)
        if (not chosen.family or family in chosen.family)
        and (not chosen.case or chosen.case in case.name)
        and (not chosen.quick or place % QUICK == 0)
    ]


def shown(verdict: Verdict | None) -> Verdict | None:
    """Print one line about a case on standard error."""
    if verdict is None:
        return None
    work = "right" if verdict.case.is_right else "wrong"
    rungs = ", ".join(sorted((rung.value for rung in verdict.verified), key=len)) or "nothing"
    line = f"{verdict.family}: {verdict.case.name} ({work}): verified by {rungs} ({verdict.seconds:.1f} s)"
    said = verdict.problem or verdict.refused_by
    sys.stderr.write(f"{line}\n" + (f"    {said}\n" if said else ""))
    return verdict


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.prove", description=__doc__)
    parser.add_argument("--family", action="append", choices=list(ALL), help="only this family; repeatable")
    parser.add_argument("--case", help="only cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help=f"every {QUICK}th case of each family")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time (2)")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folders")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
