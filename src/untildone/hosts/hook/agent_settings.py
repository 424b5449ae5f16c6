"""Installs the hook in an agent's settings and removes it. All other content of the settings stays, byte for byte."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.plugins.hook import HookSide
from untildone.core.values.value import dataclass
from untildone.hosts.hook import program
from untildone.system import config_files, json_text
from untildone.system.json_text import Broken

STOP_SECONDS = 1800
"""How long a stop may take. Checks run during the stop, so this bounds them too."""
PROMPT_SECONDS = 60
BACKUP = ".before-untildone"
NO_FILE = "There was no file.\n"
"""The content of the backup if there was no settings file."""
_OURS = re.compile(r"hosts[/\\]+hook[/\\]+program\.py")
_BEGIN = """\
Work on this task, until it is done:

$ARGUMENTS

untildone has noted it, and says beside this prompt how to claim that it is done. Words that begin with -- are meant for untildone.
If it said nothing, its hook is not installed: say so (`untildone hook install`), and do the task all the same."""
_COMMANDS = {
    "until-done": (
        "Keep at work on a task until it is verified done",
        '"TASK" [--check CMD] [--max-iterations N] [--promise TEXT] [--mode ralph|supervise|phases]',
        _BEGIN,
    ),
    "until-done-status": (
        "Where this session's loop stands",
        "",
        "untildone answers this itself, if its hook is installed.",
    ),
    "until-done-cancel": ("End this session's loop", "", "untildone answers this itself, if its hook is installed."),
}


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the hook of an agent is installed."""

    agent: str
    file: Path
    commands: Path | None
    """The folder for slash commands, if the agent has such a folder."""

    @property
    def hook(self) -> HookSide:
        return agents.hook_of(self.agent)


def installation(agent: str, folder: Path, environment: Mapping[str, str], *, for_person: bool) -> Installation:
    """Where the hook is installed: in the settings of the project in `folder`, or in those of the person."""
    home = Path(environment.get("HOME") or Path.home())
    place = agents.hook_of(agent).setup.location(folder, home, environment, for_person=for_person)
    return Installation(agent, place.file, place.commands)


def is_installed(place: Installation) -> bool:
    text = config_files.read(place.file)
    return text is not None and _OURS.search(text) is not None


def install(place: Installation) -> tuple[str, ...]:
    """Install the hook; idempotent. Returns sentences for the person."""
    before = config_files.read(place.file)
    after = _with_hook(place, before)
    if before and before.strip() and not place.hook.setup.reads_comments and not _is_plain_json(before):
        raise UsageError(
            f"{place.file} has comments, and {place.agent} ignores such a file as a whole.", "remove the comments first"
        )
    notices = list(_write_commands(place))
    if after == before:
        return (f"The hook is in {place.file} already.", *notices)
    _keep(place, before)
    config_files.write(place.file, after)
    notices += _warnings(place, before)
    return (f"The hook is in {place.file}.", *notices)


def uninstall(place: Installation) -> tuple[str, ...]:
    """Remove the hook. Restores the file from its backup if it was not changed since. Returns sentences for the person."""
    _remove_commands(place)
    now = config_files.read(place.file)
    if now is None or not _OURS.search(now):
        _drop_backup(place)
        return (f"The hook is not in {place.file}.",)
    known, before = _backup(place)
    if known and _with_hook(place, before) == now:
        _put_back(place, before)
    else:
        config_files.write(place.file, _without_hook(place, now, before if known else None))
    _drop_backup(place)
    return (f"The hook was removed from {place.file}.",)


def _is_plain_json(text: str) -> bool:
    try:
        json.loads(text.lstrip("\ufeff"))
    except ValueError:
        return False
    return True


def _warnings(place: Installation, before: str | None) -> list[str]:
    """Warnings about values that the person has set and that differ from what the hook needs."""
    present = [setting for setting in place.hook.setup.settings if before and setting.path[-1] in before]
    other = [setting for setting in present if json_text.value_at(before or "", setting.path) != setting.value]
    return [f"{setting.path[-1]} is set in {place.file}: {setting.warning}." for setting in other]


def hook_command(agent: str, kind: str, seconds: int, *more: str) -> str:
    """The command line of the hook, with absolute paths, so that no shim, virtual environment or PYTHONPATH affects it."""
    words = (_quoted(sys.executable), "-I", "-S", _quoted(os.path.abspath(program.__file__)), agent, kind, str(seconds))
    return " ".join((*words, *(f'"{word}"' if word.startswith("$") else _quoted(word) for word in more)))


def hooks_of_run(agent: str, folder: str) -> dict[str, list[dict[str, Any]]]:
    """The hook entries for one run. `folder` is the run's folder, or `$` and the variable that holds it."""
    return {event: [_entry(agent, kind, folder)] for event, kind in agents.hook_of(agent).events.items()}


