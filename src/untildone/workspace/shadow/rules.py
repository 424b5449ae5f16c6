"""Ignore rules of many files as one exclude file. Pure.

Git reads `.gitignore` in every folder, when it is asked. An agent can change these files to hide others, so the rules of a loop are read
once, at its start, and handed to git in one file that lies outside the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME = b".gitignore"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPECIAL = re.compile(rb"[\\*?\[]")
_TRAILING_SPACES = re.compile(rb"(?<!\\) +$")


def combined(base: bytes, files: Mapping[bytes, bytes]) -> bytes:
    """One exclude file with the meaning of `base` (rules of the whole work tree, of least weight) and of the ignore files `files`, by path.

    The last rule that matches counts, so that deeper files come later."""
    in_order = sorted(files, key=lambda path: (path.count(b"/"), path))
    parts = (translated(path.rpartition(b"/")[0], files[path]) for path in in_order)
    return b"".join((base.removesuffix(b"\n"), b"\n", *parts))


def translated(folder: bytes, content: bytes) -> bytes:
    """The rules of the ignore file in `folder` (relative to the top of the work tree) as rules at the top."""
    lines = content.removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    return b"".join(_rule(folder, line.partition(b"\0")[0]) for line in lines)


def _rule(folder: bytes, line: bytes) -> bytes:
    negated = line.startswith(b"!")
    pattern = line.removeprefix(b"!") if negated else line
    # As git reads it: without the carriage return of the line end, and without trailing spaces.
    meant = _TRAILING_SPACES.sub(b"", pattern.removesuffix(b"\r"))
    if line.startswith(b"#") or not meant.strip(b"/"):
        return b""
    return b"%b%b%b\n" % (b"!" if negated else b"", _place(folder, meant), pattern)


def _place(folder: bytes, pattern: bytes) -> bytes:
    """What to put before a pattern of `folder`. A pattern with a slash before its end belongs to that folder, any other to all below."""
    if not folder:
        return b""
    anchored = b"/" in pattern.removesuffix(b"/")
    between = (b"" if pattern.startswith(b"/") else b"/") if anchored else b"/**/"
    return pattern_of(folder) + between


def pattern_of(path: bytes) -> bytes:
    """The pattern for one path. A line of an exclude file cannot contain a line end: `?` stands for it."""
    return b"/" + _SPECIAL.sub(rb"\\\g<0>", path).replace(b"\n", b"?")
