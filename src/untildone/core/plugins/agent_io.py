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
    """A request to an agent for one run."""

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
    """Whether the run judges the work of another agent. Then it is read-only regardless of `permissions` and `args`, and reads no
    setting, hook or instruction of the workspace, as far as the program has options for that. It leaves no session behind where it need
    not."""
    goal: bool = False
    """Whether the prompt is a goal for the program's own goal loop. When that loop ends, `Answer.claims` says so."""
    max_cost_usd: float | None = None
    command: str | None = None
    version: str = ""
    """The version of the program, where an option depends on it; empty: unknown."""
    folder: str = ""
    """The absolute path of the folder in which the program runs, for programs that need it in the request; empty: unknown."""
    meters: bool = False
    """Whether the program shall report its usage message by message, if it can: dollars or tokens are limited."""
    prices: Prices = PUBLISHED
    """What tokens cost, for a program that reports no dollars."""
    stays: bool = False
    """Whether the process may serve further turns of the session, if the agent can (`Capabilities.warm`)."""


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
    priced: str = ""
    """See `Answer.priced`."""
    session_growth: Usage = Usage()
    """What the run has added so far to the totals that the program keeps of its session, if these are what it reports at its end."""


AgentEvent = Said | Thought | ToolStarted | ToolEnded | Notice | SessionKnown | Used


class Reader(Protocol):
    """Reads one run's output. Lines of unknown kind are skipped; a line that does not parse gives a Notice, never an exception."""

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        """Take one line of standard output, without its line end."""
        ...

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        """The answer of a program that has ended. `now` (epoch seconds) turns a duration until a limit resets into a time."""
        ...


class SideReader(ABC):
    """A `Reader` that also reads what its program writes beside its output while it works: what each message of the model used.

    It is read if dollars or tokens are limited. The agent could write there as well, so it can only add to what the output reports."""

    @property
    def reads_errors(self) -> bool:
        """Whether it stands on standard error."""
        return False

    def side_files(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Glob patterns of the files in which it stands. What they contain before the run does not count."""
        return ()

    def session_growth(self) -> Usage:
        """See `Used.session_growth`."""
        return Usage()

    @abstractmethod
    def feed_side(self, line: bytes) -> tuple[AgentEvent, ...] | None:
        """Take one line, without its line end. None: it is not for this reader. On standard error it is then ordinary error output."""


class Conversation(ABC):
    """A `Reader` that also writes: the turn of a program that takes requests on its standard input, and makes some of its own.

    The engine keeps standard input open, writes `outgoing` at the start and after every line, and ends the program once the turn has
    ended, or keeps it for the `next_turn`. A replay feeds only the program's output, and never reads `outgoing`."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the program has opened its session. Until then it has little time."""

    @property
    @abstractmethod
    def has_ended(self) -> bool:
        """Whether the turn has ended, well or not."""

    @property
    def session(self) -> str:
        """The id of the session that the process has open; empty: none, or unknown."""
        return ""

    @property
    def has_said_all(self) -> bool:
        """Whether nothing is written any more although the turn goes on: standard input is closed, and the program ends the turn by its
        own end."""
        return False

    def next_turn(self, request: Request) -> Conversation | None:
        """The conversation of the next turn, in the same session and process, after this one has ended well. What the program printed in
        between was fed to this one. None: the turn needs a new process."""
        return None

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
        """As in `Reader`. A line after the end of the turn is no part of the answer."""

    @abstractmethod
    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        """As in `Reader`."""
