"""Loops as the inbox and the list show them: pure functions from rows to values with texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from markupsafe import Markup

from untildone.core import budget as budgets
from untildone.core.attention import NeedKind
from untildone.core.budget import Gauge
from untildone.core.doing import Doing, DoingKind
from untildone.core.kinds import Host
from untildone.core.limits import Limit, duration
from untildone.core.model import Status
from untildone.faces.web.buttons import Button, post, resume, solving, start
from untildone.faces.web.chips import Chip, status_chip
from untildone.faces.web.render.bidi import marked
from untildone.faces.web.shown import money
from untildone.faces.web.translations.texts import Texts
from untildone.operations.loop_table import Row
from untildone.operations.showing.inbox import AtWork, Finished, Gate
from untildone.operations.showing.waiting import Waiting, Waits

LONGEST_TEXT = 600
NEED_CHIPS = {
    NeedKind.BLOCKED: ("blocked", "warn"),
    NeedKind.ASKS: ("asks", "info"),
    NeedKind.STALLED: ("stalled", "warn"),
    NeedKind.BUDGET: ("budget used up", "warn"),
    NeedKind.FAILED: ("failed", "bad"),
    NeedKind.CLAIMED: ("not verified", "warn"),
    NeedKind.LIMIT: ("at a limit", "info"),
    NeedKind.LOGIN: ("login", "bad"),
}
DOING = {
    DoingKind.WORKS: "{what} works on round {n}",
    DoingKind.INSTRUCTS: "{what} writes instructions",
    DoingKind.REVIEWS: "{what} reviews round {n}",
    DoingKind.CHECKS: "Check: {what}",
    DoingKind.AT_LIMIT: "{what}",
    DoingKind.RETRIES: "Tries again: {what}",
    DoingKind.STARTS: "Begins its next step",
}


@dataclass(frozen=True, slots=True)
class Meter:
    """How much of a limit is used."""

    text: str
    percent: int
    colour: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A loop on a page of loops."""

    loop_id: str
    title: Markup
    chip: Chip
    text: Markup = Markup()
    """What the loop needs, does, waits for, or why it rests."""
    workspace: str = ""
    """Empty if only one is served."""
    about: str = ""
    """Agent, mode and machine."""
    rounds: str = ""
    cost: str = ""
    worked: str = ""
    """How long agents were at work."""
    changed_at: float = 0.0
    since: float = 0.0
    """When what it does now began; 0: it does nothing."""
    until: float = 0.0
    """When a wait is over; 0: not known."""
    last: Markup = Markup()
    """The last line of the output."""
    meter: Meter | None = None
    buttons: tuple[Button, ...] = ()
    gates: tuple[Gate, ...] = ()
    files: int = 0
    insertions: int = 0
    deletions: int = 0
    branch: str = ""
    proof: str = ""
    """The proof level; empty: the loop is not verified."""
    settled: bool = True
    """Whether everything is known about a loop that has ended."""

    @property
    def href(self) -> str:
        return f"/loops/{self.loop_id}"


