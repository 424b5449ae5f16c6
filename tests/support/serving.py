"""Runs the real server in tests: a separate process on a free port that can be killed and restarted.

Needs the extra `serve`.
"""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import httpx
from tests.support.command_line import PATIENCE, CommandLine, until

TOKEN = "a-token-of-the-tests-0123456789"


def welcomed(answer: httpx.Response) -> dict[str, str]:
    """What the page after a login hands to its script: the `key` of the session, and the `next` page."""
    assert answer.status_code == 200, answer.text
    found = dict(re.findall(r'data-(key|next)="([^"]*)"', answer.text))
    assert set(found) == {"key", "next"}, answer.text
    return {name: html.unescape(value) for name, value in found.items()}


class Server:
    """`with Server(cli) as server: server.client.get("/api/v1/loops")`. A second `start` uses the same port."""

    def __init__(self, cli: CommandLine, *arguments: str, dashboard: bool = False) -> None:
        self.cli = cli
        self._face = () if dashboard else ("--no-dashboard",)
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.announced: dict[str, Any] = {}
        self._arguments = arguments
        cli.environment["UNTILDONE_TOKEN"] = TOKEN
        self.log = cli.workspace.parent / "server.log"
        self._client: httpx.Client | None = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()
        if self.process is not None:
            self.kill()

    def start(self) -> None:
        arguments = ("serve", *self._face, "--json", "--port", str(self.port), *self._arguments)
        with self.log.open("a") as log:
            self.process = self.cli.start(*arguments, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.announced = json.loads(line)
        self.port = httpx.URL(self.url).port or 0
        until(self.is_well)

    def is_well(self) -> bool:
        try:
            return httpx.get(f"{self.url}/api/v1/health", timeout=5, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    @property
    def url(self) -> str:
        return str(self.announced["url"])

    @property
    def client(self) -> httpx.Client:
        """An HTTP client that sends the token."""
        if self._client is None:
            self._client = self.new_client()
        return self._client

    def new_client(self, **options: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.Client(
            **{"base_url": self.url, "headers": headers, "timeout": 30.0, "trust_env": False, **options}
        )

    def kill(self) -> None:
        """Kill the server like a crash."""
        self._end(signal.SIGKILL)

    def end(self) -> int:
        """Stop the server with SIGTERM; return its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        assert self.process is not None
        os.kill(self.process.pid, number)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return code

    def create(self, task: str = "A job", *, start: bool = True, **chosen: Any) -> str:
        """Create a loop; return its id."""
        body = {"task": task, "settings": {"agent": "scripted", **chosen}, "start": start}
        answer = self.client.post("/api/v1/loops", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["loop_id"])

    def show(self, loop_id: str) -> dict[str, Any]:
        answer = self.client.get(f"/api/v1/loops/{loop_id}")
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    def until(
        self, loop_id: str, holds: Callable[[dict[str, Any]], bool], patience: float = PATIENCE
    ) -> dict[str, Any]:
        """Wait until `holds(loop)` is true; return the loop."""

        def look() -> dict[str, Any] | None:
            shown = self.show(loop_id)
            return shown if holds(shown) else None

        loop = until(look, patience)
        assert loop is not None
        return loop

    def until_status(self, loop_id: str, *statuses: str, patience: float = PATIENCE) -> dict[str, Any]:
        return self.until(loop_id, lambda shown: shown["status"] in statuses and not shown["driven"], patience)
