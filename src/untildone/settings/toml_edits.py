"""Changing a TOML file in its own words: only the lines whose meaning changes are written anew, comments and order stay."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from untildone.core.value import dataclass, replace
from untildone.settings import toml

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lines of the file: the head of a table, a setting in it, or blank lines and comments."""

    text: str
    table: Path
    name: str | None = None
    value: Any = None
    is_head: bool = False

    @property
    def is_comment(self) -> bool:
        return self.name is None and not self.is_head


def edited(before: str, wanted: Mapping[str, Any]) -> str:
    """The text, changed so that it says exactly what is wanted; written anew if that cannot be done line by line."""
    whole = toml.text(wanted)
    meaning = tomllib.loads(whole)
    try:
        text = _Edit(meaning).of(list(_parts(before)))
        return text if tomllib.loads(text) == meaning else whole
    except ValueError:
        return whole


class _Edit:
    def __init__(self, meaning: Mapping[str, Any]) -> None:
        self._meaning = meaning
        self._tables = dict(_tables(meaning, ()))
        """What each table is to say, without the tables inside it."""

    def of(self, parts: list[_Part]) -> str:
        for part in parts:
            self._accept_table_in_line(part)
        kept = [changed for part in parts if (changed := self._changed(part)) is not None]
        said = {(part.table, part.name) for part in kept if part.name is not None}
        texts = [part.text if part.text.endswith("\n") else f"{part.text}\n" for part in kept]
        more = [""] * (len(kept) + 1)
        for table, settings in self._tables.items():
            missing = {name: value for name, value in settings.items() if (table, name) not in said}
            at, is_there = _end_of(table, kept)
            if missing or not is_there:
                more[at] += toml.text(missing) if is_there else _new_table(table, missing)
        return "".join(addition + text for addition, text in zip(more, (*texts, ""), strict=True))

    def _accept_table_in_line(self, part: _Part) -> None:
        """`env = { A = "b" }` stays as it is, if it says what is wanted."""
        if not isinstance(part.value, Mapping) or part.name is None:
            return
        path = (*part.table, part.name)
        if _at(self._meaning, path) == part.value:
            self._tables = {table: said for table, said in self._tables.items() if table[: len(path)] != path}
            self._tables.setdefault(part.table, {})[part.name] = part.value

    def _changed(self, part: _Part) -> _Part | None:
        """None: it is gone."""
        settings = self._tables.get(part.table)
        if settings is None:
            return None
        if part.name is None or settings.get(part.name) == part.value:
            return part
        if part.name not in settings:
            return None
        text = toml.text({part.name: settings[part.name]}).rstrip("\n")
        return replace(part, text=f"{text}{_remark(part)}\n")


def _tables(meaning: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    inner = {name: value for name, value in meaning.items() if isinstance(value, Mapping)}
    plain = {name: value for name, value in meaning.items() if name not in inner}
    if plain or not inner or not path:
        yield path, plain
    for name, value in inner.items():
        yield from _tables(value, (*path, name))


def _at(meaning: Any, path: Path) -> Any:
    for name in path:
        meaning = meaning.get(name) if isinstance(meaning, Mapping) else None
    return meaning


def _end_of(table: Path, kept: list[_Part]) -> tuple[int, bool]:
    """Behind which part a table's last setting is, and whether the table is there at all."""
    found = [number for number, part in enumerate(kept, 1) if part.table == table and not part.is_comment]
    if found:
        return found[-1], True
    if table:
        return len(kept), False
    return next((number for number, part in enumerate(kept) if part.table), len(kept)), True


def _new_table(table: Path, settings: Mapping[str, Any]) -> str:
    whole: Mapping[str, Any] = settings
    for name in reversed(table):
        whole = {name: whole}
    return f"\n{toml.text(whole)}"


def _remark(part: _Part) -> str:
    """The comment at the end of a setting's line."""
    line = part.text.rstrip()
    for found in re.finditer(r"\s*#", line):
        if _said(line[: found.start()]) == {part.name: part.value}:
            return line[found.start() :]
    return ""


def _parts(text: str) -> Iterator[_Part]:
    """ValueError if it is not made of plain tables and settings. A comment right above a table's head belongs to it."""
    lines, at = re.findall(r"[^\n]*\n|[^\n]+", text), 0
    table: Path = ()
    comments: list[str] = []
    while at < len(lines):
        line, end = lines[at].strip(), at + 1
        if not line or line.startswith("#"):
            comments.append(lines[at])
        elif line.startswith("["):
            above = _above_head(comments)
            yield from (_Part(each, table) for each in comments[: len(comments) - above])
            table = _path(tomllib.loads(line))
            yield from (_Part(each, table) for each in comments[len(comments) - above :])
            yield _Part(lines[at], table, is_head=True)
            comments = []
        else:
            yield from (_Part(each, table) for each in comments)
            comments = []
            end = _end_of_setting(lines, at)
            ((name, value),) = (_said("".join(lines[at:end])) or {}).items()
            yield _Part("".join(lines[at:end]), table, name, value)
        at = end
    yield from (_Part(each, table) for each in comments)


def _above_head(comments: list[str]) -> int:
    """How many of these lines stand right above what follows, with the blank line before them."""
    return next((number for number, line in enumerate(reversed(comments), 1) if not line.strip()), len(comments))


def _end_of_setting(lines: list[str], at: int) -> int:
    for end in range(at + 1, len(lines) + 1):
        if _said("".join(lines[at:end])) is not None:
            return end
    raise ValueError(f"line {at + 1} is no setting")


def _said(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _path(table: Any) -> Path:
    path: Path = ()
    while table:
        if not isinstance(table, dict):
            raise ValueError("a list of tables")
        ((name, table),) = table.items()
        path = (*path, name)
    return path
