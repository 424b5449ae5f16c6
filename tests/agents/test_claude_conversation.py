"""covers: several turns of claude in one process, on recorded streams: where a turn begins and ends, what it used, what comes between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.agents.conftest import NOW, STREAMS

from untildone.agents import find
from untildone.agents.claude.conversation import ClaudeConversation
from untildone.core.model import Answer, SessionUse
from untildone.core.plugins.agent_io import Conversation, Request

CLAUDE = find("claude")
LINES = (STREAMS / "claude" / "conversation.jsonl").read_bytes().splitlines()
BACKGROUND = (STREAMS / "claude" / "background.jsonl").read_bytes().splitlines()
SESSION = json.loads(LINES[0])["session_id"]
FIRST, SECOND = "0b5c7e0e-3d43-4c1a-9d0e-111111111111", "0b5c7e0e-3d43-4c1a-9d0e-222222222222"
TURN = next(place for place, line in enumerate(LINES) if SECOND.encode() in line)
"""The place of the first line of the second turn."""


def request(prompt: str = "first", **more: Any) -> Request:
    return Request(prompt, **{"fresh_id": "f1", "stays": True, **more})


def resumed(**more: Any) -> Request:
    return request("second", **{"session": SessionUse.RESUME, "session_id": SESSION, "fresh_id": "f2", **more})


def opened(**more: Any) -> Conversation:
    conversation = CLAUDE.reader(request(**more))
    assert isinstance(conversation, ClaudeConversation)
    return conversation


def message_of(conversation: Conversation) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(conversation.outgoing())
    return message


def play(conversation: Conversation, lines: list[bytes], recorded: str) -> Conversation:
    """Feed lines in which the message of the conversation has the recorded id."""
    own = message_of(conversation)["uuid"].encode()
    for line in lines:
        conversation.feed(line.replace(recorded.encode(), own))
    return conversation


def first_turn(**more: Any) -> Conversation:
    return play(opened(**more), LINES[:TURN], FIRST)


def second_turn(before: Conversation, **more: Any) -> Conversation:
    conversation = before.next_turn(resumed(**more))
    assert conversation is not None
    return conversation


def answer_of(conversation: Conversation) -> Answer:
    assert conversation.has_ended
    return conversation.finish(0, "", NOW)


@pytest.mark.parametrize("prompt", ["do it", "/clear", "é\n😀\x00", "\ud800", "x" * 300_000])
def test_the_prompt_is_a_message_and_never_a_command_of_the_program(prompt: str) -> None:
    invocation = CLAUDE.invocation(request(prompt))
    assert (invocation.stdin, "--input-format=stream-json" in invocation.argv) == (None, True)
    content = message_of(opened(prompt=prompt))["message"]["content"]
    assert content.removeprefix("\n") == prompt.replace("\ud800", "?")
    assert not content.startswith("/")


def test_each_turn_has_its_own_answer_and_usage() -> None:
    before = first_turn()
    first = answer_of(before)
    conversation = play(second_turn(before), LINES[TURN:], SECOND)
    second = answer_of(conversation)
    assert [(answer.text, answer.usage.tokens) for answer in (first, second)] == [("one", 120), ("two", 240)]
    assert [answer.usage.cost_usd for answer in (first, second)] == [pytest.approx(0.0008), pytest.approx(0.0016)]
    assert first.session_id == second.session_id == SESSION


@pytest.mark.parametrize(
    "change",
    [
        {"session": SessionUse.NEW},
        {"session": SessionUse.FORK},
        {"session_id": FIRST},
        {"session_id": None},
        {"max_cost_usd": 1.0},
    ],
)
def test_what_another_process_must_do_has_no_next_turn(change: dict[str, Any]) -> None:
    before = first_turn()
    assert before.next_turn(resumed()) is not None
    assert before.next_turn(resumed(**change)) is None


@pytest.mark.parametrize(("left", "goes_on"), [(0.9992, True), (0.5, False), (1.0, False), (None, False)])
def test_the_limit_of_dollars_of_the_process_is_what_is_left_of_it(left: float | None, goes_on: bool) -> None:
    assert (first_turn(max_cost_usd=1.0).next_turn(resumed(max_cost_usd=left)) is not None) is goes_on


def test_a_program_that_does_not_say_when_it_begins_serves_one_turn() -> None:
    silent = [line for line in LINES[:TURN] if b"command_lifecycle" not in line]
    conversation = play(opened(), silent, FIRST)
    assert (answer_of(conversation).text, conversation.next_turn(resumed())) == ("one", None)


def test_what_it_does_without_being_asked_is_no_answer_but_counts() -> None:
    unasked = [line for line in LINES[TURN:] if b"command_lifecycle" not in line]
    late = [line.replace(b'"two"', b'"<promise>COMPLETE</promise>"') for line in unasked]
    before = first_turn()
    for line in late:
        before.feed(line)
    assert answer_of(before).text == "one"
    conversation = second_turn(before)
    for line in late:
        conversation.feed(line)
    assert not conversation.has_ended, "it has not begun with the message yet"
    answer = answer_of(play(conversation, LINES[TURN:], SECOND))
    assert (answer.text, answer.usage.tokens) == ("two", 3 * 240)


def test_a_turn_with_tasks_in_the_background_ends_with_the_program() -> None:
    conversation = opened()
    own = message_of(conversation)["uuid"].encode()
    closed = []
    for line in BACKGROUND:
        conversation.feed(line.replace(FIRST.encode(), own))
        closed.append(conversation.has_said_all)
    assert (closed[0], closed[-1], conversation.has_ended) == (False, True, False)
    answer = conversation.finish(0, "", NOW)
    assert (answer.text, answer.usage.tokens) == ("it has ended", 360)
    assert conversation.next_turn(resumed()) is None


def test_it_is_interrupted_by_a_request() -> None:
    conversation = opened()
    conversation.outgoing()
    conversation.interrupt()
    assert json.loads(conversation.outgoing())["request"] == {"subtype": "interrupt"}


def test_a_reviewer_and_a_trial_have_a_process_for_one_turn() -> None:
    assert not isinstance(CLAUDE.reader(Request("go")), Conversation)
    assert CLAUDE.invocation(Request("go")).stdin == b"go"
