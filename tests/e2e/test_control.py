"""Control from another process: pause, resume, stop, say and budget act on a running loop; signals save; runners detach."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from tests.support.command_line import CommandLine, finish, until
from tests.support.tmux import Tmux

CLAIM = "<promise>COMPLETE</promise>"


class Stage:
    """An agent that works until it is allowed to end its round, and writes down what it was asked."""

    def __init__(self, cli: CommandLine) -> None:
        self.cli = cli
        self.folder = cli.home / "stage"
        self.folder.mkdir()
        program = self.folder / "agent.sh"
        program.write_text(
            "#!/bin/sh\n"
            f"cd {self.folder}\n"
            "round=$(ls | grep -c asked)\n"
            "cat > asked.$round\n"
            "echo begun\n"
            "while ! test -e go; do sleep 0.03; done\n"
            "echo round $round\n"
            'test -e claim && echo "' + CLAIM + '"\n'
            "exit 0\n"
        )
        program.chmod(0o755)
        self.arguments = ("--command", str(program))

    def allow(self, *, claim: bool = False) -> None:
        """From now on rounds end; with a claim, if so wanted."""
        if claim:
            (self.folder / "claim").touch()
        (self.folder / "go").touch()

    def hold(self) -> None:
        (self.folder / "go").unlink()

    def rounds(self) -> int:
        return len(list(self.folder.glob("asked.*")))

    def asked(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.glob("asked.*"))

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A loop whose agent is in the middle of its first round."""
        process = self.cli.start("run", "x", *self.arguments, *arguments)
        try:
            until(lambda: process.poll() is not None or self.rounds() == 1)
            assert process.poll() is None, process.communicate()
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()


@pytest.fixture
def stage(cli: CommandLine) -> Stage:
    return Stage(cli)


def is_at_work(stage: Stage) -> bool:
    """Whether a process of the agent is there, in a box or outside."""
    return subprocess.run(("pgrep", "-f", f"^/bin/sh {stage.folder}"), capture_output=True).returncode == 0


# pause, resume, stop


def test_pause_acts_after_the_round_and_resume_goes_on(cli: CommandLine, stage: Stage) -> None:
    with stage.running() as runner:
        told = cli.run("pause", "last")
        assert told.code == 0
        assert "after this round" in told.errors
        assert runner.poll() is None
        stage.allow()
        ended = finish(runner)
    assert ended.code == 7, ended.errors
    assert ended.output.split()[1] == "paused"
    shown = cli.shown()
    assert (shown["status"], shown["current_iteration"]) == ("paused", 1)
    stage.allow(claim=True)
    resumed = cli.run("resume", "last", "--json")
    assert (resumed.code, resumed.records[-1]["outcome"], resumed.records[-1]["iterations"]) == (0, "claimed", 2)
    assert resumed.records[0]["event"] == "resume_requested"


def test_pause_now_ends_the_round_within_a_second(cli: CommandLine, stage: Stage) -> None:
    with stage.running() as runner:
        cli.run("pause", "last", "--now")
        ended = finish(runner, patience=10)
    assert ended.code == 7, ended.errors
    assert cli.shown()["current_iteration"] == 1
    assert stage.rounds() == 1
    assert not is_at_work(stage)


def test_pausing_twice_is_pausing_once(cli: CommandLine, stage: Stage) -> None:
    with stage.running() as runner:
        cli.run("pause", "last")
        cli.run("pause", "last", "--now")
        assert finish(runner, patience=10).code == 7
    again = cli.run("pause", "last", "--json")
    assert (again.code, again.records[0]["status"]) == (0, "paused")


@pytest.mark.parametrize(
    ("arguments", "outcome", "code"), [(["--now"], "stopped", 5), (["--now", "--abandon"], "abandoned", 6)]
)
def test_stop_ends_a_running_loop_for_good(
    cli: CommandLine, stage: Stage, arguments: list[str], outcome: str, code: int
) -> None:
    with stage.running("--json") as runner:
        cli.run("stop", "last", *arguments)
        ended = finish(runner, patience=10)
    assert ended.code == code, ended.errors
    assert (ended.records[-1]["outcome"], ended.records[-1]["status"]) == (outcome, "failed")
    assert cli.run("resume").code == 2
    assert list((cli.workspace / ".loop" / "history").glob("*/receipt.json"))


