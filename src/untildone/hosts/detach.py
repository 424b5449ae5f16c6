"""A runner in the background: a process of its own session that drives one loop and survives the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from untildone.core.errors import UntilDoneError
from untildone.core.events import RunnerClaimed
from untildone.core.loop import Loop
from untildone.store import Journal, Store, disk

LOG = "runner.log"
PROGRAM = ("-P", "-m", "untildone.faces.cli", "_drive")
"""-P: nothing that lies in the workspace is imported in place of ours."""
WITHIN = 30.0
LOOK_EVERY = 0.02


def start_runner(store: Store, loop_id: str, within: float = WITHIN) -> int:
    """Start it; its process id once it has claimed the loop, or the reason why it did not."""
    log = store.progress(loop_id) / LOG
    with disk.told_as_sentence(log):
        log.parent.mkdir(parents=True, exist_ok=True)
    journal = store.open(loop_id)
    try:
        written = log.stat().st_size if log.exists() else 0
        child = _spawn(store, loop_id, log)
        if not _claims(journal, child, time.monotonic() + within):
            raise _failure(journal.loop, child, log, written)
    finally:
        journal.close()
    return child.pid


def _spawn(store: Store, loop_id: str, log: Path) -> subprocess.Popen[bytes]:
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS}
    command = [sys.executable, *PROGRAM, loop_id, "--dir", str(store.home)]
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor, close_fds=True, **apart
            )
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise UntilDoneError(
            f"The runner of loop {loop_id} cannot be started: {problem.strerror}.",
            "free some memory, processes or disk",
        ) from None


def _claims(journal: Journal, child: subprocess.Popen[bytes], deadline: float) -> bool:
    """Whether a runner claims the loop in time. One that has ended already may have done all its work."""
    while True:
        ended = child.poll() is not None
        if any(isinstance(entry.event, RunnerClaimed) for entry in journal.catch_up()):
            return True
        if ended or time.monotonic() > deadline:
            return False
        time.sleep(LOOK_EVERY)


def _failure(loop: Loop, child: subprocess.Popen[bytes], log: Path, written: int) -> UntilDoneError:
    code = child.poll()
    if code is None:
        child.kill()
        child.wait()
    told = log.read_bytes()[written:].decode(errors="replace").strip().splitlines()
    words = next((line for line in told if line.startswith("untildone: ")), told[-1] if told else "it said nothing")
    failure = UntilDoneError(
        f"The runner of loop {loop.loop_id} did not start: {words.removeprefix('untildone: ')}",
        f"see {log}; `untildone resume {loop.loop_id}` tries here",
    )
    failure.exit_code = code if code is not None and code > 0 else 6
    return failure
