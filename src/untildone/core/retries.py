"""Whether a failed turn is tried again in the same session or in a new one."""

from __future__ import annotations

from untildone.core.loop import Loop
from untildone.core.model import FailureKind, Role

SESSION_IS_UNUSABLE = (FailureKind.CONTEXT_FULL, FailureKind.UNAVAILABLE)
"""After these failures, resuming or forking the same session would only fail again."""


def needs_fork(loop: Loop, role: Role) -> bool:
    """Whether the pending retry of a role must go on in a fork of its session: another program has the session open."""
    retry = loop.retry
    return retry is not None and retry.role is role and retry.failure.kind is FailureKind.SESSION_BUSY


def needs_new_session(loop: Loop, role: Role) -> bool:
    """Whether the pending retry of a role must start a new session."""
    retry = loop.retry
    return retry is not None and retry.role is role and retry.failure.kind in SESSION_IS_UNUSABLE
