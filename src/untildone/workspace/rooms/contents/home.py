"""The home folder of a sealed room: a folder of its own with everything of the person's in it, read-only.

So a tool can make its first cache there, as on any new machine. It is thrown away, and nothing that was there before can be changed.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from untildone.system.box.sandbox import Access, Mount
from untildone.workspace.rooms.contents import copy

MOST_ENTRIES = 150
"""Each entry is mounted by itself, which takes a third of a millisecond. A home folder with more of them is read-only as a whole."""


def mounts(home: str, own: Path, away: Path) -> tuple[Mount, ...]:
    """What to mount for the home folder, with the folder `own` in its place; nothing if that cannot be done. What commands wrote there is
    set aside in `away`."""
    try:
        entries = [entry for entry in os.scandir(home) if not entry.is_symlink()]
        if home == os.sep or len(entries) > MOST_ENTRIES:
            return ()
        renew(home, own, away)
    except OSError:
        return ()
    # Without sockets and pipes.
    shown = (Mount(Access.READ_IF_THERE, entry.path) for entry in entries if entry.is_dir() or entry.is_file())
    return (Mount(Access.WRITE, home, str(own)), *shown)


def renew(home: str, own: Path, away: Path) -> None:
    """Remove what commands wrote, and make the links of the home folder again. What else it contains is mounted."""
    copy.set_aside(own, away)
    own.mkdir(parents=True, mode=0o700)
    own.chmod(stat.S_IMODE(os.stat(home).st_mode) | stat.S_IRWXU)
    for entry in os.scandir(home):
        if entry.is_symlink():
            (own / entry.name).symlink_to(os.readlink(entry.path))
