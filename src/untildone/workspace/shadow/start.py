"""What a snapshot needs to know from the start of a loop: an agent could change it later to hide files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from untildone.core.values.value import dataclass, field
from untildone.system import disk
from untildone.workspace.git import QUICK_SECONDS, GitFailed, git, git_folders, root_of
from untildone.workspace.person_git.index import Entry, staged, submodules
from untildone.workspace.shadow import rules
from untildone.workspace.shadow.facts import GitFacts, facts_of
from untildone.workspace.shadow.listing import Listing, TooMany, read_rules

USUALLY_IGNORED = b"node_modules/\n.venv/\n__pycache__/\n"
"""The rules of least weight for a folder without a repository."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a snapshot may contain."""

    files: int
    bytes: int

    def times(self, factor: int) -> Limits:
        return Limits(self.files * factor, self.bytes * factor)


REPOSITORY, FOLDER = Limits(200_000, 8 << 30), Limits(50_000, 2 << 30)
"""A repository is usually meant to be copied as a whole; a folder without one may be a home folder."""
GROWTH = 4
"""How many times its limits at the start a workspace may contain later. Beyond that no snapshot is taken."""


@dataclass(frozen=True, slots=True)
class Start:
    """The rules of a loop's snapshots, as of its start."""

    root: str
    """The folder whose files belong to snapshots."""
    in_repository: bool
    base: bytes = b""
    """Rules of least weight: of the person, and of `.git/info/exclude`."""
    files: Mapping[bytes, bytes] = field(default_factory=dict)
    """The ignore files of the work tree."""
    tracked: tuple[bytes, ...] = ()
    """Files that are ignored, but in the person's index."""
    git: GitFacts = GitFacts()
    staged: Mapping[bytes, Entry | None] = field(default_factory=dict)
    """What the person had staged, by path in their repository."""
    submodules: Mapping[bytes, str] = field(default_factory=dict)
    """The commit of each submodule, by path in their repository."""

    @property
    def rules(self) -> bytes:
        return rules.combined(self.base, self.files)

    @property
    def limits(self) -> Limits:
        return REPOSITORY if self.in_repository else FOLDER

    def save(self, path: Path) -> None:
        fields = {
            "root": self.root,
            "in_repository": self.in_repository,
            "base": text_of(self.base),
            "files": {text_of(name): text_of(content) for name, content in self.files.items()},
            "tracked": [text_of(name) for name in self.tracked],
            "git": dict(self.git.facts),
            "staged": {text_of(path): entry and [entry.mode, entry.name] for path, entry in self.staged.items()},
            "submodules": {text_of(path): commit for path, commit in self.submodules.items()},
        }
        disk.replace_file(path, json.dumps(fields).encode(), sync=False)


def load(path: Path) -> Start | None:
    """The start of a loop that was saved; None if there is none. Raises ValueError if it is damaged: another would hide files."""
    try:
        fields = json.loads(path.read_bytes())
        return Start(
            fields["root"],
            fields["in_repository"],
            bytes_of(fields["base"]),
            {bytes_of(name): bytes_of(content) for name, content in fields["files"].items()},
            tuple(map(bytes_of, fields["tracked"])),
            GitFacts(fields["git"]),
            {bytes_of(path): entry and Entry(*entry) for path, entry in fields.get("staged", {}).items()},
            {bytes_of(path): commit for path, commit in fields.get("submodules", {}).items()},
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"what was kept at the start, {path}, is damaged") from error


def begin(workspace: str, listing_of: Callable[[str], Listing]) -> Start:
    """The start of a loop, as of now. The top of a repository that is too big for snapshots gives way to the folder itself."""
    root = _root(workspace)
    if root is None:
        return _begin(workspace, USUALLY_IGNORED, listing_of(workspace), in_repository=False)
    try:
        return _begin(root, base_rules(root), listing_of(root), in_repository=True)
    except TooMany:
        if root == workspace:
            raise
        return _begin(workspace, base_rules(root), listing_of(workspace), in_repository=False)


def _begin(root: str, base: bytes, listing: Listing, *, in_repository: bool) -> Start:
    most = (REPOSITORY if in_repository else FOLDER).files
    files = listing.rule_files(base, most, set())
    tracked = tracked_although_ignored(root) if in_repository else ()
    return Start(root, in_repository, base, files, tracked, facts_of(root), *_in_hand(root))


def _in_hand(path: str) -> tuple[Mapping[bytes, Entry | None], Mapping[bytes, str]]:
    """What the person had staged, and where their submodules were."""
    root = root_of(path)
    try:
        return ({}, {}) if root is None else (staged(root), submodules(root))
    except GitFailed:
        return {}, {}


def _root(path: str) -> str | None:
    """The top of the repository that contains the folder; None if there is none, or if it ignores the folder."""
    root = root_of(path)
    if root is None or root == path:
        return root
    try:
        question = os.fsencode(path)
        ignored = git(root, "check-ignore", "-z", "--stdin", stdin=question, fine=(0, 1), seconds=QUICK_SECONDS)
    except GitFailed:
        return root
    return None if ignored else root


def base_rules(root: str) -> bytes:
    """The rules for the whole work tree that lie outside of it: the person's, and those of `.git/info/exclude`, which outweigh them."""
    try:
        answer = git(root, "config", "--type=path", "--get", "core.excludesFile", fine=(0, 1), seconds=QUICK_SECONDS)
    except GitFailed:
        answer = b""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    named = answer.removesuffix(b"\n") or os.fsencode(os.path.join(home, "git", "ignore"))
    paths = [os.path.join(os.fsencode(root), named)]
    with suppress(OSError, ValueError):
        paths.append(os.path.join(os.fsencode(git_folders(root)[-1]), b"info", b"exclude"))
    contents = (read_rules(os.path.realpath(path)) for path in paths)
    return b"".join(rules.translated(b"", content) for content in contents if content)


def tracked_although_ignored(root: str) -> tuple[bytes, ...]:
    """Files in the person's index that their ignore rules match, as after `git add --force`. Empty if git fails."""
    try:
        form = ("-z", "--cached", "--ignored", "--exclude-standard")
        listed = git(root, "ls-files", *form, seconds=QUICK_SECONDS)
    except GitFailed:
        return ()
    return tuple(listed.split(b"\0")[:-1])


def text_of(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
