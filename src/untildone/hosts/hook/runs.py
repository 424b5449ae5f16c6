"""One run of a wrapped agent, as its hook sees it: a private folder that names the run's loops and holds its settings."""

from __future__ import annotations

import os

from untildone.core.value import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPS, WISHES, HOLDER = "loops", "wishes.json", "holder"
"""In that folder: the loops of its sessions, each on a line; what the person wants of every one of them; and who wraps them."""


@dataclass(frozen=True, slots=True)
class Belonging:
    """A loop of a run, and the session that has it."""

    session_id: str
    loop_id: str
    root: str


def note_down(folder: str, belonging: Belonging) -> None:
    with open(os.path.join(folder, LOOPS), "a", encoding="utf-8") as file:
        file.write(f"{belonging.session_id}\t{belonging.loop_id}\t{belonging.root}\n")


def loops(folder: str) -> Iterator[Belonging]:
    try:
        with open(os.path.join(folder, LOOPS), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    for line in dict.fromkeys(lines):
        yield Belonging(*line.split("\t", 2))


def holder(folder: str) -> str:
    """The process that wraps the agent."""
    try:
        with open(os.path.join(folder, HOLDER), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def loops_of(folder: str, session_id: str) -> Iterator[Belonging]:
    return (belonging for belonging in loops(folder) if belonging.session_id == session_id)
