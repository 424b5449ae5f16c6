"""`untildone.connect`: the verbs against a real server, which is killed and restarted meanwhile."""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support.command_line import CommandLine
from tests.support.lossy_proxy import LossyProxy
from tests.support.serving import TOKEN, Server

import untildone
from untildone import AsyncClient, Client, Outcome, Status, events


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(CommandLine(tmp_path)) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with untildone.connect(server.url, TOKEN) as connected:
        yield connected


def script(server: Server, *turns: dict[str, object]) -> list[str]:
    path = server.cli.workspace.parent / "script.json"
    path.write_text(json.dumps(turns))
    return ["--script", str(path)]


def verbs(kind: type) -> dict[str, inspect.Signature]:
    return {name: inspect.signature(verb) for name, verb in vars(kind).items() if not name.startswith("_")}


def test_both_clients_have_the_verbs_of_the_package() -> None:
    plain, aio = verbs(Client), verbs(AsyncClient)
    functions = {name for name in dir(untildone) if inspect.isfunction(getattr(untildone, name)) and name[0] != "_"}
    assert set(plain) - {"close"} == functions - {"run_async", "connect", "connect_async"}
    assert set(plain) == set(aio)
    for name, signature in plain.items():
        added = {"timeout"} if name == "wait" else set()
        assert set(signature.parameters) == {*aio[name].parameters, *added}, name
        assert getattr(Client, name).__doc__, name


def test_a_loop_from_its_creation_to_its_end(server: Server, client: Client) -> None:
    args = script(server, {"say": "more", "write": {"b": "c"}}, {"say": "done", "claim": True, "write": {"a": "b"}})
    loop = client.create("A job", agent="scripted", args=args, checks=["test -s a"], max_iterations=1)
    assert (loop.status, loop.budget.iterations) == (Status.CREATED, 1)
    client.start(loop)
    seen = [entry.seq for entry in client.follow(loop)]
    assert seen == list(range(1, len(seen) + 1))
    assert client.wait(loop, timeout=60).outcome is Outcome.BUDGET
    heard = client.say(loop, "[r+2] go on")
    assert (heard.goes_on, heard.notices) == (True, ("Added 2 rounds. Remaining: 2",))
    ended = client.wait(loop.loop_id)
    assert (ended.outcome, ended.spend.iterations) == (Outcome.VERIFIED, 2)
    assert client.show(loop) == ended
    (check,) = client.verify(loop, room="plain")
    assert (check.agrees, check.holds, check.same_workspace) == (True, True, True)
    first, second = client.rounds(loop)
    assert (first.words, second.claimed, second.gates[0].passed) == ("more", True, True)
    assert "more" in client.output(loop, 1)
    assert "done" in client.output(loop)
    assert "+b" in client.diff(loop)
    assert client.receipt(loop)["outcome"] == "verified"
    assert client.tasks(loop) == ()
    (line,) = client.list(status="completed")
    assert (line.loop_id, line.outcome, line.spend) == (loop.loop_id, Outcome.VERIFIED, ended.spend)
    assert client.list(status="running") == ()
    client.delete(loop)
    assert client.list() == ()


def test_controls(server: Server, client: Client) -> None:
    loop = client.create("A job", start=True, agent="scripted", args=["--scenario", "hang"])
    assert loop.status is Status.RUNNING
    with pytest.raises(TimeoutError):
        client.wait(loop, timeout=0.5)
    assert client.budget(loop, iterations="+5", minutes="none").budget.iterations == 10
    client.pause(loop, now=True)
    assert client.wait(loop).outcome is Outcome.PAUSED
    client.resume(loop)
    client.stop(loop, now=True)
    assert client.wait(loop).outcome is Outcome.STOPPED
    client.retry(loop)
    client.pause(loop, now=True)
    assert client.wait(loop).outcome is Outcome.PAUSED
    assert client.rewind(loop, 0).status is Status.PAUSED
    copied = client.duplicate(loop, task="Another job", max_iterations=3)
    assert (copied.description, copied.budget.iterations) == ("Another job", 3)
    client.stop(copied)
    assert {line.title for line in client.list()} == {"A job", "Another job"}
    assert len(client.list(limit=1)) == 1
    assert client.clean("0h") == (copied.loop_id,)


