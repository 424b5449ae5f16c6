"""The notifications about a loop, and their texts: pure functions over the entries of its journal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from untildone.core.budget import Gauge
from untildone.core.events import (
    BudgetWarned,
    Entry,
    GatesRan,
    LimitReached,
    Rested,
    RunnerLeased,
    SettingsChanged,
    TurnEnded,
    TurnStarted,
)
from untildone.core.kinds import Host
from untildone.core.model import Outcome
from untildone.core.values.value import dataclass, replace


class NoticeKind(StrEnum):
    """The kinds of notices, by their names in settings and messages."""

    BLOCKED = "blocked"
    """The loop rests and needs something from a person."""
    REST = "rest"
    """The loop came to rest in another way: it ended, or paused."""
    LIMIT = "limit"
    """An agent reached a usage limit."""
    LIFTED = "lifted"
    """An agent that was at a usage limit has answered again."""
    BUDGET = "budget"
    """Most of a budget is used."""
    TAMPERING = "tampering"
    """A judge file was changed, or something else in the work could deceive a check."""


EVENTS = {
    NoticeKind.BLOCKED: "loop_rested",
    NoticeKind.REST: "loop_rested",
    NoticeKind.LIMIT: "limit_reached",
    NoticeKind.LIFTED: "limit_lifted",
    NoticeKind.BUDGET: "budget_warning",
    NoticeKind.TAMPERING: "tampering",
}
"""The field `event` of a message, by kind."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One notification. Its kind and the number of its entry name it for ever."""

    kind: NoticeKind
    seq: int
    at: float
    about: str = ""
    """The question, the reason, the limit, the files: what the template calls `{about}`."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """What of a journal has been turned into notices, and what later entries need to know of it."""

    seq: int = 0
    profile: str = ""
    """The agent profile of the last turn."""
    limited: tuple[str, ...] = ()
    """Agent profiles that reached a limit and have not answered since."""
    tampering: tuple[str, ...] = ()
    """The signs of tampering that an earlier notice has listed."""
    driven: bool = False
    """Whether a runner drives the loop. Without one, a person's command wrote the rest, so that it gives no notice."""


def noticed(before: Noticed, entry: Entry) -> tuple[Noticed, tuple[Notice, ...]]:
    """The state after an entry, and the notices that follow from it. An entry that is contained already gives none."""
    if entry.seq <= before.seq:
        return before, ()
    after, causes = _step(replace(before, seq=entry.seq), entry)
    return after, tuple(Notice(kind, entry.seq, entry.at, about) for kind, about in causes)


def _step(state: Noticed, entry: Entry) -> tuple[Noticed, tuple[tuple[NoticeKind, str], ...]]:
    match entry.event:
        case RunnerLeased(host=host):
            return replace(state, driven=host is not Host.NONE), ()
        case TurnStarted(profile=profile):
            return replace(state, profile=profile), ()
        case TurnEnded(answer=answer) if answer.failure is None and state.profile in state.limited:
            limited = tuple(name for name in state.limited if name != state.profile)
            return replace(state, limited=limited), ((NoticeKind.LIFTED, state.profile),)
        case LimitReached(profile=profile, message=message) if profile not in state.limited:
            return replace(state, limited=(*state.limited, profile)), ((NoticeKind.LIMIT, f"{profile}: {message}"),)
        case BudgetWarned(limit=limit, used=used, allowed=allowed):
            return state, ((NoticeKind.BUDGET, str(Gauge(limit, used, allowed).sentence())),)
        case GatesRan() | SettingsChanged() as event:
            return _tampered(state, _signs(event))
        case Rested() as event:
            return state, _rest(state, event)
        case _:
            return state, ()


def _rest(state: Noticed, event: Rested) -> tuple[tuple[NoticeKind, str], ...]:
    if event.outcome is Outcome.INTERRUPTED or not state.driven:
        return ()
    return ((NoticeKind.BLOCKED if event.outcome is Outcome.BLOCKED else NoticeKind.REST, event.reason),)


def _signs(event: GatesRan | SettingsChanged) -> tuple[str, ...]:
    if isinstance(event, SettingsChanged):
        return tuple(f"settings changed: {path}" for path in event.paths)
    files = (f"judge file changed: {path}" for result in event.results for path in result.tampered)
    return tuple(dict.fromkeys((*files, *event.signs)))


def _tampered(state: Noticed, signs: tuple[str, ...]) -> tuple[Noticed, tuple[tuple[NoticeKind, str], ...]]:
    """A sign gives one notice, however often gates report it again."""
    fresh = tuple(sign for sign in signs if sign not in state.tampering)
    if not fresh:
        return state, ()
    known = (*state.tampering, *fresh)
    return replace(state, tampering=known), ((NoticeKind.TAMPERING, "; ".join(fresh)),)


TITLES = {
    NoticeKind.BLOCKED: "Blocked: {title}",
    NoticeKind.REST: "{outcome}: {title}",
    NoticeKind.LIMIT: "Usage limit: {title}",
    NoticeKind.LIFTED: "Goes on: {title}",
    NoticeKind.BUDGET: "Budget: {title}",
    NoticeKind.TAMPERING: "Tampering: {title}",
}
TEMPLATES = {
    NoticeKind.BLOCKED: "It needs something from you before it can go on: {about}\n{spend}\nLoop {loop_id}\n{answer}",
    NoticeKind.REST: "{sentence} {about}\n{spend}\nLoop {loop_id}\n{link}",
    NoticeKind.LIMIT: "The agent is at a usage limit, and the loop waits for it. {about}\n{spend}\nLoop {loop_id}\n{link}",
    NoticeKind.LIFTED: "The usage limit of {about} is over, and the loop goes on.\n{spend}\nLoop {loop_id}\n{link}",
    NoticeKind.BUDGET: "Most of the budget is used: {about}\n{spend}\nLoop {loop_id}\n{link}",
    NoticeKind.TAMPERING: "Signs of tampering in the work: {about}\n{spend}\nLoop {loop_id}\n{link}",
}
ASKING = "{sentence} {about}\n{spend}\nLoop {loop_id}\n{answer}"
"""The text of a rest after which an answer lets the loop go on, if no template of the person replaces it."""
FIELDS = (
    *("about", "answer", "iterations", "kind", "link", "loop_id", "outcome"),
    *("reason", "sentence", "spend", "status", "title", "workspace"),
)
"""The names that a template may contain in braces."""
_NAME = re.compile(r"\{([a-z_]+)\}")


def template_problem(template: str) -> str:
    """Why a template cannot be used; empty: it can."""
    unknown = [name for name in _NAME.findall(template) if name not in FIELDS]
    return f"{{{unknown[0]}}} is not known; there are {', '.join(FIELDS)}" if unknown else ""


def rendered(template: str, fields: Mapping[str, str]) -> str:
    """The template with its names replaced. Lines that are empty then are left out."""
    text = _NAME.sub(lambda name: fields.get(name[1], ""), template)
    return "\n".join(line.strip() for line in text.split("\n") if line.strip())
