"""The acts of loops as buttons, the same on every page. Every button is one call of the documented API, a link, or opens a dialog."""

from __future__ import annotations

import json
from dataclasses import dataclass

from untildone.core.attention import Act, Need, NeedKind
from untildone.core.limits import Limit
from untildone.faces.web.translations.texts import Texts


@dataclass(frozen=True, slots=True)
class Button:
    """A button. Without a call, a link and a dialog, its `name` says what the page does."""

    name: str
    label: str
    act: str = ""
    """Method and path of a call of the API."""
    body: str = ""
    """The JSON that it sends."""
    look: str = ""
    """`primary`, `danger` or nothing."""
    icon: str = ""
    key: str = ""
    confirm: str = ""
    """A question that is asked first."""
    done: str = ""
    """The message that is shown afterwards."""
    then: str = ""
    """Where to go afterwards; {name} is taken from the answer."""
    dialog: str = ""
    """The id of a dialog that it opens instead."""
    href: str = ""
    """Where it leads, if it is a link."""
    match: str = ""
    """The tag of the loop as it is shown: if it has changed since, the call does nothing."""

    @property
    def is_answer(self) -> bool:
        """Whether it stands for the field of an answer."""
        return self.name == ANSWER


ANSWER = "answer"


def post(loop_id: str, name: str, label: str, body: object = None, *, route: str = "", **more: str) -> Button:
    """A button that posts to a route of a loop: that of its name, if no other is said."""
    sent = "" if body is None else json.dumps(body)
    return Button(name, label, f"POST /api/v1/loops/{loop_id}/{route or name}", sent, **more)


def start(t: Texts, loop_id: str) -> Button:
    """The button that starts a new loop."""
    return post(loop_id, "start", t("Start"), done=t("It starts."), icon="play", key="r", look="primary")


def resume(t: Texts, loop_id: str) -> Button:
    """The button that resumes a loop."""
    return post(loop_id, "resume", t("Resume"), done=t("It goes on."), icon="play", key="r", look="primary")


def retry(t: Texts, loop_id: str, label: str = "") -> Button:
    """The button that lets a loop go on that rests or has failed."""
    more = {"done": t("It goes on."), "icon": "play", "key": "r", "look": "primary"}
    return post(loop_id, "retry", label or t("Retry"), **more)


def _extend(t: Texts, loop_id: str, seq: int, need: Need) -> Button:
    """The button that lets a loop go on with more budget. If two people press it at the same time, the budget grows once."""
    amount = f"+{need.amount:g}" if need.amount < 1e6 else f"+{need.amount:.0f}"
    body = {"budget": {(need.limit or Limit.ITERATIONS).value: amount}, "now": True}
    more = {"done": t("It goes on."), "icon": "play", "key": "r", "look": "primary", "match": f'"{seq}"'}
    return post(loop_id, "extend", _extension(t, need), body, route="resume", **more)


def solving(t: Texts, loop_id: str, seq: int, need: Need) -> Button:
    """The one act that gives a loop what it needs. `seq` is its last entry that is shown."""
    match need.act:
        case Act.ANSWER:
            return Button(ANSWER, t("Answer and go on"), done=t("It goes on."), key="r")
        case Act.EXTEND:
            return _extend(t, loop_id, seq, need)
        case Act.RETRY:
            return retry(t, loop_id, t("Log in, then retry") if need.kind is NeedKind.LOGIN else "")
        case Act.ADD_CHECK:
            check = {"href": f"/new?from={loop_id}", "key": "r", "icon": "add", "look": "primary"}
            return Button("add-check", t("Add a check"), **check)
        case Act.RESUME_NOW:
            now = {"done": t("It goes on."), "key": "r", "icon": "play", "look": "primary"}
            return post(loop_id, "resume-now", t("Resume now"), {"now": True}, route="resume", **now)
        case Act.RESUME:
            return resume(t, loop_id)


def _extension(t: Texts, need: Need) -> str:
    match need.limit:
        case Limit.MINUTES:
            return t("+{n} minutes and go on", n=f"{need.amount:g}")
        case Limit.COST:
            return t("+${n} and go on", n=f"{need.amount:g}")
        case Limit.TOKENS:
            return t("+{n} tokens and go on", n=f"{need.amount:,.0f}")
        case _:
            return t("+{n} rounds and go on", n=f"{need.amount:g}")
