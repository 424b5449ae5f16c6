"""The head of a loop's page: its state in a chip and a sentence, its spend, its branch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from untildone.core import budget as budgets
from untildone.core.attention import Need, NeedKind, need_of
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Outcome, Status
from untildone.core.receipts import proof
from untildone.core.values.sentence import Sentence
from untildone.faces.web.buttons import Button
from untildone.faces.web.chips import COLOURS, Chip, status_chip
from untildone.faces.web.loop.acts import buttons, more_buttons
from untildone.faces.web.shown import money
from untildone.faces.web.translations.texts import Texts
from untildone.operations.showing.branches import Branch
from untildone.operations.showing.values import LoopView

MOST_GATES = 6


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence about the state of the loop, and its colour."""

    text: str
    colour: str = ""
    until: float | None = None
    """When the announced wait is over."""
    since: float | None = None
    quote: str = ""
    """Words of the agent: its question, its error."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One limit with what is used of it."""

    limit: Limit
    text: str
    percent: int
    colour: str
    step: str
    """What a button raises it by."""
    step_label: str


@dataclass(frozen=True, slots=True)
class Head:
    """Everything that the head shows."""

    loop: Loop
    chip: Chip
    rounds: str
    notices: tuple[Notice, ...]
    gauges: tuple[Gauge, ...]
    proof: str
    buttons: tuple[Button, ...]
    more: tuple[Button, ...]
    need: Need | None
    refused: tuple[str, ...]
    """Judge files that a person can approve."""
    worked_since: float | None = None
    """Since when the present turn or check runs."""
    printed_at: float | None = None
    branch: Branch | None = None
    merge: str = ""
    machine: str = ""
    """The machine of a cluster that drives the loop, or did last."""


def head(
    t: Texts, view: LoopView, printed_at: float | None = None, branch: Branch | None = None, merge: str = ""
) -> Head:
    """The head of a loop."""
    loop, need = view.loop, need_of(view.loop)
    return Head(
        loop,
        chip(t, loop, driven=view.driven),
        _rounds(t, loop),
        tuple(_notices(t, view, need)),
        gauges(t, loop),
        proof.level(loop).value,
        buttons(t, view, need),
        more_buttons(t, view),
        need,
        refused(view),
        _worked_since(view),
        printed_at if loop.turn is not None and view.driven else None,
        branch,
        merge,
        machine(loop),
    )


def chip(t: Texts, loop: Loop, *, driven: bool) -> Chip:
    """The status of a loop in a word: how it came to rest, or that it runs."""
    return status_chip(t, loop.status, loop.outcome, need_of(loop), waits=not driven, not_ours=loop.not_ours)


def gauges(t: Texts, loop: Loop) -> tuple[Gauge, ...]:
    """A gauge for each limit of the loop that is set."""
    return tuple(_gauge(t, each, loop.settings.warn_from) for each in budgets.gauges(loop.budget, loop.spend))


def amount(limit: Limit, value: float) -> str:
    """An amount of a limit as people write it."""
    return money(value) if limit is Limit.COST else budgets.number(value)


def _gauge(t: Texts, each: budgets.Gauge, warn_from: int | None) -> Gauge:
    colour = "bad" if each.used_up else "warn" if each.is_nearly_used(warn_from) else ""
    row, used, allowed = each.limit.row, amount(each.limit, each.used), amount(each.limit, each.allowed)
    if each.limit is Limit.COST:
        text = t("{used} of {allowed}", used=used, allowed=allowed)
    else:
        text = t("{used} of {allowed} {unit}", used=used, allowed=allowed, unit=t(row.unit))
    step = row.hint or "+5"
    return Gauge(each.limit, text, round(each.share * 100), colour, step, f"+{amount(each.limit, float(step))}")


def _rounds(t: Texts, loop: Loop) -> str:
    most, done = loop.budget.iterations, loop.spend.iterations
    if most is None or loop.status.ended:
        return t("Round {n}", n=done)
    return t("Round {n} ({left} left)", n=done, left=max(0, most - done))


def refused(view: LoopView) -> tuple[str, ...]:
    """The files for which the gates refused the last claim, as far as a person can still approve them."""
    judged = [each for each in view.timeline.rounds if each.gates]
    if not judged or view.loop.status.ended:
        return ()
    paths = dict.fromkeys(path for result in judged[-1].gates for path in result.tampered)
    return tuple(path for path in paths if path not in view.loop.approved)


