"""The timeline of a loop as the page shows it: rounds and moments, the newest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from untildone.core.kinds import Interruption
from untildone.core.limits import Limit, duration
from untildone.core.loop import Loop, output_name
from untildone.core.model import Outcome, Role, Status
from untildone.faces.web.buttons import Button
from untildone.faces.web.loop.acts import again_from
from untildone.faces.web.loop.head import amount, gate_name, gate_verdict
from untildone.faces.web.shown import money
from untildone.faces.web.translations.texts import Texts
from untildone.operations.showing.moments import Moment, MomentKind
from untildone.operations.showing.timeline import LIMIT, Round, Timeline, interrupted
from untildone.operations.showing.values import LoopView

SHOWN = 30
"""How many rounds a page has."""


@dataclass(frozen=True, slots=True)
class MomentItem:
    """Something that happened between turns."""

    moment: Moment
    text: str
    colour: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a round that opens: asked, did, changed, checked. Its content is fetched when it is opened."""

    name: str
    title: str
    about: str
    colour: str
    version: str
    """Changes when the content does."""
    opened: bool = False


@dataclass(frozen=True, slots=True)
class RoundItem:
    """One round."""

    round: Round
    title: str
    about: tuple[str, ...]
    colour: str
    failed: tuple[str, ...]
    """Each failed gate with its reason, or what went wrong with the turn."""
    is_going: bool
    is_judged: bool
    opened: bool
    sections: tuple[Section, ...]
    moments: tuple[MomentItem, ...]
    """The moments during the round."""
    may_rewind: bool
    again: Button | None
    """Takes the round and all later ones back, and goes on; None: it cannot."""


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """A page of the timeline. `earlier` and `later` are the `until` of its neighbours; None: there is none."""

    items: tuple[RoundItem | MomentItem, ...]
    earlier: int | None
    later: int | None
    rounds: int


def page(t: Texts, view: LoopView, chosen: int | None = None, until: int | None = None) -> TimelinePage:
    """The rounds up to the number `until`, or the last ones; `chosen` is opened, else the one to look at."""
    rounds = view.timeline.rounds
    opened = chosen if chosen is not None else to_look_at(view)
    if until is None and chosen is not None and rounds and chosen <= rounds[-1].number - SHOWN:
        until = chosen + SHOWN // 2
    end = len(rounds) if until is None else sum(each.number <= until for each in rounds)
    start = max(0, end - SHOWN)
    items: list[RoundItem | MomentItem] = list(_moments(t, view.timeline.moments)) if start == 0 else []
    for each in rounds[start:end]:
        items += [_item(t, view, each, opened=each.number == opened), *_after(t, each)]
    later = None if end == len(rounds) else rounds[min(len(rounds), end + SHOWN) - 1].number
    earlier = rounds[start - 1].number if start else None
    return TimelinePage(tuple(reversed(items)), earlier, later, len(rounds))


def to_look_at(view: LoopView) -> int | None:
    """The number of the round to open: the one at work, else the last that failed, else the last."""
    last = view.timeline.last
    if last is None:
        return None
    if view.loop.status is Status.RUNNING or view.loop.outcome is Outcome.VERIFIED:
        return last.number
    failed = (each.number for each in reversed(view.timeline.rounds) if has_failed(each))
    return next(failed, last.number)


def has_failed(each: Round) -> bool:
    """Whether the turn went wrong or a gate refused its claim."""
    return bool(each.trouble and each.trouble != LIMIT) or any(not gate.passed for gate in each.gates)


def _item(t: Texts, view: LoopView, each: Round, *, opened: bool) -> RoundItem:
    is_last = each is view.timeline.last
    is_judged = view.gate is not None and is_last
    is_going = each.is_going and is_last and view.loop.status is Status.RUNNING
    label = f": {each.label}" if each.label else ""
    return RoundItem(
        each,
        t("Round {n}", n=each.number) + label,
        tuple(_about(t, each, is_going=is_going)),
        _colour(each),
        _failures(t, each),
        is_going,
        is_judged,
        opened,
        sections(t, view, each),
        tuple(_moments(t, tuple(each_moment for each_moment in each.moments if not _is_after(each, each_moment)))),
        _may_rewind(view.loop, each),
        again_from(t, view.loop, each.number) if _may_begin_again(view.loop, each) else None,
    )


