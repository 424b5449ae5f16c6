"""Where a loop was after an iteration: what a rewind brings back. What was spent stays spent, and every message stays in the journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from untildone.core.model import EMPTY, Changes, GateResult, NeededGate, Session, Subtask
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass, field


@dataclass(frozen=True, slots=True)
class Position:
    """The part of a loop's state that a rewind brings back."""

    changes: Changes = Changes()
    """The workspace as it was."""
    skill_state: Mapping[str, Any] | None = None
    tasks: tuple[Subtask, ...] = ()
    sessions: Mapping[str, Session] = field(default_factory=lambda: EMPTY)
    """The sessions in which no agent has worked since. Agents of all others start a new session."""
    last_answer: str = ""
    gates: tuple[GateResult, ...] = ()
    needed: tuple[NeededGate, ...] = ()
    checked: str = ""
    signs: tuple[str, ...] = ()
    inbox: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restoring:
    """A pending restoration of the workspace to a snapshot."""

    tree: str
    """The snapshot, as a git tree of the shadow repository."""
    kept: str = ""
    """The snapshot of the workspace before it is put back."""


@dataclass(frozen=True, slots=True)
class Held:
    """The checks that hold, and the snapshot in which they do."""

    commands: tuple[str, ...]
    tree: str


def names() -> Iterable[str]:
    """The fields of a position that are fields of a loop too, but for the workspace."""
    return (name for name in Position.__match_args__ if name != "changes")
