"""`python -m proof.chaos --seed 1 --minutes 10`: exit code 0 if everything held, 1 if not."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from proof.chaos.conductor import Run, Wishes
from proof.chaos.report import report

APART = "CHAOS_APART"
"""Set once this process has mounts of its own."""


def main() -> int:
    options = _options()
    _go_apart()
    wishes = Wishes(options.seed, options.minutes * 60, options.together, tuple(options.story or ()), options.keep)
    run = Run(wishes, say=_say)
    _say(f"seed {wishes.seed}, {options.minutes:g} minutes, {wishes.together} loops at once, in {run.folder}")
    run.play()
    told = report(run)
    if options.report is not None:
        options.report.write_text(told)
    sys.stdout.write(told)
    return 1 if run.tally.violations else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m proof.chaos", description="Everything that can go wrong, all at once."
    )
    parser.add_argument("--seed", type=int, default=1, help="what happens follows from it (1)")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--together", type=int, default=12, help="loops at once (12)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report there as well, as Markdown")
    parser.add_argument("--story", type=int, action="append", metavar="N", help="play only this story; repeatable")
    parser.add_argument("--keep", action="store_true", help="keep the files of all loops")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _go_apart() -> None:
    """Start again with mounts of our own, which vanish with us: as root, or else as root of a user namespace."""
    if APART in os.environ or shutil.which("unshare") is None:
        return
    words = [sys.executable, "-m", "proof.chaos", *sys.argv[1:]]
    for namespaces in ("-m", "-rm"):
        if subprocess.run(["unshare", namespaces, "true"], check=False, capture_output=True).returncode == 0:
            os.execvpe("unshare", ["unshare", namespaces, *words], {**os.environ, APART: namespaces})


if __name__ == "__main__":
    sys.exit(main())
