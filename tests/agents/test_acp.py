"""covers: the conversation over the Agent Client Protocol, checked against the official package's models, and recorded streams."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp import schema
from acp.meta import AGENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel
from tests.agents.conftest import NOW, STREAMS, Play
from tests.support.acp_agent import OPENED, AcpAgent

from untildone.agents import exists, find, names
from untildone.agents.acp import messages
from untildone.agents.acp.conversation import MOST_REQUESTS
from untildone.agents.acp.known import KNOWN
from untildone.core.errors import UsageError
from untildone.core.model import Answer, FailureKind, Permissions, SessionUse
from untildone.core.plugins.agent_io import Conversation, Notice, Request, Said, SessionKnown, ToolEnded, ToolStarted

REQUESTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/fork": schema.ForkSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def agent(name: str = "acp:opencode", request: Request | None = None, **answers: Any) -> AcpAgent:
    conversation = find(name).reader(request or Request("Do it.", folder="/work"))
    assert isinstance(conversation, Conversation)
    return AcpAgent(conversation, **answers)


def asked(name: str = "acp:opencode", request: Request | None = None, **answers: Any) -> AcpAgent:
    """An agent that was asked and has not answered yet."""
    return agent(name, request, **answers).answer_before("session/prompt")


def ended(told: AcpAgent, **result: Any) -> Answer:
    told.say({"id": "session/prompt", "result": {"stopReason": "end_turn", **result}})
    assert told.conversation.has_ended
    return told.conversation.finish(0, "", NOW)


@pytest.mark.parametrize("use", SessionUse)
@pytest.mark.parametrize("name", ["acp:opencode", "acp:gemini", "acp:codex", "acp:some --program"])
def test_every_message_is_one_of_the_protocol(name: str, use: SessionUse) -> None:
    request = Request("/do it", session=use, session_id="s1", model="m1", folder="/work", permissions=Permissions.READ)
    told = asked(name, request)
    told.conversation.interrupt()
    told.answer_all()
    for message in told.written:
        assert message["jsonrpc"] == "2.0"
        assert message["method"] in AGENT_METHODS.values()
        model = REQUESTS[message["method"]]
        assert model.model_validate(message["params"]).model_dump(by_alias=True, exclude_unset=True, mode="json")
    assert messages.VERSION == PROTOCOL_VERSION
    assert told.methods[0] == "initialize"


def test_no_file_and_no_terminal_is_offered() -> None:
    offered = agent().answer_all().written[0]["params"]["clientCapabilities"]
    assert offered == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


@pytest.mark.parametrize(
    ("name", "use", "capabilities", "method"),
    [
        ("acp:copilot", SessionUse.NEW, {}, "session/new"),
        ("acp:copilot", SessionUse.RESUME, {"loadSession": True}, "session/load"),
        (
            "acp:opencode",
            SessionUse.RESUME,
            {"loadSession": True, "sessionCapabilities": {"resume": {}}},
            "session/resume",
        ),
        ("acp:opencode", SessionUse.FORK, {"sessionCapabilities": {"fork": {}}}, "session/fork"),
        ("acp:any", SessionUse.RESUME, {"loadSession": True}, "session/load"),
    ],
)
def test_a_session_is_opened_as_the_program_can(
    name: str, use: SessionUse, capabilities: dict[str, Any], method: str
) -> None:
    request = Request("Do it.", session=use, session_id="s1", folder="/work")
    told = agent(name, request, initialize={"protocolVersion": 1, "agentCapabilities": capabilities}).answer_all()
    opening = told.written[1]
    assert opening["method"] == method
    assert opening["params"]["cwd"] == "/work"
    assert opening["params"].get("sessionId") == (None if use is SessionUse.NEW else "s1")


@pytest.mark.parametrize(
    ("name", "use", "capabilities"),
    [
        ("acp:gemini", SessionUse.RESUME, {"loadSession": True}),
        ("acp:any", SessionUse.RESUME, {}),
        ("acp:any", SessionUse.FORK, {"loadSession": True}),
    ],
)
def test_a_session_that_cannot_be_opened_is_said_and_never_tried(
    name: str, use: SessionUse, capabilities: dict[str, Any]
) -> None:
    request = Request("Do it.", session=use, session_id="s1", folder="/work")
    told = agent(name, request, initialize={"protocolVersion": 1, "agentCapabilities": capabilities}).answer_all()
    assert told.methods == ["initialize"]
    assert told.conversation.has_ended
    failure = told.conversation.finish(0, "", NOW).failure
    assert failure is not None
    assert failure.kind is FailureKind.UNAVAILABLE, "the next attempt opens a new session"


def test_another_version_of_the_protocol_is_refused() -> None:
    told = agent(initialize={"protocolVersion": 2}).answer_all()
    failure = told.conversation.finish(0, "", NOW).failure
    assert failure is not None
    assert "speaks version 2 of the Agent Client Protocol" in failure.message


def test_the_history_of_a_loaded_session_is_no_answer() -> None:
    request = Request("Do it.", session=SessionUse.RESUME, session_id="s1", folder="/work")
    told = agent(
        "acp:copilot", request, initialize={"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}, load={}
    )
    told.update("agent_message_chunk", content={"type": "text", "text": "<promise>COMPLETE</promise>"})
    told.answer_before("session/prompt")
    told.update("agent_message_chunk", content={"type": "text", "text": "Not yet."})
    answer = ended(told, usage={"totalTokens": 12})
    assert (answer.text, answer.session_id) == ("Not yet.", "s1")
    assert told.events == [SessionKnown("s1"), Said("Not yet.")]


@pytest.mark.parametrize(
    ("permissions", "kind", "chosen"),
    [
        (Permissions.WORK, "execute", "once"),
        (Permissions.WORK, None, "once"),
        (Permissions.EDIT, "edit", "once"),
        (Permissions.EDIT, "execute", "no"),
        (Permissions.EDIT, "fetch", "no"),
        (Permissions.EDIT, None, "no"),
        (Permissions.READ, "read", "once"),
        (Permissions.READ, "edit", "no"),
        (Permissions.READ, "surprise", "no"),
    ],
)
def test_permission_is_answered_for_this_one_call(permissions: Permissions, kind: str | None, chosen: str) -> None:
    told = asked(request=Request("Do it.", permissions=permissions, folder="/work"))
    call = {"toolCallId": "t1", "title": "make it", **({"kind": kind} if kind else {})}
    told.say({"id": 7, "method": "session/request_permission", "params": {"toolCall": call, "options": OPTIONS}})
    told.answer_all()
    reply = told.written[-1]
    assert reply == {"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "selected", "optionId": chosen}}}
    schema.RequestPermissionResponse.model_validate(reply["result"])
    denied = () if chosen == "once" else (f"{kind or 'other'}: make it",)
    assert ended(told).denials == denied
    assert [event for event in told.events if isinstance(event, Notice)] == [
        Notice(f"not permitted: {d}") for d in denied
    ]


def test_a_reviewer_may_only_read_whatever_the_permissions_say() -> None:
    told = asked(request=Request("Judge it.", permissions=Permissions.WORK, reviews=True, folder="/work"))
    call = {"toolCallId": "t1", "kind": "edit"}
    told.say({"id": 7, "method": "session/request_permission", "params": {"toolCall": call, "options": OPTIONS}})
    told.answer_all()
    assert told.written[-1]["result"]["outcome"]["optionId"] == "no"


def test_a_question_without_a_fitting_option_is_cancelled() -> None:
    told = asked()
    told.say({"id": 7, "method": "session/request_permission", "params": {"toolCall": {}, "options": OPTIONS[2:]}})
    told.answer_all()
    assert told.written[-1]["result"] == {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create", "craft/drainMidTurnQueue"])
def test_nothing_else_can_be_asked_for(method: str) -> None:
    told = asked()
    told.say({"id": "q", "method": method, "params": {}})
    told.answer_all()
    assert told.written[-1]["error"]["code"] == -32601
    assert not told.conversation.has_ended


def test_a_flood_of_questions_ends_the_turn() -> None:
    told = asked()
    for number in range(MOST_REQUESTS + 10):
        told.say({"id": number, "method": "fs/read_text_file", "params": {}})
    assert told.conversation.has_ended
    assert len(told.conversation.outgoing().splitlines()) == MOST_REQUESTS
    failure = told.conversation.finish(0, "", NOW).failure
    assert failure is not None
    assert failure.kind is FailureKind.MALFORMED


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "Slow down."}, FailureKind.LIMIT),
        ({"code": 401, "message": "no"}, FailureKind.AUTH),
        ({"code": -32000, "message": "Authentication required"}, FailureKind.AUTH),
        ({"code": -32603, "message": "Internal error", "data": {"errorKind": "rate_limit"}}, FailureKind.LIMIT),
        ({"code": -32603, "message": "Internal error", "data": {"details": "invalid api key"}}, FailureKind.AUTH),
        ({"code": -32603, "message": "Internal error: Prompt is too long"}, FailureKind.CONTEXT_FULL),
        ({"code": -32603, "message": "Internal error: it is Tuesday"}, FailureKind.CRASHED),
        ({}, FailureKind.CRASHED),
    ],
)
def test_an_error_is_read_as_what_it_is(error: dict[str, Any], kind: FailureKind) -> None:
    told = asked()
    told.say({"id": "session/prompt", "error": error})
    answer = told.conversation.finish(0, "", NOW)
    assert told.conversation.has_ended
    assert answer.failure is not None
    assert (answer.failure.kind, bool(answer.failure.message)) == (kind, True)


@pytest.mark.parametrize(
    ("text", "usage", "kind"),
    [
        ("Error: 429 Slow down. Please try again in 4s.", None, FailureKind.LIMIT),
        ("Error: 429 Slow down. Please try again in 4s.", 120, FailureKind.LIMIT),
        ("exceeded retry limit, last status: 429 Too Many Requests", None, FailureKind.LIMIT),
        ("Error: Authentication failed with provider (HTTP 401).", None, FailureKind.AUTH),
        ("Error: something else", None, FailureKind.CRASHED),
        ("Error: something else", 120, None),
        ("The 429 errors are gone: authentication works.", 120, None),
        ("You've hit your usage limit.", 120, FailureKind.LIMIT),
    ],
)
def test_an_error_that_is_told_as_an_answer_is_none(text: str, usage: int | None, kind: FailureKind | None) -> None:
    told = asked("acp:copilot")
    told.update("agent_message_chunk", content={"type": "text", "text": text})
    answer = ended(told, **({"usage": {"totalTokens": usage}} if usage else {}))
    assert (answer.failure.kind if answer.failure else None) is kind
    assert answer.text == ("" if kind else text)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("refusal", FailureKind.REFUSED),
        ("cancelled", FailureKind.CRASHED),
        ("news", FailureKind.MALFORMED),
        ("max_tokens", None),
    ],
)
def test_how_a_turn_ended(reason: str, kind: FailureKind | None) -> None:
    failure = ended(asked(), stopReason=reason).failure
    assert (failure.kind if failure else None) is kind


def test_an_interruption_cancels_a_prompt_and_ends_what_has_none() -> None:
    told = asked()
    told.conversation.interrupt()
    assert not told.conversation.has_ended
    told.answer_all()
    assert (told.written[-1]["method"], told.written[-1]["params"]) == ("session/cancel", {"sessionId": "opened"})
    early = agent().conversation
    early.interrupt()
    assert early.has_ended


def test_the_text_after_the_last_tool_is_the_answer_and_the_plan_is_shown() -> None:
    told = asked()
    told.update("plan", entries=[{"content": "look", "status": "in_progress"}, {"content": "do", "status": "pending"}])
    told.update("agent_message_chunk", content={"type": "text", "text": "I look "})
    told.update("agent_message_chunk", content={"type": "text", "text": "around."})
    told.update("tool_call", toolCallId="t1", kind="execute", status="pending", rawInput={"cwd": "/work"})
    told.update("tool_call_update", toolCallId="t1", status="in_progress", rawInput={"command": "ls", "cwd": "/work"})
    told.update(
        "tool_call_update", toolCallId="t1", status="failed", content=[{"content": {"type": "text", "text": "no"}}]
    )
    told.update("agent_message_chunk", messageId="m1", content={"type": "text", "text": "One."})
    told.update("agent_message_chunk", messageId="m2", content={"type": "text", "text": "Two."})
    told.update("of_a_later_version", content="x")
    assert ended(told).text == "One.\n\nTwo."
    assert told.events[1:] == [
        Notice("plan, 0 of 2 done: look"),
        Said("I look around."),
        ToolStarted("execute", "ls"),
        ToolEnded("execute", False, "no"),
        Said("One."),
        Said("Two."),
    ]


def test_tokens_and_dollars_are_what_the_program_means_by_them() -> None:
    result = {"usage": {"totalTokens": 120, "inputTokens": 100, "outputTokens": 20}}
    answers = {}
    for name in ("acp:claude", "acp:copilot", "acp:opencode", "acp:any"):
        told = asked(name)
        told.update("usage_update", used=100, size=1000, cost={"amount": 0.5, "currency": "USD"})
        answers[name] = ended(told, **result)
    assert {name: answer.usage.tokens for name, answer in answers.items()} == {
        "acp:claude": 120,
        "acp:copilot": 120,
        "acp:opencode": None,
        "acp:any": None,
    }
    totals = {name: answer.session_total.cost_usd for name, answer in answers.items() if answer.session_total}
    assert totals == {"acp:claude": 0.5, "acp:opencode": 0.5}


def test_a_mode_and_a_model_are_chosen_before_the_prompt() -> None:
    request = Request("Do it.", model="m1", permissions=Permissions.READ, folder="/work")
    assert asked("acp:gemini", request).methods[2:] == ["session/set_mode", "session/prompt"]
    told = asked("acp:opencode", request)
    assert told.methods[2:] == ["session/set_config_option", "session/prompt"]
    assert told.written[2]["params"] == {"sessionId": "opened", "configId": "model", "value": "m1"}


def test_a_model_that_cannot_be_chosen_is_said() -> None:
    told = agent("acp:any", Request("Do it.", model="m1"), new={**OPENED, "configOptions": []}).answer_all()
    failure = told.conversation.finish(0, "", NOW).failure
    assert failure is not None
    assert (failure.kind, told.methods) == (FailureKind.UNAVAILABLE, ["initialize", "session/new"])
    refused = agent("acp:any", Request("Do it.", model="m1"), set_config_option={"error": {"message": "no m1"}})
    failure = refused.answer_all().conversation.finish(0, "", NOW).failure
    assert failure is not None
    assert "no m1" in failure.message


@pytest.mark.parametrize("prompt", ["/clear", "  /allow-all on", "\n/x"])
def test_a_prompt_is_no_command_of_the_program(prompt: str) -> None:
    told = asked(request=Request(prompt, folder="/work"))
    text = told.written[-1]["params"]["prompt"][0]["text"]
    assert prompt in text
    assert not text.strip().startswith("/")


def test_known_programs_are_listed_and_any_other_can_be_named() -> None:
    assert {f"acp:{name}" for name in KNOWN} <= set(names())
    assert find("acp:gemini").program == "gemini"
    assert find("acp:my-agent --acp 'two words'").invocation(Request("x", args=("more",))).argv == (
        "my-agent",
        "--acp",
        "two words",
        "more",
    )
    assert exists("acp:anything")
    assert not exists("qwen3:8b"), "a model"
    assert not exists("claude:opus")
    with pytest.raises(UsageError, match="cannot be split into words"):
        find("acp:'open")
    with pytest.raises(UsageError, match="needs a program to run"):
        find("acp").invocation(Request("x"))


def test_what_an_agent_shares_with_the_native_one() -> None:
    environment = {"HOME": "/home/ada"}
    for name in ("claude", "codex", "copilot", "gemini", "opencode"):
        own, native = find(f"acp:{name}"), find(name)
        assert own.needs(environment, ()) == native.needs(environment, ())
        assert own.settings_files(environment) == native.settings_files(environment)
        assert own.login == native.login
    assert find("acp:copilot").hand_back("s1") == ("copilot", "--resume", "s1")
    assert find("acp:gemini").hand_back("s1") is None


@pytest.mark.parametrize("name", ["copilot", "gemini", "opencode"])
def test_recorded_turns(play: Play, name: str) -> None:
    agent_name = f"acp:{name}"
    assert play(agent_name, "text").answer.text == "A first answer, in several chunks."
    tools = play(agent_name, "tools")
    assert tools.answer.text == "All done."
    assert [getattr(event, "tool", "") for event in tools.of(ToolStarted)] == ["edit", "execute"]
    assert [getattr(event, "ok", False) for event in tools.of(ToolEnded)] == [True, True]
    for stream, kind in (("error-401", FailureKind.AUTH), ("error-429", FailureKind.LIMIT)):
        failure = play(agent_name, stream).answer.failure
        assert failure is not None
        assert failure.kind is kind
    limit = play(agent_name, "error-429").answer.failure
    assert limit is not None
    assert limit.reset_at == NOW + 4
    cancelled = play(agent_name, "cancelled").answer.failure
    assert cancelled is not None
    assert "cancelled its turn" in cancelled.message


def test_recorded_usage(play: Play) -> None:
    assert play("acp:copilot", "tools").answer.usage.tokens == 360
    gemini = play("acp:gemini", "tools").answer
    assert (gemini.usage.tokens, gemini.model) == (360, "gemini-2.5-flash")
    assert gemini.usage.cost_usd == pytest.approx(0.00024)
    assert play("acp:opencode", "tools").answer.session_total is not None


@pytest.mark.parametrize("name", ["copilot", "opencode"])
def test_recorded_history_is_no_answer(play: Play, name: str) -> None:
    recorded = (STREAMS / f"acp-{name}" / "resumed.jsonl").read_bytes().splitlines()
    assert json.loads(recorded[0])["id"] == "initialize"
    assert play(f"acp:{name}", "resumed").answer.text == "Second."


def test_recorded_notes_of_codex_are_no_answer(play: Play) -> None:
    text = play("acp:codex", "text")
    assert text.answer.text == "A first answer."
    assert any("Model metadata" in getattr(event, "text", "") for event in text.of(Notice))
    assert play("acp:codex", "tools").answer.usage.tokens == 240
    assert play("acp:codex", "resumed").answer.text == "Second."
    for stream, kind in (("error-401", FailureKind.AUTH), ("error-429", FailureKind.LIMIT)):
        failure = play("acp:codex", stream).answer.failure
        assert failure is not None
        assert failure.kind is kind


def continued(told: AcpAgent, **request: Any) -> Conversation | None:
    """The conversation of the next turn on the same process."""
    usual = {"session": SessionUse.RESUME, "session_id": "opened", "folder": "/work", **request}
    return told.conversation.next_turn(Request("Go on.", **usual))


def next_agent(told: AcpAgent) -> AcpAgent:
    conversation = continued(told)
    assert conversation is not None
    return AcpAgent(conversation).answer_before("session/prompt")


def test_the_next_turn_is_a_prompt_in_the_open_session() -> None:
    first = asked()
    ended(first)
    told = next_agent(first)
    assert (told.conversation.is_open, told.methods) == (True, ["session/prompt"])
    assert told.written[0]["id"] == "session/prompt/2"
    assert told.written[0]["params"]["sessionId"] == "opened"
    told.update("agent_message_chunk", content={"type": "text", "text": "Gone on."})
    told.say({"id": "session/prompt", "result": {"stopReason": "end_turn"}})
    assert not told.conversation.has_ended, "that was a second answer to the first prompt"
    told.say({"id": "session/prompt/2", "result": {"stopReason": "end_turn"}})
    answer = told.conversation.finish(0, "", NOW)
    assert (answer.text, answer.session_id, answer.failure) == ("Gone on.", "opened", None)


def test_an_answer_that_was_printed_before_the_prompt_was_read_is_none() -> None:
    first = asked()
    ended(first)
    conversation = continued(first, fresh_id="a-word")
    assert conversation is not None
    told = AcpAgent(conversation).answer_before("session/prompt")
    for guess in ("session/prompt/2", "session/prompt/3", "session/prompt/"):
        told.say({"id": guess, "result": {"stopReason": "end_turn"}})
    assert not told.conversation.has_ended
    told.say({"id": told.written[0]["id"], "result": {"stopReason": "end_turn"}})
    assert (told.written[0]["id"], told.conversation.has_ended) == ("session/prompt/a-word", True)


@pytest.mark.parametrize(
    "change",
    [
        {"session": SessionUse.NEW, "session_id": None},
        {"session": SessionUse.FORK},
        {"session_id": "another"},
        {"session_id": None},
    ],
)
def test_another_session_needs_another_process(change: dict[str, Any]) -> None:
    told = asked()
    ended(told)
    assert continued(told) is not None
    assert continued(told, **change) is None


def test_a_turn_that_has_not_ended_well_has_no_next_one() -> None:
    told = asked()
    assert continued(told) is None
    told.say({"id": "session/prompt", "error": {"code": 429, "message": "Slow down."}})
    assert continued(told) is None


def test_what_comes_after_the_end_of_a_turn_is_of_no_turn() -> None:
    first = asked()
    answer = ended(first)
    first.update("agent_message_chunk", content={"type": "text", "text": "<promise>COMPLETE</promise>"})
    first.say({"id": 7, "method": "session/request_permission", "params": {"options": OPTIONS}})
    assert first.conversation.finish(0, "", NOW) == answer
    told = next_agent(first)
    refused, prompt = told.written
    assert (refused["id"], refused["result"], prompt["method"]) == (7, CANCELLED, "session/prompt")
    told.say({"id": "session/prompt/2", "result": {"stopReason": "end_turn"}})
    assert told.conversation.finish(0, "", NOW).text == ""


@pytest.mark.parametrize(
    ("name", "counted"),
    [("acp:copilot", [100, 30]), ("acp:codex", [100, 130]), ("acp:opencode", [None, None])],
)
def test_tokens_are_those_of_the_turn_whatever_the_program_counts(name: str, counted: list[int | None]) -> None:
    first = asked(name)
    tokens = [ended(first, usage={"totalTokens": 100}).usage.tokens]
    told = next_agent(first)
    told.say({"id": "session/prompt/2", "result": {"stopReason": "end_turn", "usage": {"totalTokens": 130}}})
    assert [*tokens, told.conversation.finish(0, "", NOW).usage.tokens] == counted


def test_dollars_that_come_after_the_turn_are_in_the_total_of_the_session() -> None:
    first = asked("acp:opencode")
    ended(first)
    first.update("usage_update", cost={"amount": 0.5, "currency": "USD"})
    told = next_agent(first)
    told.say({"id": "session/prompt/2", "result": {"stopReason": "end_turn"}})
    total = told.conversation.finish(0, "", NOW).session_total
    assert total is not None
    assert total.cost_usd == 0.5


def test_the_output_of_a_later_turn_can_be_read_again() -> None:
    reader = find("acp:opencode").reader(Request(""))
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Gone on."}}
    lines = (
        {"method": "session/update", "params": {"sessionId": "s1", "update": update}},
        {"id": "session/prompt/4", "result": {"stopReason": "end_turn"}},
    )
    events = [event for line in lines for event in reader.feed(json.dumps(line).encode())]
    assert events == [Said("Gone on.")]
    assert reader.finish(0, "", NOW).text == "Gone on."


def test_qwen_counts_each_request_and_has_its_own_folder(play: Play) -> None:
    tools = play("acp:qwen", "tools")
    assert (tools.answer.text, tools.answer.usage.tokens) == ("There is a draft; more.", 2582)
    assert [getattr(event, "tool", "") for event in tools.of(ToolStarted)] == ["edit"]
    needs = find("acp:qwen").needs({"HOME": "/home/ada", "OPENAI_BASE_URL": "http://127.0.0.1:99/v1"}, ())
    assert needs.writable == ("/home/ada/.qwen",)
    assert "127.0.0.1:99" in needs.hosts
    steering = [file.path for file in find("acp:qwen").settings_files({"HOME": "/home/ada"})]
    assert steering == [file.path for file in needs.read_only]


def test_a_turn_that_was_cancelled_is_permitted_nothing_more() -> None:
    told = asked(request=Request("Do it.", permissions=Permissions.WORK, folder="/work"))
    told.conversation.interrupt()
    call = {"toolCallId": "t1", "kind": "execute"}
    told.say({"id": 7, "method": "session/request_permission", "params": {"toolCall": call, "options": OPTIONS}})
    cancel, answer = told.answer_all().written[-2:]
    assert (cancel["method"], answer["id"], answer["result"]) == ("session/cancel", 7, CANCELLED)


def test_a_second_answer_to_an_earlier_request_changes_nothing() -> None:
    told = asked()
    told.update("agent_message_chunk", content={"type": "text", "text": "Done."})
    for _ in range(3):
        told.say({"id": "initialize", "result": {"protocolVersion": 9}})
        told.say({"id": "session/new", "result": {"sessionId": "another"}})
        told.say({"id": "session/new", "error": {"code": -32603, "message": "no"}})
    assert told.answer_all().methods.count("session/new") == 1
    answer = ended(told)
    assert (answer.text, answer.session_id, answer.failure) == ("Done.", "opened", None)


def test_the_session_is_not_open_before_its_mode_is_set() -> None:
    """Until then the program has little time: it may hang at this step too."""
    told = agent("acp:gemini", Request("Do it.", permissions=Permissions.READ, folder="/work"))
    talk = told.conversation
    for name, result in (("initialize", {"protocolVersion": 1}), ("session/new", OPENED)):
        told.say({"id": name, "result": result})
    assert b"session/set_mode" in talk.outgoing()
    assert not talk.is_open
    told.say({"id": "session/set_mode", "result": {}})
    assert talk.is_open


@pytest.mark.parametrize("request_id", ["x" * 2_000, {"a": 1}, [1], 1.5])
def test_a_request_whose_id_cannot_be_sent_back_ends_the_turn(request_id: object) -> None:
    told = asked()
    told.say({"id": request_id, "method": "fs/read_text_file", "params": {}})
    failure = told.conversation.finish(0, "", NOW).failure
    assert failure is not None
    assert (failure.kind, told.conversation.outgoing()) == (FailureKind.MALFORMED, b"")


def test_names_of_any_length_are_neither_kept_nor_sent_back() -> None:
    greeting = {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "9" * 100_000}}
    told = asked(initialize=greeting)
    told.say({"id": 1, "method": "x" * 100_000, "params": {}})
    assert len(told.conversation.outgoing()) < 10_000
    call = {"toolCallId": "t" * 100_000, "kind": "k" * 100_000}
    request = Request("Do it.", permissions=Permissions.READ, folder="/work")
    strict = asked(request=request)
    strict.say({"id": 7, "method": "session/request_permission", "params": {"toolCall": call, "options": OPTIONS}})
    assert len(repr((ended(told), ended(strict)))) < 20_000
    unnamed = agent(new={"sessionId": "s" * 100_000}).answer_all().conversation.finish(0, "", NOW)
    assert (unnamed.session_id, unnamed.failure and unnamed.failure.kind) == (None, FailureKind.MALFORMED)


def test_a_tool_without_an_id_lends_its_kind_to_no_other() -> None:
    told = asked(request=Request("Do it.", permissions=Permissions.EDIT, folder="/work"))
    for call, chosen in (({"kind": "read"}, "once"), ({}, "no")):
        told.say({"id": 7, "method": "session/request_permission", "params": {"toolCall": call, "options": OPTIONS}})
        assert told.answer_all().written[-1]["result"]["outcome"]["optionId"] == chosen