def test_stop_after_the_round_lets_it_finish(cli: CommandLine, stage: Stage) -> None:
    with stage.running() as runner:
        cli.run("stop", "last")
        stage.allow()
        assert finish(runner).code == 5
    assert stage.rounds() == 1


def test_a_paused_loop_is_stopped_though_nobody_drives_it(cli: CommandLine) -> None:
    cli.run("run", "x", "-r", "1", "--command", "echo working")
    told = cli.run("stop", "last", "--json")
    assert (told.code, told.records[0]["outcome"]) == (0, "stopped")
    assert cli.run("stop", "last").code == 0


# say and budget


def test_a_message_is_part_of_the_next_prompt_and_adds_rounds(cli: CommandLine, stage: Stage) -> None:
    with stage.running("-r", "1") as runner:
        told = cli.run("say", "last", "[r+1]", "mind the gap")
        assert told.output == "Added 1 rounds. Remaining: 1\n"
        stage.allow()
        ended = finish(runner)
    assert ended.code == 3, ended.errors
    assert cli.shown()["current_iteration"] == 2
    assert "mind the gap" in stage.asked()
    assert "[r+1]" not in stage.asked()


def test_only_round_control_says_that_there_was_no_instruction(cli: CommandLine) -> None:
    cli.run("run", "x", "-r", "1", "--command", "echo working")
    told = cli.run("say", "last", "--json", "[r=0]")
    assert told.records[0]["notices"] == [
        "Set remaining rounds to: 0",
        "No instruction provided after parsing round controls",
    ]
    assert cli.shown()["status"] == "paused"


def test_a_loop_out_of_rounds_goes_on_in_the_background_when_it_gets_some(cli: CommandLine) -> None:
    cli.run("run", "x", "-r", "1", "--command", "echo working")
    told = cli.run("say", "last", "[r+2] go on")
    assert told.output == "Added 2 rounds. Remaining: 2\n"
    assert "background" in told.errors
    assert cli.run("wait", "last", "--timeout", "20").code == 3
    assert cli.shown()["current_iteration"] == 3


def test_the_budget_changes_while_the_loop_runs(cli: CommandLine, stage: Stage) -> None:
    with stage.running("-r", "1") as runner:
        told = cli.run("budget", "last", "--iterations", "+2", "--minutes", "=30", "--json")
        assert told.code == 0, told.errors
        assert (told.records[0]["budget"]["iterations"], told.records[0]["budget"]["minutes"]) == (3, 30)
        stage.allow()
        ended = finish(runner)
    assert (ended.code, cli.shown()["current_iteration"]) == (3, 3), ended.errors
    assert "budget: rounds +2" in ended.errors
    cli.run("budget", "last", "--iterations", "none", "--minutes", "none")
    assert cli.run("budget", "last").output == "no limit\n"
    assert "changes nothing" in cli.run("budget", "last", "--cost", "+5").errors


def test_resume_without_rounds_says_what_to_do_and_changes_nothing(cli: CommandLine) -> None:
    loop_id = cli.run("run", "x", "-r", "1", "--command", "echo working").output.split()[0]
    before = cli.shown()["seq"]
    for arguments in (["resume", "last"], ["resume", "last", "--detach"], ["retry", "last"]):
        refused = cli.run(*arguments)
        assert (refused.code, refused.output) == (3, ""), arguments
        assert f"Loop {loop_id} cannot go on: 1 of 1 rounds used." in refused.errors
        assert f"untildone resume {loop_id} -r +5" in refused.errors.replace("\n", " ")
    assert cli.shown()["seq"] == before


@pytest.mark.parametrize(("rounds", "total"), [("+2", 3), ("2", 3), ("=1", 2)])
def test_resume_takes_more_rounds(cli: CommandLine, rounds: str, total: int) -> None:
    cli.run("run", "x", "-r", "1", "--command", "echo working")
    ended = cli.run("resume", "last", "-r", rounds, "--json")
    assert (ended.code, ended.records[-1]["iterations"]) == (3, total), ended.errors


