"""Answers the reports of a stop hook inside of a box: judges what a report may cause, and runs the hook outside.

Every process in the box can send reports, not only the agent program. So a report chooses nothing: folder, agent and settings are those of
the run, a stop counts only for a session of the run, a prompt only if the person has typed one, and round controls only if the
person has typed them.
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from untildone import agents
from untildone.core.answers import rounds
from untildone.core.plugins.hook import PROMPT, STOP, HookCall, HookEvent
from untildone.core.values.codec import to_json
from untildone.core.values.plain_json import read_object
from untildone.core.values.value import replace
from untildone.hosts.hook import agent_settings, broker, program, runs, sessions
from untildone.hosts.hook.broker import LARGEST

NAME = "hook.socket"
RECEIVE_SECONDS = 10.0
MOST_AT_ONCE = 4
"""Reports that are answered at the same time. More wait."""
MOST_TYPED = 1 << 16
_ENTER = re.compile(rb"[\r\n]")
_SEQUENCES = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|[@-_])?")
ALLOW = b"{}"


@dataclass(frozen=True, slots=True)
class Run:
    """The run of a wrapped agent whose hook is answered."""

    agent: str
    folder: str
    """The run's own folder."""
    workspace: str
    environment: Mapping[str, str]
    """The agent's environment, as it is outside of the box."""
    records: tuple[str, ...] = ()
    """Folders in which the agent keeps its sessions."""
    arguments: tuple[str, ...] = ()
    """The words of the person on the command line of the agent: its first prompt may be among them."""


@dataclass(slots=True)
class Typed:
    """What the person has typed since the last prompt that counted."""

    text: bytes = b""
    prompts: int = 1
    """How many prompts may count. One may come from the command line."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, piece: bytes) -> None:
        with self.lock:
            self.text = (self.text + piece)[-MOST_TYPED:]
            self.prompts = 1 if _ENTER.search(piece) else self.prompts

    def take(self, prompt: str, words: Sequence[str]) -> bool:
        """Whether the person can have given this prompt. Then the next one needs another Enter."""
        with self.lock:
            if not self.prompts or not self._has_controls_of(prompt, words):
                return False
            self.prompts, self.text = 0, b""
            return True

    def _has_controls_of(self, prompt: str, words: Sequence[str]) -> bool:
        """Whether what steers the loop in the prompt was typed letter by letter, or stands on the command line."""
        rest = rounds.parse(prompt, None).rest
        controls = prompt.strip()[: len(prompt.strip()) - len(rest.strip())]
        steering = f"{controls}{'until-done' if 'until-done' in prompt[:100] else ''}"
        plain = _SEQUENCES.sub(b"", self.text).decode(errors="replace")
        return _packed(steering) in _packed(plain) or any(_packed(steering) in _packed(word) for word in words)


def _packed(text: str) -> str:
    return "".join(text.split()).lower()


class Reports:
    """The listening end of the hook's socket, for the time of a run."""

    def __init__(self, run: Run) -> None:
        self.path = os.path.join(run.folder, NAME)
        self.typed = Typed()
        self._run = run
        self._agent_pid: Callable[[], int] = int
        self._slots = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = broker.open_folder(self.path)
        try:
            self._listening.bind(broker.short(self.path, folder))
        finally:
            os.close(folder)
        self._listening.listen(MOST_AT_ONCE)

    def start(self, agent_pid: Callable[[], int]) -> None:
        """Begin to answer. `agent_pid` returns the process, as it is seen outside, that has the sessions open; 0: there is none."""
        self._agent_pid = agent_pid
        threading.Thread(target=self._accept, name="hook reports", daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with suppress(OSError):
            os.unlink(self.path)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._slots.acquire()
                threading.Thread(target=self._serve, args=(client,), name="hook report", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError, ValueError, subprocess.SubprocessError):
                client.settimeout(RECEIVE_SECONDS)
                kind, _, report = broker.receive(client).partition(b"\n")
                answer = self._answer(kind.decode("ascii", "replace"), report)
                client.settimeout(RECEIVE_SECONDS)
                broker.send(client, answer)
        finally:
            self._slots.release()

    def _answer(self, kind: str, report: bytes) -> bytes:
        if kind not in (STOP, PROMPT):
            return ALLOW
        call = HookCall(self._run.agent, kind, {}, time.time())
        event = agents.hook_of(self._run.agent).read(read_object(report), call)
        if not self._counts(event):
            return ALLOW
        descriptor = opened(event.transcript, self._run.records)
        try:
            return self._asked(event, descriptor)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _counts(self, event: HookEvent) -> bool:
        """Whether the report may cause anything."""
        if not sessions.is_name(event.session_id):
            return False
        if event.kind == STOP:
            return any(True for _ in runs.loops_of(self._run.folder, event.session_id))
        return event.kind == PROMPT and self.typed.take(event.prompt, self._run.arguments)

    def _asked(self, event: HookEvent, descriptor: int | None) -> bytes:
        """The answer of the hook, which runs outside of the box. The transcript is passed as a descriptor: its path is the agent's to
        change."""
        transcript = "" if descriptor is None else f"/dev/fd/{descriptor}"
        own = replace(event, folders=(self._run.workspace,), transcript=transcript)
        seconds = agent_settings.seconds_of(event.kind)
        variable = agents.hook_of(self._run.agent).pid_variable
        number = self._agent_pid()
        pid = {variable: str(number)} if variable and number else {}
        words = (self._run.agent, event.kind, str(seconds), self._run.folder, "checked")
        done = subprocess.run(
            [sys.executable, "-I", "-S", os.path.abspath(program.__file__), *words],
            input=json.dumps(to_json(own)).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**self._run.environment, **pid},
            cwd=self._run.workspace,
            timeout=seconds,
            pass_fds=() if descriptor is None else (descriptor,),
        )
        return done.stdout[:LARGEST] or ALLOW


def opened(path: str, folders: Sequence[str]) -> int | None:
    """A regular file inside one of the folders, opened without following any link below it; None: there is no such file."""
    for folder in folders:
        names = Path(os.path.normpath(path)).parts[len(Path(folder).parts) :]
        if names and os.path.normpath(path).startswith(os.path.join(folder, "")):
            return _opened_below(folder, names)
    return None


def _opened_below(folder: str, names: Sequence[str]) -> int | None:
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    opened: list[int] = []
    try:
        opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for name in names:
            opened.append(os.open(name, how, dir_fd=opened[-1]))
        return opened.pop() if stat.S_ISREG(os.fstat(opened[-1]).st_mode) else None
    except OSError:
        return None
    finally:
        for descriptor in opened:
            os.close(descriptor)
