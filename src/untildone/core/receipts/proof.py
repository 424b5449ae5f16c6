"""The proof level of a loop: how much its outcome `verified` says."""

from __future__ import annotations

from enum import StrEnum

from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, RoomKind, TestsRule
from untildone.core.receipts.proving import PROOFS


class Proof(StrEnum):
    """How a claim was proved, the weaker first."""

    NONE = ""
    """The loop is not verified."""
    CHECKED = "checked"
    """Every gate agrees, but a check ran where the agent worked, or with judge files that the agent may have changed."""
    CLEAN = "clean"
    """Every check ran in a sealed room, with the judge files as they were when the loop began."""
    CAUSAL = "causal"
    """And a check fails again without the agent's work."""
    HELD_OUT = "held-out"
    """And tests hold that were never in the workspace, while agents were in boxes and could not read them."""


def level(loop: Loop) -> Proof:
    """The proof level of the loop; NONE unless its outcome is `verified`."""
    if loop.outcome is not Outcome.VERIFIED:
        return Proof.NONE
    if not _is_sealed(loop) or loop.settings.tests is TestsRule.FREE:
        return Proof.CHECKED
    proved = {result.gate for result in loop.gates if result.passed and result.proves}
    unseen = bool(proved & {"held_out", "acceptance"}) and _were_boxed(loop)
    return Proof.HELD_OUT if unseen else Proof.CAUSAL if "causal" in proved else Proof.CLEAN


def _is_sealed(loop: Loop) -> bool:
    """Whether every command ran in a sealed room."""
    # A proof that had nothing to run, such as `red_first` without a new test, says nothing about rooms.
    ran = [result for result in loop.gates if result.room or result.gate not in PROOFS]
    rooms = [result.room for result in ran if result.command]
    return bool(rooms) and all(room is RoomKind.SEALED for room in rooms)


def _were_boxed(loop: Loop) -> bool:
    """Whether agents could not read what lies outside of the workspace. A person's own session is in no box of ours."""
    held = loop.containments
    return loop.host is not Host.HOOK and bool(held) and all(each.boxed for each in held)


def sentence(loop: Loop) -> str:
    """How the loop was verified: "in a clean room: 212 passed"; empty if there is nothing to say."""
    proved = level(loop)
    if proved is Proof.NONE or not any(result.command for result in loop.gates):
        return ""
    where = "in a clean room" if _is_sealed(loop) else "in place"
    if proved is Proof.CHECKED and _is_sealed(loop):
        where += ", with tests that were free to change"
    tests = "; ".join(dict.fromkeys(result.tests for result in loop.gates if result.tests))
    return f"{where}: {tests}" if tests else where
