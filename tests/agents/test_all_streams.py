"""What holds for every agent and every recorded stream: no line is lost on us, and no damage to one breaks us."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.acp_agent import played

from untildone.agents import find, names
from untildone.core.model import Permissions, SessionUse
from untildone.core.plugins.agent_io import Conversation, Notice, Request, SessionKnown, ToolEnded, ToolStarted

STREAMS = sorted((Path(__file__).parent / "streams").glob("*/*.jsonl"))
CONVERSING = ("acp:codex", "acp:copilot", "acp:gemini", "acp:opencode", "acp:qwen")
RECORDED = ("claude", "codex", "copilot", "gemini", "opencode", *CONVERSING)
LAST_WORDS = ("result", "turn.completed", "turn.failed", "step_finish", "session/prompt")
WRONG: tuple[Any, ...] = (None, 7, "text", [], {}, [[1]], True, 1e999, "\ud800")
MOST_NOTICES = 10
NOW = 1794765000.0

every_stream = pytest.mark.parametrize("path", STREAMS, ids=[f"{path.parent.name}-{path.stem}" for path in STREAMS])
every_agent = pytest.mark.parametrize("name", [*RECORDED, "command"])


def request(**changes: Any) -> Request:
    return Request(
        **{"prompt": "do it", "command": "cat", "fresh_id": "0b5c7e0e-3d43-4c1a-9d0e-111111111111"} | changes
    )


def test_there_are_streams_of_every_program() -> None:
    assert {agent_of(path) for path in STREAMS} == set(RECORDED)


@every_stream
def test_every_line_is_understood(path: Path) -> None:
    reader = find(agent_of(path)).reader(request())
    events = [event for line in path.read_bytes().splitlines() for event in reader.feed(line)]
    kinds = Counter(type(event) for event in events)
    assert not [event for event in events if isinstance(event, Notice) and " printed a" in event.text]
    assert kinds[Notice] <= MOST_NOTICES
    assert kinds[ToolEnded] <= kinds[ToolStarted]
    assert all("\n" not in event.summary for event in events if isinstance(event, ToolStarted | ToolEnded))


@every_stream
def test_a_stream_that_is_cut_before_its_last_word_is_a_failure(path: Path) -> None:
    reader = find(agent_of(path)).reader(request())
    for line in path.read_bytes().splitlines():
        fields = json.loads(line)
        if fields.get("type", fields.get("id")) in LAST_WORDS:
            break
        reader.feed(line)
    answer = reader.finish(-9, "", NOW)
    assert answer.failure is not None
    assert (answer.text, answer.exit_code) == ("", -9)


@every_stream
def test_a_damaged_line_gives_a_notice_and_no_exception(path: Path) -> None:
    reader = find(agent_of(path)).reader(request())
    notices = 0
    for line in path.read_bytes().splitlines():
        notices += sum(isinstance(event, Notice) for event in reader.feed(line[: len(line) // 2]))
    assert 1 <= notices <= MOST_NOTICES
    assert reader.finish(0, "", NOW).failure is not None


@every_stream
def test_fields_of_the_wrong_type_break_nothing(path: Path) -> None:
    for wrong in WRONG:
        reader = find(agent_of(path)).reader(request())
        for line in path.read_bytes().splitlines():
            fields = json.loads(line)
            for name in fields:
                events = reader.feed(json.dumps(fields | {name: wrong}).encode())
                assert "\ud800" not in repr(events)
        reader.finish(0, "", NOW)


@every_agent
@pytest.mark.parametrize(
    "line", [b"", b"   ", b"\xff\xfe", b"[1, 2]", b"null", b"{", b"[" * 100_000, b"9" * 5000, b'{"type": "news"}']
)
def test_any_line_is_survived(name: str, line: bytes) -> None:
    reader = find(name).reader(request())
    reader.feed(line)
    assert reader.finish(1, "", NOW).failure is not None


@every_agent
def test_a_flood_of_stray_lines_is_no_flood_of_notices(name: str) -> None:
    reader = find(name).reader(request())
    events = [event for _ in range(1000) for event in reader.feed(b"(node:1) Warning: something")]
    assert sum(isinstance(event, Notice) for event in events) <= MOST_NOTICES


@every_agent
@pytest.mark.parametrize("prompt", ["--help", "-", "/clear", "$(touch x); `id`", "é\n😀\x00", "x" * 300_000, "\ud800"])
@pytest.mark.parametrize("permissions", Permissions)
def test_the_prompt_goes_to_standard_input_and_never_to_the_command_line(
    name: str, prompt: str, permissions: Permissions
) -> None:
    asked = request(prompt=prompt, permissions=permissions)
    assert prompt.encode("utf-8", "replace") in written(name, asked)
    assert not [word for word in find(name).invocation(asked).argv if prompt != "-" and prompt in word]


@every_agent
def test_a_huge_system_prompt_stays_within_the_bounds_of_an_argument(name: str) -> None:
    asked = request(system_prompt="be good\n" * 20_000)
    assert max(len(word.encode()) for word in find(name).invocation(asked).argv) < 128 * 1024
    assert b"be good" in written(name, asked)


@every_agent
def test_a_system_prompt_always_reaches_the_agent(name: str) -> None:
    for session in (SessionUse.NEW, SessionUse.RESUME):
        asked = request(system_prompt="BE GOOD", session=session, session_id="s1")
        assert "BE GOOD" in whole_call(name, asked) or not find(name).capabilities.resume


@every_agent
def test_the_operating_system_takes_the_command_line(name: str) -> None:
    argv = find(name).invocation(request(system_prompt="a\0b \ud800 😀")).reporting_to("/report").argv
    assert not [word for word in argv if "\0" in word]
    assert [word.encode() for word in argv]


@every_agent
def test_model_and_extra_arguments_are_handed_on(name: str) -> None:
    asked = request(model="m1", args=("--extra", "two words"))
    argv = find(name).invocation(asked).argv
    assert "--extra" in argv
    assert "two words" in argv
    assert name == "command" or "--model=m1" in argv or "m1" in whole_call(name, asked).splitlines()


@every_agent
def test_what_an_agent_can_do_is_what_its_command_line_says(name: str) -> None:
    agent = find(name)
    if agent.capabilities.resume:
        assert "s1" in whole_call(name, request(session=SessionUse.RESUME, session_id="s1"))
    if agent.capabilities.fork:
        resumed = whole_call(name, request(session=SessionUse.RESUME, session_id="s1"))
        assert whole_call(name, request(session=SessionUse.FORK, session_id="s1")) != resumed
    assert agent.install


@every_agent
def test_a_session_without_an_id_is_a_new_one(name: str) -> None:
    assert whole_call(name, request(session=SessionUse.RESUME)) == whole_call(name, request())


def test_the_programs_are_all_there() -> None:
    assert {*RECORDED, "command"} <= set(names())


@every_stream
def test_the_session_is_told_once_and_before_the_end(path: Path) -> None:
    reader = find(agent_of(path)).reader(Request("go"))
    sessions = [
        event.session_id
        for line in path.read_bytes().splitlines()
        for event in reader.feed(line)
        if isinstance(event, SessionKnown)
    ]
    assert len(sessions) == len(set(sessions)) <= 1
    assert reader.finish(0, "", NOW).session_id == (sessions[0] if sessions else None)


def agent_of(path: Path) -> str:
    """The agent that printed a stream. A colon is no part of a file name on every system."""
    return path.parent.name.replace("acp-", "acp:")


def written(name: str, asked: Request) -> bytes:
    """What is written to the standard input of a program; of a conversation, every text in its messages."""
    reader = find(name).reader(asked)
    if not isinstance(reader, Conversation):
        return find(name).invocation(asked).stdin or b""
    lines = played(reader)
    return "\n".join(text for line in lines for text in texts_in(line)).encode()


def whole_call(name: str, asked: Request) -> str:
    return "\n".join(find(name).invocation(asked).argv) + "\n" + written(name, asked).decode()


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)