def sections(t: Texts, view: LoopView, each: Round) -> tuple[Section, ...]:
    """The four parts of a round. Those that show why it failed are open."""
    going = view.loop.status is Status.RUNNING and each is view.timeline.last and view.loop.turn is not None
    refused = any(not gate.passed for gate in each.gates)
    failed = sum(not gate.passed for gate in each.gates)
    checked = t("{n} of {all} gates failed", n=failed, all=len(each.gates)) if failed else t("all gates passed")
    printed = f"{'going' if going else 'over'}-{len(each.consultations)}-{each.attempts}"
    return (
        Section("asked", t("Asked"), _first(each.prompt), "", f"{each.attempts}"),
        Section("did", t("Did"), _did(t, each, going=going), "", printed, going or not refused),
        Section("changed", t("Changed"), _changed(t, each), "", (each.after or "now")[:12]),
        Section(
            "checked",
            t("Checked"),
            checked if each.gates else "" if each.claimed or going else t("not asked"),
            ("bad" if failed else "good") if each.gates else "",
            f"{len(each.gates)}-{int(view.gate is not None)}",
            refused,
        ),
    )


def output_names(each: Round) -> tuple[str, ...]:
    """The names of the outputs of a round: the worker's first."""
    roles = dict.fromkeys((Role.WORKER, *(asked.role for asked in each.consultations)))
    return tuple(output_name(role, each.number) for role in roles)


