"""Loops in Postgres, by the same commands and the same server: nothing differs but where they are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.support.command_line import CommandLine, Ended, until
from tests.support.postgres import PASSWORD, Cluster
from tests.support.serving import Server

from untildone.core.model import Outcome
from untildone.operations import look
from untildone.store.postgres import PostgresStore

PATIENCE = 120.0
pytestmark = pytest.mark.timeout(400)
LIE = {"say": "Done. <promise>COMPLETE</promise>"}
WORK = {"write": {"done.txt": "yes"}, "say": "Done. <promise>COMPLETE</promise>"}


@pytest.fixture
def shared(cli: CommandLine, database: str) -> CommandLine:
    """A command line whose loops are in the database."""
    cli.environment["UNTILDONE_STORE"] = database
    return cli


def run(cli: CommandLine, *words: str) -> Ended:
    return cli.run(*words, patience=PATIENCE)


def events(ended: Ended) -> list[str]:
    return [record["event"] for record in ended.records]


def test_the_same_loop_in_files_and_in_postgres(tmp_path: Path, database: str) -> None:
    told: list[tuple[int, list[str], str]] = []
    for name, store in (("files", ()), ("postgres", ("--store", database))):
        cli = CommandLine(tmp_path / name)
        agent = cli.script(LIE, WORK)
        ended = run(cli, "run", "Write done.txt", "--check", "test -f done.txt", "--json", *store, *agent)
        last = ended.records[-1]
        told.append((ended.code, events(ended), f"{last['status']} {last['outcome']} {last['iterations']}"))
    assert told[0] == told[1]
    assert told[1][::2] == (0, "completed verified 2")
    assert not (tmp_path / "postgres" / "workspace" / ".loop").exists()


def test_every_command_finds_the_loop(shared: CommandLine) -> None:
    agent = shared.script(LIE, WORK)
    subprocess.run(["git", "init", "-q", "."], cwd=shared.workspace, check=True)
    ended = run(shared, "run", "Write done.txt", "--check", "test -f done.txt", *agent)
    assert ended.code == 0, ended.errors
    loop_id = ended.output.split()[0]
    assert loop_id in run(shared, "list").output
    page = run(shared, "show", loop_id[-6:])
    assert "verified" in page.output
    assert "postgres://127.0.0.1" in page.output
    assert "Round 2" in run(shared, "log").output
    assert run(shared, "log", "--output", "2").output.endswith("Done. <promise>COMPLETE</promise>\n")
    assert run(shared, "verify").output == "test -f done.txt: then passed, now passed\n"
    assert "done.txt" in run(shared, "diff").output
    assert run(shared, "wait").code == 0
    assert shared.shown()["spend"]["iterations"] == 2
    missing = run(shared, "log", "--output", "7")
    assert (missing.code, "no output of round 7" in missing.errors) == (2, True)
    assert run(shared, "show", "--store", "").code == 2


def test_controls_from_another_terminal(shared: CommandLine) -> None:
    ended = run(
        shared, "run", "A job", "--detach", "--agent", "scripted", "--", "--scenario", "slow", "--seconds", "100"
    )
    assert ended.code == 0, ended.errors
    until(lambda: shared.shown()["turn"], PATIENCE)
    assert run(shared, "say", "last", "[r+3] and quickly").output
    assert run(shared, "budget", "last", "--iterations", "+2").code == 0
    assert run(shared, "pause", "--now").code == 0
    assert run(shared, "wait").code == 7
    shown = shared.shown()
    assert (shown["budget"]["iterations"], shown["inbox"], shown["driven"]) == (10, ["and quickly"], False)
    assert run(shared, "resume", "--detach").code == 0
    until(lambda: shared.shown()["turn"], PATIENCE)
    os.kill(shared.shown()["runner"]["pid"], signal.SIGKILL)
    until(lambda: not shared.shown()["driven"], PATIENCE)
    assert "no runner: resume goes on" in run(shared, "list").output
    assert run(shared, "stop", "last").code == 0
    assert run(shared, "wait").code == 5


def test_a_settings_file_names_the_store(cli: CommandLine, database: str) -> None:
    (cli.workspace / "untildone.toml").write_text(f'store = "{database}"\n')
    assert run(cli, "run", "A job", *cli.script(WORK)).code == 0
    assert len(cli.loops) == 1
    assert PASSWORD not in run(cli, "config").output
    cli.environment["UNTILDONE_STORE"] = ""
    assert cli.loops == []


def test_the_password_is_shown_nowhere(cli: CommandLine, database: str) -> None:
    # In scripts: a command that contains a secret is refused.
    scripts = cli.home.parent / "scripts"
    scripts.mkdir()
    for name, last in (("agent.sh", "echo the end"), ("check.sh", "false")):
        (scripts / name).write_text(f"env; echo {PASSWORD}; {last}\n")
    agent = ("--agent", "command", "--command", f"sh {scripts / 'agent.sh'}", "-r", "1")
    store = ("--store", database)
    told = [run(cli, "run", f"The password is {PASSWORD}", "--check", f"sh {scripts / 'check.sh'}", *agent, *store)]
    told += [run(cli, word, *store) for word in ("list", "show", "log", "verify", "diff", "wait")]
    told += [
        run(cli, "log", "--output", "1", *store),
        run(cli, "list", "--store", database.replace("/test_", "/none_")),
    ]
    told += [run(cli, "list", "--store", database.replace(PASSWORD, f"{PASSWORD}%zz"))]
    assert "the end" in told[7].output
    assert "[redacted UNTILDONE_STORE]" in told[7].output
    assert "UNTILDONE_STORE=" not in told[7].output
    assert [ended for ended in told if PASSWORD in ended.output + ended.errors] == []
    with psycopg.connect(database) as connection:
        for table in ("loops", "entries", "checkpoints", "documents"):
            rows = connection.execute(f"SELECT * FROM untildone.{table}".encode()).fetchall()
            assert rows or table == "documents"
            assert PASSWORD not in repr(rows)
        output = connection.execute("SELECT content FROM untildone.output").fetchall()
        assert PASSWORD.encode() not in b"".join(content for (content,) in output)
    files = [path for folder in (cli.home, cli.workspace) for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("address", "code", "sentence"),
    [
        ("mysql://user:secret-1234567@host/x", 2, "The store's address is not that of a Postgres database."),
        ("postgres://[secret-1234567", 2, "The store's address is not that of a Postgres database."),
        ("postgres://user:secret-1234567%zz@host/x", 2, "The store's address cannot be read."),
        ("postgres://user:secret-1234567@127.0.0.1:1/x", 6, "postgres://127.0.0.1:1/x does not answer: "),
    ],
)
def test_a_bad_address_is_one_sentence_and_a_hint(cli: CommandLine, address: str, code: int, sentence: str) -> None:
    for ended in (run(cli, "list", "--store", address), run(cli, "serve", "--port", "0", "--store", address)):
        first, hint = ended.errors.splitlines()[-2:]
        assert (ended.code, first.startswith(f"untildone: {sentence}")) == (code, True), ended.errors
        assert hint.startswith("hint: ")
        assert "secret-1234567" not in ended.errors + ended.output


def test_without_the_package_the_way_to_it_is_told(cli: CommandLine) -> None:
    hidden = cli.home / "hidden"
    for name in ("psycopg", "psycopg_pool"):
        (hidden / name).mkdir(parents=True)
        (hidden / name / "__init__.py").write_text("raise ModuleNotFoundError(__name__)\n")
    cli.environment["PYTHONPATH"] = f"{hidden}{os.pathsep}{cli.environment['PYTHONPATH']}"
    ended = run(cli, "list", "--store", "postgres://user@host/x")
    assert ended.code == 2
    assert "psycopg, which is not installed" in ended.errors
    assert "uv tool install '.[cluster]'" in ended.errors


def stream(server: Server, loop_id: str) -> list[dict[str, Any]]:
    with server.client.stream("GET", f"/api/v1/loops/{loop_id}/events", timeout=PATIENCE) as lines:
        return [json.loads(line.removeprefix("data: ")) for line in lines.iter_lines() if line.startswith("data: ")]


def test_a_server_drives_loops_of_a_database(shared: CommandLine) -> None:
    script = shared.home / "script.json"
    script.write_text(json.dumps([LIE, WORK]))
    with Server(shared) as server:
        loop_id = server.create(args=["--script", str(script)], checks=["test -f done.txt"])
        told = [entry["event"] for entry in stream(server, loop_id)]
        assert (told[0], told[-1], told.count("iteration_start")) == ("loop_created", "loop_end", 2)
        assert server.until_status(loop_id, "completed", patience=PATIENCE)["outcome"] == "verified"
        printed = server.client.get(f"/api/v1/loops/{loop_id}/output/2", params={"offset": 0, "limit": 100_000})
        assert "COMPLETE" in printed.text
        assert server.client.get(f"/api/v1/loops/{loop_id}/output/9").status_code == 404
        receipt = until(lambda: server.client.get(f"/api/v1/loops/{loop_id}/receipt").json(), PATIENCE)
        assert receipt["outcome"] == "verified"
        assert [line["loop_id"] for line in server.client.get("/api/v1/loops").json()["loops"]] == [loop_id]
        second = run(shared, "serve", "--port", "0")
        assert (second.code, "Another server serves postgres://" in second.errors) == (2, True), second.errors
        two_folders = run(shared, "serve", "--port", "0", "--dir", ".", "--dir", str(shared.home))
        assert (two_folders.code, "served for one folder" in two_folders.errors) == (2, True), two_folders.errors
        assert server.client.delete(f"/api/v1/loops/{loop_id}").status_code == 204
        assert shared.loops == []


def test_a_group_has_its_places_in_a_server_too(shared: CommandLine) -> None:
    """A free slot is not enough: the second loop begins when the first one rests."""
    script = shared.home / "script.json"
    script.write_text(json.dumps([{"say": "Done. <promise>COMPLETE</promise>", "sleep": 1}]))
    with Server(shared) as server:
        assert server.client.put("/api/v1/groups/night", json={"at_once": 1}).status_code == 200
        loop_ids = [server.create(args=["--script", str(script)], group="night") for _ in range(2)]
        for loop_id in loop_ids:
            server.until_status(loop_id, "completed", patience=PATIENCE)
        entries = [entry for loop_id in loop_ids for entry in stream(server, loop_id)]
        turns = [entry for entry in entries if entry["event"] in ("iteration_start", "iteration_complete")]
        names = [entry["event"] for entry in sorted(turns, key=lambda entry: str(entry["ts"]))]
        assert names == ["iteration_start", "iteration_complete"] * 2


def test_a_killed_server_takes_its_loops_up_again(shared: CommandLine) -> None:
    agent = shared.home / "agent.sh"
    agent.write_text(
        'seen="$HOME/$UNTILDONE_LOOP_ID"; test -e "$seen" && echo "<promise>COMPLETE</promise>" && exit\n'
        'touch "$seen"; sleep 100\n'
    )
    with Server(shared, "--slots", "2") as server:
        running = [server.create(agent="command", command=f"sh {agent}") for _ in range(3)]
        until(lambda: all((shared.home / loop_id).exists() for loop_id in running[:2]), PATIENCE)
        server.kill()
        until(lambda: not any(loop["driven"] for loop in shared.loops), PATIENCE)
        (shared.home / running[2]).touch()
        server.start()
        for loop_id in running:
            assert server.until_status(loop_id, "completed", patience=PATIENCE)["outcome"] == "claimed"
        told = events(run(shared, "log", running[0], "--json"))
        counted = [told.count(name) for name in ("runner_claimed", "iteration_start", "iteration_interrupted")]
        assert counted == [2, 2, 1]


def has_begun(store: PostgresStore, rounds: int) -> bool:
    return any(loop.spend.iterations >= rounds for loop in look.load_all(store))


@pytest.mark.slow
def test_a_loop_goes_on_while_the_database_crashes(
    shared: CommandLine, postgres: Cluster, database: str, tmp_path: Path
) -> None:
    steps = [{"say": f"Step {number}.", "sleep": 1} for number in range(7)]
    words = ("--json", "-r", "10", *shared.script(*steps, WORK))
    running = shared.start("run", "Write done.txt", "--check", "test -f done.txt", *words)
    with closing(PostgresStore(database, folder=tmp_path, patience=PATIENCE)) as store:
        try:
            for rounds in (1, 3):
                until(partial(has_begun, store, rounds), PATIENCE)
                postgres.crash()
                postgres.start()
            output, errors = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()
        (loop,) = look.load_all(store)
    assert running.returncode == 0, errors
    numbers = [record["seq"] for record in map(json.loads, output.splitlines()) if "seq" in record]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (loop.spend.iterations, loop.outcome) == (8, Outcome.VERIFIED)


def test_a_server_without_its_database_says_so_soon(shared: CommandLine, postgres: Cluster) -> None:
    with Server(shared) as server:
        loop_id = server.create(start=False)
        paths = ("/api/v1/ready", "/api/v1/loops", f"/api/v1/loops/{loop_id}", "/api/v1/metrics")
        client = server.new_client(timeout=15.0)
        assert [client.get(path).status_code for path in paths] == [200] * 4
        postgres.crash()
        try:
            until(lambda: client.get("/api/v1/ready").status_code == 503)
            for path in paths:
                assert client.get(path).status_code == 503, path
            (part,) = (part for part in client.get("/api/v1/ready").json()["parts"] if not part["ready"])
            assert part["name"].startswith("store of ")
            assert server.is_well(), "it is alive"
        finally:
            postgres.start()
        until(lambda: [client.get(path).status_code for path in paths] == [200] * 4, PATIENCE)
        log = server.log.read_text()
        assert "is not usable" in log
        assert "is usable again" in log


def test_bisect_hands_nothing_of_the_database_to_checks(shared: CommandLine) -> None:
    agent = shared.script({"write": {"a": "1"}, "say": "one"}, {"write": {"a": "2"}, "say": "two"})
    assert run(shared, "run", *agent[:2], "-r", "2", "Work", *agent[2:]).code == 3
    shared.environment["PGAPPNAME"] = "bisect"
    check = "! env | grep -q ^PG && ! grep -q 2 a"
    found = run(shared, "bisect", "last", "--check", check, "--json")
    assert (found.code, found.records[-1]["broke"]) == (0, 2), found.errors
