"""Loops that go on after their end, go back to a round, are duplicated or cleaned up: from every face, and over `kill -9`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import Server

import untildone
from untildone.core.errors import BudgetUsedUp

AGENT = """#!/bin/sh
prompt=$(cat)
n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n
mkdir -p deep/$n; printf 'round %s\\0\\r\\n' $n > deep/$n/bytes; echo $n >> log.txt; ln -sf deep/$n/bytes newest
[ $((n % 2)) = 0 ] && chmod +x log.txt || chmod -x log.txt
[ -e ../fail ] && exit 3
mkdir -p ../trees; rm -rf ../trees/$n; mkdir ../trees/$n; tar c --exclude=./.loop --exclude=./.git . | tar x -C ../trees/$n
echo "working on $n"
"""


@pytest.fixture
def agent(cli: CommandLine) -> str:
    program = cli.home / "agent.sh"
    program.write_text(AGENT)
    program.chmod(0o755)
    return str(program)


def tree(folder: Path) -> dict[str, tuple[str, str]]:
    """Every file of a workspace: kind and digest."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith((".loop", ".git")) or (path.is_dir() and not path.is_symlink()):
            continue
        kind = "link" if path.is_symlink() else "program" if os.access(path, os.X_OK) else "file"
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        found[name] = (kind, hashlib.sha256(content).hexdigest())
    return found


def rounds(cli: CommandLine, agent: str, count: int) -> list[dict[str, tuple[str, str]]]:
    """Run a loop of so many rounds; return the workspace before the first and after each."""
    start = tree(cli.workspace)
    assert cli.run("run", "--command", agent, "-r", str(count), "Do it").code == 3
    return [start, *(tree(cli.workspace.parent / "trees" / str(number)) for number in range(1, count + 1))]


def test_a_failed_loop_goes_on_in_the_same_round(cli: CommandLine, agent: str) -> None:
    fail = cli.workspace.parent / "fail"
    fail.touch()
    ended = cli.run("run", "--json", "--command", agent, "-r", "2", "Do it")
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (6, "failed", 1)
    assert "untildone retry" in ended.errors
    assert cli.run("resume", "last").code == 2
    fail.unlink()
    retried = cli.run("retry", "--json")
    assert (retried.code, retried.records[-1]["outcome"], retried.records[-1]["iterations"]) == (3, "budget", 2)
    assert not list((cli.workspace / ".loop" / "history").iterdir())
    assert list((cli.workspace / ".loop").glob("*.progress/receipt-1.json"))


def test_a_stopped_loop_goes_on_and_its_next_receipt_counts_everything(cli: CommandLine, agent: str) -> None:
    rounds(cli, agent, 1)
    assert cli.run("stop", "last").code == 0
    assert cli.run("retry", "-r", "+1", "--detach").code == 0
    assert cli.run("wait", "last", "--timeout", "60").code == 3
    assert cli.run("stop", "last").code == 0
    shown = cli.shown()
    assert (shown["outcome"], shown["current_iteration"]) == ("stopped", 2)
    assert cli.run("verify", "last").code in (0, 2)
    (archived,) = (cli.workspace / ".loop" / "history").iterdir()
    assert {path.name for path in archived.glob("receipt*")} == {"receipt.json", "receipt-1.json"}


def test_a_completed_loop_is_not_retried_but_duplicated(cli: CommandLine) -> None:
    done = cli.script({"say": "<promise>COMPLETE</promise>"})
    assert cli.run("run", "--check", "true", "-r", "7", *done[:2], "Do it", *done[2:]).code == 0
    refused = cli.run("retry", "last")
    assert refused.code == 2
    assert "it cannot be retried" in refused.errors
    assert "untildone duplicate" in refused.errors
    first = cli.shown()
    again = cli.run("duplicate", "last", "--json", "--max-minutes", "5")
    assert again.records[-1]["outcome"] == "verified", again.errors
    second = cli.shown()
    assert second["loop_id"] != first["loop_id"]
    assert second["description"] == first["description"]
    assert second["settings"] == first["settings"]
    assert second["budget"] == {**first["budget"], "minutes": 5.0}


