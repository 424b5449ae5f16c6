"""INI files with two uses: `setup.cfg`, `tox.ini`, `entry_points.txt`."""

from __future__ import annotations

import configparser
import re
from collections.abc import Collection

_ALWAYS = re.compile(
    r"(?:tool:)?pytest|pytest11|nose\.\S*|coverage:.*|tox(?::.*)?|testenv.*|nosetests|unittest|aliases|behave|flake8\.\S+"
)
_OF_TOOLS = {
    "flake8": "flake8.*",
    "mypy": "mypy.*",
    "pylint": "pylint.*|MESSAGES CONTROL",
    "isort": "isort|tool:isort",
    "pycodestyle": "pycodestyle",
}
_FREE_KEYS = frozenset(("deps", "extras", "dependency_groups", "passenv", "pass_env"))
"""Keys of an environment of tox that belong to the product: what it depends on."""
_HEADER = re.compile(r"\[([^\]\n]*)\]")

Sections = dict[str, tuple[str, ...]]


def judging(content: bytes, tools: Collection[str]) -> Sections | None:
    """The lines of each judging section, without comments and blank lines; None: readers may disagree about the sections."""
    split = _split(content)
    if split is None:
        return None
    return {name: tuple(_plain(body)) for name, body in split if _judges(name, tools) and _plain(body)}


def merged(start: bytes, claimed: bytes, tools: Collection[str]) -> bytes | None:
    """The judging sections of the start with the other sections as claimed; None: that cannot be done safely."""
    before, after = _split(start), _split(claimed)
    if before is None or after is None:
        return None
    kept = "".join(body for name, body in after if not _judges(name, tools))
    original = "".join(body for name, body in before if _judges(name, tools))
    text = (kept.rstrip("\n") + "\n\n" if kept.strip() else "") + original
    content = text.encode("utf-8", "surrogateescape")
    fits = judging(content, tools) == judging(start, tools) and _values(content, tools, judged=False) == _values(
        claimed, tools, judged=False
    )
    return content if fits and _values(content, tools, judged=True) == _values(start, tools, judged=True) else None


def _split(content: bytes) -> list[tuple[str, str]] | None:
    """The sections with their text, headers included; None if a line looks like an indented header, or a section occurs twice."""
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff").replace("\r\n", "\n")
    if re.search(r"^[ \t]+\[[\w:. -]+\][ \t]*$", text, re.MULTILINE) or "\r" in text:
        return None
    starts = [found.start() for found in re.finditer(r"^\[", text, re.MULTILINE)]
    pieces = [text[begin:end] for begin, end in zip([0, *starts], [*starts, len(text)], strict=True)]
    named = [(header[1].strip() if (header := _HEADER.match(piece)) else "", piece) for piece in pieces if piece]
    names = [name for name, _ in named]
    return named if len(set(names)) == len(names) else None


def _judges(name: str, tools: Collection[str]) -> bool:
    if _ALWAYS.fullmatch(name):
        return True
    return any(tool in tools and re.fullmatch(pattern, name) for tool, pattern in _OF_TOOLS.items())


def _plain(body: str) -> list[str]:
    """The lines that count: no comments, no blank lines, no header, no dependencies."""
    lines, skipping = [], False
    for line in body.split("\n")[1:]:
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        if not line[0].isspace():
            skipping = re.split(r"[=:]", line, maxsplit=1)[0].strip() in _FREE_KEYS
        if not skipping:
            lines.append(" ".join(line.split()))
    return lines


def _values(content: bytes, tools: Collection[str], *, judged: bool) -> dict[str, dict[str, str]] | None:
    """The values as the standard library reads them; None if it cannot."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=", ":"))
    try:
        parser.read_string(content.decode("utf-8", "surrogateescape").removeprefix("\ufeff"))
    except configparser.Error:
        return None
    return {name: dict(parser.items(name)) for name in parser.sections() if _judges(name, tools) is judged}
