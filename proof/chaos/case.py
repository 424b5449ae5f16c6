"""One loop under test: how it is begun, found, told something and gone on with, as a person at a shell would."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

from proof.chaos import books, processes, words
from proof.chaos.desk import Desk
from proof.chaos.ground import Ground
from proof.chaos.hatchery import Command, Hatchery
from proof.chaos.stories import Host, Story
from proof.chaos.tally import Tally
from proof.chaos.words import Ledger, Word

from untildone.core.errors import UntilDoneError
from untildone.core.events import RunnerLeased
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status
from untildone.store import layout
from untildone.system import orphans

LONGEST = 90.0
"""Seconds that any command may take on a busy machine."""
DEFECT = 1


class Case:
    def __init__(
        self, story: Story, ground: Ground, folder: Path, tally: Tally, hatchery: Hatchery, desk: Desk | None
    ) -> None:
        folder.mkdir(parents=True)
        self.story = story
        self.ground = ground
        self.folder = folder
        self.tally = tally
        self.desk = desk
        self._hatchery = hatchery
        self._read: tuple[tuple[int, int], Loop] | None = None
        """The loop as it was read last, and what its journal looked like then."""
        self.run = ground.cli.environment["CHAOS_RUN"]
        self.ledger = Ledger()
        self.loop_id = ""
        self.history: list[str] = []
        """What befell it, for whoever has to find out why."""
        self.told: list[bytes] = []
        """The whole lines of the journal at the last look."""
        self.killed: set[int] = set()
        self.is_damaged = False
        """Something was done to its journal."""
        self.spoilt: list[str] = []
        """What was done to its other files."""
        self.untold: list[tuple[str, int]] = []
        """Damage that the next runner must read, and so tell of: in which file, and after which entry."""
        self.rounds_lost = 0
        """Turns of which the harness destroyed all that was known."""
        self.stopped_at: float | None = None
        """When a stop was acknowledged for the first time."""
        self.most_iterations = 0
        self._runners: list[tuple[Command, Path]] = []
        self._commands = 0
        self._others: set[str] = set()
        """Loops of the same ground that are not this one."""
        self._lock = threading.Lock()

    # --- beginning ---

    def begin(self) -> None:
        (self.folder / "script.json").write_text(json.dumps(self.story.script))
        if self.desk is not None:
            self.desk.call("POST", "", {"task": self.story.task, "settings": self._settings(), "start": True})
        else:
            flags = ["--detach"] if self.story.host is Host.DETACHED else ["--json"]
            self.start_runner("run", self.story.task, *flags, *self._flags(), "--", *self._agent())

    def _agent(self) -> list[str]:
        places = {"script": "script.json", "state": "sessions", "log": "calls.jsonl", "book": "book.jsonl"}
        return ["--one-place", *(f"--{name}={self.folder / file}" for name, file in places.items())]

    def _settings(self) -> dict[str, object]:
        """As the server wants them."""
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
            "max_iterations": self.story.iterations,
            "retry_delay": 0.05,
        }

    def _flags(self) -> list[str]:
        """As the command line wants them."""
        chosen = ((f"--{name.replace('_', '-')}", value) for name, value in self.story.settings.items())
        flags = [f"{name}={value}" if value else name for name, value in chosen]
        checks = [word for check in self.checks for word in ("--check", check)]
        return ["--agent=scripted", f"--mode={self.story.mode}", f"-r{self.story.iterations}", *flags, *checks]

    @property
    def checks(self) -> list[str]:
        """As untildone is told them: each keeps a book of its own."""
        return [books.kept(check, number, self.folder) for number, check in enumerate(self.story.checks)]

    def calls(self) -> list[books.Call]:
        return books.calls(self.folder)

    def find(self) -> bool:
        """Whether the loop is there: begun by somebody who may have died before telling its name."""
        if not self.loop_id:
            with suppress(UntilDoneError, OSError):
                known = (name for name in self.ground.store.ids() if name not in self._others and self._is_ours(name))
                self.loop_id = next(known, "")
        return bool(self.loop_id)

    def _is_ours(self, name: str) -> bool:
        try:
            ours = self.ground.store.load(name).description == self.story.task
        except (UntilDoneError, OSError):
            return False
        if not ours:
            self._others.add(name)
        return ours

    # --- looking ---

    def load(self) -> Loop | None:
        """The loop as anybody may read it; None if it is not there (yet)."""
        if not self.find():
            return None
        look = self.look_of_journal()
        if self._read is None or look is None or self._read[0] != look:
            self._read = (look or (0, 0), self.ground.store.load(self.loop_id))
        return self._read[1]

    def look_of_journal(self) -> tuple[int, int] | None:
        try:
            found = layout.places(self.ground.store.root, self.loop_id).journal.stat()
        except (UntilDoneError, OSError):
            return None
        return found.st_mtime_ns, found.st_size

    @property
    def is_driven(self) -> bool:
        try:
            return bool(self.loop_id) and self.ground.store.is_driven(self.loop_id)
        except UntilDoneError:
            return False

    def runner(self) -> int | None:
        """The process that drives the loop now."""
        with suppress(UntilDoneError):
            loop = self.load()
            if loop is not None and loop.runner is not None and self.is_driven:
                return loop.runner.pid
        return None

    def last_runner(self) -> int | None:
        """The process that drove the loop last, also when the loop itself has forgotten it."""
        with suppress(UntilDoneError), closing(self.ground.store.open(self.loop_id)) as journal:
            leases = [entry.event.pid for entry in journal.entries() if isinstance(entry.event, RunnerLeased)]
            return leases[-1] if leases else None
        return None

    def agents(self) -> list[int]:
        """Those that the runner has started for this loop and not yet seen end."""
        runner = self.runner()
        mark, _ = orphans.mark(self.loop_id)
        started = processes.children_of(runner, self.run) if runner is not None else []
        return [each.pid for each in started if each.kind == "agent" and mark in each.marks]

    def await_runner(self, patience: float = 12.0) -> int | None:
        """The runner, once there is one; the loop is gone on with meanwhile."""
        deadline = time.monotonic() + patience
        while (found := self.runner()) is None and time.monotonic() < deadline and self.tend():
            time.sleep(0.03)
        return found

    def await_agents(self, patience: float = 12.0) -> list[int]:
        deadline = time.monotonic() + patience
        while not (found := self.agents()) and time.monotonic() < deadline and self.tend():
            time.sleep(0.03)
        return found

    # --- commands ---

    def start(self, *arguments: str) -> tuple[Command, Path]:
        """A command in the background, and where what it says is kept."""
        with self._lock:
            self._commands += 1
            told = self.folder / f"{self._commands:03d}-{arguments[0]}"
        cli = self.ground.cli
        return self._hatchery.start(arguments, cli.workspace, cli.environment, told), told

    def command(self, *arguments: str, patience: float = LONGEST) -> int | None:
        """Run a command to its end: its exit code, or None if it had to be ended."""
        process, told = self.start(*arguments)
        code = process.wait(patience)
        if code is None:
            self.tally.broken(
                self.story.number, "every command ends", f"{' '.join(arguments)}: not within {patience} s"
            )
            process.kill()
        self.judge(code, told, arguments)
        return code

    def judge(self, code: int | None, told: Path, arguments: tuple[str, ...]) -> None:
        """No command ends with a defect of ours, however it is treated."""
        if code is None:
            return
        self.tally.exit(code)
        errors = Path(f"{told}.err")
        said = errors.read_bytes().decode(errors="replace") if errors.exists() else ""
        wrong = code == DEFECT or "Traceback (most recent call last)" in said
        problem = f"{' '.join(arguments)} → {code}: {said[-1500:]}"
        self.tally.law(self.story.number, "no command ends with a defect", [problem] if wrong else [])

    def start_runner(self, *arguments: str) -> int:
        """A runner that goes on by itself, at a terminal until the loop rests, or in the background; its process."""
        started = self.start(*arguments)
        self._runners.append(started)
        return started[0].pid

    def reap(self, *, patience: float | None = None) -> None:
        """Note how runners ended that did; with patience, wait for them."""
        for process, told in list(self._runners):
            code = process.poll() if patience is None else process.wait(patience)
            if code is not None:
                self._runners.remove((process, told))
                self.judge(code, told, ("runner",))

    # --- words ---

    def tell(self, word: Word, *, by_command: bool = True) -> bool:
        """Send a word and note whether it was acknowledged."""
        if self.desk is not None and not by_command:
            acknowledged = self.desk.tell(self.loop_id, word)
        else:
            acknowledged = self.command(word.verb, self.loop_id, *word.arguments) == 0
        self.ledger.note(word, acknowledged=acknowledged)
        if word.verb == "stop" and acknowledged and self.stopped_at is None:
            self.stopped_at = time.time()
        return acknowledged

    def go_on(self, *flags: str) -> int | None:
        """What a person does with a loop that rests, or that nobody drives; the process that was started for it."""
        word = words.resume()
        more = words.more_rounds(int(flags[-1])) if "-r" in flags else None
        if self.desk is not None:
            if more is not None:
                self.tell(more, by_command=False)
            self.ledger.note(word, acknowledged=self.desk.go_on(self.loop_id))
            return None
        detach = ["--detach"] if self.story.host is Host.DETACHED else ["--json"]
        for each in (word, more):
            if each is not None:
                self.ledger.note(each, acknowledged=False)
        return self.start_runner("resume", self.loop_id, *detach, *flags)

    def tend(self) -> bool:
        """See to it that the loop goes on; False once it has ended."""
        self.reap()
        with suppress(UntilDoneError):
            loop = self.load()
            if loop is None:
                return self._begin_again()
            if loop.status.ended:
                return False
            if not self.is_driven and not self._runners:
                self.go_on(*(("-r", "+2") if loop.outcome is Outcome.BUDGET else ()))
        return True

    def _begin_again(self) -> bool:
        """Whoever was to begin the loop died before it was there."""
        if not self._runners:
            self.tally.note("loops begun again, because their beginner died before they were there")
            self.begin()
        return True

    def settle_starters(self, patience: float = LONGEST) -> bool:
        """Wait until nobody but the runner may still say `resume`; whether that came about."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            self.reap()
            runner = self.runner()
            if all(process.pid == runner for process, _ in self._runners):
                return True
            time.sleep(0.03)
        return False

    def is_about_to_be_driven(self, loop: Loop) -> bool:
        """Whether a runner was started, or the server sees to it."""
        return bool(self._runners) or (self.desk is not None and loop.status is Status.RUNNING)

    @property
    def workspace(self) -> Path:
        """Where the agent works: a git worktree of its own, if the story says so."""
        loop = self.load()
        return Path(loop.settings.workspace) if loop is not None else self.ground.cli.workspace
