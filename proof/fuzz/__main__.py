"""`python -m proof.fuzz --minutes 5`: one round of pytest after the other, each with a seed of its own, until the time is over.

A round that fails tells how to see the same again: the seed decides everything. `--seed N` runs one round, that one.
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
FAILED, NOTHING_FOUND = 1, 5
MANY_EXAMPLES = 300
"""In a round, of a cheap property: so many that a round takes a minute or so."""


@dataclass(frozen=True, slots=True)
class Round:
    seed: int
    examples: int
    workers: str
    words: Sequence[str] = ()

    @property
    def command(self) -> list[str]:
        options = ["-q", "-p", "no:cacheprovider", "-n", self.workers, "--timeout=1200", "--hypothesis-profile=fuzz"]
        return [sys.executable, "-m", "pytest", PROPERTIES, *options, f"--hypothesis-seed={self.seed}", *self.words]

    @property
    def again(self) -> str:
        words = "".join(f" {word}" for word in self.words)
        return f"python -m proof.fuzz --seed {self.seed} --examples {self.examples}{' --' if words else ''}{words}"

    def run(self) -> int:
        environment = {**os.environ, "FUZZ_EXAMPLES": str(self.examples)}
        return subprocess.run(self.command, cwd=ROOT, env=environment).returncode


def main() -> int:
    chosen = _arguments()
    began, failed, count = time.monotonic(), [], 0
    for each in _rounds(chosen, began + 60 * chosen.minutes):
        count += 1
        print(f"== round {count}, seed {each.seed}", flush=True)
        code = each.run()
        if code:
            failed.append(each)
            print(f"== it failed (exit code {code}). The same again: {each.again}", flush=True)
        if code not in (0, FAILED):
            break
    minutes = (time.monotonic() - began) / 60
    print(f"\n{count} rounds of {chosen.examples} examples in {minutes:.1f} minutes, {len(failed)} failed")
    for each in failed:
        print(f"  {each.again}")
    return 1 if failed else 0


def _rounds(chosen: argparse.Namespace, until: float) -> Iterator[Round]:
    if chosen.seed is not None:
        yield Round(chosen.seed, chosen.examples, chosen.workers, chosen.words)
        return
    while True:
        yield Round(secrets.randbelow(1 << 32), chosen.examples, chosen.workers, chosen.words)
        if time.monotonic() >= until:
            return


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long; a round that is begun is finished")
    parser.add_argument("--seed", type=int, help="one round, with this seed")
    parser.add_argument("--examples", type=int, default=MANY_EXAMPLES, help="of a cheap property, in a round")
    parser.add_argument("--workers", default="auto", help="processes")
    parser.add_argument("words", nargs="*", help="more for pytest, such as -k claims, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
