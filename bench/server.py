"""A server with many loops: how long they take, how much memory each costs, how soon a pause has its effect.

Beside it, the same loops as so many runs of the command line, one after the other, for a few of them.
Run it with the project's own Python: .venv/bin/python bench/server.py [--loops 1000] [--slots 8]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil

from untildone.core.codec import epoch
from untildone.testing.command_line import CommandLine
from untildone.testing.serving import Server

INSTANT = '#!/bin/sh\ncat > /dev/null\necho "<promise>COMPLETE</promise>"\n'
ENDLESS = "#!/bin/sh\ncat > /dev/null\nexec sleep 600\n"
CLIENTS, PAUSING_AT_ONCE = 8, 2
ON_THE_COMMAND_LINE = 5
GOAL_MEGABYTES, GOAL_MILLISECONDS = 1.0, 250.0


class Memory(threading.Thread):
    """The most that a process held, in megabytes, looked at now and then."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._over = threading.Event()
        self.first = self.most = self._held()

    def _held(self) -> float:
        return float(self._process.memory_info().rss) / 2**20

    def run(self) -> None:
        while not self._over.wait(0.1):
            self.most = max(self.most, self._held())

    def end(self) -> float:
        self._over.set()
        self.join()
        return self.most - self.first


def program(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def at_once(
    server: Server, work: Callable[[httpx.Client, Any], Any], items: Sequence[Any], clients: int = CLIENTS
) -> list[Any]:
    """The same for many items, by a few clients."""
    local = threading.local()

    def do(item: Any) -> Any:
        if not hasattr(local, "client"):
            local.client = server.new_client()
        return work(local.client, item)

    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(do, items))


def create(client: httpx.Client, command: str) -> str:
    body = {"task": "A job", "settings": {"agent": "command", "command": command}, "start": True}
    answer = client.post("/api/loops", json=body)
    answer.raise_for_status()
    return str(answer.json()["loop_id"])


def counted(server: Server, status: str) -> int:
    line = f'untildone_loops{{status="{status}"}} '
    told = server.client.get("/metrics").text
    return next((int(each.removeprefix(line)) for each in told.splitlines() if each.startswith(line)), 0)


def many(server: Server, command: str, loops: int) -> None:
    assert server.process is not None
    memory = Memory(server.process.pid)
    memory.start()
    began = time.monotonic()
    at_once(server, create, [command] * loops)
    created = time.monotonic() - began
    while counted(server, "completed") < loops:
        time.sleep(0.2)
    took, megabytes = time.monotonic() - began, memory.end() / loops
    print(f"created and started        {created:8.1f} s   {created / loops * 1000:8.1f} ms a loop")
    print(f"all verified or claimed    {took:8.1f} s   {took / loops * 1000:8.1f} ms a loop")
    print(
        f"memory, at its most        {megabytes * loops:8.1f} MB  {megabytes:8.3f} MB a loop (goal: below {GOAL_MEGABYTES:g})"
    )
    listing = [_timed(lambda: server.client.get("/api/loops?limit=200")) for _ in range(20)]
    print(f"a list of 200 out of {loops:5d} {statistics.median(listing) * 1000:8.1f} ms")


def _timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def pauses(server: Server, command: str, loops: int, slots: int) -> None:
    """Paused now, while their agents work, and while all others wait for a slot."""
    loop_ids = at_once(server, create, [command] * loops)
    delays: list[float] = []
    waiting = list(loop_ids)
    while waiting:
        running = [loop_id for loop_id in waiting if server.show(loop_id)["turn"]][:slots]
        delays += at_once(server, pause, running, PAUSING_AT_ONCE)
        waiting = [loop_id for loop_id in waiting if loop_id not in running]
    ordered = sorted(delays)
    p99 = ordered[int(len(ordered) * 0.99) - 1]
    print(f"pause, to its effect       {statistics.median(ordered):8.1f} ms in the middle of {len(ordered)}")
    print(f"pause, to its effect, p99  {p99:8.1f} ms  (goal: below {GOAL_MILLISECONDS:g})")


def pause(client: httpx.Client, loop_id: str) -> float:
    """Milliseconds from the call to the entry that says that the loop rests."""
    asked = time.time()
    client.post(f"/api/loops/{loop_id}/pause", json={"now": True}).raise_for_status()
    while True:
        shown = client.get(f"/api/loops/{loop_id}").json()
        if shown["status"] == "paused":
            return (epoch(shown["updated_at"]) - asked) * 1000
        time.sleep(0.01)


def one_by_one(cli: CommandLine, command: str) -> None:
    began = time.monotonic()
    for _ in range(ON_THE_COMMAND_LINE):
        assert cli.run("run", "A job", "--agent", "command", "--command", command).code == 0
    took = (time.monotonic() - began) / ON_THE_COMMAND_LINE
    print(f"`untildone run`, one by one                {took * 1000:8.1f} ms a loop")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--pauses", type=int, default=200)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cli = CommandLine(Path(folder) / "bench")
        instant, endless = program(cli.home, "instant", INSTANT), program(cli.home, "endless", ENDLESS)
        with Server(cli, "--quiet", "--slots", str(chosen.slots)) as server:
            print(f"{chosen.loops} loops, {chosen.slots} slots, {CLIENTS} clients, an agent that answers at once")
            many(server, instant, chosen.loops)
            pauses(server, endless, chosen.pauses, chosen.slots)
        one_by_one(cli, instant)


if __name__ == "__main__":
    main()
