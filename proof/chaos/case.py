"""One loop under test: starts it, finds it, sends controls and resumes it, as a person at a shell would."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from proof.chaos import call_log, controls, processes
from proof.chaos.controls import Control, ControlLog
from proof.chaos.forkserver import Command, ForkServer
from proof.chaos.sandbox import Sandbox
from proof.chaos.server import ServerUnderTest
from proof.chaos.stories import Host, Story
from proof.chaos.tally import Tally

from untildone.core import moves
from untildone.core.errors import UntilDoneError
from untildone.core.events import RunnerLeased
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status
from untildone.operations.control import leader_of
from untildone.store import layout
from untildone.system import orphans

LONGEST = 90.0
"""Seconds that a command may take on a busy machine."""
DEFECT = 1
"""The exit code of a command that failed with an unexpected exception."""


class Case:
    def __init__(
        self,
        story: Story,
        sandbox: Sandbox,
        folder: Path,
        tally: Tally,
        forkserver: ForkServer,
        server: ServerUnderTest | None,
    ) -> None:
        folder.mkdir(parents=True)
        self.story = story
        self.sandbox = sandbox
        self.folder = folder
        self.tally = tally
        self.server = server
        self._forkserver = forkserver
        self._read: tuple[tuple[int, int], Loop] | None = None
        """The stat of the journal at the last load, and the loop that was loaded."""
        self.run = sandbox.cli.environment["CHAOS_RUN"]
        self.control_log = ControlLog()
        self.loop_id = ""
        self.history: list[str] = []
        """Log of faults and controls, kept for debugging a failed story."""
        self.known_lines: list[bytes] = []
        """The complete journal lines after the last fault."""
        self.killed: set[int] = set()
        self.is_damaged = False
        """Whether the harness changed the journal."""
        self.corrupted: list[str] = []
        """Names of the other files that the harness changed."""
        self.forged: set[bytes] = set()
        """Lines that the harness wrote into the journal as an agent would, without the key. No reading of the journal has them."""
        self.unreported_damage: list[tuple[str, int]] = []
        """Damage that the next runner must report: file name, and the last entry before the damage."""
        self.rounds_lost = 0
        """Turns whose entries the harness destroyed before a checkpoint contained them."""
        self.stopped_at: float | None = None
        """Time of the first acknowledged stop."""
        self.most_iterations = 0
        """The highest number of used rounds that was read so far."""
        self._runners: list[tuple[Command, Path]] = []
        self._commands = 0
        self._others: set[str] = set()
        """Ids of other loops in the same sandbox."""
        self._lock = threading.Lock()

    # --- creating the loop ---

    def begin(self) -> None:
        """Create and start the loop, through the server or the command line."""
        (self.folder / "script.json").write_text(json.dumps(self.story.script))
        if self.server is not None:
            self.server.call("POST", "", {"task": self.story.task, "settings": self._settings(), "start": True})
        else:
            flags = ["--detach"] if self.story.host is Host.DETACHED else ["--json"]
            self.start_runner("run", self.story.task, *flags, *self._flags(), "--", *self._agent())

    def _agent(self) -> list[str]:
        places = {"script": "script.json", "state": "sessions", "log": "requests.jsonl", "call-log": "calls.jsonl"}
        return ["--one-place", *(f"--{name}={self.folder / file}" for name, file in places.items())]

    def _settings(self) -> dict[str, object]:
        """The settings of the story as JSON for the API."""
        numbers = {name: float(value) for name, value in self.story.settings.items() if name.endswith("timeout")}
        switches = {name: True for name, value in self.story.settings.items() if not value}
        return {
            **self.story.settings,
            **numbers,
            **switches,
            "mode": self.story.mode,
            "agent": "scripted",
            "args": self._agent(),
            "checks": self.checks,
            "sandbox": self._sandbox,
            "allow_write": [str(self.folder)],
            "max_iterations": self.story.iterations,
            "retry_delay": 0.05,
        }

    def _flags(self) -> list[str]:
        """The settings of the story as command-line flags."""
        chosen = ((f"--{name.replace('_', '-')}", value) for name, value in self.story.settings.items())
        flags = [f"{name}={value}" if value else name for name, value in chosen]
        checks = [argument for check in self.checks for argument in ("--check", check)]
        # Agents and checks log their runs outside of every workspace.
        boxes = [f"--sandbox={self._sandbox}", f"--allow-write={self.folder}"]
        return [*boxes, "--agent=scripted", f"--mode={self.story.mode}", f"-r{self.story.iterations}", *flags, *checks]

    @property
    def _sandbox(self) -> str:
        return "on" if self.story.boxed else "off"

    @property
    def checks(self) -> list[str]:
        """The check commands of the story, each wrapped so that it logs its runs."""
        return [call_log.logged_check(check, number, self.folder) for number, check in enumerate(self.story.checks)]

    def calls(self) -> list[call_log.Call]:
        return call_log.calls(self.folder)

    def find(self) -> bool:
        """Look for the loop by its task: the command that created it may have died before it printed the id. True if it exists."""
        if not self.loop_id:
            with suppress(UntilDoneError, OSError):
                ids = (name for name in self.sandbox.store.ids() if name not in self._others and self._is_ours(name))
                self.loop_id = next(ids, "")
        return bool(self.loop_id)

    def _is_ours(self, name: str) -> bool:
        try:
            ours = self.sandbox.store.load(name).description == self.story.task
        except (UntilDoneError, OSError):
            return False
        if not ours:
            self._others.add(name)
        return ours

    # --- reading state ---

    def load(self) -> Loop | None:
        """The loop as read from the store; None if it does not exist yet."""
        if not self.find():
            return None
        stamp = self.journal_stamp()
        if self._read is None or stamp is None or self._read[0] != stamp:
            self._read = (stamp or (0, 0), self.sandbox.store.load(self.loop_id))
        return self._read[1]

    def journal_stamp(self) -> tuple[int, int] | None:
        """Modification time and size of the journal; None if it cannot be read."""
        try:
            stat = layout.places(self.sandbox.store.root, self.loop_id).journal.stat()
        except (UntilDoneError, OSError):
            return None
        return stat.st_mtime_ns, stat.st_size

    @property
    def is_driven(self) -> bool:
        try:
            return bool(self.loop_id) and self.sandbox.store.is_driven(self.loop_id)
        except UntilDoneError:
            return False

    def runner(self) -> int | None:
        """The pid of the process that drives the loop now."""
        with suppress(UntilDoneError):
            loop = self.load()
            if loop is not None and loop.runner is not None and self.is_driven:
                return loop.runner.pid
        return None

    def last_runner(self) -> int | None:
        """The pid of the last lease holder in the journal, also after the lease was released."""
        with suppress(UntilDoneError), closing(self.sandbox.store.open(self.loop_id)) as journal:
            leases = [entry.event.pid for entry in journal.entries() if isinstance(entry.event, RunnerLeased)]
            return leases[-1] if leases else None
        return None

    def agents(self) -> list[int]:
        """The pids of the agents that the runner started for this loop and that still run."""
        return [each.pid for each in processes.inside(self._started(), self.run) if each.kind == "agent"]

    def boxes(self) -> list[int]:
        """The pids of the processes that keep the boxes of agents and checks."""
        return [each.pid for each in self._started() if each.kind == "box"]

    def _started(self) -> list[processes.Process]:
        """The processes that the runner started for this loop and that still run."""
        runner = self.runner()
        mark, _ = orphans.mark(self.loop_id)
        started = processes.children_of(runner, self.run) if runner is not None else []
        return [each for each in started if mark in each.marks]

    def await_runner(self, patience: float = 12.0) -> int | None:
        """Wait for a runner, resuming the loop if no process drives it; return its pid, or None after `patience` seconds."""
        deadline = time.monotonic() + patience
        while (pid := self.runner()) is None and time.monotonic() < deadline and self.tend():
            time.sleep(0.03)
        return pid

    def await_agents(self, patience: float = 12.0) -> list[int]:
        deadline = time.monotonic() + patience
        while not (pids := self.agents()) and time.monotonic() < deadline and self.tend():
            time.sleep(0.03)
        return pids

    # --- commands ---

    def start(self, *arguments: str) -> tuple[Command, Path]:
        """Start a command; return it with the base path of its output files (`.out` and `.err`)."""
        with self._lock:
            self._commands += 1
            output = self.folder / f"{self._commands:03d}-{arguments[0]}"
        cli = self.sandbox.cli
        return self._forkserver.start(arguments, cli.workspace, cli.environment, output), output

    def command(self, *arguments: str, patience: float = LONGEST) -> int | None:
        """Run a command and return its exit code; kill it after `patience` seconds and return None."""
        process, output = self.start(*arguments)
        code = process.wait(patience)
        if code is None:
            self.tally.broken(
                self.story.number, "every command ends", f"{' '.join(arguments)}: still running after {patience} s"
            )
            process.kill()
        self.judge(code, output, arguments)
        return code

    def judge(self, code: int | None, output: Path, arguments: tuple[str, ...]) -> None:
        """Check that a command ended without an unexpected exception."""
        if code is None:
            return
        self.tally.exit(code)
        errors = Path(f"{output}.err")
        text = errors.read_bytes().decode(errors="replace") if errors.exists() else ""
        failed = code == DEFECT or "Traceback (most recent call last)" in text
        problem = f"{' '.join(arguments)} → {code}: {text[-1500:]}"
        self.tally.invariant(
            self.story.number, "no command fails with an unexpected exception", [problem] if failed else []
        )

    def start_runner(self, *arguments: str) -> int:
        """Start a command that drives the loop, in the foreground or detached; return its pid."""
        started = self.start(*arguments)
        self._runners.append(started)
        return started[0].pid

    def reap(self, *, patience: float | None = None) -> None:
        """Record the exit codes of finished runners; with `patience`, wait that many seconds for each."""
        for process, output in list(self._runners):
            code = process.poll() if patience is None else process.wait(patience)
            if code is not None:
                self._runners.remove((process, output))
                self.judge(code, output, ("runner",))

    # --- controls ---

    def send(self, control: Control, *, by_command: bool = True) -> bool:
        """Send a control and record whether it was acknowledged; return that."""
        if self.server is not None and not by_command:
            acknowledged = self.server.send(self.loop_id, control)
        else:
            acknowledged = self.command(control.verb, self.loop_id, *control.arguments) == 0
        self.control_log.note(control, acknowledged=acknowledged)
        if control.verb == "stop" and acknowledged and self.stopped_at is None:
            self.stopped_at = time.time()
        return acknowledged

    def resume(self, *flags: str) -> int | None:
        """Resume the loop, through the server or with a new runner; return the runner's pid if one was started."""
        control = controls.resume()
        more = controls.more_rounds(int(flags[-1])) if "-r" in flags else None
        if self.server is not None:
            if more is not None:
                self.send(more, by_command=False)
            self.control_log.note(control, acknowledged=self.server.resume(self.loop_id))
            return None
        detach = ["--detach"] if self.story.host is Host.DETACHED else ["--json"]
        for each in (control, more):
            if each is not None:
                self.control_log.note(each, acknowledged=False)
        return self.start_runner("resume", self.loop_id, *detach, *flags)

    def tend(self) -> bool:
        """Start or resume the loop if no process drives it; return False once it has ended."""
        self.reap()
        with suppress(UntilDoneError):
            loop = self.load()
            if loop is None:
                return self._begin_again()
            if loop.status.ended:
                return False
            if not self.is_driven and not self._runners:
                is_out = loop.outcome is Outcome.BUDGET or moves.used_up(loop, leader_of(loop)) is not None
                self.resume(*(("-r", "+2") if is_out else ()))
        return True

    def _begin_again(self) -> bool:
        """Create the loop again if the first command died before it wrote anything."""
        if not self._runners:
            self.tally.note("loops created again because the first command died too early")
            self.begin()
        return True

    def settle_starters(self, patience: float = LONGEST) -> bool:
        """Wait until only the current runner is left, so that no other command can still write `resume`; False on timeout."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            self.reap()
            runner = self.runner()
            if all(process.pid == runner for process, _ in self._runners):
                return True
            time.sleep(0.03)
        return False

    def is_about_to_be_driven(self, loop: Loop) -> bool:
        """Whether a runner is starting, or the server will drive the loop."""
        return bool(self._runners) or (self.server is not None and loop.status is Status.RUNNING)

    @property
    def workspace(self) -> Path:
        """The folder in which the agent works: the loop's own git worktree if the story asks for one."""
        loop = self.load()
        return Path(loop.settings.workspace) if loop is not None else self.sandbox.cli.workspace
