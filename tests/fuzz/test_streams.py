"""What agents print, damaged in every way: the reader never fails, and what it makes of it is always sound.

Sound is an answer that can be written to the journal and read back as it was, with no spend below nothing, no text that a file
cannot hold, and one session at most. A line that means nothing changes nothing; how the bytes were cut into chunks neither.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import chunks_of, damaged_bytes, deeply_nested, misshapen, shuffled_lines, tried

from untildone.agents import find
from untildone.core.model import Answer, Usage
from untildone.core.plugins.agent_io import AgentEvent, Notice, Request, SessionKnown, ToolEnded, ToolStarted
from untildone.core.values.codec import from_json, to_json
from untildone.system.program.lines import LineFramer

STREAMS = sorted((Path(__file__).parent.parent / "agents" / "streams").glob("*/*.jsonl"))
RECORDED = (
    "claude",
    "codex",
    "copilot",
    "gemini",
    "opencode",
    "acp:codex",
    "acp:copilot",
    "acp:gemini",
    "acp:opencode",
)
NOW = 1794765000.0
MOST_NOTICES = 12
MEANINGLESS = (b"", b"   ", b"\t", b'{"type": "untildone.tests.unheard.of"}', b'{"type":"news","text":"hello"}')


@cache
def recorded(agent: str) -> tuple[list[bytes], ...]:
    """The recorded streams of a program, each not too long to be tried many times."""
    lines = (path.read_bytes().splitlines() for path in STREAMS if path.parent.name == agent.replace(":", "-"))
    return tuple(found[:40] for found in lines)


def streams(agent: str) -> st.SearchStrategy[list[bytes]]:
    return st.sampled_from(recorded(agent))


def foreign_lines(agent: str) -> st.SearchStrategy[bytes]:
    """Lines that other programs print, and lines that none does."""
    others = [line for other in RECORDED if other != agent for lines in recorded(other)[:3] for line in lines[:5]]
    return st.sampled_from(others) | st.binary(max_size=60).map(lambda line: line.replace(b"\n", b""))


def read(agent: str, lines: list[bytes], exit_code: int = 0, stderr: str = "") -> tuple[list[AgentEvent], Answer]:
    reader = find(agent).reader(Request("do it"))
    events = [event for line in lines for event in reader.feed(line)]
    return events, reader.finish(exit_code, stderr, NOW)


def check_sound(events: list[AgentEvent], answer: Answer) -> None:
    written = json.dumps(to_json(answer), allow_nan=False)
    assert from_json(Answer, json.loads(written)) == answer, "the journal gives back what was written"
    told = json.dumps(to_json([*events, answer]), ensure_ascii=False)
    assert told.encode(), "every text can be written to a file"
    for usage in (answer.usage, answer.session_total or Usage()):
        assert all(value is None or 0 <= value < 1e15 for value in (usage.cost_usd, usage.tokens)), "a possible spend"
    lifts = answer.failure.reset_at if answer.failure else None
    assert lifts is None or abs(lifts - NOW) < 41 * 86400, "a limit lifts within weeks"
    assert sum(isinstance(event, Notice) and " printed a" in event.text for event in events) <= MOST_NOTICES
    shown = [event.summary for event in events if isinstance(event, ToolStarted | ToolEnded)]
    assert not [summary for summary in shown if "\n" in summary], "a summary is one line"
    sessions = [event.session_id for event in events if isinstance(event, SessionKnown)]
    assert all(sessions), "a session has a name"
    assert answer.session_id is None or not sessions or answer.session_id in sessions


every_agent = pytest.mark.parametrize("agent", RECORDED)


@every_agent
@tried(0.5)
@given(draws=st.data(), exit_code=st.integers(-15, 255), stderr=st.text(max_size=60))
def test_lines_lost_doubled_exchanged_and_foreign(
    agent: str, draws: st.DataObject, exit_code: int, stderr: str
) -> None:
    lines = draws.draw(streams(agent).flatmap(lambda found: shuffled_lines(found, foreign_lines(agent))))
    check_sound(*read(agent, lines, exit_code, stderr))


@every_agent
@tried(0.7)
@given(draws=st.data())
def test_a_wrong_value_anywhere(agent: str, draws: st.DataObject) -> None:
    lines = draws.draw(streams(agent).filter(bool))
    at = draws.draw(st.integers(0, len(lines) - 1))
    told: Any = draws.draw(misshapen(json.loads(lines[at])))
    check_sound(*read(agent, [*lines[:at], json.dumps(told).encode(), *lines[at + 1 :]]))


@every_agent
@tried(0.5)
@given(draws=st.data())
def test_damaged_bytes_in_any_chunks_are_read_as_the_whole(agent: str, draws: st.DataObject) -> None:
    """The reference is the obvious reading: all at once, split at line ends."""
    ending = draws.draw(st.sampled_from((b"\n", b"\r\n")))
    whole = draws.draw(streams(agent).flatmap(lambda lines: damaged_bytes(ending.join(lines))))
    framed: list[bytes] = []
    framer = LineFramer(framed.append)
    for chunk in draws.draw(chunks_of(whole)):
        framer.feed(chunk)
    framer.finish()
    *lines, last = whole.split(b"\n")
    obvious = [line.removesuffix(b"\r") for line in (*lines, *([last] if last else []))]
    assert framed == obvious
    check_sound(*read(agent, framed))


@every_agent
@tried(0.5)
@given(draws=st.data())
def test_a_line_that_means_nothing_changes_nothing(agent: str, draws: st.DataObject) -> None:
    lines = draws.draw(streams(agent))
    padded = list(lines)
    for _ in range(draws.draw(st.integers(1, 5))):
        padded.insert(draws.draw(st.integers(0, len(padded))), draws.draw(st.sampled_from(MEANINGLESS)))
    assert read(agent, padded) == read(agent, lines)


@every_agent
@tried(0.5)
@given(draws=st.data())
def test_what_was_told_stays_told_whatever_follows(agent: str, draws: st.DataObject) -> None:
    """Of a real stream that is cut at any place: what was spent by then is in what was spent in all, and is not given back."""
    lines = draws.draw(streams(agent))
    cut = draws.draw(st.integers(0, len(lines)))
    begun, whole = read(agent, lines[:cut])[1], read(agent, lines)[1]
    for before, after in ((begun.usage, whole.usage), (begun.session_total or Usage(), whole.session_total or Usage())):
        assert (after.tokens or 0) >= (before.tokens or 0)
        assert (after.cost_usd or 0.0) >= (before.cost_usd or 0.0)


def test_an_unknown_line_between_two_pieces_cuts_no_text_in_two() -> None:
    said = [b'{"type":"message","role":"assistant","content":"<promise>COM","delta":true}']
    said += [b'{"type":"untildone.tests.news"}', b'{"type":"message","role":"assistant","content":"PLETE</promise>"}']
    _, answer = read("gemini", [*said, b'{"type":"result","status":"success","stats":{"total_tokens":-5}}'])
    assert answer.text == "<promise>COMPLETE</promise>"
    assert answer.usage.tokens is None, "nobody spends less than nothing"


def test_a_limit_that_lifts_in_a_million_years_is_not_believed() -> None:
    told = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1e300}}
    ended = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "result": "usage limit reached",
        "errors": ["\ud800"],
    }
    events, answer = read("claude", [json.dumps(line).encode() for line in (told, ended)])
    check_sound(events, answer)


@every_agent
@pytest.mark.parametrize("depth", [100, 990, 5_000, 100_000])
def test_nesting_of_any_depth(agent: str, depth: int) -> None:
    for lines in recorded(agent)[:2]:
        deep = deeply_nested(depth)
        told = json.loads(lines[0])
        inside = [json.dumps({**told, name: 0}).encode().replace(b": 0", b": " + deep, 1) for name in told]
        check_sound(*read(agent, [*lines[:1], deep, *inside, *lines[1:]]))


@tried(1.0)
@given(stdout=st.binary(max_size=200), exit_code=st.integers(-15, 255), stderr=st.text(max_size=80))
@example(stdout=b"\xff\xfe\x00", exit_code=0, stderr="\ud800")
def test_any_program_answers_with_what_it_printed(stdout: bytes, exit_code: int, stderr: str) -> None:
    reader = find("command").reader(Request("do it", command="cat"))
    for line in stdout.split(b"\n"):
        reader.feed(line)
    answer = reader.finish(exit_code, stderr, NOW)
    assert answer.failure is None or exit_code != 0, (
        "no word of it is a limit, and its exit code says that all went well"
    )
    assert answer.text == stdout.decode("utf-8", "replace").strip()
    json.dumps(to_json(answer), allow_nan=False)
