"""The `Mode` protocol: a mode chooses the next prompt and reads the answers. Budget and gates belong to `decide`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from untildone.core.model import EMPTY, Answer, Role
from untildone.core.plugins.option import Option
from untildone.core.values.hints import Any, Protocol
from untildone.core.values.value import dataclass, field

# The command line lists the options of the modes for its help and needs no loop for that.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.actions import Ask, AwaitPerson
    from untildone.core.events import AnswerRead
    from untildone.core.loop import Loop


class LimitChoice(StrEnum):
    """What a person can choose when the budget of a loop is used up. The value is the line of the menu."""

    MORE = "more"
    """Raise the limits and go on. The menu says by how much."""
    SIMPLIFY = "simplify the task"
    LEAVE = "save and leave"
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class FromFiles:
    """Settings for a new loop from files of the workspace; None: the files do not set that."""

    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """Options of the mode, as the journal keeps them."""
    iterations: int | None = None
    iteration_timeout: float | None = None
    warn_from: int | None = None
    """The iteration from which the person is warned."""


class Mode(Protocol):
    """A mode. `PlainMode` has the defaults."""

    name: str
    default_iterations: int | None
    """How many iterations a loop may take by default."""
    default_iteration_timeout: float | None
    """How many seconds an iteration may take by default."""
    declared_options: tuple[Option, ...]
    """The options that only this mode has."""
    files: tuple[str, ...]
    """Glob patterns of the workspace's files that `from_files` reads when a loop is created."""
    documents: tuple[str, ...]
    """Documents of a loop, by file name, that its agent may read in a box. The rest of the loop's files is hidden there."""
    reviewed: bool
    """Whether a supervisor reviews every claim by default."""
    claims_by_promise: bool
    """Whether the agent claims to be done with the promise of the settings."""
    leader: Role
    """The role whose turn begins a round."""
    works_by_hand: bool
    """Whether a person can do the work if the agent program cannot be started: the loop pauses instead of failing."""
    works_with_person: bool
    """Whether a loop that is started at a terminal usually asks the person and has no limit of rounds."""
    stays_open: bool
    """Whether the loop waits for the person's next instruction after one is done, if a person is present."""
    hands_back: bool
    """Whether the person goes on in the worker's session once the loop is done."""
    runs_in_session: bool
    """Whether a loop can run inside a person's own agent session, driven by the stop hook."""
    choices_at_limit: tuple[LimitChoice, ...]
    """The menu for a person at the terminal when the budget is used up; empty: the loop rests without asking."""
    reports_in_json: bool
    """Whether the worker reports in JSON. Its words are shown once they are complete, as `spoken` gives them."""

    def options(self, loop: Loop) -> object:
        """The mode's own options of a loop, as a typed value."""

    def from_files(self, texts: Mapping[str, str]) -> FromFiles:
        """The settings in the files that match `files`; `texts` is their content by path. Raises UsageError for a malformed file."""

    def next(self, loop: Loop) -> Ask | AwaitPerson:
        """The next question to an agent or to the person."""

    def prompt_in_session(self, loop: Loop, ask: Ask) -> str:
        """The prompt of `ask` for the agent of a person's own session, which the stop hook sends back to work."""

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        """Read a successful answer of a role: whether it is a claim, and the mode's new state."""

    def absorb(self, loop: Loop, text: str) -> AnswerRead:
        """Read an edit of the live state file that was made while no agent was at work."""

    def live_state(self, loop: Loop) -> str | None:
        """The text of the live state file; None: this mode has no such file."""

    def recover(self, loop: Loop, documents: Mapping[str, str]) -> AnswerRead | None:
        """The mode's state restored from the loop's documents, for a loop whose state was lost; None: that is not possible."""

    def variant(self, loop: Loop) -> str:
        """The variant of the mode that the loop follows, in a few words; empty: there is only one."""

    def pending(self, loop: Loop) -> str:
        """What comes next, in a few words; empty: unknown."""

    def heading(self, loop: Loop, label: str) -> str:
        """The name of a worker's turn beside the number of its round; empty: it has none."""

    def spoken(self, text: str) -> str:
        """The words of the worker that are for people, as Markdown."""

    def standing(self, loop: Loop) -> tuple[str, ...]:
        """Where the loop stands, a few words each. Rounds and subtasks are shown beside it."""


class PlainMode:
    """The defaults that most modes share."""

    default_iteration_timeout: float | None = None
    declared_options: tuple[Option, ...] = ()
    files: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    reviewed = False
    claims_by_promise = False
    leader = Role.WORKER
    works_by_hand = False
    works_with_person = False
    stays_open = False
    hands_back = False
    runs_in_session = False
    choices_at_limit: tuple[LimitChoice, ...] = ()
    reports_in_json = False

    def options(self, loop: Loop) -> object:
        return None

    def from_files(self, texts: Mapping[str, str]) -> FromFiles:
        return FromFiles()

    def prompt_in_session(self, loop: Loop, ask: Ask) -> str:
        return ask.prompt

    def absorb(self, loop: Loop, text: str) -> AnswerRead:
        from untildone.core.events import AnswerRead

        return AnswerRead(claimed=loop.claimed)

    def live_state(self, loop: Loop) -> str | None:
        return None

    def recover(self, loop: Loop, documents: Mapping[str, str]) -> AnswerRead | None:
        return None

    def variant(self, loop: Loop) -> str:
        return ""

    def pending(self, loop: Loop) -> str:
        return ""

    def heading(self, loop: Loop, label: str) -> str:
        return label

    def spoken(self, text: str) -> str:
        return text

    def standing(self, loop: Loop) -> tuple[str, ...]:
        return ()