def test_run_tells_each_entry_and_its_callback_may_use_the_client(server: Server, client: Client) -> None:
    names: list[str] = []
    heard = server.cli.workspace / "heard"
    wait = ["timeout", "60", "sh", "-c", "until [ -e heard ]; do sleep 0.1; done"]
    args = script(server, {"say": "waiting", "run": wait}, {"say": "done", "claim": True})

    def tell(entry: untildone.Entry) -> None:
        names.append(events.name_of(entry.event))
        if isinstance(entry.event, events.LoopCreated):
            client.say(entry.event.loop_id, "hello")
            heard.touch()

    loop = client.run("A job", agent="scripted", args=args, on_event=tell)
    assert loop.outcome is Outcome.CLAIMED
    assert (names[0], names[-1], names.count("message")) == ("loop_created", "task_complete", 1)


def test_a_run_that_ends_early_leaves_a_paused_loop(server: Server, client: Client) -> None:
    def refuse(entry: untildone.Entry) -> None:
        if isinstance(entry.event, events.IterationStart):
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        client.run("A job", agent="scripted", args=["--scenario", "hang"], on_event=refuse)
    (line,) = client.list()
    assert client.wait(line, timeout=60).outcome is Outcome.PAUSED


def test_ctrl_c_pauses_the_loop_of_run(server: Server, client: Client) -> None:
    program = f"""
import untildone
def tell(entry):
    print(untildone.events.name_of(entry.event), flush=True)
untildone.connect("{server.url}", "{TOKEN}").run("A job", agent="scripted", args=["--scenario", "hang"], on_event=tell)
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert "iteration_start\n" in iter(running.stdout.readline, "")
    running.send_signal(signal.SIGINT)
    _, problem = running.communicate(timeout=60)
    assert "KeyboardInterrupt" in problem.splitlines()
    assert "RuntimeError" not in problem
    (line,) = client.list()
    assert client.wait(line, timeout=60).outcome is Outcome.PAUSED


def test_an_asynchronous_program(server: Server) -> None:
    async def story() -> None:
        async with untildone.connect_async(server.url, TOKEN) as client:
            done, stuck = await asyncio.gather(
                client.run("A job", agent="scripted"),
                client.create("Another", start=True, agent="scripted", args=["--scenario", "hang"]),
            )
            assert done.outcome is Outcome.CLAIMED
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await client.wait(stuck)
            await client.stop(stuck, now=True)
            assert (await client.wait(stuck)).outcome is Outcome.STOPPED
            assert [each.event async for each in client.follow(done)]

    asyncio.run(asyncio.wait_for(story(), 90))


def test_a_wait_outlives_the_server(server: Server, client: Client) -> None:
    args = script(
        server, *({"say": f"turn {number}", "sleep": 0.5} for number in range(3)), {"say": "x", "claim": True}
    )
    loop = client.create("A job", start=True, agent="scripted", args=args, max_iterations=20)
    seen: list[untildone.Entry] = []
    begun = threading.Event()

    def follow() -> None:
        for entry in client.follow(loop):
            seen.append(entry)
            if isinstance(entry.event, events.IterationStart):
                begun.set()

    following = threading.Thread(target=follow)
    following.start()
    assert begun.wait(60)
    server.kill()
    server.start()
    assert client.wait(loop, timeout=90).outcome is Outcome.CLAIMED
    following.join(60)
    assert [entry.seq for entry in seen] == list(range(1, client.show(loop).seq + 1))


def test_errors_are_those_of_the_package(server: Server, client: Client) -> None:
    from untildone.core.errors import LoopNotFound, UsageError, WrongMove

    loop = client.create("A job", agent="scripted")
    with pytest.raises(WrongMove, match="cannot be paused"):
        client.pause(loop)
    with pytest.raises(LoopNotFound):
        client.show("loop-nobody")
    with pytest.raises(UsageError) as caught:
        client.create("A job", agent="nobody")
    assert caught.value.hint
    with pytest.raises(UsageError, match="no receipt yet"):
        client.receipt(loop)
    with untildone.connect(server.url, "another-token") as stranger, pytest.raises(UsageError, match="token"):
        stranger.list()


def test_a_loop_whose_answer_is_lost_is_created_once(server: Server) -> None:
    with LossyProxy(server.url) as proxy:
        port = urlsplit(proxy.address).port
        with untildone.connect(f"http://127.0.0.1:{port}", TOKEN) as client:
            assert client.list() == ()
            proxy.lose(b"POST /api/v1/loops ")
            loop = client.create("A job", agent="scripted")
            assert proxy.lost == 1
            assert [line.loop_id for line in client.list()] == [loop.loop_id]
