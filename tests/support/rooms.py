"""A workspace with rooms for tests: real snapshots, a home folder and a state folder of its own."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from untildone.core.model import RoomKind
from untildone.system.box.sandbox import Network
from untildone.workspace.rooms import Claimed, Room, Rooms
from untildone.workspace.shadow import Content, File, Shadow

LOOP = "loop-20260101-rooms"
Changes = Mapping[str, File | Content | None]


def is_judge(path: str) -> bool:
    """A simple rule for judge files."""
    return path.rpartition("/")[2].startswith(("test_", "conftest"))


class Premises:
    """A workspace, and the rooms of a loop that works in it."""

    def __init__(self, folder: Path, workspace: Path | None = None) -> None:
        self.workspace = workspace or folder / "workspace"
        self.home = folder / "home"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(exist_ok=True)
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.network = Network.NONE
        self.watches_libraries = False
        self.hidden: tuple[str, ...] = ()
        self.approved: frozenset[str] = frozenset()
        self.start = ""
        self.record = ""
        self.signs: tuple[str, ...] = ()
        """What the last room adds to the tampering report."""

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files of the workspace; None removes one."""
        for name, content in files.items():
            path = self.workspace / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    @property
    def shadow(self) -> Shadow:
        return Shadow(str(self.workspace), self.environment, LOOP)

    @property
    def rooms(self) -> Rooms:
        shadow = self.shadow
        root = shadow.take().root
        options = {
            "environment": self.environment,
            "hidden": self.hidden,
            "network": self.network,
            "watches_libraries": self.watches_libraries,
        }
        return Rooms(shadow, LOOP, str(self.workspace), root, **options)  # type: ignore[arg-type]

    def begin(self) -> None:
        """Take the snapshot of the start, and write down what lies beside it."""
        self.start = self.shadow.take().tree
        self.record = self.rooms.begin(self.start)

    @contextmanager
    def room(self, kind: RoomKind = RoomKind.SEALED, changes: Changes | None = None) -> Iterator[Room]:
        """A room for the workspace as it is now, with some files of the tree replaced."""
        shadow = self.shadow
        claimed = shadow.take().tree
        tree = shadow.write_tree(claimed, changes or {})
        question = Claimed(self.start, claimed, self.record, is_judge, approved=self.approved)
        with self.rooms.claim(question) as claim, claim.room(kind, tree, self.environment) as room:
            self.signs = claim.signs
            yield room

    def says(self, command: str, kind: RoomKind = RoomKind.SEALED, changes: Changes | None = None) -> str:
        """The output of a command in a room, errors too, and its exit code unless that is 0."""
        with self.room(kind, changes) as room:
            return said(room, command)


def distribution(name: str, version: str, files: Mapping[str, str], folder: str) -> dict[str, str]:
    """The files of a Python distribution that is installed in a folder, with the list of its files."""
    info = f"{name}-{version}.dist-info"
    own = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", **files}
    rows = [f"{path},sha256={_record_hash(content)},{len(content)}" for path, content in own.items()]
    listed = "\n".join((*rows, f"{info}/RECORD,,", ""))
    return {
        os.path.normpath(f"{folder}/{path}"): content for path, content in (*own.items(), (f"{info}/RECORD", listed))
    }


def _record_hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def said(room: Room, command: str) -> str:
    ended = subprocess.run(
        room.argv(command),
        env=room.environment,
        cwd=room.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    output = ended.stdout.decode(errors="surrogateescape").strip("\n")
    return output if ended.returncode == 0 else f"{output}\nexit {ended.returncode}".strip("\n")
