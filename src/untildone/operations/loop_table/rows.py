"""A loop in one line."""

from __future__ import annotations

from dataclasses import dataclass

from untildone.core.attention import Need, need_of
from untildone.core.doing import Doing, doing_of
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Budget, Outcome, Spend, Status
from untildone.core.receipts import proof
from untildone.core.receipts.proof import Proof

DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Row:
    """A loop in one line. A loop that cannot be read has a problem and no status."""

    loop_id: str
    workspace: str
    status: Status | None = None
    outcome: Outcome | None = None
    proof: Proof = Proof.NONE
    reason: str = ""
    title: str = ""
    mode: str = ""
    agent: str = ""
    host: Host = Host.NONE
    machine: str = ""
    """The machine that drives the loop, or did last."""
    spend: Spend = Spend()
    gate_seconds: float = 0.0
    budget: Budget = Budget()
    created_at: float = 0.0
    updated_at: float = 0.0
    seq: int = 0
    problem: str = ""
    need: Need | None = None
    """What the loop needs from a person; None: nothing."""
    branch: str = ""
    """The git branch that the work is on; empty: the branch of the workspace."""
    doing: Doing | None = None
    """What the loop does now; None: it is not running."""
    parent: str = ""
    """The loop whose agent started this one; empty: a person did."""
    not_ours: str = ""
    """Why the loop is not taken for one that untildone wrote here; empty: it is one."""


def status_word(row: Row) -> str:
    """The status of a loop; `damaged` if it cannot be read."""
    return row.status.value if row.status else DAMAGED


def row_of(loop: Loop, workspace: str) -> Row:
    """The row of a loop."""
    return Row(
        loop_id=loop.loop_id,
        workspace=workspace,
        status=loop.status,
        outcome=loop.outcome,
        proof=proof.level(loop),
        reason=loop.reason,
        title=loop.title,
        mode=loop.settings.mode,
        agent=loop.settings.worker.profile,
        host=loop.host,
        machine=loop.runner.machine if loop.runner else "",
        spend=loop.spend,
        gate_seconds=loop.gate_seconds,
        budget=loop.budget,
        parent=loop.parent.loop_id if loop.parent else "",
        created_at=loop.created_at,
        updated_at=loop.updated_at,
        seq=loop.seq,
        need=need_of(loop),
        branch=_branch(loop),
        doing=doing_of(loop),
        not_ours=loop.not_ours,
    )


def _branch(loop: Loop) -> str:
    own = f"untildone/{loop.loop_id}"
    if loop.settings.remote is not None:
        return loop.settings.branch or own
    return own if loop.settings.worktree else ""
