"""A server with many loops: how soon a pause takes effect, and the cost of a loop compared with the command line.

As a program, with other sizes: .venv/bin/python bench/server.py [--loops 200] [--slots 8] [--pauses 200]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import report
from driving import DONE, program
from figures import Row, figure, seconds_of
from serving import CLIENTS, Clients, completed, create
from tests.support.command_line import CommandLine
from tests.support.serving import Server

from untildone.core.values.codec import epoch

ENDLESS = "#!/bin/sh\ncat > /dev/null\nexec sleep 600\n"
ON_THE_COMMAND_LINE = 5
ALONE_PAUSED = 11
ASK_EVERY = 0.1
GOAL_MILLISECONDS = 250.0
SLOTS = 8


def rows(*, quick: bool) -> Iterator[Row]:
    yield from measured(loops=20, slots=SLOTS, paused=16) if quick else measured(loops=100, slots=SLOTS, paused=96)


def measured(loops: int, slots: int, paused: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cli = CommandLine(Path(folder) / "bench")
        instant, endless = str(program(cli.home / "instant", DONE)), str(program(cli.home / "endless", ENDLESS))
        with Server(cli, "--quiet", "--slots", str(slots)) as server:
            clients = Clients(server)
            many = figure([seconds_of(lambda: drive(server, clients, instant, loops)) / loops * 1000], "ms")
            alone_paused = [each for _ in range(ALONE_PAUSED) for each in pauses(server, clients, endless, 1, 1)]
            delays = sorted(pauses(server, clients, endless, paused, slots))
        alone = figure([seconds_of(lambda: run(cli, instant)) * 1000 for _ in range(ON_THE_COMMAND_LINE)], "ms")
    yield Row(f"a loop, of {loops} in {slots} slots for {CLIENTS} clients", many, "`untildone run`", alone, goal=1.0)
    baseline, one = "a loop alone in the server", figure(alone_paused, "ms")
    yield Row(f"a pause until it takes effect, of {paused}", figure(delays, "ms"), baseline, one)
    slowest = figure([delays[max(0, int(len(delays) * 0.99) - 1)]], "ms")
    yield Row("a pause until it takes effect, 99th percentile", slowest, baseline, one, limit=GOAL_MILLISECONDS)


def drive(server: Server, clients: Clients, command: str, loops: int) -> None:
    clients.at_once(create, [command] * loops)
    while completed(server) < loops:
        time.sleep(0.1)


def run(cli: CommandLine, command: str) -> None:
    assert cli.run("run", "A job", "--agent", "command", "--command", command).code == 0


def pauses(server: Server, clients: Clients, command: str, loops: int, slots: int) -> list[float]:
    """Pause all driven loops at once, while their agents work and the others wait for a slot; return the delays."""
    waiting, delays = clients.at_once(create, [command] * loops), list[float]()
    while waiting:
        running = [loop_id for loop_id in waiting if server.show(loop_id)["turn"]][:slots]
        delays += clients.at_once(pause, running)
        waiting = [loop_id for loop_id in waiting if loop_id not in running]
    return delays


def pause(client: httpx.Client, loop_id: str) -> float:
    """Milliseconds from the request to the journal entry of the pause."""
    requested = time.time()
    client.post(f"/api/v1/loops/{loop_id}/pause", json={"now": True}).raise_for_status()
    while True:
        shown = client.get(f"/api/v1/loops/{loop_id}").json()
        if shown["status"] == "paused":
            return (epoch(shown["updated_at"]) - requested) * 1000
        # The time comes from the journal, so polling more often would only load the server.
        time.sleep(ASK_EVERY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=200)
    parser.add_argument("--slots", type=int, default=SLOTS)
    parser.add_argument("--pauses", type=int, default=200)
    chosen = parser.parse_args()
    for row in measured(chosen.loops, chosen.slots, chosen.pauses):
        print(report.line_of(row), flush=True)


if __name__ == "__main__":
    main()
