"""The messages of the Agent Client Protocol, version 1, that a client sends: JSON-RPC 2.0, one object a line.

The id of a request is the name of its method, so that the output of a program can be read without what was written to it. The id of a
later prompt to the same process also has a random word. So neither a late answer to an earlier prompt is taken for its answer, nor one
that was printed before the prompt was read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

VERSION = 1
INITIALIZE, CANCEL, PROMPT = "initialize", "session/cancel", "session/prompt"
NEW, LOAD, RESUME, FORK = "session/new", "session/load", "session/resume", "session/fork"
SET_MODE, SET_OPTION = "session/set_mode", "session/set_config_option"
UPDATE, PERMISSION = "session/update", "session/request_permission"
OPENING = (NEW, LOAD, RESUME, FORK)
METHOD_NOT_FOUND, AUTH_REQUIRED = -32601, -32000


def request(method: str, params: Mapping[str, Any], request_id: str = "") -> bytes:
    return _line({"id": request_id or method, "method": method, "params": params})


def notification(method: str, params: Mapping[str, Any]) -> bytes:
    return _line({"method": method, "params": params})


def result(request_id: object, value: Mapping[str, Any]) -> bytes:
    return _line({"id": request_id, "result": value})


def unknown_method(request_id: object, method: str) -> bytes:
    return _line({"id": request_id, "error": {"code": METHOD_NOT_FOUND, "message": f"not supported: {method}"}})


def initialize() -> bytes:
    """The first request. It offers neither files nor terminals: the program uses its own, inside its box."""
    capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    client = {"name": "untildone", "title": "untildone", "version": "1"}
    return request(INITIALIZE, {"protocolVersion": VERSION, "clientCapabilities": capabilities, "clientInfo": client})


def prompt(request_id: str, session_id: str, text: str) -> bytes:
    return request(PROMPT, {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}, request_id)


def chosen(request_id: object, option_id: str | None) -> bytes:
    """The answer to a request for permission; None: none of its options fits."""
    outcome = {"outcome": "cancelled"} if option_id is None else {"outcome": "selected", "optionId": option_id}
    return result(request_id, {"outcome": outcome})


def _line(fields: Mapping[str, Any]) -> bytes:
    text = json.dumps({"jsonrpc": "2.0", **fields}, ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"
