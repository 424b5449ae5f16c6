"""The status of a loop as a word and a colour."""

from __future__ import annotations

from dataclasses import dataclass

from untildone.core.model import Outcome, Status
from untildone.faces.dashboard.translations.texts import Texts

_STATUS_COLOURS = {Status.CREATED: "", Status.RUNNING: "info", Status.PAUSED: "warn"}
_OUTCOME_COLOURS = {
    Outcome.VERIFIED: "good",
    Outcome.CLAIMED: "warn",
    Outcome.FAILED: "bad",
    Outcome.STALLED: "warn",
    Outcome.BUDGET: "warn",
    Outcome.BLOCKED: "warn",
}


@dataclass(frozen=True, slots=True)
class StatusChip:
    """The text and the colour of a chip."""

    word: str
    colour: str


def status_chip(
    t: Texts, status: Status | None, outcome: Outcome | None, *, undriven: bool, not_ours: str = ""
) -> StatusChip:
    """The chip of a loop. `undriven` means that it runs and has no runner; `not_ours`, if set, that it has no valid seal."""
    if not_ours:
        return StatusChip(t("not ours"), "bad")
    if status is None:
        return StatusChip(t("damaged"), "bad")
    if status is Status.RUNNING and undriven:
        return StatusChip(t("waiting"), "warn")
    if outcome is not None and status in (Status.PAUSED, Status.COMPLETED, Status.FAILED):
        return StatusChip(t(outcome.word), _OUTCOME_COLOURS.get(outcome, "warn" if status is Status.PAUSED else ""))
    return StatusChip(t(status.value), _STATUS_COLOURS.get(status, ""))


def chip_classes(chip: StatusChip) -> str:
    """The CSS classes of a chip."""
    return f"chip {chip.colour}".strip()
