"""The judging part of a file with two uses, in two versions: how they are compared, and what a room gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto

from untildone.core.judging.checks.script_texts import PLACEHOLDER
from untildone.core.judging.checks.scripts import CheckFiles
from untildone.core.judging.documents import (
    Document,
    Key,
    found,
    loaded_json,
    loaded_toml,
    replaced,
    written_json,
    written_toml,
)
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass


class Part(Enum):
    """What happened to the judging part of a file."""

    SAME = auto()
    ADDED = auto()
    """There was none at the start."""
    CHANGED = auto()


@dataclass(frozen=True, slots=True)
class Comparison:
    part: Part
    merged: bytes | None = None
    """The judging part of the start with the rest as claimed; None: take the whole file of the start, or none if it is new."""


SAME = Comparison(Part.SAME)

Comparer = Callable[[str, bytes | None, bytes | None, CheckFiles], Comparison]


def compare_toml(patterns: Callable[[CheckFiles], tuple[Key, ...]], growing: tuple[Key, ...] = ()) -> Comparer:
    def compare(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
        try:
            before, after = loaded_toml(start), loaded_toml(claimed)
        except ValueError:
            return Comparison(Part.CHANGED if start is not None else Part.ADDED)
        return _documents(before, after, patterns(files), growing, written_toml)

    return compare


def compare_json(patterns: Callable[[CheckFiles], tuple[Key, ...]], growing: tuple[Key, ...] = ()) -> Comparer:
    def compare(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
        try:
            before, after = loaded_json(start), loaded_json(claimed)
        except ValueError:
            return Comparison(Part.CHANGED if start is not None else Part.ADDED)
        names = tuple(("imports", name) for name in sorted(table(before, "imports")))
        judged = (*patterns(files), *_judged_scripts(path, before, files), *names)
        return _documents(before, after, judged, growing, written_json)

    return compare


def table(document: Document, name: str) -> Document:
    """A table of the document. Names of modules that were there at the start may be those by which tests get their helpers."""
    table = document.get(name)
    return table if isinstance(table, dict) else {}


def _documents(
    before: Document,
    after: Document,
    patterns: tuple[Key, ...],
    growing: tuple[Key, ...],
    write: Callable[[Document], bytes],
) -> Comparison:
    was, now = found(before, patterns), found(after, patterns)
    shrunk = {
        key: value
        for key, value in found(before, growing).items()
        if not _has_grown(value, found(after, (key,)).get(key))
    }
    if repr(ordered(was)) == repr(ordered(now)) and not shrunk:
        return SAME
    merged = replaced(after, now, {**was, **shrunk})
    part = Part.CHANGED if was or shrunk else Part.ADDED
    try:
        return Comparison(part, write(merged))
    except ValueError:
        return Comparison(part)


def ordered(values: Mapping[Key, Any]) -> list[tuple[Key, Any]]:
    return sorted(values.items(), key=lambda pair: pair[0])


def _has_grown(before: Any, after: Any) -> bool:
    """Whether a list still has every entry, and no new one that excludes something."""
    if not isinstance(before, list) or not isinstance(after, list):
        return repr(before) == repr(after)
    new = [entry for entry in after if entry not in before]
    return all(entry in after for entry in before) and not any(str(entry).startswith("!") for entry in new)


def with_tools(
    always: tuple[Key, ...], by_tool: Mapping[str, tuple[Key, ...]]
) -> Callable[[CheckFiles], tuple[Key, ...]]:
    def patterns(files: CheckFiles) -> tuple[Key, ...]:
        return always + tuple(key for tool in sorted(files.tools) for key in by_tool.get(tool, ()))

    return patterns


def _judged_scripts(path: str, before: Document, files: CheckFiles) -> tuple[Key, ...]:
    """The scripts that a check runs and that were there at the start, and whatever npm runs before and after them."""
    named = {name for of, name in files.package_scripts if of in (path, "*")}
    at_start = {key[1] for key, line in found(before, (("scripts", "*"),)).items() if not PLACEHOLDER.match(str(line))}
    judged = named & at_start
    around = {f"{when}{name}" for name in judged for when in ("pre", "post")}
    return tuple(("scripts", name) for name in sorted(judged | around))


def compare_build(same: Callable[[str, str], bool]) -> Comparer:
    """For files that can be compared but not merged. A new one belongs to the product."""

    def compare(_path: str, start: bytes | None, claimed: bytes | None, _files: CheckFiles) -> Comparison:
        if start is None or (claimed is not None and same(text_of(start), text_of(claimed))):
            return SAME
        return SAME if claimed is None and same(text_of(start), "") else Comparison(Part.CHANGED)

    return compare


def compare_build_of(same: Callable[[str, str], bool], *tools: str) -> Comparer:
    """As `compare_build`, for files that count only if a check runs one of the tools."""
    compare = compare_build(same)

    def compare_for_tools(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
        return compare(path, start, claimed, files) if files.tools.intersection(tools) else SAME

    return compare_for_tools


def text_of(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