def _first(text: str, longest: int = 90) -> str:
    line = " ".join(text[: longest * 3].split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _did(t: Texts, each: Round, *, going: bool) -> str:
    return t("at work …") if going else _first(each.words)


def _changed(t: Texts, each: Round) -> str:
    if each.changes is None or not each.changes.files:
        return t("nothing") if each.seconds is not None else ""
    return files(t, each.changes.files) + f" +{each.changes.insertions} −{each.changes.deletions}"


def files(t: Texts, count: int) -> str:
    """A number of files."""
    return t("1 file") if count == 1 else t("{n} files", n=count)


def _about(t: Texts, each: Round, *, is_going: bool) -> Iterator[str]:
    if is_going:
        yield t("at work …")
    if each.seconds is not None:
        yield duration(each.seconds)
    if each.usage.cost_usd:
        yield money(each.usage.cost_usd)
    elif each.usage.tokens:
        yield t("{n} tokens", n=f"{each.usage.tokens:,}")
    if each.attempts > 1:
        yield t("attempt {n}", n=each.attempts)
    if each.changes is not None and each.changes.files:
        yield _changed(t, each)
    if each.claimed:
        yield t("says that it is done")
    if each.gates and all(gate.passed for gate in each.gates):
        yield t("all gates passed")


def _failures(t: Texts, each: Round) -> tuple[str, ...]:
    trouble = (_trouble(t, each.trouble),) if each.trouble else ()
    refused = (f"{gate_name(t, gate)}: {gate_verdict(t, gate)}" for gate in each.gates if not gate.passed)
    return (*trouble, *refused)


def _trouble(t: Texts, trouble: str) -> str:
    """The kind of the trouble is translated; the agent's own message is not."""
    kind, colon, words = trouble.partition(": ")
    return t("at its usage limit") if trouble == LIMIT else t(kind) + colon + words


def _colour(each: Round) -> str:
    if each.trouble:
        return "warn" if each.trouble.startswith(("interrupted", LIMIT)) else "bad"
    if any(not gate.passed for gate in each.gates):
        return "bad"
    return "good" if each.gates else "warn" if each.claimed else ""


def _may_rewind(loop: Loop, each: Round) -> bool:
    rests = loop.status not in (Status.CREATED, Status.RUNNING) and loop.settings.remote is None
    return rests and bool(each.after) and not each.trouble


def _may_begin_again(loop: Loop, each: Round) -> bool:
    return loop.status in (Status.PAUSED, Status.FAILED) and loop.settings.remote is None and bool(each.before)


def _is_after(each: Round, moment: Moment) -> bool:
    return each.ended_at is not None and moment.at >= each.ended_at


def _after(t: Texts, each: Round) -> Iterator[MomentItem]:
    return _moments(t, tuple(moment for moment in each.moments if _is_after(each, moment)))


def _moments(t: Texts, moments: tuple[Moment, ...]) -> Iterator[MomentItem]:
    return (MomentItem(moment, moment_text(t, moment), _MOMENT_COLOURS.get(moment.kind, "")) for moment in moments)


_MOMENT_COLOURS = {
    MomentKind.LIMIT: "warn",
    MomentKind.TRY_AGAIN: "warn",
    MomentKind.INTERRUPTED: "warn",
    MomentKind.BUDGET_WARNING: "warn",
    MomentKind.REPAIRED: "bad",
}
_PLAIN = {
    MomentKind.START: "Started",
    MomentKind.PAUSE: "Pause after the round was asked for",
    MomentKind.PAUSE_NOW: "Pause at once was asked for",
    MomentKind.RESUME: "Resumed",
    MomentKind.RESUME_NOW: "Resumed without waiting",
    MomentKind.STOP: "Stop after the round was asked for",
    MomentKind.STOP_NOW: "Stop at once was asked for",
    MomentKind.RETRY: "Retried",
    MomentKind.UNDO_REWIND: "The rewind was undone",
    MomentKind.MESSAGE: "Message",
    MomentKind.APPROVE: "Changes were approved",
    MomentKind.REPAIRED: "Damaged state was repaired",
}


def moment_text(t: Texts, moment: Moment) -> str:
    """What happened, in a few words. The words of people and agents are beside it."""
    match moment.kind:
        case MomentKind.REWIND:
            return t("Taken back to where it was after round {n}", n=int(moment.number or 0))
        case MomentKind.BUDGET | MomentKind.BUDGET_WARNING:
            return _budget_text(t, moment)
        case MomentKind.TRY_AGAIN:
            return t(
                "Attempt {n}, because the last one failed: {kind}", n=int(moment.number or 0), kind=t(_spaced(moment))
            )
        case MomentKind.INTERRUPTED:
            return t(interrupted(Interruption(moment.text)))
        case MomentKind.LIMIT:
            return t("{agent} is at its usage limit", agent=moment.name)
        case MomentKind.ESCALATED:
            return t("{agent} takes over", agent=" ".join(filter(None, (moment.name, moment.text))))
        case MomentKind.MACHINE_LACKED:
            return t("The machine {machine} does not have the agent's program", machine=moment.name)
        case MomentKind.REST:
            return t("Came to rest: {outcome}", outcome=t(moment.name))
        case _:
            return t(_PLAIN[moment.kind])


def _spaced(moment: Moment) -> str:
    return moment.name.replace("_", " ")


def _budget_text(t: Texts, moment: Moment) -> str:
    limit = Limit(moment.name)
    if moment.number is None:
        return t("{limit}: no limit any more", limit=t(limit.row.label))
    shown = amount(limit, moment.number)
    if moment.kind is MomentKind.BUDGET_WARNING:
        return t("{limit}: {amount} used, the limit is near", limit=t(limit.row.label), amount=shown)
    text = "{limit}: +{amount}" if moment.text == "add" else "{limit}: {amount} at most"
    return t(text, limit=t(limit.row.label), amount=shown)


def plot_values(timeline: Timeline) -> tuple[Round, ...]:
    """The rounds that are over."""
    return tuple(each for each in timeline.rounds if each.seconds is not None)
