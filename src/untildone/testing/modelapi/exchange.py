"""Handles one connection of an agent: reads, routes, records and answers its requests."""

from __future__ import annotations

import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol

from untildone.testing.modelapi.checking import ScriptError
from untildone.testing.modelapi.record import Record, Request, now, path_without_key, without_keys
from untildone.testing.modelapi.routing import Route, route
from untildone.testing.modelapi.script import Script
from untildone.testing.modelapi.steps import Fault, Json, Step, Usage
from untildone.testing.modelapi.transport import BODY_LIMIT, BodyTooLarge, ClientLeft, read_body, wait
from untildone.testing.modelapi.wire import Call, Dialect, Event

NONSENSE = "this is not { the protocol\n\n"


@dataclass(slots=True)
class SharedState:
    """State that all connections of a server share."""

    script: Script
    record: Record
    load: Callable[[list[Any]], None]
    body_limit: int = BODY_LIMIT
    closing: threading.Event = field(default_factory=threading.Event)


class _HasState(Protocol):
    shared: SharedState


class Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    @property
    def shared(self) -> SharedState:
        server: _HasState = self.server
        return server.shared

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: standard error belongs to the program that runs the server."""

    def _serve(self) -> None:
        try:
            body = self._read()
        except BodyTooLarge:
            return self._refuse(413, f"The body is larger than {self.shared.body_limit} bytes.")
        except (ValueError, zlib.error):
            return self._refuse(400, "The body is not JSON.")
        path = self.path.split("?", 1)[0].rstrip("/") or "/"
        if path.startswith("/_"):
            return self._control(path, body)
        try:
            self._answer(Call(path, body if isinstance(body, Mapping) else {}), body)
        except ConnectionError:
            self.close_connection = True
            self.shared.record.client_left()

    do_GET = do_HEAD = do_POST = do_PUT = _serve

    def _read(self) -> Any:
        raw = read_body(self.rfile, self.headers, self.shared.body_limit)
        return json.loads(raw) if raw else None

    def _refuse(self, status: int, sentence: str) -> None:
        self.close_connection = True
        self._send_json(status, {"error": {"type": "invalid_request_error", "message": sentence}})

    def _answer(self, call: Call, body: Any) -> None:
        way = route(self.command, call)
        step = self._step(way, call)
        self._remember(way, call, body, step)
        if way.dialect is not None and step is not None:
            self._play(way.dialect, call, step)
        elif way.reply is not None:
            self._send_json(200, way.reply)
        else:
            self._send_json(404, {"error": {"type": "not_found_error", "message": f"There is nothing at {call.path}."}})

    def _step(self, way: Route, call: Call) -> Step | None:
        if way.dialect is None or way.kind == "lookup":
            return None
        if way.kind == "side":
            return Step(text=way.dialect.side_text(call), usage=Usage())
        return self.shared.script.take(way.dialect.user_text(call))

    def _remember(self, way: Route, call: Call, body: Any, step: Step | None) -> None:
        user_text = way.dialect.user_text(call) if way.dialect and step else ""
        name = way.dialect.name if way.dialect else None
        path, headers = path_without_key(self.path), without_keys(dict(self.headers.items()))
        self.shared.record.add(Request(now(), self.command, path, headers, body, way.kind, name, user_text, step))

    def _play(self, dialect: Dialect, call: Call, step: Step) -> None:
        self._wait(step.delay)
        if step.status is not None:
            self._send_json(step.status, dialect.error_body(step.status, step.error), step.headers)
            return
        match step.fault:
            case Fault.HANG:
                self._wait(step.seconds)
                self._drop()
            case Fault.CLOSE:
                self._drop()
            case Fault.GARBAGE:
                self._send(200, "text/event-stream", (step.text or NONSENSE).encode())
            case _ if dialect.wants_stream(call):
                self._play_stream(dialect, call, step)
            case _:
                self._play_whole(dialect, call, step)

    def _play_whole(self, dialect: Dialect, call: Call, step: Step) -> None:
        if step.fault is Fault.ERROR_EVENT:
            self._send_json(500, dialect.error_body(500, step.error))
            return
        content = json.dumps(dialect.whole(call, step)).encode()
        if step.fault is Fault.CUT:
            self._head(200, "application/json", {"content-length": str(len(content))})
            self.wfile.write(content[: len(content) // 2])
            self._drop()
            return
        self.shared.record.add_usage(step.usage)
        self._send(200, "application/json", content)

    def _play_stream(self, dialect: Dialect, call: Call, step: Step) -> None:
        self._head(200, "text/event-stream", {"cache-control": "no-cache", "transfer-encoding": "chunked"})
        if step.fault is Fault.ERROR_EVENT:
            self._send_events(dialect.error_events(call, step.error), step)
            self._end_stream()
            return
        *events, last = dialect.stream(call, step)
        if step.fault is Fault.CUT:
            self._send_events(events[: (len(events) + 1) // 2], step)
            self._drop()
            return
        self._send_events(events, step)
        self.shared.record.add_usage(step.usage)
        self._send_events([last], step)
        self._end_stream()

    def _send_events(self, events: Iterator[Event] | Sequence[Event], step: Step) -> None:
        for event in events:
            content = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
            self.wfile.flush()
            self._wait(step.chunk_delay if event.paced else 0)

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _control(self, path: str, body: Any) -> None:
        """Answer a control request. Requests with an Origin header come from web pages and are refused."""
        if self.headers.get("origin"):
            self._refuse(403, "The control plane is not for web pages.")
            return
        match self.command, path:
            case "POST", "/_script":
                self._load(body)
            case "GET", "/_log":
                self._send_json(200, [request.to_json() for request in self.shared.record.requests])
            case "GET", "/_state":
                self._send_json(200, self._state())
            case _:
                self._refuse(404, "The control plane has POST /_script, GET /_log and GET /_state.")

    def _load(self, body: Any) -> None:
        try:
            self.shared.load(body)
        except ScriptError as problem:
            self._send_json(400, {"error": problem.sentence, "hint": problem.hint})
            return
        self._send_json(200, {"steps": self.shared.script.steps_left})

    def _state(self) -> Json:
        script, record = self.shared.script, self.shared.record
        return {
            "served": script.served,
            "steps_left": script.steps_left,
            "requests": len(record.requests),
            "usage_served": record.usage.to_json(),
            "clients_gone": record.clients_gone,
        }

    def _wait(self, seconds: float) -> None:
        wait(self.connection, self.shared.closing, seconds)

    def _drop(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError as problem:
            raise ClientLeft from problem

    def _head(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        own = {"content-type": kind, "request-id": f"req_scripted_{self.shared.script.served}"}
        for name, text in (own | dict(headers)).items():
            self.send_header(name, text)
        self.end_headers()

    def _send(self, status: int, kind: str, content: bytes, headers: Json | None = None) -> None:
        self._head(status, kind, {**(headers or {}), "content-length": str(len(content))})
        if self.command != "HEAD":
            self.wfile.write(content)

    def _send_json(self, status: int, reply: Json | list[Any], headers: Json | None = None) -> None:
        self._send(status, "application/json", json.dumps(reply).encode(), headers)
