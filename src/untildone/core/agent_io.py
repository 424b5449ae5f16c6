"""One run of an agent: the request, the command line, and the events and the answer that its output becomes."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.hints import Protocol
from untildone.core.model import EMPTY, Answer, Permissions, SessionUse
from untildone.core.value import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    """What an agent is asked to do in one run."""

    prompt: str
    session: SessionUse = SessionUse.NEW
    session_id: str | None = None
    """The session to resume or fork."""
    fresh_id: str = ""
    """A UUID for a new session, for programs that let the caller choose it."""
    model: str | None = None
    args: tuple[str, ...] = ()
    system_prompt: str | None = None
    permissions: Permissions = Permissions.WORK
    max_cost_usd: float | None = None
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """The command line, what to add to the environment, and what goes to standard input (None: closed at once)."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    stdin: bytes | None = None
    prints_text: bool = False
    """What it prints is for people: the reader takes many lines at once as well, where there are many."""


@dataclass(frozen=True, slots=True)
class Said:
    """Text that the agent wrote for the person."""

    text: str
    lines: int = 1
    """How many lines of its output this stands for."""


@dataclass(frozen=True, slots=True)
class Thought:
    """The agent is thinking; the text may be empty."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The agent uses a tool. `summary` is one line: the command, the file, the pattern."""

    tool: str
    summary: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """The tool came back; `summary` is its first line."""

    tool: str
    ok: bool
    summary: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth a line: a retry of the program's own, a denied permission, a warning."""

    text: str


@dataclass(frozen=True, slots=True)
class SessionKnown:
    """The agent told its session id."""

    session_id: str


AgentEvent = Said | Thought | ToolStarted | ToolEnded | Notice | SessionKnown


class Reader(Protocol):
    """Reads one run's output. Lines of unknown kind are skipped; a line that does not parse gives a Notice, never an exception."""

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        """Take one line of standard output, without its line end."""
        ...

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        """The program has ended: what did it come to? `now` (epoch seconds) is for reset times that are told as a duration."""
        ...
