"""The hook for one run of an agent: told to it by an argument or a variable, so that nothing is installed anywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from untildone.core.errors import UsageError
from untildone.hosts.hook import agent_settings
from untildone.system import json_text
from untildone.system.json_text import Broken

SETTINGS = "settings.json"
_WITHOUT_HOOKS = ("--bare", "--safe-mode")
"""With these, Claude Code runs no hook at all."""
RUN_VARIABLE = "UNTILDONE_WRAP"
"""Names the run's folder to a hook whose text must be the same each time: Codex asks once whether it may run it."""
_GEMINI_DEFAULTS = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"


@dataclass(frozen=True, slots=True)
class Injected:
    """What the agent is started with."""

    arguments: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def place_for_runs(agent: str, environment: Mapping[str, str]) -> Path | None:
    """Where the folder of a run belongs. Gemini CLI takes no settings from below a folder that others may write to."""
    if agent != "gemini":
        return None
    cache = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "~")).expanduser() / ".cache"
    return Path(cache) / "untildone"


def inject(
    agent: str, arguments: tuple[str, ...], folder: Path, status: str, environment: Mapping[str, str]
) -> Injected:
    """`folder` is the run's own; `status` is what the agent shows while its stop is looked at."""
    match agent:
        case "claude":
            return _into_claude(arguments, folder, status)
        case "codex":
            return _into_codex(arguments, folder)
        case "gemini":
            return _into_gemini(arguments, folder, environment)
        case "copilot":
            return _into_copilot(arguments, folder)
        case _:
            raise cannot(agent)


def cannot(agent: str) -> UsageError:
    return UsageError(
        f"{agent} cannot be wrapped: it has no hook that is asked before it stops.",
        f"`untildone run --mode supervise --agent {agent}`",
    )


def _into_claude(arguments: tuple[str, ...], folder: Path, status: str) -> Injected:
    refused = next((word for word in arguments if word in _WITHOUT_HOOKS), None)
    if refused is not None:
        raise UsageError(f"With {refused}, claude runs no hook, so nobody is asked before it stops.", "leave it out")
    own, rest = _settings_among(arguments)
    merged: dict[str, Any] = {}
    for value in own:
        merged = _merged(merged, _read(value))
    file = folder / SETTINGS
    file.write_text(json.dumps(_merged(merged, _claude_settings(folder, status))), encoding="utf-8")
    return Injected((f"--settings={file}", *rest))


def _claude_settings(folder: Path, status: str) -> dict[str, Any]:
    hooks = agent_settings.hooks_of_run("claude", str(folder))
    for entry in hooks["Stop"]:
        entry["hooks"] = [{**hook, "statusMessage": status} for hook in entry["hooks"]]
    section, name = agent_settings.BLOCK_CAP
    return {"hooks": hooks, section: {name: "0"}}


def _into_codex(arguments: tuple[str, ...], folder: Path) -> Injected:
    hooks = agent_settings.hooks_of_run("codex", f"${RUN_VARIABLE}")
    flags = [word for event, entries in hooks.items() for word in ("-c", f"hooks.{event}={_toml(entries)}")]
    return Injected((*flags, *arguments), {RUN_VARIABLE: str(folder)})


def _toml(value: Any) -> str:
    """As a value on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case _:
            return json.dumps(value)


def _into_gemini(arguments: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> Injected:
    """As the lowest of its settings, whose hooks are joined with everybody else's."""
    there = environment.get(_GEMINI_DEFAULTS)
    file = folder / SETTINGS
    hooks = {"hooks": agent_settings.hooks_of_run("gemini", str(folder))}
    file.write_text(json.dumps(_merged(_read(there) if there else {}, hooks)), encoding="utf-8")
    return Injected(arguments, {_GEMINI_DEFAULTS: str(file)})


def _into_copilot(arguments: tuple[str, ...], folder: Path) -> Injected:
    """As a plugin that is loaded for this run."""
    hooks = {"version": 1, "hooks": agent_settings.hooks_of_run("copilot", str(folder))}
    about = {
        "name": "untildone",
        "description": "A supervisor at every stop",
        "version": "1.0.0",
        "hooks": "hooks.json",
    }
    for name, content in (("plugin.json", about), ("hooks.json", hooks)):
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return Injected((f"--plugin-dir={folder}", *arguments))


def _settings_among(arguments: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The values of the person's own `--settings`, and all other arguments."""
    own: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--settings":
            own += [value for value in (next(words, None),) if value is not None]
        elif word.startswith("--settings="):
            own.append(word.partition("=")[2])
        else:
            rest.append(word)
    return own, rest


def _read(value: str) -> dict[str, Any]:
    """Settings as Claude Code takes them: JSON, or a file of it."""
    try:
        text = value if value.lstrip().startswith("{") else Path(value).read_text(encoding="utf-8")
        found = json_text.parse(text).plain
    except (OSError, UnicodeDecodeError, Broken) as problem:
        raise _unreadable(value, str(problem)) from None
    if not isinstance(found, dict):
        raise _unreadable(value, "it is no JSON object")
    return found


def _unreadable(value: str, why: str) -> UsageError:
    return UsageError(f"The agent's settings {value[:200]} cannot be read: {why}.", "give sound JSON, or a file of it")


def _merged(there: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Lists are joined, objects merged; else the later word wins."""
    merged = dict(there)
    for name, value in more.items():
        before = there.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[name] = _merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            merged[name] = [*before, *value]
        else:
            merged[name] = value
    return merged