def _worked_since(view: LoopView) -> float | None:
    if view.loop.status is not Status.RUNNING or not view.driven:
        return None
    if view.gate is not None:
        return view.gate.started_at
    return view.loop.turn.started_at if view.loop.turn is not None else None


def _notices(t: Texts, view: LoopView, need: Need | None) -> Iterator[Notice]:
    loop = view.loop
    if loop.not_ours:
        yield Notice(t("This loop has no valid seal: nothing in it is trusted."), "bad", quote=loop.not_ours)
    if view.problem:
        yield Notice(t("The server cannot drive it."), "bad", quote=view.problem)
    if loop.status is Status.RUNNING:
        yield from _running(t, view, need)
    elif loop.outcome is not None:
        yield from _rested(t, loop, need)


def _running(t: Texts, view: LoopView, need: Need | None) -> Iterator[Notice]:
    loop = view.loop
    if loop.stop is not None:
        yield Notice(t("It stops now.") if loop.interrupts_now else t("It stops after this round."), "warn")
    elif loop.pause is not None:
        yield Notice(t("It pauses now.") if loop.interrupts_now else t("It pauses after this round."), "warn")
    if need is not None and need.kind is NeedKind.LIMIT:
        yield Notice(t.sentence(need.text), "warn", until=need.until)
    elif loop.retry is not None and loop.turn is None:
        text = t("It tries again: {problem}", problem=loop.retry.failure.kind.value.replace("_", " "))
        yield Notice(text, "warn", until=loop.retry.not_before, quote=loop.retry.failure.message)
    elif not view.driven:
        yield Notice(t("It waits for a free place: other loops are running, or its runner is gone."), "warn")
    if view.gate is not None:
        yield Notice(t("This check runs:"), since=view.gate.started_at, quote=view.gate.command)


def _rested(t: Texts, loop: Loop, need: Need | None) -> Iterator[Notice]:
    outcome = loop.outcome
    assert outcome is not None
    colour = COLOURS.get(outcome, "")
    if need is not None and need.kind in (NeedKind.ASKS, NeedKind.BLOCKED, NeedKind.LOGIN):
        asks = need.kind is NeedKind.ASKS
        text = t("The agent asks:") if asks else t(loop.end_sentence)
        yield Notice(text, "warn", quote=t.sentence(need.text))
        return
    if outcome is Outcome.VERIFIED:
        yield Notice(f"{t(loop.end_sentence)} {gates_sentence(t, loop.gates)}".strip(), colour)
        return
    reason = "" if need is not None and need.kind is NeedKind.CLAIMED else t.sentence(reason_of(loop))
    yield Notice(f"{t(loop.end_sentence)} {reason}".strip(), colour)
    if failed := gates_sentence(t, loop.failed_gates):
        yield Notice(failed, "bad")


def gates_sentence(t: Texts, gates: tuple[GateResult, ...]) -> str:
    """The gates by name, each with its verdict."""
    named = [f"{gate_name(t, each)}: {gate_verdict(t, each)}" for each in gates[:MOST_GATES]]
    return "; ".join([*named, *(["…"] if len(gates) > MOST_GATES else [])])


def gate_name(t: Texts, result: GateResult) -> str:
    """The command of a check, or the name of the gate."""
    return result.command or t(result.gate.replace("_", " "))


def gate_verdict(t: Texts, result: GateResult) -> str:
    """Whether a gate passed, and what a test runner or the gate says about it."""
    if result.passed:
        return ", ".join(filter(None, (t("passed"), result.tests)))
    return ", ".join(filter(None, (t("failed"), t.sentence(why_failed(result)), result.tests)))


def why_failed(result: GateResult) -> str:
    """The reason of a failed gate. One with a number is made again from the result, so that it can be translated."""
    made = Sentence("exit code {n}", n=result.exit_code)
    return made if made == result.reason else result.reason


def reason_of(loop: Loop) -> str:
    """Why the loop rests. The journal holds an English sentence. If the limits of the loop give the same sentence, that one is
    returned: it can be translated."""
    made = (gauge.used_up_sentence() for gauge in budgets.gauges(loop.budget, loop.spend))
    return next((sentence for sentence in made if sentence == loop.reason), loop.reason)


def machine(loop: Loop) -> str:
    """The machine of a cluster that drives the loop, or did last; empty for a loop of this machine."""
    return loop.runner.machine if loop.runner and loop.host is Host.CLUSTER else ""
