"""The live state file: what is written reads back as itself, and no edit, however wild, breaks the loop or raises its budget."""

from __future__ import annotations

import json
import string

from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.mutations import Draw, damaged_bytes, tried

from untildone.core.apply import apply
from untildone.core.events import AnswerRead, Entry, LiveStateSeen
from untildone.core.loop import Loop, Turn
from untildone.core.model import (
    AgentChoice,
    Budget,
    LoopSettings,
    Role,
    SessionUse,
    Spend,
    Status,
    Subtask,
    SubtaskStatus,
)
from untildone.core.values.codec import from_json, to_json
from untildone.core.values.value import replace
from untildone.modes.phases.edits import news_of
from untildone.modes.phases.live_file import PROMISE, render
from untildone.modes.phases.mode import MODE
from untildone.modes.phases.news import News
from untildone.modes.phases.state import ROUTES, State

NOW = 1794765000.0
WORDS = ("Write", "the parser", "(after 1)", "(failed)", "[x]", "- [ ]", "Subtask 3:", "Phase 2", "# x", "<!--", "-->", PROMISE,
         "```", "`a`", "> q", ":", "1.", "é😀", "none", "(none)", "Status: USER_ABORT", "Max Allowed: 99",
         "\n", "\r\n", "## Promise")  # fmt: skip
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), min_size=1, max_size=5).map(" ".join)
plain_texts = st.text(string.ascii_letters + " é", min_size=1, max_size=30).map(str.strip).filter(bool)


@st.composite
def loops(draw: Draw, words: st.SearchStrategy[str] = texts) -> Loop:
    """A loop in phases, somewhere on its way."""
    route = draw(st.sampled_from(("", *ROUTES)))
    phases = len(ROUTES[route].phases) if route else 0
    count = draw(st.integers(0, 5)) if route else 0
    names = [f"s{number}" for number in range(1, count + 1)]
    tasks = tuple(
        Subtask(
            name,
            draw(words),
            draw(st.sampled_from(SubtaskStatus)),
            tuple(draw(st.lists(st.sampled_from(names), max_size=2, unique=True))),
        )
        for name in names
    )
    state = State(
        route,
        tuple(range(1, draw(st.integers(0, phases)) + 1)),
        {str(n): draw(words) for n in draw(st.lists(st.integers(1, max(1, phases)), max_size=3, unique=True))},
        draw(st.none() | st.integers(0, 100).map(float)),
    )
    settings = LoopSettings(
        "phases", AgentChoice("worker", "scripted"), "/workspace", options={"route": route or "auto"}
    )
    return Loop(
        "loop-1", "Build it", "Build it", settings, Budget(iterations=draw(st.none() | st.integers(1, 30))), NOW, NOW,
        seq=1, status=draw(st.sampled_from((Status.RUNNING, Status.PAUSED))), spend=Spend(iterations=draw(st.integers(0, 9))),
        tasks=tasks, skill_state=state.as_json(), turn=draw(st.none() | st.just(at_work())),
    )  # fmt: skip


def at_work() -> Turn:
    return Turn(Role.WORKER, 1, 1, "worker", SessionUse.NEW, NOW)


def absorbed(loop: Loop, text: str) -> tuple[AnswerRead, Loop]:
    """What an edit comes to, as the engine has it: seen, read, folded."""
    seen = apply(loop, Entry(loop.seq + 1, NOW, LiveStateSeen(text, render(loop))))
    read = MODE.absorb(seen, text)
    json.dumps(to_json(read), allow_nan=False)
    assert from_json(AnswerRead, json.loads(json.dumps(to_json(read)))) == read, "the journal gives back what was read"
    return read, apply(seen, Entry(seen.seq + 1, NOW, read))


@tried(0.5)
@given(loop=loops())
def test_what_was_written_is_no_news(loop: Loop) -> None:
    assert news_of(loop, render(loop)) == News()
    assert news_of(loop, render(loop).replace("\n", "\r\n")) == News(), "nor with other line ends"


