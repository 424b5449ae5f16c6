"""Finds out from the output of an agent what its box has refused, so that person and agent can be told."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from untildone.engine.boxes import home_of
from untildone.system.box.sandbox import Access, Box

MOST = 5
"""Of one turn. An agent that tries more of them has read the first ones."""
_READ_ONLY = re.compile(rb"read-only file system", re.IGNORECASE)
_DENIED = re.compile(rb"permission denied", re.IGNORECASE)
_AROUND = 300
"""Bytes before and after a complaint in which its path is looked for."""
_LINE_END = re.compile(rb"\n|\\n|\\r")
"""Also as agents print it inside of JSON."""
_PATH = re.compile(rb"(?:/|~/)[^\s'\"`:;,()<>|&\\\x80-\xff]+")
_SHOWS = (Access.READ, Access.READ_IF_THERE, Access.HIDDEN)


class Refusals:
    """What a box has refused during one turn, as sentences."""

    def __init__(self, box: Box, environment: Mapping[str, str]) -> None:
        self._box = box
        self._home = os.path.realpath(home_of(environment))
        self.sentences: list[str] = []

    def take(self, line: bytes) -> str:
        """A new sentence about what a line of output complains of; empty: nothing new."""
        for words, wanted in ((_READ_ONLY, Access.WRITE), (_DENIED, Access.READ)):
            for complaint in words.finditer(line):
                if sentence := self._sentence(line, complaint.span(), wanted):
                    return sentence
        return ""

    def add(self, sentence: str) -> None:
        """Note what the box has refused in another way."""
        self.sentences.append(sentence)

    def _sentence(self, line: bytes, complaint: tuple[int, int], wanted: Access) -> str:
        for found in _paths_near(line, *complaint):
            path = os.path.normpath(self._home + found[1:] if found.startswith("~") else found)
            if self._refuses(path, wanted) and (sentence := self._new(path, wanted)):
                return sentence
        return ""

    def _refuses(self, path: str, wanted: Access) -> bool:
        """Whether the box is what forbids it, and not the file system outside."""
        inside = [
            mount for mount in self._box.mounts if path == mount.path or path.startswith(os.path.join(mount.path, ""))
        ]
        access = max(inside, key=lambda mount: len(mount.path)).access if inside else Access.WRITE
        if wanted is Access.READ:
            return access is Access.HIDDEN
        parent = path if os.path.exists(path) else os.path.dirname(path)
        return access in _SHOWS and os.access(parent, os.W_OK)

    def _new(self, path: str, wanted: Access) -> str:
        shown, what = self._named(path), "a write to" if wanted is Access.WRITE else "to show"
        if (
            shown == os.sep
            or len(self.sentences) >= MOST
            or any(f" {shown}: " in sentence for sentence in self.sentences)
        ):
            return ""
        missing = "" if os.path.exists(path) or shown != self._short(path) else "create it and use "
        self.sentences.append(f"The sandbox refused {what} {shown}: {missing}`--allow-{wanted.value} {shown}`.")
        return self.sentences[-1]

    def _named(self, path: str) -> str:
        """The path that a person would allow: an entry of the home folder, or the folder of the file."""
        if path.startswith(os.path.join(self._home, "")):
            return self._short(os.path.join(self._home, os.path.relpath(path, self._home).split(os.sep)[0]))
        return path if os.path.isdir(path) else os.path.dirname(path)

    def _short(self, path: str) -> str:
        return f"~{path[len(self._home) :]}" if path.startswith(os.path.join(self._home, "")) else path


def _paths_near(line: bytes, start: int, end: int) -> list[str]:
    """The paths in the line of a complaint, the nearest first."""
    before, after = line[max(0, start - _AROUND) : start], line[end : end + _AROUND]
    before = _LINE_END.split(before)[-1]
    after = _LINE_END.split(after)[0]
    found = [(len(before) - match.end(), match[0]) for match in _PATH.finditer(before)]
    found += [(match.start(), match[0]) for match in _PATH.finditer(after)]
    return [os.fsdecode(path) for _, path in sorted(found)]
