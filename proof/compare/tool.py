"""A tool under comparison: how to prepare, start and restart it as documented, with its verification turned on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proof.compare import installing
from proof.compare.pinned import Package
from proof.compare.sandbox import CHECK, TASK, Sandbox

PROMISE = "<promise>COMPLETE</promise>"
PROMPT = f"# Goal\n\n{TASK}\n\n# Success Criteria\n\n- [ ] `{CHECK}` passes\n\nWhen all is done, print {PROMISE}\n"


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    folder: Path
    """The folder of its programs."""
    prepare: Callable[[Sandbox], None]
    """Writes the files that the tool needs in the workspace."""
    start: Callable[[int], list[str]]
    """Returns the command that starts a run with this limit of iterations."""
    version: tuple[str, ...]
    """The command that prints its version."""
    notes: tuple[str, ...]
    resume: tuple[str, ...] = ()
    """The command that restarts after a crash, if it differs from the start command."""
    package: Package | None = None
    needs: tuple[str, ...] = ()
    """A command that must succeed for the tool to be usable here."""
    reads_claims: bool = True
    has_check: bool = False
    """Whether the tool can run a check command before it accepts a claim."""

    def reason_absent(self) -> str:
        """Why the tool cannot be compared on this machine; empty if it can."""
        if self.package and not installing.is_installed(self.package):
            return installing.reason_not_installed(self.package)
        if self.needs and not shutil.which(self.needs[0]):
            return f"{self.needs[0]} is not on PATH"
        return f"{self.needs[0]} cannot be used here" if self.needs and not succeeds(self.needs) else ""

    def own_version(self) -> str:
        """The version that the tool prints: the last word of its output, without folders."""
        environment = {"PATH": f"{self.folder}:/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
        result = subprocess.run(
            self.version, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120
        )
        return (result.stdout.split() or ["unknown"])[-1].rpartition("/")[2]

    def launch(self, sandbox: Sandbox, command: list[str]) -> subprocess.Popen[bytes]:
        needed = shutil.which(self.needs[0]) if self.needs else None
        return sandbox.start(command, self.folder, *([Path(needed).parent] if needed else []))

    def run(self, sandbox: Sandbox, cap: int) -> subprocess.Popen[bytes]:
        self.prepare(sandbox)
        return self.launch(sandbox, self.start(cap))

    def restart(self, sandbox: Sandbox, cap: int) -> subprocess.Popen[bytes]:
        return self.launch(sandbox, list(self.resume) or self.start(cap))


def succeeds(command: tuple[str, ...]) -> bool:
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return result.returncode == 0
