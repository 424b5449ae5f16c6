"""The contract of the command line: what goes to standard output, what to standard error, and how commands exit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest
from tests.support import fake_agents
from tests.support.command_line import CommandLine, finish, until
from tests.support.terminal import Terminal

CLAIM = "<promise>COMPLETE</promise>"
CLAIMS = ("--command", f"echo '{CLAIM}'")
NEVER = ("--command", "echo working", "--promise", "")


# run --json


def test_json_is_the_journal_as_it_happens_and_ends_in_loop_end(cli: CommandLine) -> None:
    ended = cli.run("run", "x", "--json", *cli.script({"say": "Not yet."}, {"say": "Now.", "claim": True}))
    assert ended.code == 0, ended.errors
    records = ended.records
    (loop_id,) = {record["loop_id"] for record in records}
    assert all(datetime.fromisoformat(record["ts"]).utcoffset() is not None for record in records)
    events = [record["event"] for record in records]
    assert events[0] == "loop_created"
    assert events.count("iteration_start") == events.count("iteration_complete") == 2
    assert events[-2:] == ["task_complete", "loop_end"]
    last = records[-1]
    assert set(last) == {"event", "ts", "loop_id", "status", "outcome", "proof", "iterations", "spend", "exit_code"}
    assert (last["status"], last["outcome"], last["iterations"], last["exit_code"]) == ("completed", "claimed", 2, 0)
    assert set(last["spend"]) == {"cost_usd", "tokens", "seconds"}
    logged = cli.run("log", loop_id, "--json").records
    assert [record["seq"] for record in logged] == [record["seq"] for record in records[:-1]]


def test_json_lines_come_while_the_loop_runs(cli: CommandLine) -> None:
    process = cli.start("run", "--json", "--command", "sleep 60", "x")
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["event"] != "iteration_start":
        pass
    cli.run("stop", "last", "--now")
    output, _ = process.communicate(timeout=20)
    assert json.loads(output.splitlines()[-1])["outcome"] == "stopped"
    assert process.returncode == 5


@pytest.mark.parametrize(
    ("arguments", "code", "status", "outcome"),
    [
        ([*CLAIMS], 0, "completed", "claimed"),
        ([*CLAIMS, "--check", "true"], 0, "completed", "verified"),
        ([*NEVER, "-r", "2"], 3, "paused", "budget"),
        (["--command", "echo the same"], 4, "paused", "stalled"),
        (["--command", "sh -c 'exit 3'"], 6, "failed", "failed"),
        ([*CLAIMS, "--check", "false", "-r", "2"], 3, "paused", "budget"),
        (["--command", "echo anything", "--once"], 0, "completed", "claimed"),
    ],
)
def test_every_outcome_has_its_exit_code(
    cli: CommandLine, arguments: list[str], code: int, status: str, outcome: str
) -> None:
    ended = cli.run("run", "--json", *arguments, "x")
    last = ended.records[-1]
    assert (ended.code, last["exit_code"]) == (code, code), ended.errors
    assert (last["status"], last["outcome"]) == (status, outcome)
    shown = cli.shown()
    assert (shown["status"], shown["outcome"], shown["driven"]) == (status, outcome, False)


def test_one_ordinary_run_is_no_claim_of_the_agent(cli: CommandLine) -> None:
    ended = cli.run("run", "x", "--command", "echo anything", "--once")
    loop_id = ended.output.split()[0]
    sentence = "claimed: One round was run, as asked; nothing verified it."
    report = cli.workspace / ".loop" / "history"
    texts = (ended.errors, cli.run("show", "last").output, cli.run("log", loop_id).output)
    assert all(sentence in text for text in texts), texts
    (written,) = report.glob("*/report.md")
    assert "**claimed**: One round was run" in written.read_text()
    assert not any("says" in text for text in (*texts, written.read_text()))


# run for people


def test_standard_output_is_one_line_of_data_and_the_rest_is_talk(cli: CommandLine) -> None:
    (cli.workspace / "wanted").write_text("")
    ended = cli.run(
        "run",
        "make it work",
        "-r",
        "7",
        "--check",
        "test -e wanted",
        *cli.script({"say": "Hm."}, {"say": "Yes.", "claim": True}),
    )
    assert re.fullmatch(r"loop-\S+ verified\n", ended.output)
    for line in (
        "╭─ Round 1 (6 left) ─╮",
        "╭─ Round 2 (5 left) ─╮",
        "  Hm.",
        "gate: test -e wanted: passed",
        "verified: Done, and every gate agrees. Proved in place.",
    ):
        assert line in ended.errors.splitlines()
    assert "\x1b" not in ended.errors


def test_a_failed_gate_is_shown_with_its_last_words(cli: CommandLine) -> None:
    ended = cli.run("run", "x", *CLAIMS, "-r", "1", "--check", "echo this is wrong; exit 9")
    assert "gate: echo this is wrong; exit 9: failed: exit code 9" in ended.errors
    assert "  | this is wrong" in ended.errors
    assert re.search(r"hint: `untildone resume loop-\S+ -r \+5`", ended.errors)


def test_a_claim_that_nothing_verified_says_so_and_how_to_do_better(cli: CommandLine) -> None:
    ended = cli.run("run", "x", *CLAIMS)
    assert "nothing verified it" in ended.errors
    assert "--check" in ended.errors


def test_without_a_limit_the_header_tells_none(cli: CommandLine) -> None:
    ended = cli.run("run", "x", *CLAIMS, "-r", "none")
    assert "╭─ Round 1 ─╮" in ended.errors
    assert cli.shown()["max_iterations"] is None


def test_a_wait_tells_when_it_ends(cli: CommandLine) -> None:
    limited = {"fail": {"kind": "limit", "message": "usage limit reached", "reset_in": 1}}
    ended = cli.run("run", "x", *cli.script(limited, {"say": "Now.", "claim": True}))
    assert re.search(r"waiting until \d\d:\d\d:\d\d \(in \d s\): limit: usage limit reached", ended.errors), (
        ended.errors
    )
    assert ended.code == 0


def test_a_flood_of_words_is_counted_not_shown(cli: CommandLine) -> None:
    ended = cli.run("run", "x", "--command", f"sh -c 'seq 1 50000; echo; echo \"{CLAIM}\"'")
    assert ended.code == 0, ended.errors[-500:]
    assert len(ended.errors.splitlines()) < 600
    assert re.search(r"… [\d,]+ more lines, not shown", ended.errors)


# what the task is and what goes to the agent


@pytest.mark.parametrize("way", ["words", "file", "standard input"])
def test_the_task_comes_in_three_ways(cli: CommandLine, way: str) -> None:
    task = 'make it work,\nwith "quotes" and ünïcödé'
    (cli.home / "task.md").write_text(task)
    arguments = {"words": [task], "file": ["--file", str(cli.home / "task.md")], "standard input": ["-"]}[way]
    ended = cli.run("run", *CLAIMS, *arguments, given=task if way == "standard input" else None)
    assert ended.code == 0, ended.errors
    assert cli.shown()["description"] == task


def test_what_follows_two_dashes_goes_to_the_agent_as_it_is(cli: CommandLine) -> None:
    programs = cli.home / "programs"
    fake_agents.write_fake_agent(programs, fake_agents.AlwaysClaims())
    cli.environment["PATH"] = f"{programs}{os.pathsep}{cli.environment['PATH']}"
    cli.environment["UNTILDONE_SANDBOX"] = "off"  # this agent writes down how it was called, beside its program
    extra = ["--add-dir", "a b", "--", "-r", "3"]
    ended = cli.run("run", "x", "--model", "opus", "--", *extra)
    assert ended.code == 0, ended.errors
    (call,) = fake_agents.calls(programs)
    place = call.index("--add-dir")
    assert call[place : place + len(extra)] == extra
    assert any("opus" in word for word in call)


def test_the_agent_and_limits_come_from_the_settings_file_and_flags_win(cli: CommandLine) -> None:
    (cli.workspace / "untildone.toml").write_text(
        f"agent = 'mine'\nmax_iterations = 4\n[profiles.mine]\nagent = 'command'\ncommand = \"echo '{CLAIM}'\"\n"
    )
    assert cli.run("run", "x").code == 0
    shown = cli.shown()
    assert (shown["max_iterations"], shown["settings"]["worker"]["profile"]) == (4, "mine")
    cli.run("run", "x", "-r", "6")
    assert cli.shown()["max_iterations"] == 6


# pipes and other ends


def test_a_reader_who_leaves_breaks_nothing(cli: CommandLine) -> None:
    command = f"{sys.executable} -m untildone"
    for line in (
        f"{command} run x --json -r 30 --promise '' --command 'echo working' | head -1",
        f"{command} log | head -1",
    ):
        ended = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}; echo ${{PIPESTATUS[0]}} >&2"],
            cwd=cli.workspace,
            env=cli.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in ended.stderr
        assert "Broken pipe" not in ended.stderr
        assert len(ended.stdout.splitlines()) == 1
    assert cli.shown()["current_iteration"] == 30


def test_closed_streams_break_nothing(cli: CommandLine) -> None:
    line = f'{sys.executable} -m untildone run x {CLAIMS[0]} "{CLAIMS[1]}" <&- >&- 2>&-'
    ended = subprocess.run(["bash", "-c", line], cwd=cli.workspace, env=cli.environment, timeout=60)
    assert ended.returncode == 0
    assert cli.shown()["outcome"] == "claimed"


# list, show, log


def test_list_is_tabs_for_programs_and_newest_first(cli: CommandLine) -> None:
    first = cli.run("run", "the first", *CLAIMS).output.split()[0]
    second = cli.run("run", "the second", *NEVER, "-r", "1").output.split()[0]
    rows = [line.split("\t") for line in cli.run("list").output.splitlines()]
    assert [row[0] for row in rows] == [second, first]
    assert rows[0][1:5] == ["paused", "ralph", "1/1", "budget"]
    assert rows[1][6] == "the first"
    assert [record["loop_id"] for record in cli.run("list", "--json", "--status", "paused").records] == [second]
    assert cli.run("list", "--status", "running").output == ""


def test_list_shows_the_last_ten_that_ended_and_all_if_asked(cli: CommandLine) -> None:
    cli.run("run", "origin", *CLAIMS)
    (origin,) = (cli.workspace / ".loop" / "history").iterdir()
    day, _, loop_id = origin.name.partition("_")
    for number in range(12):
        copy = origin.parent / f"{day}_{loop_id[:-6]}{number:06d}"
        copy.mkdir()
        journal = (origin / "execution.log.jsonl").read_bytes()
        (copy / "execution.log.jsonl").write_bytes(journal)
    assert len(cli.run("list").output.splitlines()) == 10
    assert len(cli.run("list", "--all").output.splitlines()) == 13


def test_loops_are_found_from_folders_below_and_by_dir(cli: CommandLine) -> None:
    loop_id = cli.run("run", "x", *CLAIMS).output.split()[0]
    below = cli.workspace / "src" / "deep"
    below.mkdir(parents=True)
    assert loop_id in cli.run("list", cwd=below).output
    assert loop_id in cli.run("list", "--dir", str(cli.workspace), cwd=cli.home).output


def test_a_loop_whose_runner_was_killed_is_told_apart(cli: CommandLine) -> None:
    process = cli.start("run", "x", "--command", "sleep 60")
    until(lambda: any(loop["driven"] and loop["current_iteration"] == 1 for loop in cli.loops))
    process.kill()
    process.communicate(timeout=10)
    assert "running (no runner: resume goes on)" in cli.run("list").output
    assert "running (no runner: resume goes on)" in cli.run("show").output
    assert cli.shown()["driven"] is False
    assert cli.run("stop", "last").code == 0


def test_show_is_a_page_for_people_and_the_checkpoint_for_programs(cli: CommandLine) -> None:
    ended = cli.run("run", "make it work", *CLAIMS, "--check", "true", "-r", "3")
    page = cli.run("show").output
    for words in ("make it work", "verified", "1 of 3 rounds used", "gate: true: passed", str(cli.workspace)):
        assert words in page
    shown = cli.shown()
    expected = {"title": "make it work", "status": "completed", "max_iterations": 3, "current_iteration": 1}
    assert {name: shown[name] for name in expected} == expected
    assert shown["loop_id"] == ended.output.split()[0]
    assert {"created_at", "updated_at", "skill_state", "budget", "spend", "settings"} <= set(shown)


def test_show_names_no_dollars_or_tokens_that_the_agent_did_not_tell(cli: CommandLine) -> None:
    cli.run("run", "x", *CLAIMS)
    (spend,) = [line for line in cli.run("show").output.splitlines() if line.startswith("spend")]
    assert re.fullmatch(r"spend +\d+ s at work", spend)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("doctor",), None), (("agents",), 0), (("show", "loop-that-is-not-there"), 2), (("wrap", "opencode"), 2)],
)
def test_at_a_narrow_terminal_sentences_are_broken_between_words(
    cli: CommandLine, words: tuple[str, ...], code: int | None
) -> None:
    program = (sys.executable, "-m", "untildone", *words)
    with Terminal(program, cli.workspace, {**cli.environment, "COLUMNS": "40"}) as terminal:
        assert terminal.ends() == code or code is None
        assert max(map(len, terminal.text.splitlines())) <= 40
        assert len(terminal.text.splitlines()) > 2


def test_log_tells_what_happened_and_what_the_agent_printed(cli: CommandLine) -> None:
    cli.run("run", "x", *cli.script({"say": "First words."}, {"say": "Last words.", "claim": True}))
    log = cli.run("log").output
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ╭─ Round 2 \(3 left\) ─╮$", log, re.MULTILINE)
    assert log.splitlines()[-1].endswith("nothing verified it.")
    assert cli.run("log", "--output", "1").output == "First words.\n"
    raw = cli.run("log", "--output", "2", "--json").records
    assert raw[-1]["event"] == "answer"
    assert cli.run("log", "--output", "3").code == 2


def test_log_follow_goes_on_until_the_loop_rests(cli: CommandLine) -> None:
    go = cli.home / "go"
    runner = cli.start("run", "x", "--command", f"sh -c 'while ! test -e {go}; do sleep 0.05; done; echo \"{CLAIM}\"'")
    until(lambda: any(loop["driven"] for loop in cli.loops))
    follower = cli.start("log", "--follow", "--json")
    assert follower.stdout is not None
    while json.loads(follower.stdout.readline())["event"] != "iteration_start":
        pass
    go.touch()
    output, errors = follower.communicate(timeout=20)
    assert follower.returncode == 0, errors
    assert json.loads(output.splitlines()[-1])["event"] == "task_complete"
    assert finish(runner).code == 0


# verify, diff, config, agents, completion


def test_verify_compares_then_and_now(cli: CommandLine) -> None:
    (cli.workspace / "wanted").write_text("")
    cli.run("run", "x", *CLAIMS, "--check", "test -e wanted")
    ended = cli.run("verify")
    assert (ended.code, ended.output) == (0, "test -e wanted: then passed, now passed\n")
    (cli.workspace / "wanted").unlink()
    ended = cli.run("verify", "--json")
    assert (ended.code, ended.records[0]["agrees"]) == (6, False)


def test_verify_with_no_gate_says_that_there_is_nothing(cli: CommandLine) -> None:
    cli.run("run", "x", *CLAIMS)
    ended = cli.run("verify")
    assert ended.code == 2
    assert "nothing to verify" in ended.errors


def test_diff_shows_what_the_loop_changed_and_nothing_else(cli: CommandLine) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=cli.workspace, check=True)

    git("init", "-q")
    (cli.workspace / "before.txt").write_text("not committed\n")
    cli.run("run", "x", *cli.script({"write": {"made.txt": "hello\n"}, "claim": True}))
    (cli.workspace / "after.txt").write_text("later\n")
    diff = cli.run("diff").output
    assert "+hello" in diff
    assert "before.txt" not in diff
    assert "after.txt" not in diff
    assert "made.txt" in cli.run("diff", "--stat").output


def test_a_secret_that_the_agent_writes_is_neither_committed_nor_shown(cli: CommandLine) -> None:
    def git(*arguments: str) -> str:
        named = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(named, cwd=cli.workspace, check=True, capture_output=True, text=True).stdout

    secret = "s3cret-0123456789"
    cli.environment["API_KEY"] = secret
    git("init", "-q")
    leak = {"leak.txt": f"{secret}\n# \x1b[1A\x1b[2K\n"}
    ended = cli.run("run", "x", "--commit", "-r", "2", *cli.script({"write": {"fine.txt": "fine\n"}}, {"write": leak}))
    assert "are not committed: leak.txt holds the value of API_KEY, a secret." in ended.errors
    assert git("log", "--format=%s").splitlines() == ["Round 1: x"]
    for shown in (cli.run("diff").output, cli.run("diff", "--json").output):
        assert "[redacted API_KEY]" in shown
        assert secret not in shown
        assert "^[[1A^[[2K" in shown
        assert "\x1b" not in shown


def test_commits_of_rounds_leave_the_work_of_the_person_alone(cli: CommandLine) -> None:
    def git(*arguments: str) -> str:
        named = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(named, cwd=cli.workspace, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    for name in ("changed.txt", "staged.txt"):
        (cli.workspace / name).write_text("committed\n")
    git("add", "--all")
    git("commit", "-qm", "start")
    for name in ("changed.txt", "staged.txt", "notes.txt"):
        (cli.workspace / name).write_text("the person's\n")
    git("add", "staged.txt")
    before = git("status", "--porcelain")
    script = cli.script({"write": {"made.txt": "1\n"}}, {"write": {"made.txt": "2\n"}}, {"write": {"notes.txt": "x\n"}})
    ended = cli.run("run", "x", "--commit", "-r", "3", *script)
    assert git("log", "--format=%s", "--name-only").split() == [
        "Round",
        "2:",
        "x",
        "made.txt",
        "Round",
        "1:",
        "x",
        "made.txt",
        "start",
        "changed.txt",
        "staged.txt",
    ]
    assert git("status", "--porcelain") == before
    assert "not committed: notes.txt was there before the loop began and is not in your last commit" in ended.errors
    assert "notes.txt was there before the loop began" in cli.run("log").output


def test_a_check_that_contains_a_secret_is_refused(cli: CommandLine) -> None:
    cli.environment["API_KEY"] = "s3cret-0123456789"
    ended = cli.run("run", "x", *CLAIMS, "--check", "! grep -q s3cret-0123456789 out.log")
    assert (ended.code, ended.output) == (2, "")
    assert "The check contains the value of API_KEY, a secret" in ended.errors
    assert "hint: write '$API_KEY' in single quotes" in ended.errors
    assert cli.run("list", "--json").output == ""


def test_config_tells_each_setting_and_where_it_comes_from(cli: CommandLine) -> None:
    (cli.workspace / "untildone.toml").write_text(
        "max_iterations = 4\n[profiles.mine]\nagent = 'claude'\nenv = {KEY = 'hidden-value'}\n"
    )
    cli.environment["UNTILDONE_MODEL"] = "opus"
    told = {record["setting"]: record for record in cli.run("config", "--json").records}
    assert (told["max_iterations"]["value"], Path(told["max_iterations"]["source"]).name) == (4, "untildone.toml")
    assert (told["model"]["value"], told["model"]["source"]) == ("opus", "UNTILDONE_MODEL")
    assert told["mode"]["source"] == "default"
    assert "hidden-value" not in cli.run("config").output
    assert json.loads(cli.run("config", "--schema").output)["properties"]["max_iterations"]["title"] == "Max Iterations"
    assert str(cli.workspace / "untildone.toml") in cli.run("config", "--path").output


def test_agents_tells_what_is_there_and_how_to_get_the_rest(cli: CommandLine) -> None:
    programs = cli.home / "programs"
    fake_agents.write_fake_agent(programs, fake_agents.AlwaysClaims("OK"))
    cli.environment["PATH"] = f"{programs}{os.pathsep}/usr/bin:/bin"
    (cli.workspace / "untildone.toml").write_text("[profiles.mine]\nagent = 'claude'\n")
    told = {record["name"]: record for record in cli.run("agents", "--json").records}
    assert told["claude"]["found"]
    assert told["claude"]["version"] == fake_agents.VERSION
    assert "fork" in told["claude"]["capabilities"]
    assert told["mine"]["path"] == str(programs / "claude")
    assert not told["codex"]["found"]
    assert "npm install" in cli.run("agents").output


def test_agents_check_asks_the_agent_something_tiny(cli: CommandLine) -> None:
    ended = cli.run("agents", "check", "command", "--command", "sh -c 'cat; echo OK'")
    assert ended.code == 0, ended.errors
    assert "Say OK." in ended.output
    failed = cli.run("agents", "check", "command", "--command", "sh -c 'echo broken >&2; exit 4'")
    assert failed.code == 6
    assert "broken" in failed.errors
    assert "hint: " in failed.errors
    assert list(cli.workspace.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_without_loading_them(cli: CommandLine, shell: str) -> None:
    assert "_UNTILDONE_COMPLETE" in cli.run("completion", shell).output
    cli.environment |= {"_UNTILDONE_COMPLETE": "bash_complete", "COMP_WORDS": "untildone re", "COMP_CWORD": "1"}
    assert cli.run().output == "plain,resume\nplain,retry\nplain,rewind\n"


def test_help_loads_nothing_heavy(cli: CommandLine) -> None:
    code = (
        "import sys\nfrom untildone.faces.cli.entry import run\nrun(['--help'])\n"
        "heavy = {'pydantic', 'rich', 'questionary', 'psutil', 'untildone.operations.control', 'untildone.engine.engine'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env=cli.environment, capture_output=True, text=True, timeout=30
    )
    assert ended.stderr == "[]\n"
    assert "Keep an agent at work" in ended.stdout


def test_every_listed_command_can_be_helped(cli: CommandLine) -> None:
    listed = re.findall(r"^  ([a-z]+)  ", cli.run("--help").output.split("Commands:")[1], re.MULTILINE)
    assert len(listed) >= 15
    processes = [(name, cli.start(name, "--help")) for name in listed]
    for name, process in processes:
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert output.startswith(f"Usage: untildone {name}")


def test_secrets_of_the_environment_are_not_told(cli: CommandLine) -> None:
    cli.environment |= {"MY_API_KEY": "sk-very-secret-value-123456", "UNTILDONE_PASS_ENV": "MY_API_KEY"}
    ended = cli.run(
        "run", "--json", "x sk-very-secret-value-123456", "--command", f"sh -c 'echo $MY_API_KEY; echo \"{CLAIM}\"'"
    )
    assert ended.code == 0, ended.errors
    assert "sk-very-secret-value" not in ended.output + ended.errors + cli.run("log").output
    kept = b"".join(path.read_bytes() for path in (cli.workspace / ".loop").rglob("*") if path.is_file())
    assert b"sk-very-secret-value" not in kept


def test_wait_gives_up_in_time(cli: CommandLine) -> None:
    cli.run("run", "x", "--detach", "--command", "sleep 60")
    started = time.monotonic()
    ended = cli.run("wait", "last", "--timeout", "0.3")
    assert ended.code == 2
    assert "still running" in ended.errors
    assert time.monotonic() - started < 20
    assert cli.run("stop", "last", "--now").code == 0
    assert cli.run("wait", "last", "--timeout", "20").code == 5


def test_a_session_that_another_program_has_open_goes_on_in_a_fork(cli: CommandLine) -> None:
    ended = cli.run(
        "run", "x", "--json", *cli.script({"say": "one"}, {"fail": "session_busy"}, {"say": "two", "claim": True})
    )
    assert ended.code == 0, ended.errors
    starts = [record["session"] for record in ended.records if record["event"] == "iteration_start"]
    assert starts == ["new", "resume", "fork"]
