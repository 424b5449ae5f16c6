"""`python -m proof.chaos --seed 1 --minutes 10`: exits with 0 if every invariant held, else with 1."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from proof.chaos.harness import Options, Run
from proof.chaos.report import report
from tests.support.signals import obey_signals

IN_NAMESPACE = "CHAOS_IN_NAMESPACE"
"""Environment variable: set once this process runs in its own mount namespace."""


def main() -> int:
    arguments = _arguments()
    obey_signals()
    _enter_namespace()
    only = tuple(arguments.story or ())
    options = Options(arguments.seed, arguments.minutes * 60, arguments.together, only, arguments.keep)
    run = Run(options, log=_log)
    _log(f"seed {options.seed}, {arguments.minutes:g} minutes, {options.together} loops at once, in {run.folder}")
    run.play()
    markdown = report(run)
    if arguments.report is not None:
        arguments.report.write_text(markdown)
    sys.stdout.write(markdown)
    return 1 if run.tally.violations else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m proof.chaos", description="Run loops while injecting faults, and check the invariants."
    )
    parser.add_argument("--seed", type=int, default=1, help="decides the stories and their faults (1)")
    parser.add_argument("--minutes", type=float, default=10.0, help="length of the run (10)")
    parser.add_argument("--together", type=int, default=12, help="number of loops at once (12)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report to FILE, as Markdown")
    parser.add_argument("--story", type=int, action="append", metavar="N", help="play only this story; repeatable")
    parser.add_argument("--keep", action="store_true", help="keep the files of all loops")
    return parser.parse_args()


def _log(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _enter_namespace() -> None:
    """Restart this program in its own mount namespace: as root, or else as root of a user namespace.

    The kernel removes the mounts when the program ends.
    """
    if IN_NAMESPACE in os.environ or shutil.which("unshare") is None:
        return
    command = [sys.executable, "-m", "proof.chaos", *sys.argv[1:]]
    for namespaces in ("-m", "-rm"):
        if subprocess.run(["unshare", namespaces, "true"], check=False, capture_output=True).returncode == 0:
            os.execvpe("unshare", ["unshare", namespaces, *command], {**os.environ, IN_NAMESPACE: namespaces})


if __name__ == "__main__":
    sys.exit(main())
