"""A server that dies, politely or not: loops go on at its next start, none twice, and no control is ever lost."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import psutil
import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import TOKEN, Server

from untildone.core.apply import apply
from untildone.store import checkpoint
from untildone.store.files import FileStore

CLIENTS, LOOPS, KILLS = 20, 20, 10
CALLS = 3_000
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


def journal(cli: CommandLine, loop_id: str) -> list[dict[str, Any]]:
    return cli.run("log", loop_id, "--json").records


def agents_of(loop_id: str) -> list[psutil.Process]:
    """The agent processes of a loop that live."""
    found = []
    for process in psutil.process_iter():
        try:
            is_agent = process.environ().get("UNTILDONE_LOOP_ID") == loop_id
            if is_agent and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_after_a_crash_every_loop_goes_on_and_none_twice(cli: CommandLine) -> None:
    agent = cli.home / "agent.sh"
    agent.write_text(
        'seen="seen-$UNTILDONE_LOOP_ID"; test -e "$seen" && echo "<promise>COMPLETE</promise>" && exit\n'
        'touch "$seen"; sleep 600\n'
    )
    with Server(cli, "--slots", "2") as server:
        running = [server.create(agent="command", command=f"sh {agent}") for _ in range(4)]
        created, done = server.create(start=False), server.create(start=False)
        server.client.post(f"/api/v1/loops/{done}/stop")
        until(lambda: all((cli.workspace / f"seen-{loop_id}").exists() for loop_id in running[:2]))
        server.kill()
        until(lambda: not any(agents_of(loop_id) for loop_id in running))
        server.start()
        for loop_id in running[:2]:
            assert server.until_status(loop_id, "completed")["outcome"] == "claimed"
        for loop_id in running[2:]:
            server.until(loop_id, lambda shown: bool(shown["turn"]))
            until((cli.workspace / f"seen-{loop_id}").exists)
            assert len([agent for agent in agents_of(loop_id) if agent.name() == "sh"]) == 1
            assert server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True}).status_code == 200
            server.until_status(loop_id, "failed")
        events = [entry["event"] for entry in journal(cli, running[0])]
        assert events.count("runner_claimed") == 2
        assert events.count("iteration_start") == 2
        assert events.count("iteration_interrupted") == 1
        assert [server.show(loop_id)["status"] for loop_id in (created, done)] == ["created", "failed"]


def test_a_polite_end_is_quick_leaves_nothing_behind_and_loops_go_on(cli: CommandLine) -> None:
    with Server(cli) as server:
        loop_id = server.create(args=["--scenario", "hang"])
        server.until(loop_id, lambda shown: bool(shown["turn"]))
        with server.client.stream("GET", f"/api/v1/loops/{loop_id}/events") as stream:
            next(stream.iter_lines())
            began = time.monotonic()
            assert server.end() == 0
            assert time.monotonic() - began < 15
        assert agents_of(loop_id) == []
        shown = cli.shown(loop_id)
        assert (shown["status"], shown["outcome"], shown["turn"]) == ("running", None, None)
        last = journal(cli, loop_id)[-1]
        assert (last["event"], last["reason"]) == ("iteration_interrupted", "control")
        server.start()
        server.until(loop_id, lambda shown: bool(shown["turn"]))
        server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True})
        server.until_status(loop_id, "failed")


def test_a_loop_that_a_terminal_runs_is_not_taken_over(cli: CommandLine) -> None:
    runner = cli.start("run", "a job", "--agent", "scripted", "--", "--scenario", "hang", stderr=subprocess.DEVNULL)
    loop_id = until(lambda: next((line["loop_id"] for line in cli.loops if line["driven"]), None))
    with Server(cli) as server:
        server.until(loop_id, lambda shown: bool(shown["turn"]))
        assert server.client.post(f"/api/v1/loops/{loop_id}/resume").status_code == 200
        assert server.show(loop_id)["runner"]["pid"] == runner.pid
        os.kill(runner.pid, signal.SIGTERM)
        runner.communicate(timeout=30)
        assert server.until_status(loop_id, "paused")["outcome"] == "interrupted"


class Client(threading.Thread):
    """Says one thing after the other to its loop, and notes what was answered. Until it is answered, it says nothing else."""

    def __init__(self, server: Server, number: int, loop_ids: list[str], calls: int) -> None:
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.loop_ids = loop_ids
        self.calls = calls
        self.said: dict[str, list[str]] = defaultdict(list)
        """What was acknowledged, by loop, in order."""
        self.answered = 0
        self.wrong: list[str] = []
        self._chance = random.Random(number)

    def run(self) -> None:
        # The plainest client there is: twenty others would keep both cores busy by themselves.
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)) as connection:
            call = 0
            while self.answered < self.calls:
                call += 1
                self._say(connection, call)

    def _say(self, connection: http.client.HTTPConnection, call: int) -> None:
        loop_id = self._chance.choice(self.loop_ids)
        word = f"client {self.number} call {call}"
        path = f"/api/v1/loops/{loop_id}"
        choices: list[tuple[str, dict[str, Any]]] = [
            ("messages", {"text": word}),
            ("budget", {"tokens": 1_000_000 + self.number * 100_000 + call}),
            ("tasks", {"text": word}),
            ("pause", {}),
            ("resume", {}),
        ]
        verb, body = self._chance.choice(choices)
        try:
            connection.request("POST", f"{path}/{verb}", json.dumps(body), HEADERS)
            answer = connection.getresponse()
            told = answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            time.sleep(0.05)
            return
        self.answered += 1
        if answer.status not in (200, 201):
            self.wrong.append(f"{verb}: {answer.status} {told.decode()}")
        elif verb in ("messages", "tasks"):
            self.said[loop_id].append(word)
        elif verb == "budget":
            self.said[loop_id].append(f"tokens {body['tokens']}")


def have_answered(clients: list[Client], calls: float) -> bool:
    return sum(client.answered for client in clients) >= calls


@contextmanager
def talking(clients: list[Client]) -> Iterator[None]:
    for client in clients:
        client.start()
    yield
    for client in clients:
        client.join(600)
        assert not client.is_alive()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_control_is_lost_or_reordered_while_the_server_is_killed_again_and_again(cli: CommandLine) -> None:
    with Server(cli, "--quiet", "--slots", "2") as server:
        with ThreadPoolExecutor(4) as pool:
            # An agent that costs next to nothing: the calls are what this is about.
            chosen: dict[str, Any] = {
                "agent": "command",
                "command": "sh -c 'sleep 0.2; echo more'",
                "max_iterations": "none",
                "promise": "",
            }
            loop_ids = list(pool.map(lambda _: server.create(**chosen), range(LOOPS)))
        clients = [Client(server, number, loop_ids, CALLS // CLIENTS) for number in range(CLIENTS)]
        with talking(clients):
            for number in range(1, KILLS + 1):
                # Spread over all calls: what is said after the last kill proves less.
                until(partial(have_answered, clients, number * CALLS / (KILLS + 1)), patience=300)
                server.kill()
                server.start()
        assert [wrong for client in clients for wrong in client.wrong] == []
        assert sum(len(words) for client in clients for words in client.said.values()) > CALLS / 3
        server.kill()
    store = cli.store()
    for loop_id in loop_ids:
        check_journal(store, loop_id, [client.said[loop_id] for client in clients])


def check_journal(store: FileStore, loop_id: str, said: list[list[str]]) -> None:
    """Everything acknowledged is there, once, in each client's order; and the checkpoint agrees."""
    opened = store.open(loop_id)
    entries = list(opened.entries())
    opened.close()
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    heard = [word for entry in entries for word in words_in(entry.event)]
    for words in said:
        places = [heard.index(word) for word in words]
        assert places == sorted(places)
        assert all(heard.count(word) == 1 for word in words if not word.startswith("tokens"))
    folded = None
    for entry in entries:
        folded = apply(folded, entry)
    assert opened.loop == folded
    kept, problems = checkpoint.read(store.root / f"{loop_id}.json")
    assert (kept is not None, problems) == (True, "")
    assert opened.repairs == []


def words_in(event: Any) -> list[str]:
    match type(event).__name__:
        case "MessageSent":
            return [event.text]
        case "BudgetChanged":
            return [f"tokens {event.amount:.0f}"]
        case "SubtasksChanged":
            return [change.text for change in event.changes]
        case _:
            return []
