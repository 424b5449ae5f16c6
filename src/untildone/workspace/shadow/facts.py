"""What a person's repository says about itself beside its history: configuration, hooks, rules, replaced objects, index flags.

An agent that changes these can hide files from the person, or leave programs for their next `git`. Snapshots do not depend on them; people
should know of a change all the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase

from untildone.core.values.digest import sha256
from untildone.core.values.value import dataclass, field
from untildone.workspace.git import QUICK_SECONDS, GitFailed, git, git_folders, line_of
from untildone.workspace.person_git.exclude import without_ours
from untildone.workspace.shadow.reading import read

_EXCLUDE = "info/exclude"
_FILES = ("config.worktree", "info/attributes", "info/grafts", "info/sparse-checkout", "shallow",
          "objects/info/alternates")  # fmt: skip
_MOST_HOOKS = 200
_USUAL = ("branch.*", "remote.*", "user.*", "submodule.*", "color.*", "init.*", "pull.*", "push.*", "gc.*", "lfs.*",
          "core.repositoryformatversion", "core.logallrefupdates", "core.ignorecase", "core.precomposeunicode")  # fmt: skip
"""Settings that change in ordinary work and hide nothing."""
_FLAGS = {"h": "assume-unchanged", "S": "skip-worktree", "s": "skip-worktree and assume-unchanged"}
_REPOSITORY, _MISSING, _BROKEN, _HEAD = "repository", "missing", "broken", "head"


@dataclass(frozen=True, slots=True)
class GitFacts:
    """The facts of a repository at one moment, as text or digests by name."""

    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GitChange:
    """One fact that differs."""

    sentence: str
    usual: bool = False
    """Whether it is part of ordinary work, such as a new branch."""


def facts_of(root: str) -> GitFacts:
    """The facts of the repository at `root`. Reads files and asks git, which runs no program for it; each question is bounded in time."""
    if not os.path.lexists(os.path.join(root, ".git")):
        return GitFacts({_REPOSITORY: _MISSING})
    try:
        folders = git_folders(root)
        facts = {_REPOSITORY: f"folder {os.stat(folders[-1]).st_ino}", **_settings(root)}
    except (OSError, ValueError, GitFailed):
        return GitFacts({_REPOSITORY: _BROKEN})
    for folder in folders:
        digests = {name: _digest(os.path.join(folder, name)) for name in (*_FILES, *_hooks(folder))}
        digests[_EXCLUDE] = _digest_of_rules(os.path.join(folder, _EXCLUDE))
        facts |= {f"file {name}": digest for name, digest in digests.items() if digest}
    with suppress(GitFailed):
        facts |= {**_replaced(root), **_flags(root), **_head(root)}
    return GitFacts(facts)


def compared(before: GitFacts, now: GitFacts) -> tuple[GitChange, ...]:
    """What differs, in plain words."""
    was, became = before.facts.get(_REPOSITORY, _MISSING), now.facts.get(_REPOSITORY, _MISSING)
    if was != became:
        return (_replacement(was, became),)
    names = sorted((before.facts.keys() | now.facts.keys()) - {_HEAD})
    values = ((name, before.facts.get(name), now.facts.get(name)) for name in names)
    return tuple(_change(name, then, since) for name, then, since in values if then != since)


def history_change(root: str, before: GitFacts) -> GitChange | None:
    """Whether the last commit of the start is no longer part of the history of the repository at `root`."""
    head = before.facts.get(_HEAD)
    if not head:
        return None
    try:
        if not git(root, "rev-list", "-n1", head, "--not", "HEAD", seconds=QUICK_SECONDS):
            return None
        return GitChange(f"the history no longer contains {head[:12]}, the last commit when the loop began", usual=True)
    except GitFailed:
        return GitChange(f"the commit {head[:12]}, the last one when the loop began, is gone")


def _replacement(was: str, became: str) -> GitChange:
    if became == _MISSING:
        return GitChange("the git repository (.git) was deleted")
    if became == _BROKEN:
        return GitChange("git cannot read the repository (.git) any more")
    if was == _MISSING:
        return GitChange("a git repository was made", usual=True)
    return GitChange("the git repository (.git) was replaced by another")


def _change(name: str, before: str | None, now: str | None) -> GitChange:
    how = "is new" if before is None else "is gone" if now is None else "has changed"
    kind, _, rest = name.partition(" ")
    match kind:
        case "file":
            return GitChange(f".git/{rest} {how}", usual=rest == "shallow")
        case "setting":
            return GitChange(f"the git setting {rest} {how}", usual=any(fnmatchcase(rest, each) for each in _USUAL))
        case "replaced":
            return GitChange(f"git shows another object instead of {rest[:12]} (git replace): it {how}")
        case _:
            return GitChange(f"{rest} {'is no longer' if now is None else 'is'} marked {now or before} in git's index")


def _hooks(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(os.path.join(folder, "hooks")))[:_MOST_HOOKS]
    except OSError:
        return []
    return [f"hooks/{name}" for name in names if not name.endswith(".sample")]


def _digest(path: str) -> str:
    """A digest of a file's content and mode. Empty: there is no file."""
    folder, name = os.path.split(path)
    try:
        content = read(os.fsencode(os.path.join(os.path.realpath(folder), name)), os.lstat(path)).content
        return sha256(f"{content.mode} ".encode() + content.data).hexdigest()[:32]
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return "not readable"


def _digest_of_rules(path: str) -> str:
    """As `_digest`, for an exclude file: without the lines of untildone. Empty: no rule is left."""
    try:
        rules = without_ours(read(os.fsencode(path), os.lstat(path)).content.data).strip(b"\n")
        return sha256(rules).hexdigest()[:32] if rules else ""
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return "not readable"


def _settings(root: str) -> dict[str, str]:
    """Each setting of the repository itself, with a digest of its values."""
    values: dict[str, str] = {}
    for row in _asked(root, "config", "--local", "--no-includes", "--null", "--list"):
        name, _, value = row.partition("\n")
        values[name] = sha256((values.get(name, "") + value).encode(errors="surrogateescape")).hexdigest()[:16]
    return {f"setting {name}": value for name, value in values.items()}


def _replaced(root: str) -> dict[str, str]:
    rows = _asked(root, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)%00", "refs/replace/")
    named = (row.strip().partition(" ") for row in rows)
    return {f"replaced {name}": value for name, _, value in named}


def _flags(root: str) -> dict[str, str]:
    """Files that git takes for unchanged without looking at them."""
    rows = _asked(root, "ls-files", "-v", "-z")
    return {f"flag {row[2:]}": _FLAGS[row[0]] for row in rows if row[0] in _FLAGS}


def _head(root: str) -> dict[str, str]:
    answer = git(root, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1), seconds=QUICK_SECONDS)
    return {_HEAD: line_of(answer)}


def _asked(root: str, *command: str) -> list[str]:
    answer = git(root, *command, seconds=QUICK_SECONDS)
    return [os.fsdecode(row) for row in answer.split(b"\0") if row.strip()]