def test_resume_without_a_name_goes_on_with_what_is_unfinished(cli: CommandLine) -> None:
    unfinished = cli.run("run", "x", "-r", "1", "--command", "echo working").output.split()[0]
    cli.run("run", "x", "--command", f"echo '{CLAIM}'")
    ended = cli.run("resume", "-r", "+1")
    assert ended.output.split() == [unfinished, "budget"]
    assert cli.shown(unfinished)["current_iteration"] == 2


def test_watch_shows_a_running_loop_from_elsewhere_and_leaves_it_alone(cli: CommandLine, stage: Stage) -> None:
    with stage.running("--check", "true") as runner:
        watcher = cli.start("watch", "last")
        assert watcher.stderr is not None
        while watcher.stderr.readline() != "  begun\n":
            assert watcher.poll() is None
        left_early = cli.start("watch", "last", stderr=subprocess.PIPE)
        assert left_early.stderr is not None
        assert left_early.stderr.readline()
        left_early.send_signal(signal.SIGINT)
        assert finish(left_early).code == 130
        stage.allow(claim=True)
        assert finish(runner).code == 0
        ended = finish(watcher)
    assert ended.code == 0
    assert ended.output.split()[1] == "verified"
    assert "gate: true: passed" in ended.errors


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_the_view_of_a_running_loop_loses_no_word_in_a_narrow_terminal(cli: CommandLine, columns: int) -> None:
    plan = {"phase_done": True, "subtasks": [{"id": "a", "text": "User model"}, {"id": "b", "text": "Sign-in"}]}
    turns = (
        {"say": json.dumps({"phase_done": True}), "usage": {"tokens": 1_234_567, "cost_usd": 12.5}},
        {"say": json.dumps(plan)},
        {"hang": True},
    )
    cli.run("run", "x", "--detach", "--mode", "phases", "--route", "architect", *cli.script(*turns))
    environment = {**cli.environment, "TERM": "xterm-256color"}
    words = (sys.executable, "-m", "untildone", "watch", "last")
    try:
        with Tmux(words, cli.workspace, environment, columns=columns, rows=40) as screen:
            shown = ("Round 3", "$12.5000", "1,234,", "tokens", "2 of 5 phases done", "0 of 2 subtasks done")
            panel = until(lambda: _panel(screen.pane, columns, shown))
    finally:
        cli.run("stop", "last", "--now")
    assert "…" not in panel, panel


def _panel(pane: str, columns: int, words: Sequence[str]) -> str:
    """The rows below the rule, if all the words are among them, broken between words or not."""
    panel = pane.rpartition("─" * columns)[2]
    return panel if all(each in " ".join(panel.split()) for each in words) else ""


# one runner


def test_a_second_runner_is_refused_and_resume_says_that_it_runs(cli: CommandLine, stage: Stage) -> None:
    with stage.running() as runner:
        second = cli.run("_drive", "last")
        assert second.code == 2
        assert second.errors.startswith("untildone: Loop ")
        assert f"process {runner.pid}" in second.errors
        resumed = cli.run("resume", "last")
        assert (resumed.code, resumed.output.split()[1]) == (0, "running")
        assert "already being driven" in resumed.errors
        assert cli.run("resume", "last", "--detach").code == 0
        assert stage.rounds() == 1
        stage.allow(claim=True)
        assert finish(runner).code == 0


def test_resume_takes_a_pause_back(cli: CommandLine, stage: Stage) -> None:
    with stage.running("-r", "2") as runner:
        cli.run("pause", "last")
        cli.run("resume", "last")
        stage.allow()
        assert finish(runner).code == 3
    assert stage.rounds() == 2


# signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_resume_goes_on(cli: CommandLine, stage: Stage, number: signal.Signals) -> None:
    with stage.running("--json") as runner:
        runner.send_signal(number)
        ended = finish(runner, patience=10)
    assert ended.code == 130, ended.errors
    assert "Traceback" not in ended.errors
    last = ended.records[-1]
    assert (last["event"], last["outcome"], last["status"], last["exit_code"]) == (
        "loop_end",
        "interrupted",
        "paused",
        130,
    )
    assert stage.rounds() == 1
    assert not is_at_work(stage)
    stage.allow(claim=True)
    resumed = cli.run("resume", "--json")
    assert (resumed.code, resumed.records[-1]["iterations"]) == (0, 2), resumed.errors


