"""A program to run, and why it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from untildone.core.plugins.agent_io import Conversation
from untildone.core.protection.secrets import Redactor

OPEN_WITHIN = 120.0
"""Seconds that a program has to open its session in a conversation."""


class Spool(Protocol):
    """Stores the output of a program while it runs."""

    def write(self, content: bytes) -> None: ...

    def close(self) -> None: ...


class Cause(StrEnum):
    """Why a program ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    USED_UP = "used_up"
    """It has used up a limit other than time."""
    INTERRUPTED = "interrupted"
    UNANSWERED = "unanswered"
    """It did not open its session in time."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """A program to run. `env` is its whole environment: nothing else is inherited."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes | None = None
    """None: standard input is empty."""
    spool: Spool | None = None
    """Receives the redacted output."""
    timeout: float | None = None
    """Seconds; None: no timeout."""
    timeout_now: Callable[[], float | None] | None = None
    """Returns the current timeout in place of `timeout`, because a person may change it during the run; None: no timeout."""
    used_up: Callable[[], bool] | None = None
    """Returns whether the program has used up a limit other than time; None: there is no such limit."""
    ends_on_sigint: bool = False
    """Whether the program ends in an orderly way on SIGINT. At a limit it gets that first; the process tree is ended afterwards."""
    conversation: Conversation | None = None
    """Writes to the program, whose standard input stays open until the turn has ended. `on_line` must feed it."""
    stays: bool = False
    """Whether the program stays open when its conversation has come to its end, for the next one."""
    open_within: float = OPEN_WITHIN
    """Seconds that the program has to open its session in a conversation."""
    boxed: str = ""
    """The program that `argv` starts in a box; empty: there is no box."""
    merge_stderr: bool = False
    on_error_line: Callable[[bytes], bool] | None = None
    """Gets each line of standard error, and returns whether it is no error output, so that it is not kept."""
    lines_together: bool = False
    """Whether many lines that arrive at once may be passed to `on_line` in one call."""
    redactor: Redactor | None = None
    descriptors: tuple[int, ...] = ()
    """Descriptors that the program inherits, beside those of its input and output."""
