"""The scripted model API as a program sees it: over HTTP, in each dialect."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from untildone.testing.modelapi import (
    DEFAULT_TEXT,
    Fault,
    ModelAPI,
    ScriptError,
    Step,
    ToolCall,
    Usage,
    environment,
    parse_steps,
    read_script,
)

WAIT = 10.0
CONNECTION_LOST = (http.client.HTTPException, ConnectionError)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def events(self) -> list[Any]:
        lines = self.content.decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ") and line != "data: [DONE]"]


def request(api: ModelAPI, method: str, path: str, body: object = None, **headers: str) -> Reply:
    host, port = api.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=WAIT)
    try:
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        connection.request(method, path, content, headers)
        response = connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


TOOL = {"name": "shell"}


@dataclass(frozen=True, slots=True)
class Speaker:
    """How a client of one dialect asks, and reads the text, the tools and the tokens of an answer."""

    path: Callable[[bool], str]
    body: Callable[[str, bool], dict[str, Any]]
    whole_text: Callable[[Any], str]
    streamed_text: Callable[[list[Any]], str]
    tools: Callable[[Any], list[tuple[str, Any]]]
    tokens: Callable[[Any], tuple[int, int]]

    def ask(self, api: ModelAPI, text: str, *, stream: bool = False) -> Reply:
        return request(api, "POST", self.path(stream), self.body(text, stream))


def _messages(text: str, stream: bool) -> dict[str, Any]:
    return {"model": "m", "stream": stream, "tools": [TOOL], "messages": [{"role": "user", "content": text}]}


def _responses(text: str, stream: bool) -> dict[str, Any]:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"model": "m", "stream": stream, "tools": [TOOL], "input": [said]}


def _gemini_parts(chunks: list[Any]) -> list[Any]:
    return [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]


SPEAKERS: Mapping[str, Speaker] = {
    "anthropic": Speaker(
        path=lambda _: "/v1/messages?beta=true",
        body=_messages,
        whole_text=lambda reply: "".join(block.get("text", "") for block in reply["content"]),
        streamed_text=lambda events: "".join(event.get("delta", {}).get("text", "") for event in events),
        tools=lambda reply: [
            (block["name"], block["input"]) for block in reply["content"] if block["type"] == "tool_use"
        ],
        tokens=lambda reply: (
            reply["usage"]["input_tokens"]
            + reply["usage"]["cache_read_input_tokens"]
            + reply["usage"]["cache_creation_input_tokens"],
            reply["usage"]["output_tokens"],
        ),
    ),
    "openai_responses": Speaker(
        path=lambda _: "/v1/responses",
        body=_responses,
        whole_text=lambda reply: "".join(item["content"][0]["text"] for item in reply["output"] if "content" in item),
        streamed_text=lambda events: "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta"),
        tools=lambda reply: [
            (item["name"], json.loads(item["arguments"])) for item in reply["output"] if item["type"] == "function_call"
        ],
        tokens=lambda reply: (reply["usage"]["input_tokens"], reply["usage"]["output_tokens"]),
    ),
    "openai_chat": Speaker(
        path=lambda _: "/v1/chat/completions",
        body=_messages,
        whole_text=lambda reply: str(reply["choices"][0]["message"]["content"]),
        streamed_text=lambda events: "".join(
            choice["delta"].get("content") or "" for event in events for choice in event["choices"]
        ),
        tools=lambda reply: [
            (call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in reply["choices"][0]["message"]["tool_calls"]
        ],
        tokens=lambda reply: (reply["usage"]["prompt_tokens"], reply["usage"]["completion_tokens"]),
    ),
    "gemini": Speaker(
        path=lambda stream: f"/v1beta/models/g:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}",
        body=lambda text, _: {"contents": [{"role": "user", "parts": [{"text": text}]}], "tools": [TOOL]},
        whole_text=lambda reply: "".join(part.get("text", "") for part in _gemini_parts([reply])),
        streamed_text=lambda events: "".join(part.get("text", "") for part in _gemini_parts(events)),
        tools=lambda reply: [
            (part["functionCall"]["name"], part["functionCall"]["args"])
            for part in _gemini_parts([reply])
            if "functionCall" in part
        ],
        tokens=lambda reply: (
            reply["usageMetadata"]["promptTokenCount"],
            reply["usageMetadata"]["candidatesTokenCount"],
        ),
    ),
}


@pytest.fixture(params=SPEAKERS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def speaker(dialect: str) -> Speaker:
    return SPEAKERS[dialect]


LONG = "a text that is long enough to come in several pieces"


def test_text_is_the_same_whole_and_streamed(speaker: Speaker) -> None:
    with ModelAPI([Step(text=LONG, repeat=2)]) as api:
        assert speaker.whole_text(speaker.ask(api, "hi").json) == LONG
        assert speaker.streamed_text(speaker.ask(api, "hi", stream=True).events) == LONG


def test_tools_and_usage_reach_the_client(speaker: Speaker) -> None:
    usage = Usage(input_tokens=7, output_tokens=3, cache_read_tokens=20, cache_write_tokens=1)
    with ModelAPI([Step(text="now", tools=(ToolCall("shell", {"cmd": "ls"}),), usage=usage)]) as api:
        reply = speaker.ask(api, "hi").json
        assert speaker.tools(reply) == [("shell", {"cmd": "ls"})]
        assert speaker.tokens(reply) == (28, 3)
        assert api.usage_served == usage
        assert api.usage_served.total_tokens == 31


def test_thinking_is_not_part_of_the_answer(dialect: str, speaker: Speaker) -> None:
    with ModelAPI([Step(thinking="secretly", text="aloud")]) as api:
        events = speaker.ask(api, "hi", stream=True).events
        assert "secretly" in json.dumps(events)
        assert dialect == "gemini" or speaker.streamed_text(events) == "aloud"


def test_error_status_carries_headers_and_message_and_claims_nothing(speaker: Speaker) -> None:
    step = Step(status=429, headers={"retry-after": "7"}, error={"message": "slow down"})
    with ModelAPI([step]) as api:
        reply = speaker.ask(api, "hi", stream=True)
        assert (reply.status, reply.headers["retry-after"]) == (429, "7")
        assert reply.json["error"]["message"] == "slow down"
        assert api.usage_served == Usage()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.CUT])
def test_a_broken_connection_is_noticed_and_claims_nothing(speaker: Speaker, fault: Fault, stream: bool) -> None:
    with ModelAPI([Step(text=LONG, fault=fault)]) as api:
        with pytest.raises(CONNECTION_LOST):
            speaker.ask(api, "hi", stream=stream)
        assert api.usage_served == Usage()
        assert speaker.whole_text(speaker.ask(api, "again").json) == DEFAULT_TEXT


def test_a_cut_answer_has_begun(speaker: Speaker) -> None:
    with ModelAPI([Step(text=LONG, fault=Fault.CUT)]) as api, pytest.raises(http.client.IncompleteRead) as cut:
        speaker.ask(api, "hi", stream=True)
    assert b"data: " in cut.value.partial


def test_an_error_event_ends_the_stream(speaker: Speaker) -> None:
    with ModelAPI([Step(fault=Fault.ERROR_EVENT, error={"message": "out of breath"}, repeat=2)]) as api:
        assert "out of breath" in json.dumps(speaker.ask(api, "hi", stream=True).events[-1])
        assert speaker.ask(api, "hi").status == 500


def test_garbage_is_not_the_protocol(speaker: Speaker) -> None:
    with ModelAPI([Step(fault=Fault.GARBAGE, text="<html>")]) as api:
        reply = speaker.ask(api, "hi", stream=True)
        assert (reply.status, reply.content) == (200, b"<html>")


def test_a_hang_ends_by_itself_and_with_the_server(speaker: Speaker) -> None:
    with ModelAPI([Step(fault=Fault.HANG, seconds=0.2)]) as api, pytest.raises(CONNECTION_LOST):
        speaker.ask(api, "hi")
    started = time.monotonic()
    with ModelAPI([Step(fault=Fault.HANG, seconds=600)]) as api:
        asking = threading.Thread(target=ask_in_vain, args=(speaker, api))
        asking.start()
        wait_until(lambda: len(api.requests) == 1)
    asking.join(WAIT)
    assert not asking.is_alive()
    assert time.monotonic() - started < WAIT


def ask_in_vain(speaker: Speaker, api: ModelAPI) -> None:
    with suppress(*CONNECTION_LOST):
        speaker.ask(api, "hi")


def test_a_client_that_leaves_is_counted(speaker: Speaker) -> None:
    with ModelAPI([Step(fault=Fault.HANG, seconds=600)]) as api:
        host, port = api.url.removeprefix("http://").split(":")
        body = json.dumps(speaker.body("hi", False)).encode()
        head = f"POST {speaker.path(False)} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=WAIT) as client:
            client.sendall(head.encode() + body)
            wait_until(lambda: len(api.requests) == 1)
        wait_until(lambda: request(api, "GET", "/_state").json["clients_gone"] == 1)


def test_delays_are_kept(speaker: Speaker) -> None:
    with ModelAPI([Step(text="x" * 36, delay=0.1, chunk_delay=0.05)]) as api:
        started = time.monotonic()
        speaker.ask(api, "hi", stream=True)
        assert time.monotonic() - started >= 0.25


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def test_steps_come_in_order_then_the_default(speaker: Speaker) -> None:
    with ModelAPI([{"text": "one", "repeat": 2}, {"text": "two"}]) as api:
        said = [speaker.whole_text(speaker.ask(api, "hi").json) for _ in range(4)]
        assert said == ["one", "one", "two", DEFAULT_TEXT]
        assert api.steps_left == 0


def test_a_match_goes_first_and_only_to_whom_it_fits(speaker: Speaker) -> None:
    steps = [Step(text="plain", repeat="forever"), Step(text="for the reviewer", match="(?i)review")]
    with ModelAPI(steps) as api:
        prompts = ["build", "please\nREVIEW it", "please review it"]
        said = [speaker.whole_text(speaker.ask(api, prompt).json) for prompt in prompts]
        assert said == ["plain", "for the reviewer", "plain"]


def test_one_server_speaks_all_dialects_from_one_script() -> None:
    with ModelAPI([Step(text=str(number)) for number in range(4)]) as api:
        said = [speaker.whole_text(speaker.ask(api, "hi").json) for speaker in SPEAKERS.values()]
        assert said == ["0", "1", "2", "3"]
        assert [turn.dialect for turn in api.turns] == list(SPEAKERS)
        assert [turn.user_text for turn in api.turns] == ["hi"] * 4


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/v1/messages",
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"}]},
                    {"role": "user", "content": [{"type": "text", "text": "the task"}]},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "result"}]},
                ],
                "tools": [TOOL],
            },
        ),
        (
            "/v1/chat/completions",
            {
                "messages": [
                    {"role": "user", "content": "<current_datetime>now</current_datetime>\n\nthe task"},
                    {"role": "tool", "tool_call_id": "t", "content": "result"},
                ],
                "tools": [TOOL],
            },
        ),
        ("/v1/responses", {"input": "the task", "tools": [TOOL]}),
        (
            "/v1beta/models/g:generateContent",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "<session_context>x</session_context>"}, {"text": "the task"}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "n", "response": {}}}]},
                ],
                "tools": [TOOL],
            },
        ),
    ],
)
def test_the_last_user_text_is_what_the_person_said(path: str, body: object) -> None:
    with ModelAPI([Step(text="ok")]) as api:
        request(api, "POST", path, body)
        assert api.turns[0].user_text == "the task"


TITLE_SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
SCHEMA = {
    "type": "OBJECT",
    "required": ["model", "score"],
    "properties": {"model": {"type": "STRING", "enum": ["flash"]}, "score": {"type": "NUMBER"}},
}


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/v1/messages", {"max_tokens": 1, "tools": [TOOL], "messages": []}, "title"),
        ("/v1/messages", {"system": [{"type": "text", "text": "Generate a concise title."}], "messages": []}, "title"),
        ("/v1/responses", {"instructions": "You write a short title for it", "input": "hi"}, "title"),
        ("/v1/responses", {"input": "hi", "text": {"format": {"schema": TITLE_SCHEMA}}, "tools": []}, "title"),
        ("/v1/chat/completions", {"messages": [{"role": "system", "content": "You are a title generator"}]}, "title"),
        ("/v1beta/models/g:generateContent", {"contents": []}, "summary"),
        ("/v1beta/models/g:generateContent", {"generationConfig": {"responseSchema": SCHEMA}}, "flash"),
    ],
)
def test_side_requests_use_no_step_and_claim_nothing(path: str, body: object, expected: str) -> None:
    with ModelAPI([Step(text="kept")]) as api:
        reply = request(api, "POST", path, body)
        assert expected in json.dumps(reply.json)
        assert (api.steps_left, api.usage_served) == (1, Usage())
        assert [seen.kind for seen in api.requests] == ["side"]


def test_talk_of_a_title_by_the_person_is_no_side_request() -> None:
    said = {"messages": [{"role": "user", "content": "Generate a title for my page"}]}
    with ModelAPI([Step(text="a page")]) as api:
        assert "a page" in json.dumps(request(api, "POST", "/v1/chat/completions", said).json)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/messages/count_tokens", 200),
        ("POST", "/v1beta/models/g:countTokens", 200),
        ("GET", "/v1/models", 200),
        ("HEAD", "/", 200),
        ("GET", "/v1/unheard-of", 404),
    ],
)
def test_lookups_use_no_step(method: str, path: str, status: int) -> None:
    with ModelAPI([Step(text="kept")]) as api:
        assert request(api, method, path, {}).status == status
        assert api.steps_left == 1


def test_a_free_form_tool_call_of_the_responses_api() -> None:
    tool = ToolCall("apply_patch", "*** Begin Patch", namespace="edit")
    with ModelAPI([Step(tools=(tool,))]) as api:
        events = SPEAKERS["openai_responses"].ask(api, "hi", stream=True).events
        item = events[-1]["response"]["output"][0]
        assert [item[key] for key in ("type", "name", "input", "namespace")] == [
            "custom_tool_call",
            "apply_patch",
            "*** Begin Patch",
            "edit",
        ]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_compressed_and_chunked_bodies_are_read() -> None:
    body = json.dumps(_messages("squeezed", stream=False)).encode()
    with ModelAPI([Step(text="ok")]) as api:
        request(api, "POST", "/v1/messages", gzip.compress(body), **{"content-encoding": "gzip"})
        host, port = api.url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=WAIT)
        connection.request("POST", "/v1/messages", iter([body[:9], body[9:]]), encode_chunked=True)
        assert connection.getresponse().status == 200
        connection.close()
        assert [turn.user_text for turn in api.turns] == ["squeezed", "squeezed"]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x" * 2000, {}, 413),
        (gzip.compress(b"x" * 100_000), {"content-encoding": "gzip"}, 413),
        (b"{not json", {}, 400),
        (b"not gzip", {"content-encoding": "gzip"}, 400),
        (b"{}", {"content-length": "many"}, 400),
    ],
)
def test_a_bad_body_is_refused(body: bytes, headers: Mapping[str, str], status: int) -> None:
    with ModelAPI([Step(text="kept")], body_limit=1000) as api:
        assert request(api, "POST", "/v1/messages", body, **headers).status == status
        assert api.steps_left == 1


ODD_VALUES = [
    None,
    7,
    "odd",
    [None, 7],
    {"odd": 7},
    [{"role": "user"}],
    [{"role": "user", "content": [7], "parts": {}}],
]
FIELDS = ["messages", "input", "contents", "system", "tools", "text", "generationConfig", "max_tokens", "stream"]


@pytest.mark.parametrize("odd", ODD_VALUES)
def test_a_body_of_odd_shape_is_answered(speaker: Speaker, odd: object) -> None:
    with ModelAPI() as api:
        bodies = [odd, *({name: odd} for name in FIELDS)]
        assert {request(api, "POST", speaker.path(False), body).status for body in bodies} == {200}


def test_control_plane_loads_a_script_and_shows_log_and_state() -> None:
    with ModelAPI([Step(text="old")]) as api:
        SPEAKERS["anthropic"].ask(api, "before")
        loaded = request(api, "POST", "/_script", [{"text": "new", "usage": {"input_tokens": 5}}])
        assert (loaded.status, loaded.json) == (200, {"steps": 1})
        assert SPEAKERS["anthropic"].whole_text(SPEAKERS["anthropic"].ask(api, "after").json) == "new"
        (entry,) = request(api, "GET", "/_log").json
        assert (entry["kind"], entry["user_text"], entry["step"]["text"]) == ("turn", "after", "new")
        state = request(api, "GET", "/_state").json
        assert state == {
            "served": 1,
            "steps_left": 0,
            "requests": 1,
            "usage_served": {"input_tokens": 5},
            "clients_gone": 0,
        }


def test_control_plane_refuses_a_bad_script_and_keeps_the_old_one() -> None:
    with ModelAPI([Step(text="old")]) as api:
        reply = request(api, "POST", "/_script", [{"tetx": "typo"}])
        assert (reply.status, reply.json["hint"]) == (400, "did you mean 'text'?")
        assert "Step 1, field 'tetx'" in reply.json["error"]
        assert api.steps_left == 1


def test_control_plane_is_not_for_web_pages() -> None:
    with ModelAPI([Step(text="old")]) as api:
        assert request(api, "POST", "/_script", [], origin="http://evil.example").status == 403
        assert api.steps_left == 1


def test_keys_never_reach_the_log(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    body = SPEAKERS["gemini"].body("hi", False)
    with ModelAPI(log=log) as api:
        secret = {"authorization": "Bearer s3cret", "x-api-key": "s3cret", "x-goog-api-key": "s3cret"}
        request(api, "POST", "/v1beta/models/g:generateContent?alt=json&key=s3cret", body, **secret)
        assert api.requests[0].headers["x-api-key"] == "(hidden)"
    assert "s3cret" not in log.read_text()
    assert json.loads(log.read_text())["path"].endswith("?alt=json&key=(hidden)")


def test_many_clients_at_once_share_the_steps_exactly() -> None:
    with ModelAPI([Step(text=str(number), usage=Usage(output_tokens=1)) for number in range(40)]) as api:
        said: list[str] = []

        def ask() -> None:
            said.extend(SPEAKERS["anthropic"].whole_text(SPEAKERS["anthropic"].ask(api, "hi").json) for _ in range(10))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        assert sorted(map(int, said)) == list(range(40))
        assert api.usage_served == Usage(output_tokens=40)


def test_a_closed_server_answers_no_open_connection() -> None:
    with ModelAPI() as api:
        host, port = api.url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=WAIT)
        assert b"scripted-model" in ask_for_models(connection)
    connection.auto_open = 0
    with pytest.raises(CONNECTION_LOST), closing(connection):
        ask_for_models(connection)


def ask_for_models(connection: http.client.HTTPConnection) -> bytes:
    connection.request("GET", "/v1/models")
    return connection.getresponse().read()


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ({"text": "hi"}, 'A script is a list of steps, not {"text": "hi"}.'),
        ([{"text": "a"}, "b"], 'Step 2 is "b", not an object.'),
        ([{}], "Step 1 says nothing."),
        ([{"delay": 1}], "Step 1 says nothing."),
        ([{"text": 5}], "Step 1, field 'text': it must be a text, not 5."),
        ([{"say": "x"}], "Step 1, field 'say': a step has no such field."),
        (
            [{"text": "x", "repeat": 0}],
            "Step 1, field 'repeat': it must be a whole number from 1 up, or \"forever\", not 0.",
        ),
        ([{"text": "x", "repeat": True}], "Step 1, field 'repeat': it must be a whole number from 1 up"),
        ([{"text": "x", "match": "("}], "Step 1, field 'match': it must be a regular expression, not \"(\"."),
        (
            [{"text": "x", "delay": -1}],
            "Step 1, field 'delay': it must be a number of seconds from 0 to 86400, not -1.",
        ),
        ([{"status": 99}], "Step 1, field 'status': it must be a whole number from 300 to 599, not 99."),
        ([{"status": 500, "headers": {"a": "b\r\nc"}}], "Step 1, field 'headers': it must be an object of texts"),
        ([{"fault": "melt"}], "Step 1, field 'fault': it must be one of close, cut, garbage, error_event, hang, not"),
        ([{"fault": []}], "Step 1, field 'fault': it must be one of"),
        ([{"fault": "cut", "status": 500}], "Step 1, field 'fault': a step has a status or a fault, not both."),
        ([{"text": "x", "seconds": 3}], 'Step 1, field \'seconds\': it belongs to "fault": "hang".'),
        ([{"text": "x", "error": {}}], "Step 1, field 'error': it belongs to a status"),
        ([{"text": "x", "headers": {}}], "Step 1, field 'headers': it belongs to a status."),
        ([{"tools": {"name": "a"}}], "Step 1, field 'tools': it must be a list of tools"),
        ([{"tools": [{"input": {}}]}], "Step 1, field 'tools': it must be a list of tools like"),
        ([{"text": "x", "usage": {"tokens": 1}}], "Step 1, field 'usage': it must be an object with some of"),
        ([{"text": "x", "usage": {"input_tokens": -1}}], "Step 1, field 'usage': it must be an object of token counts"),
    ],
)
def test_a_bad_script_is_one_sentence_that_names_step_and_field(script: object, sentence: str) -> None:
    with pytest.raises(ScriptError) as problem:
        parse_steps(script)
    assert problem.value.sentence.startswith(sentence)


def test_a_step_survives_its_json_form() -> None:
    steps = (
        Step(text=""),
        Step(
            thinking="t", tools=(ToolCall("a", {"b": 1}), ToolCall("p", "free", "ns")), usage=Usage(), stop_reason="x"
        ),
        Step(status=503, headers={"a": "b"}, error={"message": "m"}, delay=1, repeat="forever", match="m+"),
        Step(fault=Fault.HANG, seconds=2.5, chunk_delay=0.5, repeat=3),
    )
    assert parse_steps(json.loads(json.dumps([step.to_json() for step in steps]))) == steps
    assert parse_steps(steps) == steps


@pytest.mark.parametrize(
    ("content", "part"), [(None, "cannot be read"), ("[{", "is not JSON"), ("7", "is a list of steps")]
)
def test_a_script_file_that_cannot_be_used_says_why(tmp_path: Path, content: str | None, part: str) -> None:
    file = tmp_path / "steps.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ScriptError, match=part):
        read_script(file)


def serve(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "untildone.testing.modelapi", *arguments]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_command_line_prints_the_address_first_and_ends_when_told(tmp_path: Path) -> None:
    script, log = tmp_path / "steps.json", tmp_path / "log.jsonl"
    script.write_text('[{"text": "from the file"}]')
    with serve("--script", str(script), "--log", str(log)) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip().removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=WAIT)
        connection.request("POST", "/v1/messages", json.dumps(_messages("hi", stream=False)))
        assert b"from the file" in connection.getresponse().read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT) == 0
    assert json.loads(log.read_text())["user_text"] == "hi"


def test_command_line_says_what_is_wrong(tmp_path: Path) -> None:
    script = tmp_path / "steps.json"
    script.write_text('[{"text": "a", "repaet": 2}]')
    with serve("--script", str(script)) as process:
        out, err = process.communicate(timeout=WAIT)
    assert (process.returncode, out) == (2, "")
    assert err == "Step 1, field 'repaet': a step has no such field.\nhint: did you mean 'repeat'?\n"


AGENTS = ["claude", "codex", "copilot", "gemini", "opencode"]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_environment_is_clean_and_names_only_the_server(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a real key")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    env = environment(agent, "http://127.0.0.1:9", tmp_path / "home", path="/bin")
    files = "".join(file.read_text() for file in (tmp_path / "home").rglob("*") if file.is_file())
    assert (env["PATH"], env["HOME"]) == ("/bin", str(tmp_path / "home"))
    assert Path(env["TMPDIR"]).is_dir()
    assert "real key" not in json.dumps(env) + files
    assert "http://127.0.0.1:9" in json.dumps(env) + files
    assert "HTTPS_PROXY" not in env


@pytest.mark.parametrize("agent", AGENTS)
def test_a_second_server_for_the_same_home_is_the_one_that_is_talked_to(agent: str, tmp_path: Path) -> None:
    environment(agent, "http://127.0.0.1:9", tmp_path, path="/bin")
    env = environment(agent, "http://127.0.0.1:8", tmp_path, path="/bin")
    files = "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())
    assert "http://127.0.0.1:8" in json.dumps(env) + files
    assert "http://127.0.0.1:9" not in json.dumps(env) + files


def test_what_a_program_wrote_into_its_settings_stays(tmp_path: Path) -> None:
    environment("claude", "http://127.0.0.1:9", tmp_path, path="/bin")
    settings = tmp_path / ".claude.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "numStartups": 3}))
    environment("claude", "http://127.0.0.1:8", tmp_path, path="/bin", workspaces=[tmp_path / "work"])
    assert json.loads(settings.read_text())["numStartups"] == 3
    assert str(tmp_path / "work") in json.loads(settings.read_text())["projects"]


def test_an_unknown_agent_has_no_environment(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="no environment for the agent 'hal'") as problem:
        environment("hal", "http://127.0.0.1:9", tmp_path)
    assert "opencode" in getattr(problem.value, "hint", "")
