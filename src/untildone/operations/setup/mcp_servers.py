"""Lists untildone among the MCP servers of an agent program, and takes it off the list. All other content of the file stays."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.plugins.mcp_setup import NAME, McpSetup
from untildone.core.values import digest
from untildone.core.values.value import dataclass
from untildone.operations.inside import refuse_acceptance
from untildone.system import config_files, json_text, state_folder

SHARED_COMMAND = ("untildone", "mcp")
"""For a file that a team shares: no path of this machine."""
TOKEN = "UNTILDONE_TOKEN"
"""The variable from which a program takes the token for a server at an address."""
NO_FILE, NO_LIST = "no file", "no list"
"""What there was before the installation, if there was less than a list."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An agent program, and the file in which it lists its MCP servers."""

    agent: str
    setup: McpSetup
    file: Path
    command: tuple[str, ...]
    note: Path
    """Holds what there was before the installation."""


def agent_names() -> tuple[str, ...]:
    """The agents that start MCP servers."""
    return tuple(name for name in agents.names() if agents.find(name).mcp is not None)


def install(
    agent: str, folder: Path, environment: Mapping[str, str] = os.environ, *, for_project: bool, url: str = ""
) -> str:
    """Add the entry; idempotent. `url` is the address of a server; without one, the agent starts one itself. Returns a sentence for the
    person."""
    refuse_acceptance(environment)
    listed = _listed(agent, folder, environment, for_project=for_project)
    before = config_files.read(listed.file)
    present = _entry(listed, before)
    entry = _remote(listed, url) if url else listed.setup.entry(listed.command)
    if present == entry:
        return f"untildone is in {listed.file} already."
    if present is not None:
        raise UsageError(
            f"{listed.file} has another MCP server of the name {NAME}.", f"`untildone mcp uninstall {agent}` removes it"
        )
    after = _with_entry(listed, before, entry)
    _remember(listed, before, after)
    config_files.write(listed.file, after)
    about_token = f" It sends the token in the variable {TOKEN}, so set that for {agent}." if url else ""
    return f"untildone is among the MCP servers in {listed.file}.{about_token}"


