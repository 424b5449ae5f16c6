"""What of a person's environment reaches agents, checks and reviewers, and what they are told about the rest."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from tests.hosts.test_hook import Session
from tests.hosts.test_wrap_supervised import session
from tests.hosts.wrapping import Person
from tests.support.command_line import CommandLine, Ended
from tests.support.serving import Server

PATIENCE = 120.0
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCY",
    "MY_SETTING": "on",
    "DATABASE_URL": "postgres://me:hunter2pw@db/x",
}
USUAL = {"TEST_LEVEL": "3", "MAKEFLAGS": "-j2"}
SHOWS = "env | grep -E '^(AWS_|MY_SETTING|DATABASE_URL|TEST_LEVEL|MAKEFLAGS)' | cut -d= -f1 | sort | tr '[:space:]' ' '"
ALL = "AWS_SECRET_ACCESS_KEY DATABASE_URL MAKEFLAGS MY_SETTING TEST_LEVEL "
FEW = "MAKEFLAGS TEST_LEVEL "


@pytest.fixture
def shell(cli: CommandLine) -> CommandLine:
    """A person whose shell knows secrets."""
    cli.environment |= {**SECRETS, **USUAL}
    (cli.home / "bin").mkdir()
    return cli


def program(cli: CommandLine, name: str, *lines: str) -> str:
    path = cli.home / "bin" / name
    path.write_text("\n".join(("#!/bin/sh", *lines)))
    path.chmod(0o755)
    return str(path)


def worker(cli: CommandLine) -> tuple[str, ...]:
    """An agent that writes down which variables it has, and claims."""
    path = program(cli, "worker", f"{SHOWS} > agent.txt", "echo '<promise>COMPLETE</promise>'")
    return "--command", path


def ran(cli: CommandLine, *flags: str) -> Ended:
    return cli.run("run", "Show it", "-r", "1", *flags, *worker(cli), patience=PATIENCE)


def tells(cli: CommandLine, ended: Ended, expected: str, check: str) -> None:
    """The agent has exactly these variables, and so has the check."""
    assert ended.code == 0, ended.errors
    assert (cli.workspace / "agent.txt").read_text() == expected
    assert cli.shown()["gates"][0]["command"] == check


def check_for(expected: str) -> str:
    return f'test "$({SHOWS})" = "{expected}"'


@pytest.mark.parametrize("room", ["sealed", "restored", "plain"])
@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_agents_and_checks_get_what_tools_need(shell: CommandLine, room: str, sandbox: str) -> None:
    subprocess.run(["git", "init", "--quiet", shell.workspace], check=True, timeout=60)
    check = check_for(FEW)
    ended = ran(shell, "--room", room, "--sandbox", sandbox, "--check", check)
    tells(shell, ended, FEW, check)


@pytest.mark.parametrize("by", ["flag", "file", "variable", "own file"])
def test_what_the_person_names_passes(shell: CommandLine, by: str) -> None:
    names, flags = ["AWS_*", "MY_SETTING", "DATABASE_URL"], []
    match by:
        case "flag":
            flags = [word for name in names for word in ("--pass-env", name)]
        case "file":
            (shell.workspace / "untildone.toml").write_text(f"pass_env = {json.dumps(names)}\n")
        case "variable":
            shell.environment["UNTILDONE_PASS_ENV"] = json.dumps(names)
        case _:
            own = shell.home / ".config" / "untildone" / "config.toml"
            own.parent.mkdir(parents=True)
            own.write_text('pass_env = ["*"]\n')
    check = check_for(ALL)
    tells(shell, ran(shell, *flags, "--check", check), ALL, check)


def test_the_token_of_the_server_passes_to_nobody(shell: CommandLine) -> None:
    shell.environment["UNTILDONE_TOKEN"] = "0123456789-abcdef"
    ended = ran(shell, "--pass-env", "*", "--pass-env", "UNTILDONE_TOKEN", "--check", "! env | grep UNTILDONE_TOKEN")
    assert ended.code == 0, ended.errors


def test_a_reviewer_gets_no_more_than_the_worker(shell: CommandLine) -> None:
    seen = shell.home / ".cache" / "reviewer.txt"
    judge = program(
        shell,
        "judge",
        f"{SHOWS} > {seen}",
        "word=$(sed -n 's/.*The word of this question is \\([A-Z0-9]*\\)\\..*/\\1/p' | tail -n 1)",
        'echo "[TASK_COMPLETED $word]"',
    )
    (shell.workspace / "SUPERVISOR.md").write_text("Look at it.\n")
    (shell.workspace / "untildone.toml").write_text(
        f'[profiles.judge]\nagent = "command"\ncommand = {json.dumps(judge)}\nenv = {{ MY_SETTING = "own" }}\n'
    )
    seen.parent.mkdir()
    ended = ran(shell, "--review", "--supervisor", "judge")
    assert ended.code == 0, ended.errors
    assert seen.read_text() == "MAKEFLAGS MY_SETTING TEST_LEVEL "


def test_a_runner_in_the_background_keeps_the_person_s_names(shell: CommandLine) -> None:
    check = check_for(FEW.replace("MAKEFLAGS", "DATABASE_URL MAKEFLAGS"))
    begun = ran(shell, "--detach", "--pass-env", "DATABASE_URL", "--check", check)
    assert begun.code == 0, begun.errors
    assert shell.run("wait", "last", patience=PATIENCE).code == 0, shell.run("log").output
    assert shell.run("verify", "last", patience=PATIENCE).code == 0


def test_a_server_passes_on_of_its_own_environment(shell: CommandLine) -> None:
    command = worker(shell)[1]
    with Server(shell) as server:
        for names, expected in (([], FEW), (["MY_*"], FEW.replace("TEST", "MY_SETTING TEST"))):
            chosen: dict[str, Any] = {"agent": "command", "command": command, "checks": [check_for(expected)]}
            loop_id = server.create(max_iterations=1, pass_env=names, **chosen)
            assert shell.run("wait", loop_id, patience=PATIENCE).code == 0, shell.run("log", loop_id).output


def test_the_wrapped_agent_keeps_the_person_s_environment(shell: CommandLine) -> None:
    person = Person(shell)
    names = "sorted(name for name in os.environ if name in ('MY_SETTING', 'DATABASE_URL'))"
    person.has_program(f"import os\nprint('has', *{names}, flush=True)")
    with person.wraps("--check", "true", "--no-review") as terminal:
        terminal.shows("has DATABASE_URL MY_SETTING", PATIENCE)
        assert terminal.ends(PATIENCE) == 0


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_a_check_of_a_wrapped_session_gets_what_other_checks_get(shell: CommandLine, sandbox: str) -> None:
    person = Person(shell)
    person.has_agent()
    with session(person, "--no-review", "--sandbox", sandbox, "--check", f"{SHOWS} > seen.txt") as terminal:
        terminal.enter("make it")
        terminal.shows("your turn", PATIENCE)
    assert (shell.workspace / "seen.txt").read_text() == FEW


def test_a_check_of_the_stop_hook_gets_what_other_checks_get(shell: CommandLine) -> None:
    hooked = Session(shell)
    hooked.say(f"/until-done 'make it' --check \"{SHOWS} > seen.txt\"")
    hooked.stop("Done.\n<promise>COMPLETE</promise>")
    assert (shell.workspace / "seen.txt").read_text() == FEW


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_a_filter_of_git_gets_no_secret(shell: CommandLine, sandbox: str) -> None:
    subprocess.run(["git", "init", "--quiet", shell.workspace], check=True, timeout=60)
    git = ["git", "-C", str(shell.workspace)]
    filtered = program(shell, "filter", f"{SHOWS} > {shell.workspace}/filter.txt", "cat")
    subprocess.run([*git, "config", "filter.shows.clean", filtered], check=True)
    (shell.workspace / ".gitattributes").write_text("agent.txt filter=shows\n")
    assert ran(shell, "--commit", "--sandbox", sandbox).code == 0
    assert (shell.workspace / "filter.txt").read_text() == FEW


# --- what is told ---


CONFTEST = "import os\n\ndef test_connects():\n    assert os.environ['DATABASE_URL']\n"


def test_a_check_that_misses_a_variable_tells_the_way_out(shell: CommandLine) -> None:
    (shell.workspace / "test_db.py").write_text(CONFTEST)
    check = ("--check", "python3 -m pytest -q -p no:cacheprovider")
    ended = shell.run("run", "Do it", "-r", "2", *check, *worker(shell), patience=PATIENCE)
    assert ended.code != 0
    assert "Set here, but not passed on to agents and checks: DATABASE_URL (named in test_db.py)." in ended.errors
    assert "hint: --pass-env DATABASE_URL" in ended.errors
    assert "AWS_SECRET_ACCESS_KEY" not in ended.errors
    sentence = "DATABASE_URL is set where untildone runs, but not passed on: `--pass-env DATABASE_URL`."
    assert sentence in ended.errors
    second = next(
        entry
        for entry in shell.run("log", "last", "--json").records
        if entry["event"] == "iteration_start" and entry["iteration"] == 2
    )
    assert sentence in json.dumps(second, ensure_ascii=False)
    (shell.workspace / "untildone.toml").write_text('pass_env = ["DATABASE_URL"]\n')
    again = shell.run("run", "Do it", "-r", "2", *check, *worker(shell), patience=PATIENCE)
    assert again.code == 0, again.errors
    assert "DATABASE_URL" not in again.errors


def test_nothing_is_told_where_nothing_is_missed(shell: CommandLine) -> None:
    ended = ran(shell, "--check", "test -f agent.txt")
    assert ended.code == 0
    assert "pass" not in ended.errors.replace("passed", "")
    assert "--pass-env" not in ended.errors


def test_doctor_tells_what_loops_here_would_miss(shell: CommandLine) -> None:
    (shell.workspace / "Makefile").write_text("check:\n\tpsql $(DATABASE_URL)\n")
    (shell.workspace / "untildone.toml").write_text('checks = ["make check"]\n')
    assert "DATABASE_URL (named in Makefile)" in shell.run("doctor", patience=PATIENCE).output
    (shell.workspace / "untildone.toml").write_text('checks = ["make check"]\npass_env = ["DATABASE_URL"]\n')
    assert "DATABASE_URL" not in shell.run("doctor", patience=PATIENCE).output


def test_the_key_of_an_unknown_agent_is_told(shell: CommandLine) -> None:
    shell.environment |= {
        "WORKER_API_KEY": "k-0123456789",
        "OPENAI_API_KEY": "sk-0123456789",
        "OTHER_API_KEY": "x-0123456789",
    }
    said = ran(shell).errors
    assert "OPENAI_API_KEY (it looks like a key of the agent), WORKER_API_KEY" in said
    assert "OTHER_API_KEY" not in said


def test_an_agent_that_names_a_variable_as_it_fails_tells_the_way_out(shell: CommandLine) -> None:
    fails = program(shell, "fails", "echo 'MY_SETTING is not set' >&2", "exit 3")
    ended = shell.run("run", "Do it", "--command", fails, patience=PATIENCE)
    assert "MY_SETTING is set where untildone runs, but not passed on: `--pass-env MY_SETTING`." in ended.errors


def test_a_loop_that_has_begun_gets_what_the_settings_say_now(shell: CommandLine) -> None:
    check = 'test -n "$DATABASE_URL"'
    first = shell.run("run", "Do it", "-r", "1", "--check", check, *worker(shell), patience=PATIENCE)
    assert first.code == 3, first.errors
    (shell.workspace / "untildone.toml").write_text('pass_env = ["DATABASE_URL"]\n')
    resumed = shell.run("resume", "last", "-r", "+1", patience=PATIENCE)
    assert resumed.code == 0, resumed.errors
    assert shell.run("verify", "last", patience=PATIENCE).code == 0


def test_the_sandbox_command_shows_what_an_agent_has(shell: CommandLine) -> None:
    ended = shell.run("sandbox", "--", "sh", "-c", SHOWS)
    assert ended.output == "MAKEFLAGS TEST_LEVEL "
    assert (
        shell.run("sandbox", "--pass-env", "MY_*", "--", "sh", "-c", SHOWS).output == "MAKEFLAGS MY_SETTING TEST_LEVEL "
    )


@pytest.mark.parametrize("name", ["A=B", "", "A B", "A-B", "$A"])
def test_a_name_that_is_none_is_refused(shell: CommandLine, name: str) -> None:
    ended = shell.run("run", "x", "--pass-env", name, "--command", "cat")
    assert ended.code == 2
    assert "is not a name of a variable: give NAME, NAME_* or *" in ended.errors


def test_settings_of_an_agent_that_name_a_variable_let_it_pass_to_that_agent(shell: CommandLine) -> None:
    shell.environment |= {"ACME_API_KEY": "k-0123456789"}
    home = shell.home / ".codex"
    home.mkdir()
    (home / "config.toml").write_text('[model_providers.acme]\nenv_key = "ACME_API_KEY"\n')
    program(shell, "codex", 'echo "has=$ACME_API_KEY$AWS_SECRET_ACCESS_KEY" >&2', "exit 3")
    shell.environment["PATH"] = f"{shell.home / 'bin'}{os.pathsep}{shell.environment['PATH']}"
    ended = shell.run("run", "x", "--agent", "codex", patience=PATIENCE)
    assert "has=[redacted ACME_API_KEY]" in ended.errors + shell.run("log").output
    assert "AWS_SECRET" not in ended.errors
