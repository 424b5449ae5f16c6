"""What git is configured to do, asked again only when one of the files changed in which that is said."""

from __future__ import annotations

import os
from functools import lru_cache

from untildone.workspace.git import git, git_folders
from untildone.workspace.glance import Stamp, stamp_of

MOST_REPOSITORIES = 64


def matching(root: str, wanted: str) -> frozenset[tuple[str, str]]:
    """The settings whose names match, with their values; all of them, if one is set more than once."""
    return _asked(root, wanted, tuple(map(stamp_of, _files(root))))


@lru_cache(maxsize=2 * MOST_REPOSITORIES)
def _asked(root: str, wanted: str, _stamps: tuple[Stamp | None, ...]) -> frozenset[tuple[str, str]]:
    listed = git(root, "config", "--null", "--get-regexp", wanted, fine=(0, 1)).decode(errors="replace")
    pairs = (entry.partition("\n") for entry in listed.split("\0") if entry)
    return frozenset((name, value) for name, _, value in pairs)


def of_person(name: str) -> str:
    """A file of the person's own about git."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "git", name)


def _files(root: str) -> tuple[str, ...]:
    """Those in which git's configuration usually is."""
    named = (os.environ.get(name, "") for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"))
    usual = (os.path.expanduser("~/.gitconfig"), of_person("config"), "/etc/gitconfig")
    return (os.path.join(git_folders(root)[-1], "config"), *usual, *named)