def _quoted(path: str) -> str:
    return f'"{path}"' if not set(path) & set('"$`\\!') else shlex.quote(path)


def seconds_of(kind: str) -> int:
    """How long the hook may take for an event of this kind."""
    return STOP_SECONDS if kind == "stop" else PROMPT_SECONDS


def _entry(agent: str, kind: str, *more: str) -> dict[str, Any]:
    seconds = seconds_of(kind)
    return agents.hook_of(agent).setup.entry(kind, hook_command(agent, kind, seconds, *more), seconds)


def _with_hook(place: Installation, text: str | None) -> str:
    """The settings with the hook. Entries of an older installation are replaced in place."""
    text = "{}\n" if text is None or not text.strip() else text
    with _as_usage_error(place.file):
        for event, kind in place.hook.events.items():
            present = _ours(text, event)
            entry = _entry(place.agent, kind)
            if present is None:
                text = json_text.with_item(text, ("hooks", event), entry)
            elif json_text.value_at(text, present) != entry:
                text = json_text.with_value(text, present, entry)
        for setting in place.hook.setup.settings:
            if json_text.value_at(text, setting.path) is None:
                text = json_text.with_member(text, setting.path, setting.value)
    return text


def _ours(text: str, event: str) -> json_text.Path | None:
    """The path of our entry for an event; None: there is none."""
    entries = json_text.value_at(text, ("hooks", event))
    if not isinstance(entries, list):
        return None
    ours = (number for number, entry in enumerate(entries) if _OURS.search(json.dumps(entry)))
    return next((("hooks", event, number) for number in ours), None)


def _without_hook(place: Installation, text: str, before: str | None) -> str:
    """The settings without our entries, and without objects that became empty and did not exist before the installation."""
    with _as_usage_error(place.file):
        kept = json_text.parse(before).plain if before and before.strip() else {}
        for event in place.hook.events:
            while (present := _ours(text, event)) is not None:
                text = json_text.without(text, present)
            text = _without_empty(text, ("hooks", event), kept)
        text = _without_empty(text, ("hooks",), kept)
        for setting in place.hook.setup.settings:
            if json_text.value_at(text, setting.path) == setting.value and _value(kept, setting.path) is None:
                text = _without_empty(json_text.without(text, setting.path), setting.path[:-1], kept)
    return text


def _without_empty(text: str, path: json_text.Path, kept: Mapping[str, Any]) -> str:
    empty = json_text.value_at(text, path) in ({}, [])
    return json_text.without(text, path) if empty and _value(kept, path) is None else text


def _value(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


class _as_usage_error:
    """Turns `Broken` into a UsageError that names the file. Nothing has been written at that point."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, problem: BaseException | None, where: object) -> None:
        if isinstance(problem, Broken):
            raise UsageError(
                f"{self._file} cannot be understood: {problem}.", "fix it first; it was left as it is"
            ) from None


def _backup_file(place: Installation) -> Path:
    return place.file.with_name(place.file.name + BACKUP)


def _keep(place: Installation, before: str | None) -> None:
    """Write the backup, with the content before the first installation."""
    if before is None or not _OURS.search(before):
        config_files.write(_backup_file(place), NO_FILE if before is None else before)


def _backup(place: Installation) -> tuple[bool, str | None]:
    """Whether there is a backup, and its content; None: there was no settings file before."""
    kept = config_files.read(_backup_file(place))
    return kept is not None, None if kept == NO_FILE else kept


def _drop_backup(place: Installation) -> None:
    _backup_file(place).unlink(missing_ok=True)
    _remove_if_empty(place.file.parent)


def _put_back(place: Installation, before: str | None) -> None:
    if before is not None:
        config_files.write(place.file, before)
        return
    place.file.unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return


def _command_files(place: Installation) -> Iterator[tuple[Path, str]]:
    if place.commands is None:
        return
    for name, (description, arguments, body) in _COMMANDS.items():
        hint = f"argument-hint: {json.dumps(arguments)}\n" if arguments else ""
        yield place.commands / f"{name}.md", f"---\ndescription: {description}\n{hint}---\n{body}\n"


def _write_commands(place: Installation) -> Iterator[str]:
    for file, text in _command_files(place):
        present = config_files.read(file)
        if present is None:
            config_files.write(file, text)
        elif present != text:
            yield f"{file} is not ours, and stays as it is."


def _remove_commands(place: Installation) -> None:
    for file, text in _command_files(place):
        if config_files.read(file) == text:
            file.unlink(missing_ok=True)
    if place.commands is not None:
        _remove_if_empty(place.commands)