def test_a_flag_of_run_changes_the_duplicate(cli: CommandLine, agent: str) -> None:
    rounds(cli, agent, 1)
    assert cli.run("duplicate", "last", "-r", "2", "--check", "test -e never", "Something else").code == 3
    shown = cli.shown()
    assert (shown["description"], shown["max_iterations"]) == ("Something else", 2)
    assert shown["settings"]["checks"] == ["test -e never"]
    assert shown["settings"]["worker"]["command"] == agent


@pytest.mark.parametrize(
    ("flags", "escalate"), [((), ["strong", "other"]), (("--command", "echo hello"), ["other"])], ids=["same", "agent"]
)
def test_a_duplicate_has_those_who_take_over(cli: CommandLine, flags: tuple[str, ...], escalate: list[str]) -> None:
    (cli.workspace / "untildone.toml").write_text('[profiles.other]\nagent = "command"\ncommand = "echo other"\n')
    script = cli.script({"claim": True})
    assert cli.run("run", *script[:2], "--escalate", "strong,other", "Work", *script[2:]).code == 0
    again = cli.run("duplicate", "last", *flags, "-r", "1")
    assert again.code in (0, 3), again.errors
    settings = cli.shown()["settings"]
    worker = settings["worker"]["profile"]
    taking_over = settings["escalate"]
    assert [each["model"] if each["profile"] == worker else each["profile"] for each in taking_over] == escalate


def test_every_round_of_twenty_comes_back_byte_for_byte(cli: CommandLine, agent: str) -> None:
    (cli.workspace / ".gitignore").write_text("kept/\n")
    subprocess.run(["git", "init", "-q"], cwd=cli.workspace, check=True)
    trees = rounds(cli, agent, 20)
    (cli.workspace / "kept").mkdir()
    (cli.workspace / "kept" / "ignored").write_text("mine")
    (cli.workspace / "edit").write_text("of the person")
    trees[20] = tree(cli.workspace)
    for number in (13, 2, 19, 0, 7):
        taken = cli.run("rewind", "last", "--to", str(number))
        assert taken.code == 0, taken.errors
        now = tree(cli.workspace)
        assert now.pop("kept/ignored") == trees[20]["kept/ignored"]
        assert now == trees[number], f"round {number}"
    for _ in range(5):
        assert cli.run("rewind", "last", "--undo").code in (0, 2)
    assert cli.run("rewind", "last", "--to", "20").code == 0
    assert cli.shown()["current_iteration"] == 20


def test_what_the_person_had_comes_back(cli: CommandLine, agent: str) -> None:
    rounds(cli, agent, 2)
    (cli.workspace / "edit").write_text("of the person")
    (cli.workspace / "log.txt").write_text("changed by hand")
    before = tree(cli.workspace)
    taken = cli.run("rewind", "last", "--to", "1")
    assert "rewind" in taken.errors
    assert "--undo" in taken.errors
    assert not (cli.workspace / "edit").exists()
    assert cli.run("rewind", "last", "--to", "1").code == 0
    assert cli.run("rewind", "last", "--undo").code == 0
    assert tree(cli.workspace) == before


def test_a_file_that_no_snapshot_has_is_never_overwritten(cli: CommandLine, agent: str) -> None:
    (cli.workspace / ".gitignore").write_text("n\n")
    subprocess.run(["git", "init", "-q"], cwd=cli.workspace, check=True)
    rounds(cli, agent, 2)
    (cli.workspace / ".gitignore").write_text("n\nlog.txt\n")
    (cli.workspace / "log.txt").unlink()
    (cli.workspace / "log.txt").mkdir()
    (cli.workspace / "log.txt" / "n").write_text("ignored and mine")
    before = cli.shown()["seq"]
    refused = cli.run("rewind", "last", "--to", "1")
    assert refused.code == 2
    assert "in the way: log.txt/n" in refused.errors
    assert cli.shown()["seq"] == before or cli.shown()["outcome"] == "budget"
    assert (cli.workspace / "log.txt" / "n").read_text() == "ignored and mine"


