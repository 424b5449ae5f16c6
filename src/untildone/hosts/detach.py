"""A runner in the background: a process in its own session that drives one loop and survives the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from untildone.core.errors import UntilDoneError
from untildone.core.events import RunnerLeased
from untildone.core.loop import Loop
from untildone.store import Journal, Store
from untildone.system import disk

LOG = "runner.log"
PROGRAM = ("-P", "-m", "untildone", "_drive")
"""-P: Python must not import modules from the workspace."""
WITHIN = 30.0
"""Seconds that a runner has to lease its loop."""
LOOK_EVERY = 0.02
END_WITHIN = 10.0
"""Seconds that a runner has to end after SIGTERM."""


def start_runner(
    store: Store, loop_id: str, environment: Mapping[str, str] = os.environ, within: float = WITHIN
) -> int:
    """Start a runner, and return its process id once it has leased the loop. Raises UntilDoneError if it does not.

    If another process leased the loop first, returns the id of that runner. On failure, no process is left running.
    """
    log = store.progress(loop_id) / LOG
    with disk.as_store_error(log):
        log.parent.mkdir(parents=True, exist_ok=True)
    journal = store.open(loop_id)
    try:
        written = log.stat().st_size if log.exists() else 0
        child = _spawn(store, loop_id, log, environment)
        try:
            pid = _runner(store, journal, child, time.monotonic() + within)
            if pid is None:
                raise _failure(loop_id, child.poll(), log, written, within)
        except BaseException:
            _end(child)
            raise
    finally:
        journal.close()
    return pid


def _spawn(store: Store, loop_id: str, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, *PROGRAM, loop_id, "--dir", str(store.home)]
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                close_fds=True,
                env=environment,
                start_new_session=True,
            )
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise UntilDoneError(
            f"The runner of loop {loop_id} cannot be started: {problem.strerror}.",
            "free some memory, processes or disk",
        ) from None


def _runner(store: Store, journal: Journal, child: subprocess.Popen[bytes], deadline: float) -> int | None:
    """The process id of the runner; None if there is none before the deadline. A child that has ended may have finished the loop."""
    leased = False
    while True:
        ended = child.poll() is not None
        fresh = [entry.event for entry in journal.catch_up()]
        leased = leased or any(isinstance(event, RunnerLeased) and event.pid == child.pid for event in fresh)
        if leased and not ended and child.poll() is None:
            return child.pid
        if ended:
            has_rested = leased and not (journal.loop.runner and journal.loop.runner.pid == child.pid)
            return child.pid if has_rested else _other_runner(store, journal.loop, child)
        if time.monotonic() > deadline:
            return None
        if not leased:
            time.sleep(LOOK_EVERY)


def _other_runner(store: Store, loop: Loop, child: subprocess.Popen[bytes]) -> int | None:
    is_other = loop.runner is not None and loop.runner.pid != child.pid and store.is_driven(loop.loop_id)
    return loop.runner.pid if loop.runner is not None and is_other else None


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child with SIGTERM, so that a runner can save its work and rest; after `END_WITHIN` seconds, kill it."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(END_WITHIN)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _message(log: Path, written: int) -> str:
    """The error message that the runner wrote to its log after byte `written`, else its last line."""
    try:
        lines = log.read_bytes()[written:].decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    message = next((line for line in lines if line.startswith("untildone: ")), lines[-1] if lines else "")
    return message.removeprefix("untildone: ")


def _failure(loop_id: str, code: int | None, log: Path, written: int, within: float) -> UntilDoneError:
    if code is None:
        why = f"it did not lease the loop within {within:g} s"
    elif code < 0:
        why = f"signal {-code} ended it"
    else:
        why = _message(log, written) or "it printed no reason"
    failure = UntilDoneError(
        f"The runner of loop {loop_id} did not start: {why.rstrip('.')}.",
        f"see {log}; `untildone resume {loop_id}` tries here",
    )
    failure.exit_code = code if code is not None and code > 0 else 6
    return failure
