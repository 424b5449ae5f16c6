"""One run of an agent: the request, the command line, and the events and the answer read from its output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from untildone.core.model import EMPTY, Answer, Permissions, SessionUse, Usage
from untildone.core.prices import PUBLISHED, Prices
from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass, field, replace


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
    reviews: bool = False
    """The run judges the work of another agent: it can only read, whatever `permissions` and `args` say, and no setting, hook or
    instruction of the workspace reaches it, as far as the program can be told so. It leaves no session behind where it need not."""
    max_cost_usd: float | None = None
    command: str | None = None
    version: str = ""
    """The version of the program, where an option depends on it; empty: unknown."""
    folder: str = ""
    """The absolute path of the folder in which the program runs, for programs that must be told; empty: unknown."""
    meters: bool = False
    """Whether the program shall report its usage message by message, if it can: dollars or tokens are limited."""
    prices: Prices = PUBLISHED
    """What tokens cost, for a program that reports no dollars."""


REPORT = "\0report"
"""In the last word of an option: the path of a file into which the program writes at its end what it used. No argument of a person
can contain it."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """How an agent program is started."""

    argv: tuple[str, ...]
    """With `REPORT` in the place of a path, if the program writes a report. Its reader gets the report as the last line."""
    env: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Variables to add to the environment."""
    stdin: bytes | None = None
    """Content for standard input; None: it is closed at once."""
    prints_text: bool = False
    """Whether the output is plain text. Its reader also accepts several lines in one `feed`."""

    @property
    def reports(self) -> bool:
        """Whether the program writes a report."""
        return any(REPORT in word for word in self.argv)

    def reporting_to(self, path: str | None) -> Invocation:
        """The same, with the path of the report; without a path, no report is asked for."""
        words = (word if path is None else word.replace(REPORT, path) for word in self.argv)
        return replace(self, argv=tuple(word for word in words if REPORT not in word))


@dataclass(frozen=True, slots=True)
class Said:
    """Text that the agent wrote for the person."""

    text: str
    lines: int = 1
    """The number of output lines that this event covers."""


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
    """A tool call ended; `summary` is the first line of its result."""

    tool: str
    ok: bool
    summary: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for people: the program retries by itself, a permission was denied, a warning."""

    text: str


@dataclass(frozen=True, slots=True)
class SessionKnown:
    """The agent reported its session id."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Used:
    """What the run has used so far, after one more message of the model."""

    usage: Usage


AgentEvent = Said | Thought | ToolStarted | ToolEnded | Notice | SessionKnown | Used


class Reader(Protocol):
    """Reads one run's output. Lines of unknown kind are skipped; a line that does not parse gives a Notice, never an exception."""

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        """Take one line of standard output, without its line end."""
        ...

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        """The answer of a program that has ended. `now` (epoch seconds) turns a duration until a limit resets into a time."""
        ...


class Conversation(ABC):
    """A `Reader` that also writes: the turn of a program that takes requests on its standard input, and makes some of its own.

    The engine keeps standard input open, writes `outgoing` at the start and after every line, and ends the program once the turn has
    ended. The program's output alone can be replayed: then nobody asks for `outgoing`."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the program has opened its session. Until then it has little time."""

    @property
    @abstractmethod
    def has_ended(self) -> bool:
        """Whether the turn has ended, well or not."""

    @abstractmethod
    def outgoing(self) -> bytes:
        """What to write to standard input now. Each byte is returned once."""

    @abstractmethod
    def interrupt(self) -> None:
        """Ask the program to end its turn: the next `outgoing` contains the request."""

    @abstractmethod
    def give_up(self, seconds: float) -> None:
        """Note that the program did not open its session within some seconds, so that it is ended."""

    @abstractmethod
    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        """As in `Reader`."""

    @abstractmethod
    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        """As in `Reader`."""
