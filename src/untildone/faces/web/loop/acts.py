"""What a person can do with a loop in its present state, as buttons. Every button is calls of the documented API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from untildone.core.attention import Act, Need
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.web.translations.texts import Texts
from untildone.operations.showing.values import LoopView

Call = tuple[str, str, dict[str, Any] | None]
"""Method, path and body of a call of the API."""


@dataclass(frozen=True, slots=True)
class Button:
    """A button. `look`: `primary`, `danger` or nothing."""

    name: str
    label: str
    calls: tuple[Call, ...] = ()
    look: str = ""
    icon: str = ""
    key: str = ""
    confirm: str = ""
    """A question that is asked first."""
    done: str = ""
    """What is said afterwards."""
    then: str = ""
    """Where to go afterwards; {name} is taken from the answer."""
    dialog: str = ""
    """The id of a dialog that it opens instead."""
    href: str = ""
    """Where it leads, if it is a link."""

    @property
    def calls_json(self) -> str:
        return json.dumps(self.calls)


def address(loop_id: str, route: str = "") -> str:
    """The address of a loop, or of a route of it, in the API."""
    return f"/api/v1/loops/{loop_id}{'/' if route else ''}{route}"


def buttons(t: Texts, view: LoopView, need: Need | None) -> tuple[Button, ...]:
    """The acts in the head of the page, the most likely one first."""
    return tuple(_Buttons(t, view.loop, need).by_status())


def more_buttons(t: Texts, view: LoopView) -> tuple[Button, ...]:
    """The acts that are seldom wanted."""
    return tuple(_Buttons(t, view.loop, None).more(view))


class _Buttons:
    """Makes the buttons of one loop."""

    def __init__(self, t: Texts, loop: Loop, need: Need | None) -> None:
        self._t, self._loop, self._need = t, loop, need

    def by_status(self) -> Iterator[Button]:
        match self._loop.status:
            case Status.CREATED:
                yield self._post("start", self._t("Start"), look="primary", icon="play", key="r")
            case Status.RUNNING:
                yield from self._running()
            case Status.PAUSED:
                yield from self._paused()
            case Status.FAILED:
                yield self._post("retry", self._t("Retry"), look="primary", icon="play", key="r")
                again = self._t("Take everything back and begin again")
                ask = self._t(
                    "The workspace becomes as it was before the first round. What is there now is kept in a snapshot."
                )
                yield self._post("begin-again", again, {"from_round": 1}, route="retry", confirm=ask)
            case Status.COMPLETED:
                yield from self._completed()

    def more(self, view: LoopView) -> Iterator[Button]:
        t, loop_id = self._t, self._loop.loop_id
        yield Button("rename", t("Rename"))
        yield Button("duplicate", t("Duplicate with changes"), href=f"/new?from={loop_id}")
        yield self._post("copy", t("Duplicate"), {}, route="duplicate", then="/loops/{loop_id}")
        yield Button("compare", t("Compare with another loop"), href=f"/compare?a={loop_id}")
        rests = self._loop.status not in (Status.CREATED, Status.RUNNING) and self._loop.settings.remote is None
        if rests and view.timeline.is_taken_back:
            yield self._post("undo-rewind", t("Undo the taking back"), {"undo": True}, route="rewind")
        if rests and self._loop.settings.checks and len(view.timeline.rounds) > 1:
            yield self._post("bisect", t("Which round broke the checks?"))
        yield Button("delete", t("Delete"), (), "danger", dialog="delete-dialog")

    def _running(self) -> Iterator[Button]:
        t = self._t
        if self._need is not None and self._need.act is Act.RESUME_NOW:
            yield self._post("resume-now", t("Resume now"), {"now": True}, route="resume", look="primary", icon="play")
        if self._loop.stop is None:
            yield self._post("pause", t("Pause after this round"), icon="pause", key="p")
            yield self._post("pause-now", t("Pause now"), {"now": True}, route="pause", icon="pause", key="P")
        yield self._stop()

    def _paused(self) -> Iterator[Button]:
        need, t = self._need, self._t
        if need is not None and need.act is Act.EXTEND and need.limit is not None:
            amount = f"{need.amount:g}"
            calls: tuple[Call, ...] = (
                ("POST", address(self._loop.loop_id, "budget"), {need.limit.value: f"+{amount}"}),
                ("POST", address(self._loop.loop_id, "resume"), None),
            )
            label = t("+{n} {unit} and go on", n=amount, unit=t(need.limit.row.unit))
            yield Button("extend", label, calls, "primary", "play", "r")
        else:
            yield self._post("resume", t("Resume"), look="primary", icon="play", key="r")
        yield self._stop()

    def _completed(self) -> Iterator[Button]:
        t = self._t
        if self._need is not None and self._need.act is Act.ADD_CHECK:
            yield Button(
                "add-check", t("Run again with a check"), (), "primary", href=f"/new?from={self._loop.loop_id}"
            )
        if any(result.command for result in self._loop.gates):
            yield self._post("verify", t("Run the checks again"), icon="good")

    def _stop(self) -> Button:
        return Button("stop", self._t("Stop…"), (), "danger", "stop", "s", dialog="stop-dialog")

    def _post(
        self, name: str, label: str, body: dict[str, Any] | None = None, *, route: str = "", **more: str
    ) -> Button:
        calls = (("POST", address(self._loop.loop_id, route or name), body),)
        return Button(name, label, calls, **more)