def _remote(listed: Listed, url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username or not url.isprintable():
        raise UsageError(f"{url[:200]!r} is not the address of a server.", "give one such as http://127.0.0.1:8321/mcp")
    entry = listed.setup.remote_entry(url)
    if entry is None:
        raise UsageError(f"{listed.agent} takes no MCP server at an address.", "leave out --url")
    return entry


def uninstall(agent: str, folder: Path, environment: Mapping[str, str] = os.environ, *, for_project: bool) -> str:
    """Remove the entry, and the list and the file if the installation made them. Returns a sentence for the person."""
    refuse_acceptance(environment)
    listed = _listed(agent, folder, environment, for_project=for_project)
    now = config_files.read(listed.file)
    if now is None or _entry(listed, now) is None:
        return f"untildone is not in {listed.file}."
    note = _note(listed)
    was = note.get("was")
    after = _undone(note, now)
    if after is None:
        after = _without_block(listed, now) if listed.setup.is_toml else _without_member(listed, now, was)
    if was == NO_FILE and after.strip() in ("", "{}"):
        listed.file.unlink(missing_ok=True)
    else:
        config_files.write(listed.file, after)
    listed.note.unlink(missing_ok=True)
    return f"untildone was removed from {listed.file}."


def _listed(agent: str, folder: Path, environment: Mapping[str, str], *, for_project: bool) -> Listed:
    setup = agents.find(agent).mcp
    if setup is None:
        raise UsageError(f"{agent} starts no MCP servers.", f"these do: {', '.join(agent_names())}")
    home = Path(environment.get("HOME") or Path.home())
    file = setup.file(folder, home, environment, for_project=for_project)
    if file is None:
        raise UsageError(f"{agent} has no list of MCP servers for a project.", "leave out --project")
    own = (sys.executable, "-P", "-m", "untildone", "mcp")
    note = Path(state_folder.folder(environment), "mcp", digest.sha256(os.fsencode(file)).hexdigest()[:32])
    return Listed(agent, setup, file, SHARED_COMMAND if for_project else own, note)


def _remember(listed: Listed, before: str | None, after: str) -> None:
    """Keep what there was, and the replaced part: not the whole text, which may hold secrets."""
    was = NO_FILE if before is None else "" if _has_list(listed, before) else NO_LIST
    text = before or ""
    start = _alike(text, after)
    end = _alike(text[start:][::-1], after[start:][::-1])
    note = {
        "was": was,
        "after": _digest(after),
        "start": start,
        "end": end,
        "replaced": text[start : len(text) - end],
    }
    config_files.write(listed.note, json.dumps(note))


def _alike(first: str, second: str) -> int:
    """How many characters at the start of two texts are the same."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(first), len(second)))


def _note(listed: Listed) -> Mapping[str, Any]:
    """The note that the installation kept. Earlier versions kept one word."""
    text = config_files.read(listed.note)
    try:
        note = json.loads(text or "{}")
    except ValueError:
        return {"was": text}
    return note if isinstance(note, dict) else {}


def _undone(note: Mapping[str, Any], now: str) -> str | None:
    """The text from before the installation, byte for byte; None: the file has changed since."""
    if note.get("after") != _digest(now):
        return None
    return f"{now[: note['start']]}{note['replaced']}{now[len(now) - note['end'] :]}"


def _digest(text: str) -> str:
    return digest.sha256(text.encode()).hexdigest()


def _entry(listed: Listed, text: str | None) -> Any:
    """The entry of untildone in the file; None if there is none."""
    entries = _list(listed, text or "")
    return entries.get(NAME) if isinstance(entries, dict) else None


def _has_list(listed: Listed, text: str) -> bool:
    return _list(listed, text) is not None


def _list(listed: Listed, text: str) -> Any:
    """The list of MCP servers in the text; None if there is none. UsageError if the text cannot be read."""
    if not text.strip():
        return None
    try:
        if listed.setup.is_toml:
            return tomllib.loads(text).get(listed.setup.key)
        return json_text.value_at(text, (listed.setup.key,))
    except (json_text.Broken, tomllib.TOMLDecodeError) as problem:
        raise _broken(listed, problem) from None


def _broken(listed: Listed, problem: Exception) -> UsageError:
    return UsageError(f"{listed.file} cannot be read: {problem}.", "fix it first; it was left as it is")


def _with_entry(listed: Listed, before: str | None, entry: dict[str, Any]) -> str:
    if listed.setup.is_toml:
        after = _with_block(listed, before or "", entry)
        if _entry(listed, after) != entry:
            raise _broken(listed, ValueError("its table of MCP servers cannot be added to"))
        return after
    text = before if before and before.strip() else "{}\n"
    try:
        return json_text.with_member(text, (listed.setup.key, NAME), entry)
    except json_text.Broken as problem:
        raise _broken(listed, problem) from None


def _without_member(listed: Listed, now: str, was: str | None) -> str:
    after = json_text.without(now, (listed.setup.key, NAME))
    made_list = was in (NO_FILE, NO_LIST) and json_text.value_at(after, (listed.setup.key,)) == {}
    return json_text.without(after, (listed.setup.key,)) if made_list else after


def _block(listed: Listed, entry: Mapping[str, Any]) -> str:
    """The entry as a table of TOML at the end of the file."""
    lines = "".join(f"{name} = {_value(value)}\n" for name, value in entry.items())
    return f"\n[{listed.setup.key}.{NAME}]\n{lines}"


def _value(value: str | list[str]) -> str:
    return _quoted(value) if isinstance(value, str) else f"[{', '.join(map(_quoted, value))}]"


def _quoted(word: str) -> str:
    """A basic string of TOML."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _with_block(listed: Listed, before: str, entry: Mapping[str, Any]) -> str:
    ended = before if not before or before.endswith("\n") else f"{before}\n"
    return f"{ended}{_block(listed, entry)}"


def _without_block(listed: Listed, now: str) -> str:
    present = _entry(listed, now)
    ours = isinstance(present, dict) and all(isinstance(value, str | list) for value in present.values())
    block = _block(listed, present) if ours else ""
    if not block or block not in now:
        raise UsageError(
            f"The entry of untildone in {listed.file} was changed.", f"delete [{listed.setup.key}.{NAME}] there"
        )
    return now.replace(block, "", 1)