def test_more_signals_do_not_break_the_saving(cli: CommandLine) -> None:
    """The agent ignores TERM, so that ending it takes some seconds."""
    stubborn = cli.home / "stubborn.sh"
    stubborn.write_text("#!/bin/sh\ntrap '' TERM INT\necho begun\nwhile :; do sleep 0.1; done\n")
    stubborn.chmod(0o755)
    runner = cli.start("run", "x", "--command", str(stubborn), "--json")
    assert runner.stdout is not None
    while json.loads(runner.stdout.readline())["event"] != "iteration_start":
        pass
    for _ in range(4):
        runner.send_signal(signal.SIGINT)
        time.sleep(0.2)
    ended = finish(runner, patience=15)
    assert ended.code == 130, ended.errors
    assert ended.records[-1]["outcome"] == "interrupted"
    assert cli.shown()["status"] == "paused"


def test_ctrl_c_while_it_waits_for_a_limit_ends_the_wait(cli: CommandLine) -> None:
    limited = {"fail": {"kind": "limit", "message": "usage limit reached", "reset_in": 600}, "repeat": "forever"}
    runner = cli.start("run", "x", *cli.script(limited))
    assert runner.stderr is not None
    while "waiting until" not in runner.stderr.readline():
        assert runner.poll() is None
    runner.send_signal(signal.SIGINT)
    assert finish(runner, patience=10).code == 130


def test_a_follower_and_a_waiter_leave_quietly_on_ctrl_c(cli: CommandLine, stage: Stage) -> None:
    with stage.running() as runner:
        runner.kill()
        runner.communicate()
    follower, waiter = cli.start("log", "--follow"), cli.start("wait", "last")
    assert follower.stdout is not None
    assert follower.stdout.readline()
    assert waiter.stderr is not None
    assert "Nothing drives" in waiter.stderr.readline()
    for process in (follower, waiter):
        process.send_signal(signal.SIGINT)
        ended = finish(process, patience=10)
        assert ended.code == 130
        assert "Traceback" not in ended.errors


# detach


def test_detach_prints_the_id_and_the_loop_goes_on(cli: CommandLine, stage: Stage) -> None:
    started = cli.run("run", "x", "--detach", *stage.arguments)
    assert started.code == 0, started.errors
    loop_id = started.output.strip()
    assert (cli.shown()["loop_id"], cli.shown()["driven"]) == (loop_id, True)
    stage.allow(claim=True)
    waited = cli.run("wait", loop_id, "--timeout", "20", "--json")
    assert (waited.code, waited.records[-1]["outcome"]) == (0, "claimed")
    (log,) = (cli.workspace / ".loop" / "history").glob("*/runner.log")
    assert "╭─ Round 1" in log.read_text()


