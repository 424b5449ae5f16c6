"""The sandbox: agents run in a box by default, what holds is said, and nothing of a box outlives its loop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.boxes import WITHOUT_BUBBLEWRAP, boxes
from tests.support.command_line import CommandLine, Ended, until

from untildone.core.receipts import attestation

__all__ = ["boxes"]
pytestmark = pytest.mark.usefixtures("boxes")

PATIENCE = 120.0
ON = "sandbox: on (workspace writable, home hidden, network open)"
PROMISE = "echo '<promise>COMPLETE</promise>'"
WITHOUT_NAMESPACES = ("bwrap", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--dev-bind", "/", "/", "--")
FORKS = {
    "in a session of its own, without environment": "setsid env -i sleep {token} &",
    "forked twice, in a session of its own, without environment": "(setsid env -i sh -c 'sleep {token} & sleep {token}' &) &",
    "in the background": "sleep {token} &",
    "in a process namespace of its own": "unshare --user --map-root-user --pid --fork sleep {token} & sleep 0.1",
}


@pytest.fixture(autouse=True)
def with_box(cli: CommandLine) -> None:
    cli.environment["UNTILDONE_SANDBOX"] = "auto"


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    made = CommandLine(tmp_path)
    del made.environment["UNTILDONE_ALLOW_WRITE"]
    return made


@pytest.fixture
def token() -> str:
    """A number of seconds that no other process sleeps for."""
    return f"300.{time.time_ns()}"


def agent(cli: CommandLine, script: str) -> tuple[str, ...]:
    path = cli.home / "agent.sh"
    path.write_text(f"cat > /dev/null\n{script}\n")
    return ("--command", f"sh {path}")


def sleeping(token: str) -> list[str]:
    """The processes outside and inside of boxes that sleep for so many seconds."""
    found = subprocess.run(("pgrep", "-f", f"sleep {token}"), capture_output=True, text=True)
    return found.stdout.split()


def ran(cli: CommandLine, script: str, *flags: str, before: tuple[str, ...] = ()) -> Ended:
    return cli.run("run", "Do it", *agent(cli, script), "-r", "1", *flags, patience=PATIENCE, before=before)


def test_a_run_says_what_holds_and_so_do_show_and_the_receipt(cli: CommandLine) -> None:
    ended = ran(cli, f"touch made; {PROMISE}", "--check", "test -e made")
    assert ended.code == 0, ended.errors
    assert ON in ended.errors
    assert ON.removeprefix("sandbox: ") in cli.run("show", "last").output
    held = [{"boxed": True, "network": "all", "reason": ""}]
    (receipt,) = (cli.workspace / ".loop/history").glob("*/receipt.json")
    assert attestation.read(receipt.read_text()).fields["sandbox"] == held


def test_off_is_off_and_said(cli: CommandLine) -> None:
    ended = ran(cli, f"touch {cli.home}/outside; {PROMISE}", "--sandbox", "off")
    assert "sandbox: off" in ended.errors
    assert (cli.home / "outside").exists()


Before = tuple[str, ...]
MISSING = {
    "bubblewrap": (WITHOUT_BUBBLEWRAP, "bubblewrap is not installed", "install the package `bubblewrap`"),
    "namespaces": (WITHOUT_NAMESPACES, "bubblewrap does not work here", ""),
}


@pytest.mark.parametrize(("before", "why", "hint"), MISSING.values(), ids=MISSING)
class TestWithoutBoxes:
    def test_a_box_that_is_wanted_and_cannot_be_had_stops_everything(
        self, cli: CommandLine, before: Before, why: str, hint: str
    ) -> None:
        ended = ran(cli, f"touch {cli.workspace}/made; {PROMISE}", "--sandbox", "on", before=before)
        assert ended.code == 2
        assert why in ended.errors
        assert hint in ended.errors
        assert not (cli.workspace / "made").exists()

    def test_auto_goes_on_without_and_says_why(self, cli: CommandLine, before: Before, why: str, hint: str) -> None:
        ended = ran(cli, f"touch {cli.workspace}/made; {PROMISE}", before=before)
        assert ended.code == 0, ended.errors
        assert f"sandbox: off: {why}" in ended.errors
        assert hint in ended.errors
        assert (cli.workspace / "made").exists()

    def test_a_loop_that_needs_a_box_rests_where_there_is_none(
        self, cli: CommandLine, before: Before, why: str, hint: str
    ) -> None:
        first = ran(cli, "true", "--sandbox", "on")
        assert first.code == 3, first.errors
        again = cli.run("resume", "last", "--max-iterations", "+1", before=before, patience=PATIENCE)
        assert again.code == 7, again.errors
        assert why in again.errors

    def test_the_command_says_so(self, cli: CommandLine, before: Before, why: str, hint: str) -> None:
        ended = cli.run("sandbox", "--", "true", before=before)
        assert (ended.code, why in ended.errors) == (2, True)


def test_an_allowed_path_that_does_not_exist_is_one_sentence(cli: CommandLine) -> None:
    ended = ran(cli, PROMISE, "--allow-write", "/nowhere/at/all")
    assert ended.code == 2
    assert "/nowhere/at/all" in ended.errors
    assert ended.errors.count("\n") <= 2


@pytest.mark.parametrize("start", FORKS.values(), ids=FORKS)
class TestTheKernelEndsIt:
    def test_when_the_turn_ends(self, cli: CommandLine, token: str, start: str) -> None:
        ended = ran(cli, f"{start.format(token=token)}\n{PROMISE}")
        assert ended.code == 0, ended.errors
        until(lambda: not sleeping(token), PATIENCE)

    def test_when_the_runner_and_its_guard_are_killed(self, cli: CommandLine, token: str, start: str) -> None:
        script = f"{start.format(token=token)}\ntouch {cli.workspace}/started; sleep {token}"
        runner = cli.start("run", "Do it", *agent(cli, script))
        until((cli.workspace / "started").exists, PATIENCE)
        assert sleeping(token)
        for pid in (*_children(runner.pid, "orphans.guard_main"), runner.pid):
            os.kill(pid, signal.SIGKILL)
        until(lambda: not sleeping(token), PATIENCE)
        runner.communicate()

    def test_when_it_is_stopped_now(self, cli: CommandLine, token: str, start: str) -> None:
        script = f"{start.format(token=token)}\ntouch {cli.workspace}/started; sleep {token}"
        runner = cli.start("run", "Do it", *agent(cli, script))
        until((cli.workspace / "started").exists, PATIENCE)
        assert cli.run("stop", "last", "--now").code == 0
        until(lambda: not sleeping(token), PATIENCE)
        runner.communicate(timeout=PATIENCE)
        assert runner.returncode == 5


def _children(parent: int, words: str) -> list[int]:
    found = subprocess.run(("pgrep", "-P", str(parent), "-f", words), capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def test_an_agent_has_time_to_save_its_work_before_it_is_killed(cli: CommandLine) -> None:
    script = f"trap 'sleep 0.3; touch {cli.workspace}/saved; exit 1' TERM\ntouch {cli.workspace}/started\nwhile :; do sleep 0.1; done"
    runner = cli.start("run", "Do it", *agent(cli, script))
    until((cli.workspace / "started").exists, PATIENCE)
    cli.run("pause", "last", "--now")
    runner.communicate(timeout=PATIENCE)
    assert (cli.workspace / "saved").exists()


def test_a_script_does_not_go_on_with_its_next_command_when_it_is_ended(cli: CommandLine) -> None:
    """The shell gets the signal together with the program that it waits for."""
    script = f"touch {cli.workspace}/started\nsleep 60\ntouch {cli.workspace}/went-on"
    runner = cli.start("run", "Do it", *agent(cli, script))
    until((cli.workspace / "started").exists, PATIENCE)
    cli.run("pause", "last", "--now")
    runner.communicate(timeout=PATIENCE)
    assert runner.returncode == 7
    assert not (cli.workspace / "went-on").exists()


def test_a_program_that_is_kept_running_outlives_the_turn_and_ends_with_the_runner(
    cli: CommandLine, token: str
) -> None:
    script = f"sleep {token} &\nsetsid env -i sleep 300.{token[4:]}9 &\n{PROMISE}"
    check = "touch checking; while ! [ -e go ]; do sleep 0.05; done"
    flags = ("--keep-running", "sleep", "--check", check)
    runner = cli.start("run", "Do it", *agent(cli, script), *flags)
    until((cli.workspace / "checking").exists, PATIENCE)
    assert sleeping(token)
    os.kill(runner.pid, signal.SIGKILL)
    until(lambda: not sleeping(token), PATIENCE)
    runner.communicate()


def test_what_the_box_refused_is_told_to_the_person_and_to_the_agent(cli: CommandLine) -> None:
    path = cli.home / "agent.sh"
    path.write_text("cat > prompt; touch ~/.foo; echo tried\n")
    ended = cli.run("run", "Do it", "--command", f"sh {path}", "-r", "2", patience=PATIENCE)
    sentence = "The sandbox refused a write to ~/.foo: create it and use `--allow-write ~/.foo`."
    assert sentence in ended.errors
    assert sentence in (cli.workspace / "prompt").read_text()
    assert sentence in cli.run("log", "last").output


@pytest.mark.parametrize("room", ["plain", "restored"])
def test_checks_that_run_in_place_are_in_the_box_too(cli: CommandLine, room: str) -> None:
    """They run code of the agent, which would otherwise leave its box this way."""
    (cli.home / ".ssh").mkdir()
    (cli.home / ".ssh/key").write_text("secret")
    script = f"printf 'touch ~/escaped; cat ~/.ssh/key > stolen; touch checked' > check.sh; {PROMISE}"
    ended = ran(cli, script, "--check", "sh check.sh; test -e checked", "--room", room)
    assert ended.code == 0, ended.errors
    assert not (cli.home / "escaped").exists()
    assert (cli.workspace / "stolen").read_text() == ""


def test_a_command_runs_in_the_box_and_its_exit_code_is_returned(cli: CommandLine) -> None:
    (cli.home / "notes").mkdir()
    ended = cli.run("sandbox", "--", "sh", "-c", "touch here; touch ~/notes/x; exit 7")
    assert ended.code == 7
    assert "Read-only" in ended.errors
    assert (cli.workspace / "here").exists()
    assert (
        cli.run("sandbox", "--allow-write", "~/notes", "--", "touch", "notes-are-fine", str(cli.home / "notes/x")).code
        == 0
    )
    assert (cli.home / "notes/x").exists()


def test_a_worktree_of_a_loop_is_writable_and_the_loops_around_it_are_hidden(cli: CommandLine) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(("git", *identity, *words), cwd=cli.workspace, check=True)
    script = (
        f"ls -A ../.. > seen; ls -A ../../.. >> seen; git add -A; git {' '.join(identity)} commit -qm done && {PROMISE}"
    )
    ended = ran(cli, script, "--worktree")
    assert ended.code == 0, ended.errors
    (tree,) = (cli.workspace / ".loop/worktrees").iterdir()
    assert (tree / "seen").read_text().split()[0] == "worktrees"
    assert "loop-" not in (tree / "seen").read_text()


def test_a_detached_loop_is_boxed_as_well(cli: CommandLine) -> None:
    cli.run("run", "Do it", *agent(cli, f"touch ~/escaped; touch made; {PROMISE}"), "--detach", "-r", "1")
    assert cli.run("wait", "last", patience=PATIENCE).code == 0
    assert (cli.workspace / "made").exists()
    assert not (cli.home / "escaped").exists()


def test_an_agent_whose_program_is_missing_is_told_in_a_sentence(cli: CommandLine) -> None:
    ended = cli.run("run", "Do it", "--command", f"{sys.executable} {cli.home}/gone.py", "-r", "1", patience=PATIENCE)
    assert "gone.py" in ended.errors
    program = cli.home / "bad"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    ended = cli.run("run", "Do it", "--command", str(program), "-r", "1", patience=PATIENCE)
    assert "names an interpreter that does not exist" in ended.errors


def repository(cli: CommandLine) -> None:
    for words in (("init", "-q"), ("config", "user.name", "A"), ("config", "user.email", "a@example.com")):
        subprocess.run(("git", *words), cwd=cli.workspace, check=True)
    subprocess.run(("git", "commit", "-q", "--allow-empty", "-m", "first"), cwd=cli.workspace, check=True)


def test_filters_that_the_agent_set_run_in_the_box_when_untildone_calls_git(cli: CommandLine) -> None:
    repository(cli)
    filters = f"touch {cli.home}/escaped; touch {cli.workspace}/filtered; cat"
    script = "\n".join(f"git config filter.x.{name} '{filters}'" for name in ("clean", "smudge"))
    ended = ran(cli, f"{script}\necho '* filter=x' > .gitattributes; {PROMISE}", "--commit")
    assert ended.code == 0, ended.errors
    assert (cli.workspace / "filtered").exists()
    assert ran(cli, PROMISE, "--worktree").code == 0
    assert not (cli.home / "escaped").exists()


def test_filters_of_a_repository_that_the_agent_made_run_in_the_box(cli: CommandLine) -> None:
    repository(cli)
    makes = "git init -q sub; cd sub; echo x > file; echo '* filter=x' > .gitattributes; git add file"
    sets = f"git config filter.x.clean 'touch {cli.home}/escaped; touch {cli.workspace}/filtered; cat'"
    ended = ran(cli, f"{makes}; {sets}; touch -d 2001-01-01 file; {PROMISE}", "--commit")
    assert "Changes inside another repository are not part of the commit: sub." in ended.errors
    assert (cli.workspace / "filtered").exists()
    assert not (cli.home / "escaped").exists()


def test_files_that_are_as_new_as_the_index_are_filtered_in_the_box(cli: CommandLine) -> None:
    """Git reads them again whenever it writes an index."""
    repository(cli)
    slow = f"touch {cli.home}/escaped; cat"
    makes = "echo x > file; echo '* filter=x' > .gitattributes; git add file; touch -d 2001-01-01 file"
    racy = "git add file .gitattributes; touch -r file .git/index; echo x > new"
    ended = ran(cli, f"{makes}; {racy}; git config filter.x.clean '{slow}'; {PROMISE}", "--commit")
    assert ended.code == 0, ended.errors
    assert "not committed" not in ended.errors
    assert not (cli.home / "escaped").exists()


def test_nothing_is_committed_through_a_link_out_of_the_repository(cli: CommandLine) -> None:
    repository(cli)
    ended = ran(cli, f"touch made; ln -sf ~/.bashrc .git/logs/HEAD; {PROMISE}", "--commit")
    assert ".git/logs/HEAD leads out of the repository" in ended.errors
    assert not (cli.home / ".bashrc").exists()


def test_a_link_in_the_place_of_the_state_is_refused(cli: CommandLine) -> None:
    (cli.workspace / ".loop").symlink_to(cli.home)
    ended = ran(cli, PROMISE)
    assert (ended.code, ".loop is a link" in ended.errors) == (2, True)


def test_code_of_the_agent_finds_no_secret_in_the_room_of_a_check(cli: CommandLine) -> None:
    """What a failed check prints is told to the agent in the next round."""
    cli.environment["UNTILDONE_ROOM"] = "sealed"
    for name in (".ssh/key", ".aws/credentials", "other/.env"):
        (cli.home / name).parent.mkdir(parents=True)
        (cli.home / name).write_text("very secret\n")
    script = cli.home / "agent.sh"
    check = "cat ~/.ssh/key ~/.aws/credentials ~/other/.env; echo looked; exit 1"
    script.write_text(f"cat >> prompts; echo '{check}' > check.sh\n{PROMISE}\n")
    ended = cli.run("run", "Do it", "--command", f"sh {script}", "--check", "sh check.sh", "-r", "2", patience=PATIENCE)
    told = (cli.workspace / "prompts").read_text()
    assert "looked" in told, ended.errors
    assert "very secret" not in told + ended.errors


def test_a_program_on_path_that_the_agent_can_write_says_its_version_in_the_box(cli: CommandLine) -> None:
    program = cli.workspace / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$1" != --version ] || {{ touch {cli.home}/escaped; exec echo 7.8.9; }}\nexit 1\n'
    )
    program.chmod(0o755)
    cli.environment["PATH"] = f"{program.parent}:{cli.environment['PATH']}"
    ended = cli.run("run", "Do it", "--agent", "gemini", "-r", "1", patience=PATIENCE)
    cli.run("stop", "last")
    (receipt,) = (cli.workspace / ".loop/history").glob("*/receipt.json")
    assert attestation.read(receipt.read_text()).fields["agent"]["version"] == "7.8.9", ended.errors
    assert not (cli.home / "escaped").exists()


def test_modules_of_the_work_are_not_loaded_by_untildone(cli: CommandLine) -> None:
    """Folders of the work may be on PYTHONPATH, or come first by `python -m`. The runner loads some modules late, the next command all."""
    cli.environment["PYTHONPATH"] = f"{cli.workspace / 'src'}:{cli.environment['PYTHONPATH']}"
    (cli.workspace / "src").mkdir()
    escapes = f"import posix; posix.mkdir('{cli.home}/escaped')"
    names = "click pydantic pydantic_settings rich httpx tomllib importlib.metadata urllib smtplib ssl"
    script = f"""for name in {names}; do echo "{escapes}" > $name.py; cp $name.py src; done; {PROMISE}"""
    assert ran(cli, script, "--check", "true").code == 0
    assert cli.run("list", "--all").code == 0
    assert not (cli.home / "escaped").exists()


def test_untildone_itself_cannot_be_changed_if_it_is_installed_in_the_workspace(cli: CommandLine) -> None:
    environment = cli.workspace / ".venv"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(environment)), check=True, timeout=60)
    tries = "for path in lib/escaped bin/python pyvenv.cfg; do echo x >> .venv/$path; done; mv .venv old; touch made"
    command = (str(environment / "bin/python"), "-m", "untildone", "run", "Do it", *agent(cli, f"{tries}; {PROMISE}"))
    ended = subprocess.run(
        (*command, "-r", "1"), cwd=cli.workspace, env=cli.environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.returncode == 0, ended.stderr
    assert (cli.workspace / "made").exists()
    assert not (environment / "lib/escaped").exists()
    assert "x" not in (environment / "pyvenv.cfg").read_text().splitlines()


@pytest.mark.parametrize("words", [("run", "x", "--command", "true"), ("sandbox", "--", "true")])
def test_untildone_in_a_box_ends_in_one_sentence(cli: CommandLine, words: tuple[str, ...]) -> None:
    """Its state is out of reach there, so it starts nothing."""
    ended = cli.run("sandbox", "--", sys.executable, "-m", "untildone", *words, patience=PATIENCE)
    assert ended.code in (2, 6), ended.errors
    assert ended.errors.startswith("untildone: ")
    assert "defect" not in ended.errors
