"""What a person can do with a loop in its present state, as buttons of its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from untildone.core import budget as budgets
from untildone.core import moves
from untildone.core.attention import Act, Need, extension
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.web.buttons import Button, post, resume, retry, solving, start
from untildone.faces.web.translations.texts import Texts
from untildone.operations.control import leader_of
from untildone.operations.showing.values import LoopView


def buttons(t: Texts, view: LoopView, need: Need | None) -> tuple[Button, ...]:
    """The acts in the head of the page, the most likely one first."""
    return tuple(_by_status(t, view.loop, need))


def more_buttons(t: Texts, view: LoopView) -> tuple[Button, ...]:
    """The acts that are seldom wanted."""
    return tuple(_more(t, view))


def _more(t: Texts, view: LoopView) -> Iterator[Button]:
    loop, loop_id = view.loop, view.loop.loop_id
    yield Button("rename", t("Rename"))
    yield Button("duplicate", t("Duplicate with changes"), href=f"/new?from={loop_id}")
    yield post(loop_id, "copy", t("Duplicate"), {}, route="duplicate", then="/loops/{loop_id}")
    yield Button("compare", t("Compare with another loop"), href=f"/compare?a={loop_id}")
    rests = loop.status not in (Status.CREATED, Status.RUNNING) and loop.settings.remote is None
    if rests and view.timeline.is_taken_back:
        yield post(loop_id, "undo-rewind", t("Undo the rewind"), {"undo": True}, route="rewind")
    if rests and loop.settings.checks and len(view.timeline.rounds) > 1:
        yield post(loop_id, "bisect", t("Which round broke the checks?"))
    yield Button("delete", t("Delete"), look="danger", dialog="delete-dialog")


def _by_status(t: Texts, loop: Loop, need: Need | None) -> Iterator[Button]:
    match loop.status:
        case Status.CREATED:
            yield start(t, loop.loop_id)
        case Status.RUNNING:
            yield from _running(t, loop, need)
        case Status.PAUSED:
            yield _go_on(t, loop, need)
            yield _stop(t)
        case Status.FAILED:
            yield retry(t, loop.loop_id)
            yield _begin_again(t, loop)
        case Status.COMPLETED:
            if need is not None and need.act is Act.ADD_CHECK:
                yield solving(t, loop.loop_id, loop.seq, need)
            if any(result.command for result in loop.gates):
                yield post(loop.loop_id, "verify", t("Run the checks again"), icon="good")


def _go_on(t: Texts, loop: Loop, need: Need | None) -> Button:
    gauge = moves.used_up(loop, leader_of(loop))
    if gauge is not None:
        return solving(t, loop.loop_id, loop.seq, extension(gauge))
    answers = need is not None and need.act is Act.ANSWER
    return resume(t, loop.loop_id) if need is None or answers else solving(t, loop.loop_id, loop.seq, need)


def _running(t: Texts, loop: Loop, need: Need | None) -> Iterator[Button]:
    if need is not None and need.act is Act.RESUME_NOW:
        yield solving(t, loop.loop_id, loop.seq, need)
    if loop.stop is None:
        yield post(loop.loop_id, "pause", t("Pause after this round"), icon="pause", key="p")
        yield post(loop.loop_id, "pause-now", t("Pause now"), {"now": True}, route="pause", icon="pause", key="P")
    yield _stop(t)


def _begin_again(t: Texts, loop: Loop) -> Button:
    label = t("Take everything back and begin again")
    ask = t("The workspace becomes as it was before the first round. What is there now is kept in a snapshot.")
    return _from_round(t, loop, 1, "begin-again", label, ask)


def again_from(t: Texts, loop: Loop, number: int) -> Button:
    """The button that takes a round and all later ones back, and goes on from there."""
    ask = t(
        "Files, state and sessions become as they were before round {n}, and it goes on. A snapshot keeps what is there now.",
        n=number,
    )
    return _from_round(t, loop, number, "again-from", t("Begin this round again"), ask)


def _from_round(t: Texts, loop: Loop, number: int, name: str, label: str, ask: str) -> Button:
    """Rounds that were used stay used: a loop without any gets as many as are taken back."""
    body: dict[str, Any] = {"from_round": number}
    if budgets.rounds_left(loop.own_budget, loop.spend) == 0:
        more = max(1, loop.spend.iterations - number + 1)
        ask += " " + t("More rounds that it gets: {n}.", n=more)
        body |= {"budget": {"iterations": f"+{more}"}}
    return post(loop.loop_id, name, label, body, route="retry", confirm=ask, done=t("It goes on."))


def _stop(t: Texts) -> Button:
    return Button("stop", t("Stop…"), look="danger", icon="stop", key="s", dialog="stop-dialog")