def test_a_detached_loop_survives_its_terminal(cli: CommandLine, stage: Stage) -> None:
    """The command runs in a terminal of its own, which is closed while the loop goes on."""
    leader, follower = pty.openpty()
    process = cli.start(
        "run",
        "x",
        "--detach",
        *stage.arguments,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    assert process.wait(timeout=30) == 0
    os.close(leader)
    until(lambda: stage.rounds() == 1)
    assert cli.shown()["driven"] is True
    stage.allow(claim=True)
    assert cli.run("wait", "last", "--timeout", "20").code == 0


def test_a_detached_loop_is_paused_resumed_and_stopped_from_outside(cli: CommandLine, stage: Stage) -> None:
    started = cli.run("run", "x", "--detach", "--json", *stage.arguments)
    assert started.records[0]["event"] == "loop_detached"
    until(lambda: stage.rounds() == 1)
    cli.run("pause", "last", "--now")
    assert cli.run("wait", "last", "--timeout", "20").code == 7
    resumed = cli.run("resume", "last", "--detach")
    assert resumed.code == 0, resumed.errors
    until(lambda: stage.rounds() == 2)
    cli.run("stop", "last", "--now")
    assert cli.run("wait", "last", "--timeout", "20").code == 5


def test_a_runner_that_cannot_start_says_why(cli: CommandLine) -> None:
    cli.run("run", "x", "-r", "1", "--command", "echo working")
    (cli.workspace / "untildone.toml").write_text("mode = 'magic'\n")
    cli.environment["UNTILDONE_CONFIG"] = "/dev/null"
    ended = cli.run("resume", "last", "-r", "+1", "--detach")
    assert ended.code == 2
    assert "magic" in ended.errors


# at a terminal


def test_the_live_view_leaves_plain_lines_and_one_line_of_data(cli: CommandLine) -> None:
    leader, follower = pty.openpty()
    cli.environment |= {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    script = cli.script([{"think": "Hm."}, {"sleep": 0.6}, {"say": "Words."}, {"claim": True}])
    process = cli.start("run", "make it work", "--check", "true", *script, stderr=follower)
    os.close(follower)
    shown = b""
    with os.fdopen(leader, "rb", buffering=0) as terminal:
        while chunk := _read(terminal.fileno()):
            shown += chunk
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert output.split()[1] == "verified"
    text = shown.decode()
    for words in ("Round 1 (4 left)", "Words.", "gate: true: passed", "Done, and every gate agrees.", "1 of 5"):
        assert words in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "the cursor is shown again"


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


class Terminal:
    """A command at a terminal: what it shows, and keys for it."""

    def __init__(self, cli: CommandLine, *arguments: str) -> None:
        self._leader, follower = pty.openpty()
        environment = cli.environment | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        self.process = cli.start(*arguments, stdin=follower, stderr=follower, env=environment)
        os.close(follower)
        self.shown = self.all_shown = ""

    def until_shown(self, words: str) -> None:
        while words not in self.shown:
            chunk = _read(self._leader)
            assert chunk, f"{words!r} is not in {self.shown}"
            self.shown += chunk.decode(errors="replace")

    def press(self, keys: str) -> None:
        os.write(self._leader, keys.encode())

    def choose(self, number: str) -> None:
        """Answer a menu once it asks."""
        self.until_shown("Choose (1-4): ")
        self.all_shown += self.shown
        self.shown = ""
        self.press(f"{number}\r")

    def end(self) -> tuple[int, str]:
        while chunk := _read(self._leader):
            self.shown += chunk.decode(errors="replace")
        self.all_shown += self.shown
        output, _ = self.process.communicate(timeout=20)
        os.close(self._leader)
        return self.process.returncode, output


def test_resume_at_a_terminal_asks_what_to_do_with_what_is_unfinished(cli: CommandLine) -> None:
    loop_id = cli.run("run", "the task", "-r", "1", "--command", "echo working").output.split()[0]
    terminal = Terminal(cli, "resume")
    terminal.choose("3")
    terminal.choose("nonsense")
    terminal.choose("4")
    assert terminal.end() == (0, f"{loop_id} abandoned\n")
    assert "workspace" in terminal.all_shown
    assert "'nonsense' is none of 1 to 4." in terminal.all_shown
    assert cli.shown(loop_id)["outcome"] == "abandoned"


def test_three_wrong_answers_in_the_menu_of_resume_are_no_success(cli: CommandLine) -> None:
    cli.run("run", "the task", "-r", "1", "--command", "echo working")
    terminal = Terminal(cli, "resume")
    for answer in ("x", "y", "z"):
        terminal.choose(answer)
    assert terminal.end() == (130, "")
    assert cli.shown()["status"] == "paused"


def test_phases_that_ran_out_of_rounds_ask_at_a_terminal(cli: CommandLine) -> None:
    terminal = Terminal(cli, "run", "the task", "--mode", "phases", "-r", "1", "--command", "date +%N")
    terminal.choose("1")
    terminal.until_shown("Round 11 (0 left)")
    terminal.choose("3")
    code, output = terminal.end()
    assert (code, output.split()[-1]) == (3, "budget")
    assert cli.shown()["current_iteration"] == 11


def test_a_terminal_that_closes_is_an_interruption(cli: CommandLine, stage: Stage) -> None:
    program = [sys.executable, "-m", "untildone", "run", "x", *stage.arguments]
    pid, leader = pty.fork()
    if pid == 0:
        os.chdir(cli.workspace)
        os.execve(program[0], program, cli.environment | {"TERM": "xterm"})
    until(lambda: stage.rounds() == 1)
    os.close(leader)
    until(lambda: cli.shown()["outcome"] == "interrupted", patience=20)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
