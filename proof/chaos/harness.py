"""A whole run: plays stories in parallel until the time is up, then brings every loop to rest."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proof.chaos import processes, watchdog
from proof.chaos.case import Case
from proof.chaos.forkserver import ForkServer
from proof.chaos.sandbox import Sandbox, may_mount
from proof.chaos.server import ServerUnderTest
from proof.chaos.stories import Place, Story, story
from proof.chaos.tally import Tally

from untildone.system.box import sandbox

BEGIN_SHARE, FAULT_SHARE = 0.82, 0.9
"""The shares of the run time in which new loops start and faults are injected. The rest is for loops to end."""


@dataclass(frozen=True, slots=True)
class Options:
    seed: int
    seconds: float
    together: int
    """Number of loops at once."""
    only: tuple[int, ...] = ()
    """The numbers of the only stories to play, once each; empty for all."""
    keep: bool = False
    """Whether to keep the files of stories that held too."""


@dataclass(frozen=True, slots=True)
class Fixtures:
    """What the stories of a run share."""

    sandboxes: Mapping[Place, Sandbox]
    server: ServerUnderTest
    forkserver: ForkServer
    began: float


@dataclass(slots=True)
class Run:
    """One run and its results."""

    options: Options
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="chaos-")))
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    small_disks: bool = False
    boxes: bool = False
    log: Callable[[str], None] = lambda _line: None

    @property
    def name(self) -> str:
        """Marks the processes of this run."""
        return f"{self.folder.name}-{os.getpid()}"

    def play(self) -> None:
        self.small_disks = may_mount(self.folder / "mount-test")
        self.boxes = not sandbox.problem()
        try:
            self._play_all()
        finally:
            left = processes.end_everything(self.name)
            self.tally.invariant(-1, "no process outlives the run", [f"{left} processes were left"] if left else [])
            self._tidy()

    def _play_all(self) -> None:
        fixtures = self._set_up()
        numbers = iter(self.options.only) if self.options.only else itertools.count()
        lock = threading.Lock()

        def next_number() -> int | None:
            with lock:
                over = not self.options.only and time.monotonic() - fixtures.began > self.options.seconds * BEGIN_SHARE
                return None if over else next(numbers, None)

        def work() -> None:
            while (number := next_number()) is not None:
                self._play(story(self.options.seed, number, small_disks=self.small_disks, boxes=self.boxes), fixtures)

        with ThreadPoolExecutor(self.options.together) as threads:
            for done in [threads.submit(work) for _ in range(self.options.together)]:
                done.result()
        code = fixtures.server.stop()
        self.seconds = time.monotonic() - fixtures.began
        self.tally.invariant(-1, "the server exits with 0 on SIGTERM", [] if code == 0 else [f"exit code {code}"])
        self.tally.invariant(
            -1,
            "the run has loops and kills",
            [] if self.tally.loops and self.tally.kills else ["no loop ended, or no process was killed"],
        )

    def _set_up(self) -> Fixtures:
        common, served = (Sandbox(self.folder / name, self.name) for name in ("common", "served"))
        server, forkserver = ServerUnderTest(served, self.tally), ForkServer(self.name)
        server.start()
        return Fixtures({Place.COMMON: common, Place.SERVED: served}, server, forkserver, time.monotonic())

    def _play(self, chosen: Story, fixtures: Fixtures) -> None:
        folder = self.folder / f"story-{chosen.number}"
        sandbox = fixtures.sandboxes.get(chosen.place) or self._own_sandbox(chosen, folder)
        server = fixtures.server if chosen.place is Place.SERVED else None
        case = Case(chosen, sandbox, folder / "case", self.tally, fixtures.forkserver, server)
        before = len(self.tally.violations)
        try:
            watchdog.play(
                case, fixtures.began + self.options.seconds * FAULT_SHARE, fixtures.began + self.options.seconds
            )
        except Exception:
            self.tally.broken(chosen.number, "the harness does not crash", traceback.format_exc())
        self._finish(case, folder, before)

    def _own_sandbox(self, chosen: Story, folder: Path) -> Sandbox:
        small, own = chosen.place is Place.SMALL_DISK, chosen.place is Place.OWN
        return Sandbox(folder / "sandbox", self.name, is_small=small, has_git=own)

    def _finish(self, case: Case, folder: Path, before: int) -> None:
        """Log the result of a story; keep its files if an invariant broke, else delete them."""
        broken = [each for each in self.tally.violations[before:] if each.story == case.story.number]
        for violation in broken:
            self.log(f"  ✗ {violation}")
        kind = f"{case.story.mode}, {case.story.host}, {case.story.place}{', boxed' if case.story.boxed else ''}"
        self.log(
            f"story {case.story.number} ({kind}): {'broken' if broken else 'held'}; {self.tally.killed} kills so far"
        )
        if broken or self.options.keep:
            with suppress(OSError, shutil.Error):
                (case.folder / "history.txt").write_text("\n".join(case.history) + "\n")
                shutil.copytree(case.sandbox.store.root, folder / "loop-files", ignore_dangling_symlinks=True)
        if case.sandbox.folder.is_relative_to(folder):
            case.sandbox.close()
        if not (broken or self.options.keep):
            shutil.rmtree(folder, ignore_errors=True)

    def _tidy(self) -> None:
        if not self.tally.violations and not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
