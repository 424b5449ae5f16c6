"""How a loop stands, in a word and a colour."""

from __future__ import annotations

from dataclasses import dataclass

from untildone.core.model import Outcome, Status
from untildone.faces.web.texts import Texts

_STATUS_COLOURS = {Status.CREATED: "", Status.RUNNING: "info", Status.PAUSED: "warn"}
_OUTCOME_COLOURS = {
    Outcome.VERIFIED: "good",
    Outcome.CLAIMED: "warn",
    Outcome.FAILED: "bad",
    Outcome.STALLED: "warn",
    Outcome.BUDGET: "warn",
}


@dataclass(frozen=True, slots=True)
class Standing:
    word: str
    colour: str


def standing(t: Texts, status: Status | None, outcome: Outcome | None, *, undriven: bool) -> Standing:
    if status is None:
        return Standing(t("damaged"), "bad")
    if status is Status.RUNNING and undriven:
        return Standing(t("waiting"), "warn")
    if outcome is not None and status in (Status.PAUSED, Status.COMPLETED, Status.FAILED):
        return Standing(t(outcome.word), _OUTCOME_COLOURS.get(outcome, "warn" if status is Status.PAUSED else ""))
    return Standing(t(status.value), _STATUS_COLOURS.get(status, ""))


def chip_classes(stands: Standing) -> str:
    return f"chip {stands.colour}".strip()
