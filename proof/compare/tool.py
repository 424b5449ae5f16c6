"""A tool: how it is prepared, started and gone on with, as its documentation says, with what it has for verification turned on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proof.compare import installing
from proof.compare.pinned import Package
from proof.compare.stage import CHECK, TASK, Stage

PROMISE = "<promise>COMPLETE</promise>"
PROMPT = f"# Goal\n\n{TASK}\n\n# Success Criteria\n\n- [ ] `{CHECK}` passes\n\nWhen all is done, print {PROMISE}\n"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    folder: Path
    """Where its programs lie."""
    prepare: Callable[[Stage], None]
    """Writes what it wants to find in the workspace."""
    start: Callable[[int], list[str]]
    """The command that starts a run with so many iterations at most."""
    version: tuple[str, ...]
    """The command that tells its version."""
    notes: tuple[str, ...]
    resume: tuple[str, ...] = ()
    """The command that goes on after a crash, if it is not the one that starts."""
    package: Package | None = None
    needs: tuple[str, ...] = ()
    """A program that must be on PATH, in a command that succeeds where it can be used."""
    reads_claims: bool = True
    has_check: bool = False
    """Whether a command can be set that it runs before it believes a claim."""

    def why_absent(self) -> str:
        """Why it cannot be compared on this machine; empty if it can."""
        if self.package and not installing.is_installed(self.package):
            return installing.why_not(self.package)
        if self.needs and not shutil.which(self.needs[0]):
            return f"{self.needs[0]} is not on PATH"
        return f"{self.needs[0]} cannot be used here" if self.needs and not succeeds(self.needs) else ""

    def told_version(self) -> str:
        """What it says itself: the last word of it, without folders."""
        environment = {"PATH": f"{self.folder}:/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
        asked = subprocess.run(
            self.version, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120
        )
        return (asked.stdout.split() or ["says none"])[-1].rpartition("/")[2]

    def launch(self, stage: Stage, command: list[str]) -> subprocess.Popen[bytes]:
        needed = shutil.which(self.needs[0]) if self.needs else None
        return stage.start(command, self.folder, *([Path(needed).parent] if needed else []))

    def run(self, stage: Stage, cap: int) -> subprocess.Popen[bytes]:
        self.prepare(stage)
        return self.launch(stage, self.start(cap))

    def go_on(self, stage: Stage, cap: int) -> subprocess.Popen[bytes]:
        return self.launch(stage, list(self.resume) or self.start(cap))


def succeeds(command: tuple[str, ...]) -> bool:
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return tried.returncode == 0
