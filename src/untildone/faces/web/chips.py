"""The status of a loop as a word and a colour, the same on every page."""

from __future__ import annotations

from dataclasses import dataclass

from untildone.core.attention import Need, NeedKind
from untildone.core.model import Outcome, Status
from untildone.faces.web.translations.texts import Texts

COLOURS = {
    Outcome.VERIFIED: "good",
    Outcome.CLAIMED: "warn",
    Outcome.FAILED: "bad",
    Outcome.STALLED: "warn",
    Outcome.BUDGET: "warn",
    Outcome.BLOCKED: "warn",
    Outcome.PAUSED: "warn",
    Outcome.INTERRUPTED: "warn",
}
"""The colours of outcomes; the others have none."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A word and its colour."""

    word: str
    colour: str = ""


def status_chip(
    t: Texts, status: Status | None, outcome: Outcome | None, need: Need | None, *, waits: bool, not_ours: str
) -> Chip:
    """How a loop came to rest, or that it runs. No status: it cannot be read. `waits`: it runs, and nothing works on it now."""
    if not_ours:
        return Chip(t("not ours"), "bad")
    if status is None:
        return Chip(t("damaged"), "bad")
    if status is Status.RUNNING:
        return Chip(t("waiting"), "warn") if waits else Chip(t("running"), "info")
    if need is not None and need.kind is NeedKind.ASKS:
        return Chip(t("asks you"), "warn")
    if need is not None and need.kind is NeedKind.LOGIN:
        return Chip(t("needs a login"), "bad")
    if outcome is None or status is Status.CREATED:
        return Chip(t(status.value))
    word = "budget used up" if outcome is Outcome.BUDGET else outcome.word
    return Chip(t(word), COLOURS.get(outcome, ""))
