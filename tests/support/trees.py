"""Small trees for tests of judge files: built from texts, compared and composed in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from untildone.core.judging.survey import Rules, Survey, survey
from untildone.core.judging.trees import LINK, Edit, Remove, Restore, Tree, Write


class Link(str):
    """The target of a symbolic link, in place of a file's text."""


class Program(str):
    """The text of a file that may be executed."""


Texts = Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """A file of a tree."""

    mode: str
    blob: str


def tree(texts: Texts) -> Tree:
    """The tree with these files."""
    blobs = {file(text).blob: text.encode() for text in texts.values()}
    return Tree({path: file(text) for path, text in texts.items()}, lambda names: {name: blobs[name] for name in names})


def file(text: str) -> Entry:
    mode = LINK if isinstance(text, Link) else "100755" if isinstance(text, Program) else "100644"
    return Entry(mode, hashlib.sha256(text.encode()).hexdigest())


def changed(start: Texts, changes: Mapping[str, str | None]) -> dict[str, str]:
    """The texts after the changes; None deletes a file."""
    merged = {**start, **changes}
    return {path: text for path, text in merged.items() if text is not None}


def surveyed(start: Texts, claimed: Texts, *commands: str, rules: Rules | None = None) -> Survey:
    return survey(tree(start), tree(claimed), rules or Rules(commands=commands or ("pytest -q",)))


def composed(start: Texts, claimed: Texts, edits: Iterable[Edit]) -> dict[str, str]:
    """The texts that the edits make of the claimed ones."""
    made = dict(claimed)
    for edit in edits:
        match edit:
            case Remove(path=path):
                del made[path]
            case Restore(path=path):
                made[path] = start[path]
            case Write(path=path, content=content):
                made[path] = content.decode()
    return made
