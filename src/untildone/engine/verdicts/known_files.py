"""The programs and settings that supervisors run with: recorded before the first turn, compared before each question.

A worker that puts another program of the reviewer's name on PATH, overwrites its script or edits the settings in the person's home folder
would judge itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from untildone import agents
from untildone.core.events import SupervisorSeen
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, KnownFile, LoopSettings, Role
from untildone.core.plugins.agent import SettingsFile
from untildone.engine.stepper import Stepper
from untildone.system import disk
from untildone.workspace.approvals import still_hold

BIG = 16 << 20
"""Bytes. Of a file from this size on, size, times and inode are its digest: reading it would take longer than asking the agent."""
HEAD, BLANK = 256, 64
_INTERPRETER = re.compile(rb"#!\s*(\S+)(?:[ \t]+(?:-S[ \t]*)?(\S+))?")


def supervisors(settings: LoopSettings) -> tuple[AgentChoice, ...]:
    """The agents that may be asked as supervisor or as author of acceptance tests."""
    reviewers = (settings.agent_for(Role.SUPERVISOR), settings.fallback) if settings.review else ()
    authors = (settings.acceptance, settings.fallback) if settings.acceptance else ()
    return tuple(agent for agent in (*reviewers, *authors) if agent is not None)


def seen(choice: AgentChoice, environment: Mapping[str, str], folder: str) -> tuple[KnownFile, ...]:
    """What a run of the agent as supervisor depends on, as it is now. `folder` is the workspace."""
    agent = agents.of(choice)
    words = [*(_words(choice.command) if choice.command else filter(None, (agent.program,)))]
    programs = [
        KnownFile(path, digest(path), "program") for word in words[:1] for path in _program(word, environment, folder)
    ]
    script = next((path for word in words[1:] if os.path.isfile(path := os.path.join(folder, word))), None)
    scripts = [KnownFile(script, digest(script), "script")] if script else []
    settings = [KnownFile(file.path, _settings_digest(file), "settings") for file in agent.settings_files(environment)]
    return tuple(dict.fromkeys((*programs, *scripts, *settings)))


def note(stepper: Stepper, environment_of: Callable[[AgentChoice], Mapping[str, str]]) -> None:
    """Write what supervisors run with, once; in a cluster, once for each machine."""
    loop = stepper.loop
    if loop.status.ended or loop.supervisor_files:
        return
    files = (seen(choice, environment_of(choice), stepper.place) for choice in supervisors(loop.settings))
    if together := tuple(dict.fromkeys(chain.from_iterable(files))):
        stepper.write(SupervisorSeen(together), sync=False)


def changed(loop: Loop, choice: AgentChoice, environment: Mapping[str, str], folder: str) -> tuple[KnownFile, ...]:
    """What is not as it was when the loop began, and what no person approved."""
    known = set(loop.supervisor_files)
    now = seen(choice, environment, folder)
    approved = still_hold(loop.approved, loop.approved_contents, folder)
    return tuple(file for file in now if file not in known and file.path not in approved)


def sentence(loop: Loop, files: tuple[KnownFile, ...]) -> str:
    """Why the supervisor is not asked, and what the person can do."""
    what = ", ".join(f"{file.path} ({file.what})" for file in files)
    paths = " ".join(shlex.quote(file.path) for file in files)
    return (
        f"A supervisor or author is not asked, because its program or settings are not those of the loop's start: {what}. "
        f"hint: if you changed it yourself, `untildone approve {loop.loop_id} {paths}`, then `untildone resume`"
    )


def _words(command: str) -> list[str]:
    with suppress(ValueError):
        return shlex.split(command)
    return [command]


def _program(word: str, environment: Mapping[str, str], folder: str) -> Iterator[str]:
    """The absolute path of a program, and that of its interpreter if it is a script that looks for one on PATH."""
    path = os.path.join(folder, word) if os.sep in word else shutil.which(word, path=environment.get("PATH"))
    if path is None:
        yield word
        return
    yield path
    interpreter = _interpreter(path)
    if interpreter and interpreter != word:
        yield from _program(interpreter, environment, folder)


def _interpreter(path: str) -> str:
    """The program that runs a script, by the name in its first line; for `/usr/bin/env NAME`, the name. Empty: it is no script."""
    try:
        with disk.open_promptly(path) as file:
            match = _INTERPRETER.match(file.read(HEAD))
    except OSError:
        return ""
    if match is None:
        return ""
    program, argument = os.fsdecode(match[1]), os.fsdecode(match[2] or b"")
    return argument if os.path.basename(program) == "env" else program


def _settings_digest(file: SettingsFile) -> str:
    """A digest of the settings without the fields that the program writes by itself; empty if there are no others.

    A file without content steers nothing, as if there were none: boxes create such files."""
    if not file.ignored:
        return "" if _is_blank(file.path) else digest(file.path)
    try:
        with disk.open_promptly(file.path) as content:
            settings = tomllib.load(content) if file.path.endswith(".toml") else json.load(content)
        kept = {name: value for name, value in settings.items() if name not in file.ignored}
        return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest() if kept else ""
    except (OSError, ValueError, AttributeError, RecursionError):
        return digest(file.path)


def _is_blank(path: str) -> bool:
    """Whether a file is empty, or an object of JSON in which nothing is."""
    try:
        text = Path(path).read_bytes().strip() if os.path.getsize(path) < BLANK else b"?"
        settings = json.loads(text or b"{}")
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(settings, dict) and all(value in ({}, []) for value in settings.values())


def digest(path: str) -> str:
    """A digest of the file and of where it really lies; empty if it cannot be read."""
    try:
        real = os.path.realpath(path)
        status = os.stat(real)
        if status.st_size >= BIG:
            return f"{real}:{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_ino}"
        with disk.open_promptly(real) as file:
            return f"{real}:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return ""
