"""Globs of paths as regular expressions, and sets of names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

_PIECES = re.compile(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|\{[^{}/]*\}|.", re.DOTALL)


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


def of_names(patterns: Iterable[str]) -> re.Pattern[str]:
    """Matches a path if a pattern fits its end: a pattern without a slash fits the file's name, one with slashes the last folders too."""
    return re.compile("(?:.*/)?(?:" + "|".join(map(translated, patterns)) + r")\Z", re.DOTALL)


@cache
def of_names_cached(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """As `of_names`, for patterns of a table."""
    return of_names(patterns)


def of_paths(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """Matches a path that a person's glob names, or that lies in a folder that it names. None: there is no pattern.

    As in `.gitignore`, a pattern without a slash fits at any depth; one with a slash is relative to the root.
    """
    parts = [_anchored(pattern) for pattern in patterns if pattern.strip("/. ")]
    return re.compile("(?:" + "|".join(parts) + r")(?:/.*)?\Z", re.DOTALL) if parts else None


def _anchored(pattern: str) -> str:
    pattern = pattern.strip().removeprefix("./")
    inner = pattern.strip("/")
    anywhere = "/" not in pattern.rstrip("/")
    return ("(?:.*/)?" if anywhere else "") + translated(inner)


def translated(pattern: str) -> str:
    """The regular expression of a glob with `*`, `?`, `**`, `[…]` and `{a,b}`."""
    return "".join(map(_piece, _PIECES.findall(pattern)))


def _piece(piece: str) -> str:
    fixed = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in fixed:
        return fixed[piece]
    if len(piece) > 1 and piece[0] == "{":
        return "(?:" + "|".join(translated(option) for option in piece[1:-1].split(",")) + ")"
    if len(piece) > 1 and piece[0] == "[":
        return _character_class(piece[1:-1])
    return re.escape(piece)


def _character_class(inner: str) -> str:
    negated = inner.startswith("!")
    # Two of these signs in a row will mean something else in a later version of Python, which warns of them.
    plain = re.sub(r"[\\\[&~|]|(?<=-)-", r"\\\g<0>", inner[negated:])
    pattern = "[" + ("^" if negated else "") + plain + "]"
    try:
        re.compile(pattern)
    except re.error:
        return re.escape(f"[{inner}]")
    return pattern
