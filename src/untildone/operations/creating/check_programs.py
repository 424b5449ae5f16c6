"""Finds out before a loop begins that the program of a check is not on this machine."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping

from untildone.core.shell.splitting import simple_commands

_WORDS_OF_SHELL = frozenset(
    (
        *(
            "!",
            ".",
            ":",
            "[",
            "[[",
            "alias",
            "break",
            "cd",
            "command",
            "continue",
            "echo",
            "eval",
            "exec",
            "exit",
            "export",
        ),
        *("false", "getopts", "hash", "kill", "let", "printf", "pwd", "read", "readonly", "return", "set", "shift"),
        *("source", "test", "times", "trap", "true", "type", "ulimit", "umask", "unset", "wait"),
    )
)
_VARIABLE = re.compile(r"\w+=")
_PLAIN = re.compile(r"[\w./+-]+")


def missing(command: str, folder: str, environment: Mapping[str, str]) -> str:
    """The first program of a check, if it is missing; empty if it exists, or if that is unknown."""
    first = next(iter(simple_commands(command)), None)
    words = [] if first is None else [word for word in first.words if not _VARIABLE.match(word)]
    if not words or words[0] in _WORDS_OF_SHELL or not _PLAIN.fullmatch(words[0]):
        return ""
    name = words[0]
    is_there = (
        os.path.exists(os.path.join(folder, name)) if "/" in name else shutil.which(name, path=environment.get("PATH"))
    )
    return "" if is_there else name


def notice(command: str, folder: str, environment: Mapping[str, str]) -> str:
    """A sentence about a check whose program is not there; empty if it is."""
    name = missing(command, folder, environment)
    if not name:
        return ""
    where = "does not exist" if "/" in name else "is not on PATH"
    return f"The check `{command}` cannot pass yet: {name} {where}."