class Cards:
    """Makes cards in one language. `workspaces` are all that are served."""

    def __init__(self, t: Texts, workspaces: Sequence[str]) -> None:
        self._t = t
        self._names = short_names(workspaces) if len(workspaces) > 1 else {}

    def need(self, row: Row) -> Card:
        """A loop that needs a person."""
        need = row.need
        if need is None:
            return self.listed(row, None)
        word, colour = NEED_CHIPS[need.kind]
        return self._card(
            row,
            Chip(self._t(word), colour),
            need.text,
            until=need.until,
            buttons=(solving(self._t, row.loop_id, row.seq, need),),
        )

    def working(self, at_work: AtWork) -> Card:
        """A running loop."""
        row, waiting = at_work.row, at_work.waiting
        text, since, until = self._now(row, waiting)
        return self._card(
            row,
            self._chip(row, waiting),
            text,
            since=since,
            until=until,
            last=marked(at_work.last),
            meter=meter_of(self._t, row),
            buttons=self._controls(row, waiting),
        )

    def done(self, finished: Finished) -> Card:
        """A verified loop."""
        return self._card(
            finished.row,
            self._chip(finished.row, None),
            gates=finished.gates,
            files=finished.files,
            insertions=finished.insertions,
            deletions=finished.deletions,
            settled=finished.settled,
        )

    def listed(self, row: Row, waiting: Waiting | None) -> Card:
        """A loop in the list of all."""
        if row.doing is not None:
            text, since, until = self._now(row, waiting)
            return self._card(
                row, self._chip(row, waiting), text, since=since, until=until, buttons=self._controls(row, waiting)
            )
        text = row.need.text if row.need is not None else row.problem or row.not_ours or row.reason
        buttons = (
            (solving(self._t, row.loop_id, row.seq, row.need),) if row.need is not None else self._controls(row, None)
        )
        return self._card(row, self._chip(row, None), text, buttons=buttons)

    def _card(self, row: Row, chip: Chip, text: str = "", **facts: object) -> Card:
        machine = row.machine if row.host is Host.CLUSTER else ""
        return Card(
            row.loop_id,
            marked(row.title or row.loop_id),
            chip,
            marked(self._t.sentence(text)[:LONGEST_TEXT]),
            self._names.get(row.workspace, ""),
            " · ".join(filter(None, (row.agent, row.mode, machine))),
            rounds_of(self._t, row),
            money(row.spend.cost_usd) if row.spend.cost_usd else "",
            duration(row.spend.seconds) if row.spend.seconds else "",
            row.updated_at,
            branch=row.branch,
            proof=row.proof.value,
            **facts,  # type: ignore[arg-type]
        )

    def _now(self, row: Row, waiting: Waiting | None) -> tuple[str, float, float]:
        """What a running loop does or waits for, since when, and until when."""
        if waiting is not None:
            return self._t.sentence(waiting.text), 0.0, waiting.until
        doing = row.doing or Doing(DoingKind.STARTS, row.updated_at)
        text = self._t(DOING[doing.kind], what=self._t.sentence(doing.what), n=row.spend.iterations)
        return text, doing.since, doing.until

    def _chip(self, row: Row, waiting: Waiting | None) -> Chip:
        return status_chip(self._t, row.status, row.outcome, row.need, waits=waiting is not None, not_ours=row.not_ours)

    def _controls(self, row: Row, waiting: Waiting | None) -> tuple[Button, ...]:
        """What the keys p, r and s do to a loop."""
        t, loop_id = self._t, row.loop_id
        pause = post(loop_id, "pause", t("Pause"), done=t("It pauses after this round."), key="p", icon="pause")
        question = t("Stop this loop for good? A pause keeps it ready to go on.")
        stop = post(loop_id, "stop", t("Stop"), confirm=question, key="s", icon="stop")
        match row.status:
            case _ if row.not_ours:
                return ()
            case Status.RUNNING if waiting is not None and waiting.kind is Waits.NOBODY:
                return resume(t, loop_id), stop
            case Status.RUNNING:
                return pause, stop
            case Status.CREATED:
                return start(t, loop_id), stop
            case Status.PAUSED:
                return resume(t, loop_id), stop
            case _:
                return ()


def rounds_of(t: Texts, row: Row) -> str:
    """Rounds used, and of how many while that matters."""
    most, used = row.budget.iterations, row.spend.iterations
    ended = row.status is None or row.status.ended
    if most is None or ended:
        return t("{n} rounds", n=used) if used != 1 else t("1 round")
    return t("{n} of {most} rounds", n=used, most=most)


def meter_of(t: Texts, row: Row) -> Meter | None:
    """The limit of which the largest share is used."""
    gauge = max(budgets.gauges(row.budget, row.spend), key=lambda each: each.share, default=None)
    if gauge is None:
        return None
    colour = "bad" if gauge.used_up else "warn" if gauge.is_nearly_used() else ""
    return Meter(_used(t, gauge), round(gauge.share * 100), colour)


def _used(t: Texts, gauge: Gauge) -> str:
    used, allowed = budgets.number(gauge.used), budgets.number(gauge.allowed)
    match gauge.limit:
        case Limit.COST:
            return t("{n} of {most} spent", n=money(gauge.used), most=money(gauge.allowed))
        case Limit.MINUTES:
            return t("{n} of {most} minutes", n=used, most=allowed)
        case Limit.TOKENS:
            return t("{n} of {most} tokens", n=used, most=allowed)
        case _:
            return t("{n} of {most} rounds", n=used, most=allowed)


def short_names(workspaces: Sequence[str]) -> dict[str, str]:
    """The last part of each path, or the whole path if two end alike."""
    names = {path: PurePath(path).name or path for path in workspaces}
    several = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {path: path if name in several else name for path, name in names.items()}
