"""Which outcome completes a loop: `verified` needs a passed result of every gate for the present claim."""

from __future__ import annotations

from untildone.core.loop import Loop
from untildone.core.model import LoopSettings, NeededGate, Outcome
from untildone.core.receipts import proving


def outcome_of_claim(loop: Loop) -> Outcome | None:
    """The outcome with which the present claim completes the loop; None: it does not.

    Conditions alone, such as "something changed", say nothing about the task: then the claim stays a claim."""
    required = {*loop.needed, *named_by(loop.settings)}
    if not loop.claimed or loop.failed_gates or loop.not_ours:
        return None
    if not required:
        return None if loop.gates else Outcome.CLAIMED
    passed = {NeededGate(result.gate, result.command) for result in loop.gates}
    if not required <= passed:
        return None
    return Outcome.VERIFIED if any(result.proves for result in loop.gates) else Outcome.CLAIMED


def may_complete(loop: Loop, outcome: Outcome) -> bool:
    """Whether the loop may end with this outcome of the status `completed`."""
    return outcome is outcome_of_claim(loop)


def named_by(settings: LoopSettings) -> tuple[NeededGate, ...]:
    """The gates that follow from the settings alone, without the journal's account of the claim. Gates of plugins are not known here."""
    checks = tuple(NeededGate("check", command) for command in settings.checks)
    changed = (NeededGate("require_change"),) if settings.require_change else ()
    untampered = (NeededGate("tampering"),) if settings.fail_on_tampering else ()
    reviewed = (NeededGate("review"),) if settings.review else ()
    proved = tuple(NeededGate(name, name) for name in proving.chosen(settings))
    return (*checks, *changed, *untampered, *reviewed, *proved)
