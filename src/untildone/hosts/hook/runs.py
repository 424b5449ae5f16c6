"""One run of a wrapped agent: a private folder that lists the run's loops and holds its settings, for the hook."""

from __future__ import annotations

import os

from untildone.core.values.value import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPS, SETTINGS, HOLDER = "loops", "wishes.json", "holder"
"""Files in that folder: the loops of its sessions, one on each line; the settings for all of them; the process of wrap."""


@dataclass(frozen=True, slots=True)
class RunLoop:
    """A loop of a run, and its session."""

    session_id: str
    loop_id: str
    root: str


def add_loop(folder: str, loop: RunLoop) -> None:
    """Add a loop to the list of the run."""
    with open(os.path.join(folder, LOOPS), "a", encoding="utf-8") as file:
        file.write(f"{loop.session_id}\t{loop.loop_id}\t{loop.root}\n")


def loops(folder: str) -> Iterator[RunLoop]:
    """The loops of the run, each once."""
    try:
        with open(os.path.join(folder, LOOPS), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in dict.fromkeys(lines):
        yield RunLoop(*line.split("\t", 2))


def holder(folder: str) -> str:
    """The process that wraps the agent, as `presence` writes it; empty if it is unknown."""
    try:
        with open(os.path.join(folder, HOLDER), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def loops_of(folder: str, session_id: str) -> Iterator[RunLoop]:
    """The loops that one session has had in this run."""
    return (loop for loop in loops(folder) if loop.session_id == session_id)
