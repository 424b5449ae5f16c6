"""`untildone init`: a settings file for this project, with what was found in it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from untildone import settings
from untildone.core.errors import UsageError
from untildone.faces.cli import parameters, streams
from untildone.operations.creating import check_programs, suggestions
from untildone.operations.setup import agents
from untildone.settings.declared import SETTINGS

SHOWN = {
    "max_iterations": 10,
    "max_minutes": 60,
    "max_cost": 5.0,
    "review": True,
    "require_change": True,
    "commit": True,
    "worktree": True,
    "tests": "keep",
    "protect": ["tests/**"],
    "permissions": "edit",
}
"""Settings that the file names, commented out, each with a value that it may have."""


@click.command()
@click.option("--force", is_flag=True, help="Overwrite the one that is there.")
@parameters.folder
def command(force: bool, folder: str) -> int:
    """Write an untildone.toml into this folder: the check and the agent that were found, and the most useful settings."""
    place = parameters.existing_folder(folder)
    file = place / settings.files(place)[-1].name
    if not force and (file.exists() or file.is_symlink()):
        raise UsageError(f"There is already a {file}.", "edit it, or overwrite it with --force")
    try:
        file.write_text(_content(place), encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"Cannot write {file}: {problem.strerror}.", "choose another folder with --dir") from None
    streams.data().line(str(file))
    for sentence in _found(place):
        streams.talk().prose(sentence)
    streams.talk().prose('hint: look through it, then: untildone run "your task"')
    return 0


def _found(place: Path) -> tuple[str, ...]:
    """What the person should know about the check in the file."""
    found = suggestions.checks(place)
    if not found:
        return ("No check was found: name the command that tests this project in `checks`.",)
    notice = check_programs.notice(found[0].command, str(place), os.environ)
    return (f"Check: {found[0].command} (found by {found[0].reason})", *((notice,) if notice else ()))


def _content(place: Path) -> str:
    parts = (_checks(place), _agent(place), *(_commented(name) for name in SHOWN))
    head = (
        "# Settings of untildone for this project. `untildone config` shows all; flags and UNTILDONE_* overrule them.\n"
    )
    return "\n".join((head, *parts))


def _checks(place: Path) -> str:
    suggested = suggestions.checks(place)
    if not suggested:
        return (
            '# Commands that must pass before a claim is believed. Nothing was found here.\n# checks = ["pytest -q"]\n'
        )
    others = "".join(f"# Also here: {each.command} ({each.reason})\n" for each in suggested[1:])
    first = f"# Commands that must pass before a claim is believed. Found by {suggested[0].reason}.\n"
    return f"{first}{others}checks = [{json.dumps(suggested[0].command)}]\n"


def _agent(place: Path) -> str:
    installed = [
        info.name for info in agents.look_at_all(place) if info.path is not None and info.program and info.version
    ]
    if not installed:
        sentence = "None was found here: `untildone agents` says how to install one."
        return f"# The agent that works. {sentence}\n# agent = {json.dumps(agents.DEFAULT)}\n"
    others = f"# Also installed: {', '.join(installed[1:])}\n" if len(installed) > 1 else ""
    return f"# The agent that works.\n{others}agent = {json.dumps(installed[0])}\n"


def _commented(name: str) -> str:
    """The setting in the words of its flag: like all that people read, they count rounds."""
    declared = SETTINGS[name]
    words = declared.flag.help if declared.flag else f"{declared.help}."
    return f"# {words}\n# {name} = {json.dumps(SHOWN[name])}\n"
