"""Which content the files of a workspace had at the last snapshot, so that the next one reads only files that were touched since."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from untildone.core.values.value import dataclass, field
from untildone.system import disk
from untildone.workspace.shadow.start import bytes_of, text_of
from untildone.workspace.shadow.values import File, Stamp

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Known:
    """A file at the last snapshot."""

    file: File
    stamp: Stamp | None
    """None: it must be read again, because it was too new to be sure."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A tree of the shadow repository and what is known of its files. All loops of a workspace share it."""

    tree: str | None = None
    files: Mapping[bytes, Known] = field(default_factory=dict)

    def without_stamps(self) -> Cache:
        """The same tree, with every file to be read again."""
        return Cache(self.tree, {path: Known(each.file, None) for path, each in self.files.items()})

    def save(self, path: Path) -> None:
        rows = {text_of(name): (each.file.mode, each.file.blob, each.stamp) for name, each in self.files.items()}
        content = {"format": FORMAT, "tree": self.tree, "files": rows}
        disk.replace_file(path, json.dumps(content, separators=(",", ":")).encode(), sync=False)


def load(path: Path) -> Cache:
    """The saved cache; an empty one if there is none."""
    try:
        content = json.loads(path.read_bytes())
        if content["format"] != FORMAT:
            return Cache()
        files = {
            bytes_of(name): Known(File(mode, blob), tuple(stamp) if stamp else None)
            for name, (mode, blob, stamp) in content["files"].items()
        }
        return Cache(content["tree"], files)
    except (OSError, ValueError, KeyError, TypeError):
        return Cache()
