"""`python -m proof.fuzz --minutes 5`: repeats pytest with a new seed for each pass until the time is over.

A pass that fails prints the command that repeats it: the seed decides everything. `--seed N` runs one pass with that seed.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROPERTIES = "tests/fuzz"
FAILED = 1
MANY_EXAMPLES = 300
"""Examples of a cheap property in one pass, so that a pass takes about a minute."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of pytest with one seed."""

    seed: int
    examples: int
    workers: str
    arguments: Sequence[str] = ()

    @property
    def command(self) -> list[str]:
        options = ["-q", "-p", "no:cacheprovider", "-n", self.workers, "--timeout=1200", "--hypothesis-profile=fuzz"]
        return [sys.executable, "-m", "pytest", PROPERTIES, *options, f"--hypothesis-seed={self.seed}", *self.arguments]

    @property
    def again(self) -> str:
        arguments = "".join(f" {argument}" for argument in self.arguments)
        return (
            f"python -m proof.fuzz --seed {self.seed} --examples {self.examples}{' --' if arguments else ''}{arguments}"
        )

    def run(self) -> int:
        environment = {**os.environ, "FUZZ_EXAMPLES": str(self.examples)}
        return subprocess.run(self.command, cwd=ROOT, env=environment).returncode


def main() -> int:
    chosen = _arguments()
    began, failed, count = time.monotonic(), [], 0
    for each in _passes(chosen, began + 60 * chosen.minutes):
        count += 1
        print(f"== pass {count}, seed {each.seed}", flush=True)
        code = each.run()
        if code:
            failed.append(each)
            print(f"== failed with exit code {code}. Repeat with: {each.again}", flush=True)
        if code not in (0, FAILED):
            break
    minutes = (time.monotonic() - began) / 60
    print(f"\n{count} passes of {chosen.examples} examples in {minutes:.1f} minutes, {len(failed)} failed")
    for each in failed:
        print(f"  {each.again}")
    return 1 if failed else 0


def _passes(chosen: argparse.Namespace, until: float) -> Iterator[Pass]:
    if chosen.seed is not None:
        yield Pass(chosen.seed, chosen.examples, chosen.workers, chosen.arguments)
        return
    while True:
        yield Pass(secrets.randbelow(1 << 32), chosen.examples, chosen.workers, chosen.arguments)
        if time.monotonic() >= until:
            return


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="length of the run; the last pass is finished")
    parser.add_argument("--seed", type=int, help="one pass with this seed")
    parser.add_argument("--examples", type=int, default=MANY_EXAMPLES, help="examples of a cheap property in a pass")
    parser.add_argument("--workers", default="auto", help="number of processes")
    parser.add_argument("arguments", nargs="*", help="more arguments for pytest, such as -k claims, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
