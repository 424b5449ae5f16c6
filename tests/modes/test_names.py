"""Only `modes/` knows the modes by name, and only a mode knows its options: everything else asks the registry."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import untildone
from untildone import modes

SOURCE = Path(untildone.__file__).parent
ALLOWED = {
    "settings/declared.py": "the default mode, and the types of all settings for programs",
    "faces/cli/commands/sessions/wrap.py": "`wrap` is the mode supervise in a person's own session",
    "hosts/wrap/injecting.py": "a hint for agents that `wrap` does not support",
    "hosts/wrap/terminal.py": "a hint for a `wrap` without a terminal",
    "faces/cli/commands/setup/supervisor.py": "a hint about the command that reads SUPERVISOR.md",
    "faces/web/translations/settings.py": "translations, by the English text",
    "faces/api/metrics.py": "a label of the metrics: the path of the API that answered",
    "faces/mcp/served.py": "Starlette's name for the path that answered",
    "faces/api/middleware/exchange.py": "Starlette's name for the path of the API that answered",
    "hosts/hook/agent_settings.py": "the argument hint of the slash command, which is written into people's files",
}
"""Files that name a mode or an option of one, each with its reason."""
TEMPORAL = "hosts/cluster/"
"""Temporal's word for a durable function is the name of one of our modes."""


def named() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.<-])({'|'.join(modes.own_names())})(?![\w-])")


def texts(path: Path) -> Iterator[str]:
    """The string constants of a module that are no docstrings."""
    tree = ast.parse(path.read_bytes())
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements:
            yield node.value


def found(path: Path) -> list[str]:
    options = {option.name for _, option in modes.options(modes.own_names())}
    options |= {shortcut.flag for _, option in modes.options(modes.own_names()) for shortcut in option.shortcuts}
    pattern = named()
    return [text for text in texts(path) if pattern.search(text) or text.lstrip("-") in options]


def test_no_file_outside_names_a_mode_or_an_option_of_one() -> None:
    outside = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in ("modes", "testing")]
    names = {path.relative_to(SOURCE).as_posix(): found(path) for path in outside}
    offending = {
        name: texts for name, texts in names.items() if texts and name not in ALLOWED and not name.startswith(TEMPORAL)
    }
    assert offending == {}
    assert [name for name in ALLOWED if not names.get(name)] == [], "exceptions that are not needed any more"
