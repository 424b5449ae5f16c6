"""The whole run: as many stories at once as the machine bears, until the time is over; then everything comes to rest."""

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

from proof.chaos import keeper, processes
from proof.chaos.case import Case
from proof.chaos.desk import Desk
from proof.chaos.ground import Ground, may_mount
from proof.chaos.hatchery import Hatchery
from proof.chaos.stories import Place, Story, story
from proof.chaos.tally import Tally

BEGIN_SHARE, HIT_SHARE = 0.82, 0.9
"""Of the time: new loops begin, and blows fall. The rest is for coming to rest."""


@dataclass(frozen=True, slots=True)
class Wishes:
    seed: int
    seconds: float
    together: int
    only: tuple[int, ...] = ()
    """Stories to play, and no others, once each."""
    keep: bool = False
    """Keep all files, also of what went well."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What all stories of a run stand on."""

    grounds: Mapping[Place, Ground]
    desk: Desk
    hatchery: Hatchery
    began: float


@dataclass(slots=True)
class Run:
    """One run, and what came of it."""

    wishes: Wishes
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="chaos-")))
    tally: Tally = field(default_factory=Tally)
    seconds: float = 0.0
    small_disks: bool = False
    say: Callable[[str], None] = lambda _line: None

    @property
    def name(self) -> str:
        return f"{self.folder.name}-{os.getpid()}"

    def play(self) -> None:
        self.small_disks = may_mount(self.folder / "trial-of-a-disk")
        try:
            self._play_all()
        finally:
            left = processes.end_everything(self.name)
            self.tally.law(-1, "no process outlives the run", [f"{left} processes were left"] if left else [])
            self._tidy()

    def _play_all(self) -> None:
        stage = self._set_up()
        numbers = iter(self.wishes.only) if self.wishes.only else itertools.count()
        lock = threading.Lock()

        def following() -> int | None:
            with lock:
                over = not self.wishes.only and time.monotonic() - stage.began > self.wishes.seconds * BEGIN_SHARE
                return None if over else next(numbers, None)

        def work() -> None:
            while (number := following()) is not None:
                self._play(story(self.wishes.seed, number, small_disks=self.small_disks), stage)

        with ThreadPoolExecutor(self.wishes.together) as keepers:
            for done in [keepers.submit(work) for _ in range(self.wishes.together)]:
                done.result()
        code = stage.desk.close()
        self.seconds = time.monotonic() - stage.began
        self.tally.law(-1, "the server ends politely", [] if code == 0 else [f"exit code {code}"])
        self.tally.law(
            -1, "something was done", [] if self.tally.loops and self.tally.kills else ["no loop, or no kill"]
        )

    def _set_up(self) -> Stage:
        common, served = (Ground(self.folder / name, self.name) for name in ("common", "served"))
        desk, hatchery = Desk(served, self.tally), Hatchery(self.name)
        desk.open()
        return Stage({Place.COMMON: common, Place.SERVED: served}, desk, hatchery, time.monotonic())

    def _play(self, chosen: Story, stage: Stage) -> None:
        folder = self.folder / f"story-{chosen.number}"
        ground = stage.grounds.get(chosen.place) or self._own_ground(chosen, folder)
        desk = stage.desk if chosen.place is Place.SERVED else None
        case = Case(chosen, ground, folder / "case", self.tally, stage.hatchery, desk)
        before = len(self.tally.violations)
        try:
            keeper.play(case, stage.began + self.wishes.seconds * HIT_SHARE, stage.began + self.wishes.seconds)
        except Exception:
            self.tally.broken(chosen.number, "the harness plays it to the end", traceback.format_exc())
        self._put_away(case, folder, before)

    def _own_ground(self, chosen: Story, folder: Path) -> Ground:
        small, own = chosen.place is Place.SMALL_DISK, chosen.place is Place.OWN
        return Ground(folder / "ground", self.name, is_small=small, has_git=own)

    def _put_away(self, case: Case, folder: Path, before: int) -> None:
        """Keep what tells why something went wrong; drop the rest."""
        wrong = [each for each in self.tally.violations[before:] if each.story == case.story.number]
        for violation in wrong:
            self.say(f"  ✗ {violation}")
        loop_is = f"{case.story.mode}, {case.story.host}, {case.story.place}"
        self.say(
            f"story {case.story.number} ({loop_is}): {'broken' if wrong else 'holds'}; {self.tally.killed} kills so far"
        )
        if wrong or self.wishes.keep:
            with suppress(OSError, shutil.Error):
                (case.folder / "history.txt").write_text("\n".join(case.history) + "\n")
                shutil.copytree(case.ground.store.root, folder / "loop-files", ignore_dangling_symlinks=True)
        if case.ground.folder.is_relative_to(folder):
            case.ground.close()
        if not (wrong or self.wishes.keep):
            shutil.rmtree(folder, ignore_errors=True)

    def _tidy(self) -> None:
        if not self.tally.violations and not self.wishes.keep:
            shutil.rmtree(self.folder, ignore_errors=True)
