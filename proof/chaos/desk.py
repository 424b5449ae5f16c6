"""The server under test: asked by many at once, killed and started again meanwhile."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from typing import Any

import httpx
from proof.chaos.ground import Ground
from proof.chaos.tally import Tally
from proof.chaos.words import Word
from tests.support.serving import Server

PATIENCE = 60.0


class Desk:
    def __init__(self, ground: Ground, tally: Tally) -> None:
        self.ground = ground
        self.tally = tally
        self._server = Server(ground.cli, "--slots", "4")
        self._change = threading.RLock()
        self._up = threading.Event()

    def open(self) -> None:
        with self._change:
            self._server.start()
            self._up.set()

    def close(self) -> int:
        """Politely; its exit code."""
        with self._change:
            self._up.clear()
            return self._server.end() if self._server.process is not None else 0

    @property
    def pid(self) -> int | None:
        process = self._server.process
        return process.pid if process is not None else None

    def crash(self, number: int = signal.SIGKILL) -> bool:
        """Ended and started again; False if somebody else is just at it."""
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
                self.tally.law(-1, "the server ends politely", [] if code == 0 else [f"exit code {code}"])
            self._server.start()
            self._up.set()
        finally:
            self._change.release()
        return True

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response | None:
        """What the server answered; None if it died meanwhile: then nobody knows what became of it."""
        self._up.wait(PATIENCE)
        with suppress(httpx.TransportError):
            answer = self._server.client.request(method, f"/api/loops{path}", json=body)
            problem = (
                [f"{method} {path} → {answer.status_code}: {answer.text[:500]}"] if answer.status_code == 500 else []
            )
            self.tally.law(-1, "no request ends with a defect", problem)
            return answer
        return None

    def tell(self, loop_id: str, word: Word) -> bool:
        match word.verb:
            case "say":
                answer = self.call("POST", f"/{loop_id}/messages", {"text": word.arguments[0]})
            case "budget":
                answer = self.call(
                    "POST", f"/{loop_id}/budget", {word.arguments[0].removeprefix("--"): word.arguments[-1]}
                )
            case verb:
                answer = self.call("POST", f"/{loop_id}/{verb}", {"now": "--now" in word.arguments})
        return answer is not None and answer.is_success

    def go_on(self, loop_id: str) -> bool:
        answer = self.call("POST", f"/{loop_id}/resume", {"now": True})
        return answer is not None and answer.is_success