def test_a_running_loop_is_not_rewound(cli: CommandLine) -> None:
    slow = cli.script({"sleep": 60, "say": "x"})
    assert cli.run("run", "--detach", *slow[:2], "Do it", *slow[2:]).code == 0
    refused = cli.run("rewind", "last", "--to", "0")
    assert (refused.code, "pause it first" in refused.errors) == (2, True)
    assert cli.run("stop", "--now", "last").code == 0


def test_an_agent_with_a_session_begins_anew_with_an_account(cli: CommandLine) -> None:
    turns = cli.script(*({"say": f"I did part {number}."} for number in range(1, 6)))
    assert cli.run("run", "-r", "3", *turns[:2], "Do it", *turns[2:]).code == 3
    session = cli.shown()["sessions"]
    assert session
    assert cli.run("rewind", "last", "--to", "3").code == 0
    assert cli.shown()["sessions"] == session, "nobody has worked since: the session goes on"
    assert cli.run("rewind", "last", "--to", "1").code == 0
    assert not cli.shown()["sessions"]
    assert cli.run("resume", "-r", "+1").code == 3
    prompt = [entry for entry in cli.run("log", "--json").records if entry["event"] == "iteration_start"][-1]
    assert (prompt["session"], prompt["iteration"]) == ("new", 4)
    assert "back to where it was after round 1" in prompt["prompt"]
    assert "rounds 2 to 3 are undone" in prompt["prompt"]
    assert "> I did part 1." in prompt["prompt"]
    assert cli.shown()["account"] == ""


def test_retry_from_a_round_takes_it_and_later_ones_back(cli: CommandLine, agent: str) -> None:
    trees = rounds(cli, agent, 3)
    assert cli.run("stop", "last").code == 0
    assert cli.run("retry", "--from-round", "2", "-r", "+1").code == 3
    assert tree(cli.workspace) == trees[2], "round 2 was done again, on the files of round 1"
    assert cli.shown()["current_iteration"] == 4
    assert cli.run("retry", "--from-start", "-r", "+1").code == 3
    assert tree(cli.workspace) == trees[1]


def test_clean_deletes_what_ended_long_ago_and_nothing_else(cli: CommandLine, agent: str) -> None:
    rounds(cli, agent, 1)
    assert cli.run("stop", "last").code == 0
    rounds(cli, agent, 1)
    assert cli.run("clean", "--older-than", "1h").output == ""
    assert cli.run("clean", "--older-than", "soon").code == 2
    assert "would be deleted" in cli.run("clean", "--older-than", "0h", "--dry-run").output
    (deleted,) = cli.run("clean", "--older-than", "0h", "--json").records
    assert deleted["deleted"] is True
    (left,) = cli.loops
    assert left["status"] == "paused"


@pytest.mark.parametrize("verb", [("retry", "-r", "+1", "--detach"), ("rewind", "--to", "1")], ids=["retry", "rewind"])
def test_kill_9_at_any_moment_loses_nothing(cli: CommandLine, agent: str, verb: tuple[str, ...]) -> None:
    trees = rounds(cli, agent, 3)
    assert cli.run("stop", "last").code == 0
    loop_id = cli.shown()["loop_id"]
    edited = cli.workspace / "edit"
    for moment in range(12):
        edited.write_text(f"edit {moment}")
        process = cli.start(verb[0], loop_id, *verb[1:])
        time.sleep(0.12 + moment * 0.05)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        shown = cli.shown(loop_id)
        assert shown["status"] in ("failed", "running", "paused")
        assert shown["current_iteration"] <= 3 + 1 + moment
    for _ in range(2):
        cli.run("stop", "--now", loop_id)
        assert until(lambda: cli.shown(loop_id)["status"] == "failed" and not cli.shown(loop_id)["turn"])
    if verb[0] == "rewind":
        assert cli.run("rewind", loop_id, "--to", "1").code == 0
        assert tree(cli.workspace) == trees[1]
        assert not list(cli.workspace.glob("**/*untildone-restored*"))
    else:
        assert cli.run("retry", loop_id, "-r", "+1").code == 3
    counted = [
        each["iteration"] for each in cli.run("log", loop_id, "--json").records if each["event"] == "iteration_start"
    ]
    assert counted == sorted(set(counted)), "each round once"
    assert cli.shown(loop_id)["current_iteration"] == counted[-1]


