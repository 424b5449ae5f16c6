"""Helpers for server benchmarks: memory of the server, and many requests from a few clients."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psutil
from tests.support.serving import Server

CLIENTS = 8


class Memory(threading.Thread):
    """Samples the peak memory of a process, in megabytes."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self.first = self.most = self._resident()

    def _resident(self) -> float:
        return float(self._process.memory_info().rss) / 2**20

    def run(self) -> None:
        while not self._over.wait(0.1):
            self.most = max(self.most, self._resident())

    def end(self) -> float:
        """Stop sampling; return the growth since the start."""
        self._over.set()
        self.join()
        return max(self.most, self._resident()) - self.first


class Clients:
    """A pool of HTTP clients, created beforehand because creating one costs more than a request."""

    def __init__(self, server: Server) -> None:
        self._idle: queue.SimpleQueue[httpx.Client] = queue.SimpleQueue()
        for _ in range(CLIENTS):
            client = server.new_client()
            client.get("/api/v1/health").raise_for_status()
            self._idle.put(client)
        self._pool = ThreadPoolExecutor(CLIENTS)

    def at_once(self, work: Callable[[httpx.Client, Any], Any], items: Sequence[Any]) -> list[Any]:
        return list(self._pool.map(lambda item: self._with_client(work, item), items))

    def _with_client(self, work: Callable[[httpx.Client, Any], Any], item: Any) -> Any:
        client = self._idle.get()
        try:
            return work(client, item)
        finally:
            self._idle.put(client)


def create(client: httpx.Client, command: str, *, start: bool = True) -> str:
    body = {"task": "A job", "settings": {"agent": "command", "command": command}, "start": start}
    answer = client.post("/api/v1/loops", json=body)
    answer.raise_for_status()
    return str(answer.json()["loop_id"])


def completed(server: Server) -> int:
    """The number of completed loops, from the metrics."""
    line = 'untildone_loops{status="completed"} '
    metrics = server.client.get("/api/v1/metrics").text
    return next((int(each.removeprefix(line)) for each in metrics.splitlines() if each.startswith(line)), 0)
