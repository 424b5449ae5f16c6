"""The rounds of a loop, computed from its journal, for the timeline, the plots and the list of gates."""

from __future__ import annotations

from dataclasses import dataclass

from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    GateStarted,
    MessageSent,
    PauseRequested,
    Rewound,
    StopRequested,
    TurnEnded,
    TurnInterrupted,
    TurnRetried,
    TurnStarted,
    WorkspaceRestored,
    WorkspaceSeen,
)
from untildone.core.kinds import Interruption
from untildone.core.model import Changes, FailureKind, GateResult, Role, Usage
from untildone.core.values.value import replace
from untildone.operations.showing.moments import Moment, moment_of

LIMIT = "limit"
"""The `trouble` of a round that ended at a usage limit. Such a round does not count."""
KEPT_WORDS = 2000
"""How many characters of an answer or a message are kept. The output has the whole text."""
KEPT_PROMPT = 20_000
"""How many characters of a prompt are kept."""
MOST_MOMENTS = 200
"""How many of the last moments of a round are kept."""


@dataclass(frozen=True, slots=True)
class Consultation:
    """A turn of another role about a round."""

    role: Role
    seconds: float | None = None
    words: str = ""
    profile: str = ""
    started_at: float = 0.0
    prompt: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class Round:
    """One round, which may still run."""

    number: int
    profile: str
    started_at: float
    label: str = ""
    attempts: int = 1
    seconds: float | None = None
    """None while it runs."""
    usage: Usage = Usage()
    """The usage that agents report, all roles together."""
    before: str | None = None
    """The git tree of the workspace before the round; `after` is the one after it."""
    after: str | None = None
    changes: Changes | None = None
    trouble: str = ""
    """Why the round failed: `interrupted by pause`, `crashed: …`."""
    claimed: bool = False
    note: str = ""
    words: str = ""
    gates: tuple[GateResult, ...] = ()
    consultations: tuple[Consultation, ...] = ()
    messages: tuple[str, ...] = ()
    """The messages that a person sent during the round, or before the next one."""
    prompt: str = ""
    """What the worker was asked: the first KEPT_PROMPT characters of its last prompt in this round."""
    ended_at: float | None = None
    """When the worker's last attempt ended; None: it has not."""
    checked_at: float | None = None
    """When the gates began to judge the claim; None: they have not."""
    signs: tuple[str, ...] = ()
    """The tampering report about the claim of the round."""
    moments: tuple[Moment, ...] = ()
    """What happened during the round, or before the next one: controls, messages, retries, limits, rests."""

    @property
    def is_going(self) -> bool:
        return self.seconds is None and not self.trouble


@dataclass(frozen=True, slots=True)
class Timeline:
    """All rounds of a loop."""

    rounds: tuple[Round, ...] = ()
    tree: str | None = None
    """The git tree of the workspace after the last round."""
    start: str | None = None
    seq: int = 0
    messages: tuple[str, ...] = ()
    """The messages before the first round."""
    moments: tuple[Moment, ...] = ()
    """What happened before the first round."""
    order: str = ""
    """The person's last order since the last turn began: `pause` or `stop`."""
    is_taken_back: bool = False
    """Whether the loop was taken back to an earlier round, and no agent has worked since: that can be undone."""

    @property
    def last(self) -> Round | None:
        return self.rounds[-1] if self.rounds else None

    def round(self, number: int) -> Round | None:
        return next((each for each in reversed(self.rounds) if each.number == number), None)


def extended(timeline: Timeline, entries: tuple[Entry, ...]) -> Timeline:
    """The timeline with more entries. Entries that it already contains change nothing."""
    rounds, facts = list(timeline.rounds), timeline
    for entry in entries:
        if entry.seq > facts.seq:
            facts = _with(replace(facts, seq=entry.seq), rounds, entry)
    return replace(facts, rounds=tuple(rounds))


def _with(facts: Timeline, rounds: list[Round], entry: Entry) -> Timeline:
    event, facts = entry.event, _with_order(facts, entry.event)
    facts = _with_moment(facts, rounds, entry)
    if isinstance(event, WorkspaceSeen):
        return replace(facts, tree=event.changes.tree, start=facts.start if rounds else event.changes.tree)
    if isinstance(event, WorkspaceRestored):
        return replace(facts, tree=event.tree)
    if isinstance(event, MessageSent) and not rounds:
        return replace(facts, messages=(*facts.messages, event.text[:KEPT_WORDS]))
    if isinstance(event, TurnStarted) and event.role is Role.WORKER:
        _start(rounds, event, entry.at, facts.tree)
    elif rounds:
        rounds[-1] = _round_with(rounds[-1], entry, facts.order)
    if isinstance(event, TurnEnded) and event.changes is not None:
        return replace(facts, tree=event.changes.tree)
    return facts


