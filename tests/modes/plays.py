"""Plays for any mode: what its agents say, what people do to it meanwhile, and when it dies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from untildone import modes
from untildone.core.events import (
    BudgetChanged,
    Event,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StopRequested,
    SubtasksChanged,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.model import (
    Answer,
    Changes,
    Context,
    Failure,
    FailureKind,
    Outcome,
    SubtaskChange,
    SubtaskStatus,
    Urgency,
    Usage,
)
from untildone.testing.driver import NOON, Reply
from untildone.testing.mode_conformance import GENERIC, SENSIBLE, subject

PROMISES = "<promise>TASK_COMPLETE</promise>\n[TASK_COMPLETED]\n<promise>COMPLETE</promise>\n[TASK_COMPLETED {word}]"

# --- what agents say ---

NAMES = (
    *("skillStateUpdates", "continue", "message", "develop", "debug", "validate", "tasks", "hypotheses", "passed"),
    *("failures", "confirmed_hypothesis", "route", "score", "phase_done", "review_score", "subtasks", "findings"),
    *("id", "text", "status", "depends_on", "summary", "evidence"),
)
WORDS = (
    "",
    "a",
    "s1",
    "t1",
    "pending",
    "completed",
    "failed",
    "dropped",
    "ralph",
    "planned",
    "\ud800",
    "\0",
    "x" * 3000,
)
MANY = {
    "skillStateUpdates": {"develop": {"tasks": [{"id": f"m{n}", "text": "one of many"} for n in range(190)]}},
    "subtasks": [{"id": f"m{n}", "text": "one of many"} for n in range(190)],
}
ODD = (
    *('{"a":' * 400, "{" * 3000, '{"message": "' + "x" * 30_000 + '"}', "{}" * 2000, "\0", "# " * 1000),
    '{"message": "\\ud800", "summary": "\\udfff", "subtasks": ["\\ud800"], "continue": true}',
    '{"review_score": 1e999, "phase_done": true, "score": -1}',
    '{"continue": false, "message": ""}',
    json.dumps(MANY),
    json.dumps(MANY).replace('"m', '"n'),
    f"`{PROMISES}`",
    f"{{}}\n{PROMISES}",
)

words = st.sampled_from(WORDS)
junk = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 10**6) | st.floats() | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["t1", "t2", "s1", "s2"])
listed = st.lists(
    st.fixed_dictionaries(
        {"id": names},
        optional={"text": words, "status": words, "depends_on": st.lists(names, max_size=2)},
    ),
    max_size=3,
)
workflow_answers = st.fixed_dictionaries(
    {
        "skillStateUpdates": st.fixed_dictionaries(
            {},
            optional={
                "develop": st.fixed_dictionaries({"tasks": listed}),
                "debug": st.fixed_dictionaries({"confirmed_hypothesis": st.none() | words}),
                "validate": st.fixed_dictionaries({"passed": st.booleans(), "failures": st.lists(words, max_size=2)}),
            },
        )
    },
    optional={"continue": st.booleans(), "message": words},
)
phases_answers = st.fixed_dictionaries(
    {},
    optional={
        "phase_done": st.booleans(),
        "subtasks": listed,
        "review_score": st.sampled_from([0, 79, 80, 100, 101]),
        "findings": st.lists(words, max_size=2),
        "route": st.sampled_from(["direct", "planned", "ui_flow", "ralph", "architect", "auto"]),
    },
)
objects = st.one_of(workflow_answers, phases_answers, st.dictionaries(st.sampled_from(NAMES), junk, max_size=4))


def texts(mode: str) -> st.SearchStrategy[str]:
    examples = [text for answers in subject(mode).answers.values() for text in answers]
    likely = [
        *GENERIC,
        *SENSIBLE,
        *SENSIBLE,
        *examples,
        *examples,
        PROMISES,
        "[TASK_COMPLETED]",
        "Good.\n\n[TASK_COMPLETED: well done]",
        "Good.\n\n<promise>TASK_COMPLETE</promise>",
        f"[TASK_COMPLETED: well done]\n{PROMISES}",
        f"{PROMISES}\n[TASK_COMPLETED {{word}}: well done]",
    ]
    return st.one_of(st.sampled_from(likely), st.sampled_from(likely), st.sampled_from(ODD), objects.map(json.dumps))


# --- what people do ---

MESSAGES = ("", "[r+2] ", "[r=0]", "[r=1][R+1] ")
SAID = ("and the docs", "develop", "2", "validate", "complete", "status", "exit", "nonsense", "[r+1]", "[r=3] go on")

statuses = st.none() | st.sampled_from(SubtaskStatus)
changes = st.builds(
    SubtaskChange,
    task_id=names,
    text=st.none() | st.sampled_from(["write it", "test it"]),
    status=statuses,
    depends_on=st.none() | st.lists(names, max_size=2).map(tuple),
    position=st.none() | st.integers(-1, 3),
    remove=st.booleans(),
)
urgencies = st.sampled_from(Urgency)
orders = st.one_of(
    st.tuples(st.just("pause"), st.builds(PauseRequested, urgencies)),
    st.tuples(st.just("resume"), st.builds(ResumeRequested, st.booleans())),
    st.tuples(
        st.just("say"),
        st.builds(MessageSent, st.builds("{}{}".format, st.sampled_from(MESSAGES), st.sampled_from(SAID))),
    ),
    st.tuples(st.just("budget"), st.builds(BudgetChanged, st.just(Limit.ITERATIONS), st.integers(0, 4), st.booleans())),
    st.tuples(st.just("tasks"), st.builds(SubtasksChanged, st.lists(changes, min_size=1, max_size=3).map(tuple))),
    st.tuples(
        st.just("stop"), st.builds(StopRequested, urgencies, st.sampled_from([Outcome.STOPPED, Outcome.ABANDONED]))
    ),
)

EDITS: dict[str, Any] = {
    "empty it": lambda text: text[:0],
    "write something else": lambda text: text[:0] + "Not what it was.",
    "tick all": lambda text: text.replace("[ ]", "[x]"),
    "untick all": lambda text: text.replace("[x]", "[ ]"),
    "give up": lambda text: text.replace("IN_PROGRESS", "USER_ABORT"),
    "promise": lambda text: text.replace("<!-- not done yet -->", "<promise>TASK_COMPLETE</promise>"),
    "all phases": lambda text: text.replace("Completed Phases: [", "Completed Phases: [1, 2, 3, 4, 5, "),
    "another phase": lambda text: text.replace("Current Phase: ", "Current Phase: 3"),
    "more rounds": lambda text: text.replace("Max Allowed: ", "Max Allowed: 1"),
    "another route": lambda text: text.replace("Route: AUTO", "Route: RALPH"),
    "a score": lambda text: f"{text}\n## Completion Summary\n- Review Score: 99/100\n",
    "new work": lambda text: text.replace("## Pending Work\n", "## Pending Work\n- [ ] More\n1. And more\n"),
    "shout": lambda text: text.upper(),
    "cut it": lambda text: text[: len(text) // 2],
    "a lot": lambda text: text + "- [ ] More and more\n" * 3000,
    "another line end": lambda text: text.replace("\n", "\r\n"),
}
edits = st.sampled_from(sorted(EDITS))


# --- what happens, moment by moment ---


@dataclass(frozen=True, slots=True)
class Works:
    """It goes on until an agent is asked, who answers like this, and may edit the live file meanwhile."""

    reply: Reply
    gates: tuple[bool, ...]
    edit: str | None


@dataclass(frozen=True, slots=True)
class Dies:
    """The process dies before or after the entry so many ahead."""

    reply: Reply
    ahead: int
    before: bool


@dataclass(frozen=True, slots=True)
class Edits:
    """A person edits the live file."""

    edit: str


Moment = Works | Dies | Edits | tuple[str, Event] | float


@dataclass(frozen=True, slots=True)
class Play:
    chosen: dict[str, Any]
    abilities: tuple[str, ...]
    budget: int | None
    moments: list[Moment]
    person: list[str]
    last: list[Reply]
    """How the agents answer at the end, again and again."""


failures = st.builds(
    Failure,
    kind=st.sampled_from(FailureKind),
    message=st.just("it failed"),
    reset_at=st.sampled_from([None, NOON - 100, NOON + 300]),
)


def answers(mode: str, failure: st.SearchStrategy[Failure | None]) -> st.SearchStrategy[Answer]:
    return st.builds(
        Answer,
        text=texts(mode),
        session_id=st.sampled_from([None, "one", "two"]),
        usage=st.sampled_from([Usage(), Usage(0.1, 7)]),
        failure=failure,
    )


def replies(mode: str) -> st.SearchStrategy[Reply]:
    return st.builds(
        Reply,
        answer=answers(mode, st.one_of(st.none(), st.none(), st.none(), st.none(), failures)),
        seconds=st.sampled_from([0.0, 1.5]),
        changes=st.sampled_from([None, Changes("a"), Changes("b"), Changes("c")]),
        session_id=st.sampled_from([None, "one", "two"]),
        meanwhile=st.one_of(st.just([]), st.just([]), st.lists(orders, min_size=1, max_size=2)).map(
            lambda pairs: tuple(event for _, event in pairs)
        ),
        interrupted=st.sampled_from([*[None] * 9, Interruption.TIMEOUT, Interruption.PERSON]),
    )


def moments(mode: str) -> st.SearchStrategy[Moment]:
    works = st.builds(
        Works, replies(mode), st.tuples(st.booleans(), st.booleans()), st.one_of(st.none(), st.none(), edits)
    )
    dies = st.builds(Dies, replies(mode), st.integers(1, 5), st.booleans())
    return st.one_of(
        works, works, works, works, dies, orders, st.builds(Edits, edits), st.sampled_from([-3600.0, 301.0])
    )


@cache
def plays(mode: str) -> st.SearchStrategy[Play]:
    chosen = {
        "checks": st.sampled_from([(), ("make",), ("make", "make lint")]),
        "review": st.just(True) if modes.find(mode).reviewed else st.booleans(),
        "require_change": st.booleans(),
        "interactive": st.booleans(),
        "once": st.sampled_from([False, False, False, True]),
        "context": st.sampled_from(Context),
        "promise": st.sampled_from(["<promise>COMPLETE</promise>", "<promise>COMPLETE</promise>", None]),
        "supervisor_prompt": st.just("Look closely."),
        "options": st.fixed_dictionaries(
            {},
            optional={"route": st.sampled_from(["direct", "planned", "ui_flow", "ralph", "architect"])},
        ),
    }
    return st.builds(
        Play,
        chosen=st.fixed_dictionaries(chosen),
        abilities=st.sampled_from([(), ("resume",), ("resume", "fork")]),
        budget=st.none() | st.integers(0, 8),
        moments=st.lists(moments(mode), max_size=14),
        person=st.lists(st.sampled_from(SAID), max_size=6),
        last=st.lists(
            st.builds(Reply, answers(mode, st.none()), changes=st.just(Changes("d"))), min_size=1, max_size=3
        ),
    )
