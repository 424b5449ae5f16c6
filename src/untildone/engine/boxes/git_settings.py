"""Files and folders that a person's git configuration names: more settings, hooks, templates. Without the first ones, git does nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from untildone.engine.boxes.own_files import text_of

MOST_FILES = 50
_SECTION = re.compile(r"\s*\[\s*([\w.-]+)")
_ENTRY = re.compile(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*)")
_INCLUDED = ("include.path", "includeif.path")
_NAMED = frozenset(
    {
        *("core.hookspath", "core.excludesfile", "core.attributesfile", "commit.template", "init.templatedir"),
        *("mailmap.file", "blame.ignorerevsfile", "gpg.program"),
    }
)
_SIGNS = ("commit.gpgsign", "tag.gpgsign")


def named(home: str, environment: Mapping[str, str], is_written: Callable[[str], bool]) -> Iterator[str]:
    """The absolute paths, with those of the configuration files themselves. Files for which `is_written` says that an agent may have
    written them name nothing."""
    for path, entries in _read(home, environment, is_written):
        yield path
        yield from (_absolute(value, path, home) for name, value in entries if name in _NAMED and "/" in value)


def signs(home: str, root: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The settings by which git signs what it makes in a repository: `commit.gpgsign`, `tag.gpgsign`."""
    own = list(_entries(text_of(os.path.join(root, ".git", "config")) or ""))
    entries = [*(entry for _, each in _read(home, environment, lambda _: False) for entry in each), *own]
    last = {name: value for name, value in entries if name in _SIGNS}
    return tuple(name for name, value in last.items() if value.lower() in ("true", "yes", "on", "1"))


def overriding(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that switch settings of git off, after those that are set so already."""
    before = environment.get("GIT_CONFIG_COUNT", "")
    first = int(before) if before.isdecimal() else 0
    pairs: dict[str, str] = {}
    for number, name in enumerate(names, first):
        pairs |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": "false"}
    return {**pairs, "GIT_CONFIG_COUNT": str(first + len(pairs) // 2)} if pairs else {}


def _read(
    home: str, environment: Mapping[str, str], is_written: Callable[[str], bool]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The configuration files, each with its entries: first those of the person, then the ones that they include."""
    waiting, seen = list(_own(home, environment)), set[str]()
    while waiting and len(seen) < MOST_FILES:
        path = waiting.pop(0)
        text = None if path in seen or is_written(path) else text_of(path)
        seen.add(path)
        if text is not None:
            entries = list(_entries(text))
            yield path, entries
            waiting += [_absolute(value, path, home) for name, value in entries if name in _INCLUDED]


def _own(home: str, environment: Mapping[str, str]) -> Iterator[str]:
    if chosen := environment.get("GIT_CONFIG_GLOBAL"):
        yield _absolute(chosen, home, home)
        return
    yield os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "config")
    yield os.path.join(home, ".gitconfig")


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """The entries, as section without its part in quotes, a dot and the name, in lower case."""
    section = ""
    for line in text.splitlines():
        if found := _SECTION.match(line):
            section, line = found[1].lower(), line.rpartition("]")[2]
        if entry := _ENTRY.match(line):
            value = re.sub(r"\s+[#;].*$", "", entry[2]).strip().strip('"')
            yield f"{section}.{entry[1].lower()}", value


def _absolute(value: str, file: str, home: str) -> str:
    """The path that a value means in a configuration file."""
    if value == "~" or value.startswith("~/"):
        value = home + value[1:]
    return os.path.normpath(os.path.join(os.path.dirname(file), value))
