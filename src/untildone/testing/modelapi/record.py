"""Records the requests, without their keys, and the tokens that the answers reported."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from untildone.testing.modelapi.steps import Step, Usage

HIDDEN = "(hidden)"
_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"}
)

Kind = Literal["turn", "side", "lookup", "unknown"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request of an agent. `kind`: a `turn` got a step; `side` and `lookup` did not; `unknown` got status 404."""

    time: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    kind: Kind
    dialect: str | None = None
    user_text: str = ""
    step: Step | None = None

    def to_json(self) -> dict[str, Any]:
        step = self.step.to_json() if self.step else None
        own = {name: getattr(self, name) for name in ("time", "method", "path", "body", "kind", "dialect", "user_text")}
        return {**own, "headers": dict(self.headers), "step": step}


def without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with lower-case names and hidden keys, so that no key reaches a log."""
    return {name.lower(): HIDDEN if name.lower() in _SECRET_HEADERS else text for name, text in headers.items()}


def path_without_key(path: str) -> str:
    return re.sub(r"([?&](?:key|access_token)=)[^&]*", rf"\1{HIDDEN}", path)


class Record:
    """Requests and tokens since the script was loaded. Thread-safe."""

    def __init__(self, log: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._log = log
        self.clear()

    def clear(self) -> None:
        with self._lock:
            self._requests: list[Request] = []
            self._usage = Usage()
            self._clients_gone = 0

    def add(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(request.to_json()) + "\n")

    def add_usage(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage

    def client_left(self) -> None:
        with self._lock:
            self._clients_gone += 1

    @property
    def requests(self) -> tuple[Request, ...]:
        with self._lock:
            return tuple(self._requests)

    @property
    def usage(self) -> Usage:
        return self._usage

    @property
    def clients_gone(self) -> int:
        """Number of answers that failed because the client hung up."""
        return self._clients_gone


def now() -> float:
    return round(time.time(), 3)
