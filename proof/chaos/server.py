"""The server under test: takes requests from many threads while it is killed and restarted."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import Any

import httpx
from proof.chaos.controls import Control
from proof.chaos.sandbox import Sandbox
from proof.chaos.tally import Tally
from tests.support.serving import Server

PATIENCE = 60.0


class ServerUnderTest:
    def __init__(self, sandbox: Sandbox, tally: Tally) -> None:
        self.sandbox = sandbox
        self.tally = tally
        self._server = Server(sandbox.cli, "--slots", "4")
        self._change = threading.RLock()
        self._up = threading.Event()

    def start(self) -> None:
        with self._change:
            self._server.start()
            self._up.set()

    def stop(self) -> int:
        """Stop the server with SIGTERM; return its exit code."""
        with self._change:
            self._up.clear()
            return self._server.end() if self._server.process is not None else 0

    @property
    def pid(self) -> int | None:
        process = self._server.process
        return process.pid if process is not None else None

    def crash(self, number: int = signal.SIGKILL) -> bool:
        """Signal the server and start it again; return False if another thread is doing that."""
        if not self._change.acquire(blocking=False):
            return False
        try:
            if self._server.process is None:
                return False
            self._up.clear()
            if number == signal.SIGKILL:
                self._server.kill()
                self.tally.kill("server")
            else:
                code = self._server.end()
                self.tally.invariant(
                    -1, "the server exits with 0 on SIGTERM", [] if code == 0 else [f"exit code {code}"]
                )
            self._server.start()
            self._up.set()
        finally:
            self._change.release()
        return True

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response | None:
        """Send a request; return None if the server died before it answered. The request may have taken effect."""
        self._up.wait(PATIENCE)
        with suppress(httpx.TransportError):
            answer = self._server.client.request(method, f"/api/v1/loops{path}", json=body)
            problem = (
                [f"{method} {path} → {answer.status_code}: {answer.text[:500]}"] if answer.status_code == 500 else []
            )
            self.tally.invariant(-1, "no request fails with status 500", problem)
            return answer
        return None

    def send(self, loop_id: str, control: Control) -> bool:
        match control.verb:
            case "say":
                answer = self.call("POST", f"/{loop_id}/messages", {"text": control.arguments[0]})
            case "budget":
                answer = self.call(
                    "POST", f"/{loop_id}/budget", {control.arguments[0].removeprefix("--"): control.arguments[-1]}
                )
            case verb:
                answer = self.call("POST", f"/{loop_id}/{verb}", {"now": "--now" in control.arguments})
        return answer is not None and answer.is_success

    def resume(self, loop_id: str) -> bool:
        answer = self.call("POST", f"/{loop_id}/resume", {"now": True})
        return answer is not None and answer.is_success
