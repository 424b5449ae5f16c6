"""Reads the JUnit reports that a command writes, from inside of its room, where a link leads nowhere else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from untildone.core.actions import RunCommand
from untildone.core.errors import UntilDoneError
from untildone.core.plugins.gate import CommandRan
from untildone.engine.verdicts import gating
from untildone.gates.check import junit
from untildone.system.program import process
from untildone.system.program.spawn import Spawn

MOST_FILES, MOST_BYTES = 500, 4 << 20
"""Of all reports together."""
PATIENCE = 20.0
_END = b"\0"
# A report that is too large says nothing: its beginning is no XML document.
_PRINT = """\
n=0
for file in {files}; do
  if [ -f "$file" ] && [ ! -L "$file" ] && [ $n -lt {most} ]; then head -c {size} "$file"; printf '\\000'; n=$((n + 1)); fi
done"""


def watched(need: RunCommand, room: gating.Room, run: Callable[[], CommandRan]) -> CommandRan:
    """Run a command. Failures that only the JUnit reports tell of which it wrote count against it."""
    files = junit.files(need.command)
    if not files:
        return run()
    before = {_digest(content) for content in _contents(files, room)}
    ran = run()
    written = (content for content in _contents(files, room) if _digest(content) not in before)
    return junit.held_against(ran, junit.read_all(written))


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _contents(files: tuple[str, ...], room: gating.Room) -> list[bytes]:
    """The files that are there. None if they cannot be read."""
    script = _PRINT.format(files=" ".join(files), most=MOST_FILES, size=MOST_BYTES)
    spawn = Spawn(
        (*room.launcher, *room.argv(script)), room.environment, room.folder, timeout=PATIENCE, redactor=room.redactor
    )
    printed = bytearray()

    def take(line: bytes) -> None:
        if len(printed) <= MOST_BYTES:
            printed.extend(line + b"\n")

    try:
        process.run(spawn, take, room.interrupted)
    except UntilDoneError:
        return []
    if len(printed) > MOST_BYTES:
        del printed[printed.rfind(_END, 0, MOST_BYTES) + 1 :]
    return [each.strip(b"\n") for each in bytes(printed).split(_END) if each.strip(b"\n")]