def test_of_two_subtasks_with_the_same_words_the_done_one_stays_done() -> None:
    listed = (
        Subtask("s1", "Write tests"),
        Subtask("s2", "Write tests", SubtaskStatus.COMPLETED),
        Subtask("s3", "Docs"),
    )
    settings = LoopSettings("phases", AgentChoice("worker", "scripted"), "/workspace", options={"route": "direct"})
    loop = Loop("loop-1", "t", "t", settings, Budget(), NOW, NOW, seq=1, status=Status.RUNNING, tasks=listed)
    assert news_of(loop, render(loop)) == News()
    _, after = absorbed(loop, render(loop).replace("- [ ] Subtask 3", "- [x] Subtask 3"))
    assert [task.status for task in after.tasks] == [
        SubtaskStatus.PENDING,
        SubtaskStatus.COMPLETED,
        SubtaskStatus.COMPLETED,
    ]


@tried(0.5)
@given(loop=loops(plain_texts))
def test_a_ticked_box_is_a_done_task_and_nothing_else(loop: Loop) -> None:
    loop = replace(
        loop,
        turn=None,
        # A box whose subtask depends on another that is not done does not count, and says so.
        tasks=tuple(replace(task, text=f"{task.task_id} {task.text}", depends_on=()) for task in loop.tasks),
    )
    text = render(loop)
    if "- [ ] " not in text:
        return
    place = text.index("- [ ] ")
    read, after = absorbed(loop, text[:place] + "- [x] " + text[place + 6 :])
    first = next(task for task in loop.tasks if task.status is not SubtaskStatus.COMPLETED)
    assert [(change.task_id, change.status) for change in read.tasks] == [(first.task_id, SubtaskStatus.COMPLETED)]
    assert [task.text for task in after.tasks] == [task.text for task in loop.tasks]


@tried(0.5)
@given(loop=loops(), draws=st.data())
def test_any_edit_leaves_a_loop_that_goes_on(loop: Loop, draws: st.DataObject) -> None:
    text = draws.draw(damaged_bytes(render(loop).encode("utf-8", "replace"), most=5)).decode("utf-8", "replace")
    read, after = absorbed(loop, text)
    assert after.spend == loop.spend, "an edit spends nothing"
    assert loop.turn is None or read.max_iterations is None, "no agent raises its own budget"
    assert {task.task_id for task in loop.tasks} <= {task.task_id for task in after.tasks}, "no subtask is lost"
    assert render(after).encode("utf-8", "replace"), "it can be written again"
    assert MODE.next(replace(after, turn=None, answer=None)).prompt, "and the agent can be asked"


@tried(0.5)
@given(loop=loops(), pieces=st.lists(texts, min_size=1, max_size=8))
def test_any_text_in_its_place_leaves_a_loop_that_goes_on(loop: Loop, pieces: list[str]) -> None:
    read, after = absorbed(loop, "\n".join(pieces))
    assert loop.turn is None or read.max_iterations is None
    assert {task.task_id for task in loop.tasks} <= {task.task_id for task in after.tasks}
    assert MODE.next(replace(after, turn=None, answer=None)).prompt


@tried(0.5)
@given(loop=loops(plain_texts), draws=st.data())
def test_an_edit_that_is_read_twice_counts_once(loop: Loop, draws: st.DataObject) -> None:
    """After a crash between two writings the file looks edited once more: that changes nothing."""
    text = draws.draw(damaged_bytes(render(loop).encode(), most=2)).decode("utf-8", "replace")
    _, once = absorbed(loop, text)
    again = apply(once, Entry(once.seq + 1, NOW, LiveStateSeen(render(once), text)))
    read = MODE.absorb(again, render(once))
    twice = apply(again, Entry(again.seq + 1, NOW, read))
    assert twice.tasks == once.tasks
    assert twice.budget == once.budget
