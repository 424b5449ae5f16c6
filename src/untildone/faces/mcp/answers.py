"""What the tools return."""

from __future__ import annotations

from pydantic import BaseModel, Field

import untildone
from untildone.core.receipts import proof
from untildone.core.values.codec import timestamp


class LoopAnswer(BaseModel):
    """A loop as the tools return it."""

    loop_id: str = Field(description="The handle of the loop: it stays valid whatever process dies")
    title: str
    status: str = Field(description="created, running, paused, completed or failed")
    outcome: str | None = Field(description="How it came to rest: verified, claimed, budget, stalled, blocked, …")
    proof: str = Field(description="How much `verified` says; empty: it is not verified")
    reason: str = Field(description="Why it rests; for `blocked`, the question that `say` answers")
    rounds: int
    max_rounds: int | None
    cost: float = Field(description="Dollars")
    checks: list[str]
    workspace: str = Field(description="Where the work is: the folder, or a worktree of it")
    updated_at: str
    next: str = Field(description="What to call next")


class Started(LoopAnswer):
    """A new loop."""

    notices: list[str] = Field(description="Sentences about how it will be judged")


class Checked(BaseModel):
    """A check of an ended loop that ran again."""

    gate: str
    command: str
    passed_then: bool
    passed_now: bool
    reason: str = Field(description="Why it fails now; empty: it passes")
    output: str = Field(description="The end of its output, if it fails now")
    differs: list[str] | None = Field(description="Files that changed since; null: that is not known")


def of(loop: untildone.Loop) -> LoopAnswer:
    """A loop as the tools return it."""
    return LoopAnswer(
        loop_id=loop.loop_id,
        title=loop.title,
        status=loop.status.value,
        outcome=loop.outcome.word if loop.outcome else None,
        proof=proof.level(loop).value,
        reason=loop.reason,
        rounds=loop.spend.iterations,
        max_rounds=loop.budget.iterations,
        cost=loop.spend.cost_usd,
        checks=list(loop.settings.checks),
        workspace=loop.settings.workspace,
        updated_at=timestamp(loop.updated_at),
        next=_next(loop),
    )


def _next(loop: untildone.Loop) -> str:
    if loop.outcome is untildone.Outcome.BLOCKED:
        return "answer its question with `say`, or ask your person"
    if loop.outcome is untildone.Outcome.BUDGET:
        return "raise a limit with `budget`, then `say` what matters; or leave it to your person"
    if loop.status.ended:
        return (
            "`diff` shows its work, `verify` runs its checks again, the resource loop://ID/receipt says what was proved"
        )
    return "`wait` until it rests; the loop goes on without you" if loop.status is untildone.Status.RUNNING else ""
