"""Which files of a workspace belong to a snapshot: all that no ignore rule matches. Git applies the rules that it is given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from untildone.core import live_file
from untildone.core.values.digest import sha256
from untildone.workspace.git import GitFailed, never
from untildone.workspace.shadow import rules
from untildone.workspace.shadow.reading import read
from untildone.workspace.shadow.repository import Repository

MOST_NESTED = 64
"""How deep repositories may lie in repositories."""
HEAVY = frozenset({b"node_modules", b".venv", b"venv", b"__pycache__", b"target", b".tox", b".nox", b"site-packages"})
"""Folders of installed packages and build results. Changed ignore rules do not bring them into a snapshot."""

_OURS = (".loop/", f"**/{live_file.FOLDER}/{live_file.STEM}*{live_file.ENDING}")
_PLACEHOLDER = b"x" * 300
"""A name that no file can have: it is too long."""


class TooMany(GitFailed):
    """There are more files than a snapshot may have."""


class Listing:
    """Lists the files below `root`."""

    def __init__(self, repository: Repository, root: str, index: Path, rule_folder: Path, left_out: Path) -> None:
        """`index` is a file of ours for git; it makes git enter repositories inside the work tree. `left_out` is a folder that may lie
        below the root, and whose files never count."""
        self.repository = repository
        self.root = root
        self._index = index
        self._rule_folder = rule_folder
        inside = left_out.relative_to(root) if left_out.is_relative_to(root) else None
        self._left_out = () if inside is None else (os.fsdecode(rules.pattern_of(os.fsencode(inside)) + b"/"),)

    def files(self, rule_text: bytes, most: int, *patterns: str, wants_out: Callable[[], bool] = never) -> set[bytes]:
        """Every file and link that the rules do not ignore, also in repositories inside. `patterns` outweigh the rules."""
        # Git leaves out what an index names, and an agent could have written this one.
        self._index.unlink(missing_ok=True)
        for _ in range(MOST_NESTED):
            listed = self._listed(rule_text, most, patterns, wants_out)
            nested = {path for path in listed if path.endswith(b"/")}
            if not nested:
                return listed
            self._enter(nested)
        return {path for path in listed if not path.endswith(b"/")}

    def _listed(
        self, rule_text: bytes, most: int, patterns: tuple[str, ...], wants_out: Callable[[], bool]
    ) -> set[bytes]:
        ours = (option for pattern in (*patterns, *_OURS, *self._left_out) for option in ("-x", pattern))
        rule_file = f"--exclude-from={self._kept(rule_text)}"
        command = ("ls-files", "-z", "--others", rule_file, *ours)
        listed: set[bytes] = set()
        for paths in self.repository.stream(*command, work_tree=self.root, index=self._index, wants_out=wants_out):
            listed.update(paths)
            if len(listed) > most:
                raise TooMany(f"there are more than {most:,} files")
        return listed

    def _enter(self, folders: set[bytes]) -> None:
        """Make git list the files of repositories inside: it does so where its index has an entry."""
        self._index.with_name(f"{self._index.name}.lock").unlink(missing_ok=True)
        blob = self.repository.git("hash-object", "-w", "--stdin").strip()
        entries = (b"100644 %b\t%b%b\0" % (blob, folder, _PLACEHOLDER) for folder in sorted(folders))
        self.repository.git("update-index", "-z", "--index-info", stdin=b"".join(entries), index=self._index)

    def _kept(self, rule_text: bytes) -> Path:
        path = self._rule_folder / sha256(rule_text).hexdigest()[:32]
        if not path.is_file() or path.read_bytes() != rule_text:
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.write_bytes(rule_text)
            os.replace(draft, path)
        return path

    def rule_files(self, base: bytes, most: int, known: set[bytes]) -> dict[bytes, bytes]:
        """The content of each ignore file that counts, by path: in every folder that is not itself ignored. `known` are paths to try."""
        files = dict(self._read(known | {rules.NAME}))
        while True:
            found = self.files(rules.combined(base, files), most, f"!{rules.NAME.decode()}")
            new = {path for path in found if path.rpartition(b"/")[2] == rules.NAME}.difference(files)
            read_now = dict(self._read(new))
            if not read_now:
                return files
            files |= read_now

    def _read(self, paths: set[bytes]) -> Iterator[tuple[bytes, bytes]]:
        for path in paths:
            content = read_rules(os.path.join(os.fsencode(self.root), path))
            if content is not None:
                yield path, content


def read_rules(path: bytes) -> bytes | None:
    """The content of an ignore file; None if there is none. Git does not follow a link of that name either."""
    try:
        status = os.lstat(path)
        return None if os.path.islink(path) else read(path, status).content.data
    except (OSError, ValueError):
        return None
