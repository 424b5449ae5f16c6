"""Running the gates that need no agent: the person's check commands, and whether anything changed at all."""

from __future__ import annotations

import hashlib
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from typing import assert_never

from untildone.core.errors import UntilDoneError
from untildone.core.gates import Tally
from untildone.core.model import Changes, GateResult
from untildone.core.secrets import Redactor
from untildone.system import process
from untildone.system.process import Cause, Ended, Spawn

TAIL_LINES = 80
TAIL_BYTES = 8 * 1024
# A shell turns "killed by signal 9" into exit code 137. Programs use the codes of other signals for ends of their own.
_FATAL = frozenset({"SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM"})


class _Output:
    """What is kept of a check's output, however much there is: its end, its hash, and the tests it tells of."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._last: deque[bytes] = deque(maxlen=TAIL_LINES)
        self._tally = Tally()

    def take(self, line: bytes) -> None:
        self._hash.update(line + b"\n")
        self._last.append(line[-TAIL_BYTES:])
        self._tally.feed(line.decode(errors="replace"))

    @property
    def tests(self) -> int | None:
        return self._tally.tests

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    @property
    def tail(self) -> str:
        return b"\n".join(self._last)[-TAIL_BYTES:].decode(errors="replace")


def run_check(
    command: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    interrupted: Callable[[], bool],
    redactor: Redactor | None = None,
    groups: set[int] | None = None,
) -> GateResult:
    """Run the person's command in the workspace, as a shell would, and judge it.

    The process group of what it leaves behind is added to `groups`.
    """
    spawn = Spawn(_shell(command), env, cwd, timeout=timeout, merge_stderr=True, redactor=redactor)
    output = _Output()
    try:
        ended = process.run(spawn, output.take, interrupted)
    except UntilDoneError as error:
        return GateResult("check", command, passed=False, reason=f"could not be started: {error.sentence.rstrip('.')}")
    if groups is not None and ended.leftover_group is not None:
        groups.add(ended.leftover_group)
    reason = _why_failed(ended, output.tests, timeout)
    return GateResult(
        gate="check",
        command=command,
        passed=not reason,
        tail=output.tail,
        exit_code=ended.exit_code,
        seconds=round(ended.seconds, 3),
        output_sha256=output.sha256,
        reason=reason,
    )


def _shell(command: str) -> tuple[str, ...]:
    return ("cmd.exe", "/d", "/c", command) if os.name == "nt" else ("/bin/sh", "-c", command)


def _why_failed(ended: Ended, tests: int | None, timeout: float) -> str:
    """In a few words; empty if it passed."""
    match ended.cause:
        case Cause.INTERRUPTED:
            return "interrupted"
        case Cause.TIMED_OUT:
            return f"timed out after {timeout:g} s"
        case Cause.EXITED:
            return _why_exited(ended.exit_code, tests)
    assert_never(ended.cause)


def _why_exited(exit_code: int, tests: int | None) -> str:
    if killer := _killer(exit_code):
        return f"killed by signal {killer}"
    if tests == 0:
        return "ran no test"
    return f"exit code {exit_code}" if exit_code else ""


def _killer(exit_code: int) -> int | None:
    if exit_code < 0:
        return -exit_code
    fatal = {number.value for number in signal.Signals if number.name in _FATAL}
    return exit_code - 128 if os.name != "nt" and exit_code - 128 in fatal else None


def require_change(before: Changes, after: Changes) -> GateResult:
    """Whether anything changed in the workspace: what the files hold, where git can tell, and not where HEAD points."""
    same_tree = before.tree is not None and before.tree == after.tree
    same = before.fingerprint == after.fingerprint or (same_tree and _beside(before) == _beside(after))
    reason = "nothing changed in the workspace" if same else ""
    return GateResult("require_change", "", passed=not same, reason=reason)


def _beside(changes: Changes) -> str:
    """The fingerprint without the commit."""
    return changes.fingerprint.partition(":")[2]
