"""Scripts outside of a workspace that a check names, and what these refer to: an agent that edits one would judge itself.

Programs in a folder named `bin` are not meant: they are compared as those on PATH are.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from untildone.core.judging.checks.commands import PROFILES
from untildone.core.judging.checks.operands import is_reference
from untildone.system import disk
from untildone.workspace.rooms.toolchain.caches import home_of, is_below

MOST_FILES = 200
SMALL = 256 * 1024
"""Bytes. Of bigger files, what they refer to is not looked for."""
PROGRAMS = ("bin", "sbin", "shims", "Scripts")
ENDINGS = (
    ".sh", ".bash", ".zsh", ".fish", ".bats", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".pm", ".php", ".lua", ".awk", ".sed",
    ".jq", ".mk", ".mak", ".tcl", ".exp", ".groovy", ".R",
)  # fmt: skip
NAMES = frozenset(
    {"Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Rakefile", "package.json"}
)
_WORD = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")


def found(named: Iterable[str], place: str, environment: Mapping[str, str]) -> list[str]:
    """The files, links resolved. `named` are paths as a check writes them, seen from the folder `place`."""
    profiles = {expanded(name, place, environment) for name in PROFILES}
    pending = [path for name in named if _is_script(path := expanded(name, place, environment), profiles)]
    known: dict[str, None] = {}
    while pending and len(known) < MOST_FILES:
        path = pending.pop()
        if path not in known:
            known[path] = None
            pending += () if path in profiles else _referred(path)
    return list(known)


def expanded(name: str, place: str, environment: Mapping[str, str]) -> str:
    """The path that a word of a command means, links resolved."""
    in_home = re.sub(r"^(?:~|\$HOME|\$\{HOME\})/", lambda _: os.path.join(home_of(environment), ""), name)
    return os.path.realpath(os.path.join(place, in_home))


def below(root: str, name: str, place: str, environment: Mapping[str, str]) -> str | None:
    """The path below the root to which a word leads, such as through a link; None: it leads elsewhere."""
    path = expanded(name, place, environment)
    return os.path.relpath(path, root) if is_below(path, root) else None


def _is_script(path: str, profiles: Iterable[str] = ()) -> bool:
    if not os.path.isfile(path) or os.path.basename(os.path.dirname(path)) in PROGRAMS:
        return False
    return path in profiles or path.endswith(ENDINGS) or os.path.basename(path) in NAMES or os.access(path, os.X_OK)


def _referred(path: str) -> Iterator[str]:
    """The files beside a script that it mentions, and those that Python would take for its own modules."""
    folder, text = os.path.dirname(path), _text(path)
    words = set(_WORD.findall(text))
    for name in (*words, *(f"{word}.py" for word in words if path.endswith(".py"))):
        each = os.path.realpath(os.path.join(folder, name))
        if _is_script(each) or (is_reference(name) and os.path.isfile(each)):
            yield each
    shadowing = (os.path.join(folder, f"{name}.py") for name in sys.stdlib_module_names) if path.endswith(".py") else ()
    yield from (each for each in shadowing if os.path.isfile(each))


def _text(path: str) -> str:
    try:
        if os.path.getsize(path) > SMALL:
            return ""
        with disk.open_promptly(path) as file:
            return file.read(SMALL).decode("utf-8", "replace")
    except OSError:
        return ""