def test_the_api_has_the_verbs_and_refuses_wrong_moves(cli: CommandLine, agent: str) -> None:
    with Server(cli) as server:
        post = server.client.post
        loop_id = server.create("Do it", agent="command", command=agent, max_iterations=2)
        server.until_status(loop_id, "paused")
        stopped = post(f"/api/v1/loops/{loop_id}/stop")
        assert stopped.status_code == 200
        server.until_status(loop_id, "failed")
        assert post(f"/api/v1/loops/{loop_id}/retry", json={"budget": {"iterations": "+1"}}).status_code == 200
        assert server.until_status(loop_id, "paused")["current_iteration"] == 3
        taken = post(f"/api/v1/loops/{loop_id}/rewind", json={"to": 1})
        assert (taken.status_code, bool(taken.json()["kept"])) == (200, True), taken.text
        assert (cli.workspace / "log.txt").read_text() == "1\n"
        assert post(f"/api/v1/loops/{loop_id}/rewind", json={"undo": True}).status_code == 200
        assert (cli.workspace / "log.txt").read_text() == "1\n2\n3\n"
        assert post(f"/api/v1/loops/{loop_id}/rewind", json={"to": 99}).status_code == 422
        assert post(f"/api/v1/loops/{loop_id}/rewind", json={}).status_code == 422
        new = post(f"/api/v1/loops/{loop_id}/duplicate", json={"settings": {"max_iterations": 1}, "start": True})
        assert new.status_code == 201
        assert new.json()["loop_id"] != loop_id
        assert server.until_status(new.json()["loop_id"], "paused")["current_iteration"] == 1
        done = server.create(max_iterations=1)
        server.until_status(done, "completed", "paused")
        if server.show(done)["status"] == "completed":
            assert post(f"/api/v1/loops/{done}/retry").status_code == 409
        assert post(f"/api/v1/loops/{loop_id}/stop").status_code == 200
        server.until_status(loop_id, "failed")
        named = post("/api/v1/clean", json={"older_than": "0h", "dry_run": True}).json()
        assert (loop_id in named["found"], named["deleted"]) == (True, [])
        assert post("/api/v1/clean", json={"older_than": "0h", "workspace": "/nowhere"}).status_code == 422
        cleaned = post("/api/v1/clean", json={"older_than": "0h", "workspace": str(cli.workspace)}).json()
        assert (loop_id in cleaned["deleted"], cleaned["found"]) == (True, named["found"])
        assert post(f"/api/v1/loops/{loop_id}/retry").status_code == 404


