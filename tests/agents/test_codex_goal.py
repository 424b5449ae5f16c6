"""Codex's own goal loop: the conversation with its server, and what its recorded stream comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from untildone.agents import find
from untildone.core.model import Answer, FailureKind, Permissions, SessionUse
from untildone.core.plugins.agent_io import Conversation, Request, Said, ToolStarted, Used
from untildone.core.prices import Price, Prices
from untildone.core.values.value import replace

CODEX = find("codex")
GOAL = Request("Write final.txt", goal=True, folder="/work", permissions=Permissions.EDIT)
STREAM = (Path(__file__).parent / "streams" / "codex" / "goal.jsonl").read_bytes().splitlines()
NOW = 1794765000.0


def conversation(request: Request = GOAL) -> Conversation:
    talk = CODEX.reader(request)
    assert isinstance(talk, Conversation)
    return talk


def sent(talk: Conversation) -> list[dict[str, Any]]:
    return [json.loads(line) for line in talk.outgoing().splitlines()]


def told(talk: Conversation, *messages: dict[str, Any]) -> Conversation:
    for message in messages:
        talk.feed(json.dumps(message).encode())
    return talk


def opened(request: Request = GOAL) -> Conversation:
    talk = told(conversation(request), {"id": "initialize", "result": {}})
    method = "thread/resume" if request.session is SessionUse.RESUME else "thread/start"
    return told(talk, {"id": method, "result": {"thread": {"id": "t1"}}})


def goal(status: str) -> dict[str, Any]:
    return {"method": "thread/goal/updated", "params": {"goal": {"status": status}}}


def ended(error: str = "") -> dict[str, Any]:
    return {
        "method": "turn/completed",
        "params": {"turn": {"id": "u1", "error": {"message": error} if error else None}},
    }


STARTED = {"method": "turn/started", "params": {"turn": {"id": "u1"}}}


def answer(*messages: dict[str, Any]) -> Answer:
    return told(opened(), goal("active"), STARTED, *messages).finish(0, "", NOW)


def test_the_recorded_goal_is_a_claim_with_the_last_words_and_all_tokens() -> None:
    talk = conversation()
    events = [event for line in STREAM for event in talk.feed(line)]
    come = talk.finish(0, "", NOW)
    assert talk.has_ended
    assert (come.claims, come.text, come.failure) == (True, "All is done.", None)
    assert come.session_total is not None
    assert come.session_total.tokens == 1771
    assert [event.text for event in events if isinstance(event, Said)] == ["One.", "Two.", "All is done."]
    assert [event.summary for event in events if isinstance(event, ToolStarted)] == ["echo x > made.txt"]
    assert [event.usage.tokens for event in events if isinstance(event, Used)][-1] == 1771


def test_what_is_asked_of_the_server() -> None:
    assert CODEX.invocation(GOAL).argv[:2] == ("codex", "app-server")
    talk = opened(replace(GOAL, session=SessionUse.RESUME, session_id="t1", model="m"))
    first, ready, resume, aim = sent(talk)
    assert (first["method"], ready["method"]) == ("initialize", "initialized")
    rights = {"approvalPolicy": "never", "sandbox": "workspace-write"}
    assert resume["params"] == {"threadId": "t1", "model": "m", "cwd": "/work", **rights}
    assert aim["params"] == {"threadId": "t1", "objective": "Write final.txt", "status": "active"}


@pytest.mark.parametrize("request_", [replace(GOAL, prompt="x" * 4001), replace(GOAL, reviews=True), Request("go")])
def test_without_a_goal_it_is_an_ordinary_run(request_: Request) -> None:
    assert CODEX.invocation(request_).argv[1] == "exec"
    assert not isinstance(CODEX.reader(request_), Conversation)


@pytest.mark.parametrize(("status", "claims"), [("complete", True), ("blocked", False), ("paused", False)])
def test_only_a_complete_goal_is_a_claim(status: str, claims: bool) -> None:
    come = answer(goal(status), ended())
    assert (come.claims, come.failure) == (claims, None)


def test_a_goal_goes_on_while_it_is_active_and_is_bounded() -> None:
    talk = told(opened(), goal("active"), *[ended()] * 19)
    assert not talk.has_ended
    assert told(talk, ended()).has_ended
    assert not talk.finish(0, "", NOW).claims


def test_failures() -> None:
    limited = answer(goal("usageLimited"), ended()).failure
    assert limited is not None
    assert limited.kind is FailureKind.LIMIT
    failed = answer(goal("complete"), ended("exceeded retry limit, last status: 429 Too Many Requests"))
    assert failed.failure is not None
    assert (failed.failure.kind, failed.claims) == (FailureKind.LIMIT, False)
    refused = told(opened(), {"id": "thread/goal/set", "error": {"message": "too long"}}).finish(0, "", NOW).failure
    assert refused is not None
    assert (refused.kind, refused.message) == (FailureKind.UNAVAILABLE, "codex refused thread/goal/set: too long")
    died = opened().finish(-9, "", NOW)
    assert died.failure is not None
    assert not died.claims


def test_an_interrupt_pauses_the_goal_and_its_end_is_no_claim() -> None:
    talk = told(opened(), goal("active"), STARTED)
    talk.outgoing()
    talk.interrupt()
    pause, stop = sent(talk)
    assert (pause["params"]["status"], stop["params"]) == ("paused", {"threadId": "t1", "turnId": "u1"})
    told(talk, {"id": "turn/interrupt", "error": {"message": "no active turn to interrupt"}})
    assert talk.has_ended
    assert (talk.finish(0, "", NOW).claims, talk.finish(0, "", NOW).failure) == (False, None)


def test_a_request_of_the_server_is_refused() -> None:
    talk = opened()
    talk.outgoing()
    told(talk, {"id": 7, "method": "item/commandExecution/requestApproval", "params": {}})
    (refused,) = sent(talk)
    assert (refused["id"], refused["error"]["code"]) == (7, -32601)


def test_a_goal_that_was_killed_has_used_what_it_reported_until_then() -> None:
    used = {"total": {"inputTokens": 90, "outputTokens": 20, "totalTokens": 110}, "last": {"totalTokens": 110}}
    killed = told(opened(), STARTED, {"method": "thread/tokenUsage/updated", "params": {"tokenUsage": used}})
    come = killed.finish(-9, "", NOW)
    assert come.failure is not None
    assert come.session_total is not None
    assert come.session_total.tokens == 110


def used(tokens: int, total: int, thread: str = "t1") -> dict[str, Any]:
    counts = {"total": {"inputTokens": total}, "last": {"inputTokens": tokens}}
    return {"method": "thread/tokenUsage/updated", "params": {"threadId": thread, "tokenUsage": counts}}


def test_dollars_are_known_while_a_goal_runs_from_the_model_that_the_program_names() -> None:
    talk = conversation(replace(GOAL, prices=Prices("2026-01-01", {"scripted-model": Price(10, 100, 1, 12)})))
    events = [event for line in STREAM for event in talk.feed(line)]
    dollars = [event.usage.cost_usd for event in events if isinstance(event, Used)]
    assert dollars[0] == pytest.approx((100 * 10 + 20 * 100) / 1e6)
    come = talk.finish(0, "", NOW)
    assert come.session_total is not None
    assert dollars[-1] == pytest.approx(come.session_total.cost_usd)
    assert come.priced == "2026-01-01"


def test_an_agent_that_codex_starts_is_counted_and_does_not_end_or_answer_the_goal() -> None:
    said = {"type": "agentMessage", "id": "m", "text": "only the helper"}
    helper = (
        {"method": "turn/started", "params": {"threadId": "t2", "turn": {"id": "u2"}}},
        {"method": "item/completed", "params": {"threadId": "t2", "item": said}},
        used(50, 50, "t2"),
        {"method": "thread/goal/updated", "params": {"threadId": "t2", "goal": {"status": "complete"}}},
        {"method": "turn/completed", "params": {"threadId": "t2", "turn": {"id": "u2", "error": None}}},
    )
    talk = told(opened(), goal("active"), STARTED, used(100, 100), *helper)
    assert not talk.has_ended
    (seen,) = talk.feed(json.dumps(used(7, 107)).encode())
    assert isinstance(seen, Used)
    assert (seen.usage.tokens, seen.session_growth.tokens) == (157, 107)
    come = told(talk, goal("complete"), ended()).finish(0, "", NOW)
    assert (come.text, come.usage.tokens, come.session_total and come.session_total.tokens) == ("", 157, 107)


def test_what_an_earlier_run_of_the_session_used_is_not_counted_when_it_is_repeated() -> None:
    talk = opened(replace(GOAL, session=SessionUse.RESUME, session_id="t1"))
    assert not talk.feed(json.dumps(used(900, 5000)).encode())
    told(talk, goal("active"), STARTED)
    (seen,) = talk.feed(json.dumps(used(7, 5007)).encode())
    assert isinstance(seen, Used)
    assert seen.usage.tokens == 7


def test_the_session_is_not_open_before_it_has_its_goal() -> None:
    talk = opened()
    assert not talk.is_open, "it may hang at this step too"
    assert told(talk, {"id": "thread/goal/set", "result": {}}).is_open


def test_requests_of_the_program_are_bounded_in_number_and_size() -> None:
    talk = told(
        opened(), {"id": "initialize", "result": {}}, {"id": "thread/start", "result": {"thread": {"id": "t2"}}}
    )
    assert [message["method"] for message in sent(talk)] == [
        "initialize",
        "initialized",
        "thread/start",
        "thread/goal/set",
    ], "a second answer changes nothing"
    for request_id in ("x" * 5_000, *range(2_000)):
        told(talk, {"id": request_id, "method": "item/commandExecution/requestApproval", "params": {}})
    assert len(talk.outgoing()) < 200_000
    failure = talk.finish(0, "", NOW).failure
    assert (talk.has_ended, failure and failure.kind) == (True, FailureKind.MALFORMED)
