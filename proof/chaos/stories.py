"""Stories: one loop each, with its agent script and its faults, drawn from the seed and the story's number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from proof.chaos.agent_scripts import Turn, files, forking_out, script

MODES = ("ralph", "supervise", "instruct", "workflow", "phases")


class Host(StrEnum):
    TERMINAL = "terminal"
    DETACHED = "detached"
    SERVER = "server"


class Place(StrEnum):
    """The kind of workspace in which the loop works."""

    OWN = "own"
    COMMON = "common"
    SMALL_DISK = "small_disk"
    SERVED = "served"


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    after: float
    """Seconds after the previous fault."""
    draw: float
    """Random number from 0 to 1 that selects the variant of the fault."""


@dataclass(frozen=True, slots=True)
class Story:
    number: int
    mode: str
    host: Host
    place: Place
    iterations: int
    checks: tuple[str, ...]
    settings: Mapping[str, str]
    """More settings by name; an empty value switches a flag on."""
    script: list[Turn]
    faults: tuple[Fault, ...]
    boxed: bool
    """Whether agents and checks run in boxes. Then agents fork out of everything."""
    dies_at_end: bool
    """Whether the runner is killed between the last entry and the archiving of the loop."""

    @property
    def task(self) -> str:
        return f"Story {self.number}: make the proof."


FAULTS = {
    "kill_runner": 14,
    "kill_agent": 22,
    "kill_guard": 8,
    "kill_guard_then_runner": 6,
    "kill_all_at_once": 5,
    "kill_control": 5,
    "kill_starting": 12,
    "terminate_runner": 4,
    "freeze_runner": 2,
    "freeze_agent": 2,
    "second_runner": 3,
    "send_conflicting_controls": 7,
    "change_rounds": 3,
    "pause_and_wait": 7,
    "stop": 1,
    "move_clock": 4,
    "corrupt_checkpoint": 3,
    "corrupt_checksum": 2,
    "restore_old_checkpoint": 2,
    "corrupt_live_file": 2,
    "forge_entries": 8,
    "forge_checkpoint": 3,
}
DAMAGE = {"flip_journal": 6, "cut_journal": 4}
"""Journal faults, in a quarter of the stories: all other journals must stay intact."""
BOXED = 0.4
"""The share of stories that run in boxes, where the machine has them."""
DISK = {"fill_disk": 14, "read_only": 7}


def story(seed: int, number: int, *, small_disks: bool, boxes: bool) -> Story:
    dice, of_box = Random(f"chaos-{seed}-{number}"), Random(f"chaos-box-{seed}-{number}")
    boxed = boxes and of_box.random() < BOXED
    mode, host = MODES[number % len(MODES)], list(Host)[number % len(Host)]
    place = _place(host, dice, small_disks=small_disks)
    iterations, checks, settings = dice.randint(3, 12), _checks(number, dice), _settings(mode, place, dice)
    turns = script(mode, number, dice)
    return Story(
        number=number,
        mode=mode,
        host=host,
        place=place,
        iterations=iterations,
        checks=checks,
        settings=settings,
        script=forking_out(turns, number, of_box) if boxed else turns,
        faults=tuple(_faults(place, dice)),
        boxed=boxed,
        dies_at_end=host is not Host.SERVER and dice.random() < 0.4,
    )


def _place(host: Host, dice: Random, *, small_disks: bool) -> Place:
    drawn = dice.choices([Place.OWN, Place.COMMON, Place.SMALL_DISK], weights=[2, 4, 4])[0]
    if host is Host.SERVER:
        return Place.SERVED
    return Place.COMMON if drawn is Place.SMALL_DISK and not small_disks else drawn


def _checks(number: int, dice: Random) -> tuple[str, ...]:
    names = files(number)
    proof, steps = f"grep -qx done {names['proof']}", f"test $(wc -l < {names['work']}) -ge 2"
    return dice.choices([(proof,), (proof, steps), ()], weights=[7, 2, 1])[0]


def _settings(mode: str, place: Place, dice: Random) -> Mapping[str, str]:
    chosen = {
        "iteration_timeout": "3",
        "check_timeout": "60",
        "context": dice.choice(["continue", "continue", "fresh"]),
    }
    if mode == "phases":
        chosen["route"] = dice.choice(["ralph", "auto", "direct", "planned"])
    elif mode != "supervise" and dice.random() < 0.2:
        chosen["review"] = ""
    if place is Place.OWN:
        chosen |= {name: "" for name in ("commit", "worktree") if dice.random() < 0.4}
    return chosen


def _faults(place: Place, dice: Random) -> list[Fault]:
    kinds = {**FAULTS, **(DISK if place is Place.SMALL_DISK else {}), **(DAMAGE if dice.random() < 0.25 else {})}
    names = dice.choices(list(kinds), weights=list(kinds.values()), k=dice.randint(12, 30))
    return [Fault(name, round(dice.uniform(0.0, 0.9), 2), dice.random()) for name in names]
