"""The verdict on a check that may have run twice: with the original judge files, and as the agent left them."""

from __future__ import annotations

from collections.abc import Callable

from untildone.core.judging.wording import names
from untildone.core.model import RoomKind, TestsRule
from untildone.core.plugins.gate import CommandRan
from untildone.core.values.value import dataclass

Why = Callable[[CommandRan], str]
"""Why a single run failed; empty: it succeeded."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a check failed, and which judge files are the reason."""

    reason: str = ""
    """Empty: it passed."""
    tampered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def verdict(ran: CommandRan, rule: TestsRule, why: Why) -> Verdict:
    """The verdict over both runs."""
    reason = why(ran)
    if rule is TestsRule.FREE:
        return Verdict(reason, notes=(*ran.notes, *_listed(ran)))
    if rule is TestsRule.KEEP and ran.judge_changed:
        said = f"; {_with_originals(reason)}" if ran.room is not RoomKind.PLAIN else ""
        return Verdict(f"tampered: {_changed(ran)}, and none may change{said}", ran.judge_changed, ran.notes)
    if ran.as_changed is None:
        return _single(ran, reason)
    again = why(ran.as_changed)
    if reason and not again:
        return Verdict(f"tampered: {_touched(ran)}; {_with_originals(reason)}", _paths(ran), ran.notes)
    if again and not reason:
        return Verdict(f"{again} (with the judge files as you left them; the originals pass)", notes=ran.notes)
    counts = f" (with the original {names(ran.judge_changed)})" if reason and ran.judge_changed else ""
    return Verdict(f"{reason}{counts}" if reason else "", notes=(*ran.notes, *_listed(ran)))


def _single(ran: CommandRan, reason: str) -> Verdict:
    """One run: nothing changed, or it could not be judged, or it ran where the agent worked, with everything as it left it."""
    plain = ran.room is RoomKind.PLAIN and bool(ran.judge_changed) and not ran.problem
    notes = (*ran.notes, *(_listed(ran) if plain else ()))
    return Verdict(reason, () if plain else ran.judge_changed if reason else (), notes)


def _with_originals(reason: str) -> str:
    return f"with the originals: {reason or 'passed'}"


def _paths(ran: CommandRan) -> tuple[str, ...]:
    return ran.judge_changed or ran.judge_added


def _touched(ran: CommandRan) -> str:
    return _changed(ran) if ran.judge_changed else f"it passes only with the new {names(ran.judge_added)}"


def _changed(ran: CommandRan) -> str:
    return f"{names(ran.judge_changed)} changed"


def _listed(ran: CommandRan) -> tuple[str, ...]:
    """What a person should know about judge files that count although the agent touched them."""
    return (f"Judge files that the agent changed: {names(ran.judge_changed)}.",) if ran.judge_changed else ()