def _with_moment(facts: Timeline, rounds: list[Round], entry: Entry) -> Timeline:
    moment = moment_of(entry)
    if moment is None:
        return facts
    if not rounds:
        return replace(facts, moments=(*facts.moments, moment))
    rounds[-1] = replace(rounds[-1], moments=(*rounds[-1].moments, moment)[-MOST_MOMENTS:])
    return facts


def _start(rounds: list[Round], event: TurnStarted, at: float, tree: str | None) -> None:
    again = rounds and rounds[-1].number == event.iteration
    prompt = event.prompt[:KEPT_PROMPT]
    if again:
        attempts = max(event.attempt, rounds[-1].attempts)
        rounds[-1] = replace(
            rounds[-1], attempts=attempts, seconds=None, ended_at=None, trouble="", profile=event.profile, prompt=prompt
        )
    else:
        rounds.append(Round(event.iteration, event.profile, at, event.label, event.attempt, before=tree, prompt=prompt))


def _with_order(facts: Timeline, event: Event) -> Timeline:
    match event:
        case PauseRequested():
            return replace(facts, order="pause")
        case StopRequested():
            return replace(facts, order="stop")
        case Rewound(undone=undone):
            return replace(facts, is_taken_back=not undone)
        case TurnStarted():
            return replace(facts, order="", is_taken_back=False)
        case _:
            return facts


def _round_with(each: Round, entry: Entry, order: str) -> Round:
    match entry.event:
        case TurnStarted(role=role, profile=profile, prompt=prompt):
            asked = Consultation(role, profile=profile, started_at=entry.at, prompt=prompt[:KEPT_PROMPT])
            return replace(each, consultations=(*each.consultations, asked))
        case TurnEnded() as ended:
            return _worked(each, ended, entry.at) if ended.role is Role.WORKER else _consulted(each, ended)
        case TurnInterrupted(role=Role.WORKER, reason=reason, seconds=seconds):
            return replace(each, trouble=interrupted(reason, order), seconds=seconds, ended_at=entry.at)
        case TurnRetried(role=Role.WORKER, attempt=attempt):
            return replace(each, attempts=attempt)
        case AnswerRead(claimed=claimed, note=note):
            return replace(each, claimed=each.claimed or claimed, note=note or each.note)
        case GateStarted():
            return replace(each, checked_at=each.checked_at or entry.at)
        case GatesRan(results=results, signs=signs, weighs=False):
            return replace(each, gates=(*each.gates, *results), signs=signs or each.signs)
        case MessageSent(text=text):
            return replace(each, messages=(*each.messages, text[:KEPT_WORDS]))
        case _:
            return each


def interrupted(reason: Interruption, order: str = "") -> str:
    """Why a turn was interrupted, in words that are translated."""
    if reason is Interruption.CONTROL and order:
        return f"interrupted by {order}"
    return _INTERRUPTED[reason]


_INTERRUPTED = {
    Interruption.CONTROL: "interrupted by a person",
    Interruption.PERSON: "interrupted for a message",
    Interruption.TIMEOUT: "interrupted at its time limit",
    Interruption.BUDGET: "interrupted at the limit of the budget",
    Interruption.CRASH: "interrupted, because its runner died",
    Interruption.NO_PROGRAM: "interrupted, because the agent program is missing",
}


def _worked(each: Round, ended: TurnEnded, at: float) -> Round:
    failure = ended.answer.failure
    limited = failure is not None and failure.kind is FailureKind.LIMIT
    kind = "" if failure is None else failure.kind.value.replace("_", " ")
    return replace(
        each,
        ended_at=at,
        seconds=(0.0 if each.seconds is None else each.seconds) + ended.seconds,
        usage=each.usage.plus(ended.answer.usage),
        trouble="" if failure is None else (LIMIT if limited else f"{kind}: {failure.message[:300]}"),
        words=ended.answer.text[-KEPT_WORDS:],
        changes=ended.changes,
        after=ended.changes.tree if ended.changes else each.after,
    )


def _consulted(each: Round, ended: TurnEnded) -> Round:
    asked = each.consultations[-1] if each.consultations else Consultation(ended.role)
    consultation = replace(
        asked,
        role=ended.role,
        seconds=ended.seconds,
        words=ended.answer.text[-KEPT_WORDS:],
        usage=ended.answer.usage,
    )
    return replace(
        each,
        consultations=(*each.consultations[:-1], consultation) if each.consultations else (consultation,),
        usage=each.usage.plus(ended.answer.usage),
    )