def test_python_has_the_verbs(cli: CommandLine, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cli.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)

    async def play() -> None:
        folder = cli.workspace
        loop = await untildone.create("Do it", folder=folder, agent="command", command=agent, max_iterations=2)
        await untildone.start(loop, folder=folder)
        assert (await untildone.wait(loop, folder=folder)).spend.iterations == 2
        back = await untildone.rewind(loop, 1, folder=folder)
        assert back.status is untildone.Status.PAUSED
        await untildone.stop(loop, folder=folder)
        with pytest.raises(BudgetUsedUp):
            await untildone.retry(loop, from_round=1, folder=folder)
        assert (folder / "log.txt").read_text() == "1\n", "nothing was taken back"
        await untildone.rewind(loop, undo=True, folder=folder)
        await untildone.retry(loop, from_round=1, budget={"iterations": "+1"}, folder=folder)
        assert (await untildone.wait(loop, folder=folder)).outcome is untildone.Outcome.BUDGET
        with pytest.raises(BudgetUsedUp):
            await untildone.resume(loop, folder=folder)
        spent = await untildone.spend(folder=folder)
        assert (spent.today.rounds, spent.today.loops, [each.name for each in spent.agents]) == (3, 1, ["command"])
        assert await untildone.branch(loop, folder=folder) is None
        new = await untildone.duplicate(loop, folder=folder, max_iterations=1)
        assert (new.budget.iterations, new.settings.worker.command) == (1, agent)
        await untildone.stop(loop, folder=folder)
        assert await untildone.clean("0h", dry_run=True, folder=folder) == (loop.loop_id,)
        assert await untildone.clean("0h", folder=folder) == (loop.loop_id,)
        await untildone.stop(new, folder=folder)
        await untildone.delete(new, folder=folder)
        assert await untildone.list(folder=folder) == ()

    asyncio.run(asyncio.wait_for(play(), 120))


# Each round adds a line; the planted round spoils the file for good.
SPOILS = """#!/bin/sh
cat > /dev/null
n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n
echo "line $n" >> work.txt
[ $n = 13 ] && echo spoiled >> work.txt
echo "did $n"
"""


@pytest.mark.parametrize("room", ["plain", "sealed"])
def test_bisect_finds_the_planted_round_in_five_checks_of_twenty(cli: CommandLine, room: str) -> None:
    agent = cli.home / "spoils.sh"
    agent.write_text(SPOILS)
    agent.chmod(0o755)
    cli.environment["UNTILDONE_ROOM"] = room
    check = "! grep -q spoiled work.txt"
    assert cli.run("run", "--command", str(agent), "-r", "20", "--check", check, "Do it").code == 3
    before = tree(cli.workspace)
    found = cli.run("bisect", "last", "--json")
    assert found.code == 0, found.errors
    (record,) = found.records
    assert (record["broke"], record["holds_after"], record["failed"]) == (13, 12, [check])
    assert len(record["checked"]) <= 5
    assert tree(cli.workspace) == before
    holds = cli.run("bisect", "last", "--check", "test -e n")
    assert (holds.code, "nothing is broken" in holds.errors or "fail after round 0" in holds.errors) == (2, True)
    assert cli.run("bisect", "last", "--check", "false").code == 2


BREAKS = """#!/bin/sh
prompt=$(cat)
n=$(($(cat ../n 2>/dev/null || echo 0) + 1)); echo $n > ../n
printf '%s\\n=====\\n' "$prompt" >> ../prompts
case $n in
  1) echo a > a.txt; echo "did a" ;;
  2) rm a.txt; echo c > c.txt; echo "did c" ;;
  3) echo b > b.txt; echo '<promise>COMPLETE</promise>' ;;
esac
"""


def test_the_ratchet_undoes_a_round_that_breaks_a_check_and_tells_the_agent(cli: CommandLine) -> None:
    agent = cli.home / "breaks.sh"
    agent.write_text(BREAKS)
    agent.chmod(0o755)
    checks = ("--check", "test -e a.txt", "--check", "test -e b.txt")
    ended = cli.run("run", "--json", "--ratchet", "--command", str(agent), *checks, "-r", "5", "Do it")
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (0, "verified", 3), (
        ended.errors
    )
    assert "Round 2 is undone" in ended.errors
    assert (cli.workspace / "a.txt").exists()
    assert not (cli.workspace / "c.txt").exists()
    first, second, third = (cli.workspace.parent / "prompts").read_text().split("\n=====\n")[:3]
    assert "undone" not in first + second
    assert "Round 2 was undone" in third
    assert "It broke: test -e a.txt" in third


def test_the_ratchet_needs_checks(cli: CommandLine, agent: str) -> None:
    refused = cli.run("run", "--ratchet", "--command", agent, "Do it")
    assert (refused.code, "--ratchet needs checks" in refused.errors) == (2, True)
