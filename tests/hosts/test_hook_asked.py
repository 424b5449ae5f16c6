"""What a person asked in a session, from the agents' own records: their words, once each, and nothing else."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone import agents
from untildone.core.plugins.transcript import Transcript
from untildone.hosts.hook.asked import CUT, LEFT_OUT, LONGEST, MOST, PromptCollector, merged
from untildone.hosts.hook.records import LONGEST_LINE, asked_in

Json = dict[str, Any]


def transcript(agent: str) -> Transcript:
    return agents.hook_of(agent).transcript


def claude(content: object, **more: object) -> Json:
    return {"type": "user", "isSidechain": False, "message": {"role": "user", "content": content}, **more}


def typed(text: str) -> Json:
    return claude(text, origin={"kind": "human"}, promptSource="typed")


def codex(kind: str, text: str) -> Json:
    item = {"type": kind, "content": [{"type": "text", "text": text}]}
    return {"type": "event_msg", "payload": {"type": "item_completed", "item": item}}


def gemini(text: str, identity: str) -> Json:
    return {"id": identity, "type": "user", "content": [{"text": text}]}


def copilot(text: str) -> Json:
    return {"type": "user.message", "data": {"content": text, "transformedContent": f"<date>today</date>{text}"}}


def block(text: str) -> Json:
    return {"type": "text", "text": text}


BLOCKED = {"type": "hook.end", "data": {"hookType": "agentStop", "output": {"decision": "block", "reason": "More."}}}
RECORDS: dict[str, tuple[list[object], list[str]]] = {
    "nothing": ([], []),
    "claude": ([typed("one"), {"type": "assistant", "message": {"content": "two"}}, typed("three")], ["one", "three"]),
    "claude, an older one": ([claude("one")], ["one"]),
    "claude, blocks": ([claude([block("one"), {"type": "image", "source": {}}, block("two")])], ["one\ntwo"]),
    "claude, while it works": (
        [
            {
                "type": "attachment",
                "attachment": {"type": "queued_command", "prompt": "one", "origin": {"kind": "human"}},
            }
        ],
        ["one"],
    ),
    "claude, a task in the background": (
        [{"type": "attachment", "attachment": {"type": "queued_command", "prompt": "x", "origin": {"kind": "task"}}}],
        [],
    ),
    "a tool's result": ([claude([{"type": "tool_result", "content": "x"}], toolUseResult={"stdout": "x"})], []),
    "a tool's result, an older one": ([claude([{"type": "tool_result", "content": "x"}])], []),
    "feedback of a hook": ([claude("Stop hook feedback:\nMore.", isMeta=True), claude("Stop hook feedback:\nx")], []),
    "a subagent's": ([claude("x", isSidechain=True)], []),
    "a summary": ([claude("x", isCompactSummary=True, isVisibleInTranscriptOnly=True)], []),
    "another's": ([claude("x", origin={"kind": "channel"})], []),
    "a shell's": ([claude("<bash-input>ls</bash-input>"), claude("<bash-stdout>x</bash-stdout>")], []),
    "a command": (
        [claude("<command-name>/cost</command-name>"), claude("<local-command-stdout>x</local-command-stdout>")],
        [],
    ),
    "interrupted": (
        [claude([block("[Request interrupted by user]")]), claude("[Request interrupted by user for x]")],
        [],
    ),
    "a reminder": (
        [claude("<system-reminder>x</system-reminder>"), claude("one\n<system-reminder>x\ny</system-reminder>")],
        ["one"],
    ),
    "round control": ([typed("[r+5]"), typed("[r+5] go on"), typed("see [r+5]")], ["go on", "see [r+5]"]),
    "for untildone": ([typed("/until-done one -r 3"), typed("until-done"), typed("until-done-status")], []),
    "codex": ([codex("UserMessage", "one"), codex("AgentMessage", "x"), codex("HookPrompt", "x")], ["one"]),
    "codex, an older one": ([{"type": "event_msg", "payload": {"type": "user_message", "message": "one"}}], ["one"]),
    "codex, what the model is told": (
        [{"type": "response_item", "payload": {"type": "message", "role": "user", "content": [block("one")]}}],
        [],
    ),
    "gemini": (
        [
            {"$set": {"messages": [gemini("<session_context>\nx", "0"), gemini("one", "1")]}},
            gemini("one", "1"),
            {"id": "2", "type": "user", "content": [{"functionResponse": {"name": "x"}}]},
            {"id": "3", "type": "warning", "content": "Agent execution blocked: More."},
            gemini("More.", "4"),
            gemini("two", "5"),
        ],
        ["one", "two"],
    ),
    "copilot": ([copilot("one"), BLOCKED, copilot("More."), copilot("two"), copilot("More.")], ["one", "two", "More."]),
    "rubbish": (
        ["user", ["user"], {"type": "user"}, claude(7), claude([7, {"text": 7}]), {"$set": "user"}, typed("one")],
        ["one"],
    ),
}


@pytest.mark.parametrize("case", RECORDS)
def test_only_what_the_person_said_is_heard(case: str) -> None:
    entries, expected = RECORDS[case]
    agent = case.partition(",")[0]
    words = PromptCollector(transcript(agent if agent in agents.hooked_names() else "claude"))
    for entry in entries:
        words.feed(json.dumps(entry).encode())
    assert list(words.asked) == expected


MERGED = {
    "nothing more": (["one", "two"], ["one", "two"], ["one", "two"]),
    "asked before": (["one", "two"], ["two"], ["one", "two"]),
    "asked elsewhere": (["one", "three"], ["one", "two", "three"], ["one", "two", "three"]),
    "not written down yet": (["one"], ["one", "two"], ["one", "two"]),
    "said beside": (["one", "two", "three"], ["one", "three"], ["one", "two", "three"]),
    "the same twice": (["go on", "one", "go on"], ["go on"], ["go on", "one", "go on"]),
    "no record": ([], ["one"], ["one"]),
    "a long one": (["x" * 9 + CUT], ["x" * 20], ["x" * 20]),
    "blanks around": (["one"], ["one\n"], ["one\n"]),
}


@pytest.mark.parametrize("case", MERGED)
def test_what_the_hook_delivered_is_not_doubled(case: str) -> None:
    in_transcript, heard, expected = MERGED[case]
    assert list(merged(in_transcript, heard)) == expected


@given(st.lists(st.sampled_from("abcd")), st.data())
def test_whatever_part_of_it_was_heard_all_is_there_once(in_transcript: list[str], data: st.DataObject) -> None:
    heard = [text for text in in_transcript if data.draw(st.booleans())]
    assert list(merged(in_transcript, heard)) == in_transcript


def test_of_very_much_the_first_and_the_last_are_kept() -> None:
    words = PromptCollector(transcript("claude"))
    for number in range(20_000):
        words.feed(json.dumps(typed(f"Do number {number}.")).encode())
    words.feed(json.dumps(typed("y" * 2 * LONGEST)).encode())
    first, last = words.asked[0], words.asked[-1]
    assert (first, last) == ("Do number 0.", "y" * LONGEST + CUT)
    gap = next(text for text in words.asked if "left out" in text)
    assert gap == LEFT_OUT.format(count=20_001 - (len(words.asked) - 1))
    assert sum(map(len, words.asked)) < 2 * MOST + LONGEST


def test_of_a_long_record_the_beginning_and_the_end_are_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    noise = json.dumps(claude([{"type": "tool_result", "content": "z" * 60_000}], toolUseResult={})) + "\n"
    with path.open("w") as file:
        file.write(json.dumps(typed("the first")) + "\n")
        file.write(json.dumps(typed("w" * (LONGEST_LINE + 9))) + "\n")
        file.writelines([noise] * 300)
        file.write(json.dumps(typed("in the middle")) + "\n")
        file.writelines([noise] * 300)
        file.write(json.dumps(typed("the last")) + "\n")
    tracemalloc.start()
    found = asked_in(transcript("claude"), str(path), part=1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == ("the first", "the last")
    assert peak < 3 * LONGEST_LINE


def test_no_record_and_no_file(tmp_path: Path) -> None:
    assert {asked_in(transcript("codex"), path) for path in ("/no/such/file", str(tmp_path), "")} == {()}


def test_a_copy_tells_what_was_asked_before_it_was_made(tmp_path: Path) -> None:
    """Codex writes down only where it was copied from."""

    def record(day: str, name: str, origin: tuple[str, int] | None, *said: tuple[int, str]) -> Path:
        path = tmp_path / "2026" / "11" / day / f"rollout-2026-11-{day}T01-02-03-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        from_where = {"forked_from_id": origin[0], "forked_from_ordinal_exclusive": origin[1]} if origin else {}
        about = {"type": "session_meta", "ordinal": 0, "payload": {"id": name, **from_where}}
        lines = [about, *({**codex("UserMessage", text), "ordinal": number} for number, text in said)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    record("14", "a", None, (3, "one"), (9, "after the copy"))
    record("15", "b", ("a", 5), (6, "two"))
    assert asked_in(transcript("codex"), str(record("16", "c", ("b", 8), (9, "three")))) == ("one", "two", "three")
    assert asked_in(transcript("codex"), str(record("16", "d", ("../../a", 8), (9, "four")))) == ("four",)
    assert asked_in(transcript("codex"), str(record("16", "e", ("e", 8), (1, "round")))) == ("round",) * 9, (
        "it ends, whatever is written there"
    )
    secret = tmp_path.parent / f"{tmp_path.name}-secret"
    record("14", "a", None, (3, "one")).rename(secret)
    links = tmp_path / "2026" / "11" / "13"
    links.mkdir()
    (links / "rollout-x-s.jsonl").symlink_to(secret)
    for origin, asked in (("b", ("two", "three")), ("s", ("three",))):
        with record("16", "c", (origin, 8), (9, "three")).open() as file:
            passed = f"/dev/fd/{file.fileno()}"
            assert asked_in(transcript("codex"), passed) == asked, "from a box, no link is followed"
