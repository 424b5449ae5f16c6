"""The proof level of a loop: how much its outcome `verified` says."""

from __future__ import annotations

from enum import StrEnum

from untildone.core.loop import Loop
from untildone.core.model import Outcome, RoomKind, TestsRule


class Proof(StrEnum):
    """How a claim was proved, the weaker first."""

    NONE = ""
    """The loop is not verified."""
    CHECKED = "checked"
    """Every gate agrees, but a check ran where the agent worked, or with judge files that the agent may have changed."""
    CLEAN = "clean"
    """Every check ran in a sealed room, with the judge files as they were when the loop began."""


def level(loop: Loop) -> Proof:
    """The proof level of the loop; NONE unless its outcome is `verified`."""
    if loop.outcome is not Outcome.VERIFIED:
        return Proof.NONE
    rooms = [result.room for result in loop.gates if result.command]
    sealed = bool(rooms) and all(room is RoomKind.SEALED for room in rooms)
    return Proof.CLEAN if sealed and loop.settings.tests is not TestsRule.FREE else Proof.CHECKED


def sentence(loop: Loop) -> str:
    """How the loop was verified: "in a clean room: 212 passed"; empty if there is nothing to say."""
    where = {Proof.CLEAN: "in a clean room", Proof.CHECKED: "in place", Proof.NONE: ""}[level(loop)]
    if not where or not any(result.command for result in loop.gates):
        return ""
    tests = "; ".join(dict.fromkeys(result.tests for result in loop.gates if result.tests))
    return f"{where}: {tests}" if tests else where
