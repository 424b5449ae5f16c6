"""One job in CI: run a loop, tell each round, and exit as `untildone run` does. Run it with a Python that has untildone installed."""

from __future__ import annotations

import sys

import untildone
from untildone import events


def tell(entry: untildone.Entry) -> None:
    match entry.event:
        case events.IterationComplete(iteration=number, seconds=seconds):
            print(f"round {number} took {seconds:.0f} s")
        case events.GatesRan(results=results):
            for result in results:
                print(result.command, "passes" if result.passed else f"fails: {result.reason}")
        case _:
            pass


loop = untildone.run(
    "Write a report in steps",
    agent="scripted",
    checks=["test $(wc -l < scripted-work.md) -ge 3"],
    max_iterations=5,
    on_event=tell,
)
assert loop.outcome is not None
print(loop.outcome.word, "after", loop.spend.iterations, "rounds")
sys.exit(loop.outcome.exit_code)
