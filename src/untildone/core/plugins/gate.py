"""The `Gate` protocol: a gate declares the steps it needs, judges their results, and words a failure for the agent.

A gate is pure. The engine runs commands and asks agents; `decide` orders the steps: facts and commands first, questions last.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from untildone.core.actions import Ask, AskSupervisor, GateStep, InspectWorkspace, RunCommand, RunTrials
from untildone.core.apply import apply
from untildone.core.events import AnswerRead, Entry
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, Changes, GateResult, LoopSettings, NeededGate, RoomKind
from untildone.core.plugins.option import Option
from untildone.core.receipts.proving import PROOFS, Planned, TrialsRan, Work
from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass


class CommandEnd(StrEnum):
    """How the command of a gate ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class RunnerReport:
    """What the test runners in the output of a command report, added up."""

    runners: tuple[str, ...] = ()
    """The known test runners that printed something."""
    passed: int = 0
    failed: int = 0
    """Failures and errors."""
    skipped: int = 0
    """Skipped, pending, ignored or deselected."""
    xfailed: int = 0
    """Expected failures."""
    xpassed: int = 0
    """Unexpected passes."""
    unfinished: int = 0
    """Tests that a runner announced or listed and gave no result for."""
    failed_before: int = 0
    """Failures that only a summary before the last one reports."""
    missing: str = ""
    """A test runner that the command names and that printed no summary, as a clause for people; empty: none."""
    failing: tuple[str, ...] = ()
    """The failed tests by name, as far as the runners list them."""
    recorded: tuple[str, ...] = ()
    """The names of failed tests in JUnit reports, if the output of the runners lists none. They are shown and never ignored."""

    @property
    def run(self) -> int:
        """How many tests ran. One that is expected to fail proves nothing."""
        return self.passed + self.failed + self.xpassed

    @property
    def names_all(self) -> bool:
        """Whether each failed test has a name of its own."""
        return len(self.failing) == self.failed

    @property
    def words(self) -> str:
        """The numbers in words: `3 failed, 212 passed`."""
        named = (
            (self.failed, "failed"),
            (self.passed, "passed"),
            (self.skipped, "skipped"),
            (self.xfailed, "expected to fail"),
            (self.xpassed, "passed unexpectedly"),
        )
        return ", ".join(f"{number} {word}" for number, word in named if number)


NOT_COMPARED = "There is no snapshot, so nothing says whether judge files changed."
"""A note for people only: an agent that reads it knows that a changed test is not noticed."""


@dataclass(frozen=True, slots=True)
class CommandRan:
    """The result of a `RunCommand` step."""

    end: CommandEnd
    exit_code: int | None = None
    """Negative: the number of the signal that ended it. None: it was not started."""
    killed_by: int | None = None
    """The signal that killed it, or the program inside its shell."""
    seconds: float = 0.0
    tail: str = ""
    """The last lines of its output, standard error included."""
    output_sha256: str = ""
    report: RunnerReport | None = None
    """What test runners report in its output; None: it names no known test runner, and none printed something."""
    problem: str = ""
    """Why it could not be started or had less time than its timeout, as a reason for people."""
    room: RoomKind = RoomKind.PLAIN
    tree: str = ""
    """The snapshot in which it ran; empty: none was taken."""
    judge_changed: tuple[str, ...] = ()
    """Judge files that existed when the loop began and that the agent changed; without those that a person approved."""
    judge_added: tuple[str, ...] = ()
    """Judge files that the agent added."""
    rewrote: tuple[str, ...] = ()
    """Judge files that the command wrote to while it ran."""
    skipping: tuple[str, ...] = ()
    """Files of the product that skip the tests which call them, since the loop began and without a person's approval."""
    at_start: RunnerReport | None = None
    """What test runners reported on the tree of the start, with the same tests; None: it was not run there."""
    may_hide: tuple[str, ...] = ()
    """Files of the product that the agent changed, if `at_start` is set: one of them may keep tests from running."""
    as_changed: CommandRan | None = None
    """The second run, with the judge files as the agent left them; None: one run was enough."""
    notes: tuple[str, ...] = ()
    """Sentences for the person about how the command was run."""


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """The result of an `InspectWorkspace` step."""

    before: Changes
    """The workspace when the loop began."""
    now: Changes
    """The workspace after the last turn."""
    signs: tuple[str, ...] = ()
    """The tampering report, one sentence a sign."""


Finding = CommandRan | WorkspaceFacts | Answer | TrialsRan
"""The result of a step; that of an `AskSupervisor` step is the supervisor's answer."""


class Gate(Protocol):
    """A gate. `PlainGate` has the defaults."""

    name: str
    """Its name in settings, journal, receipt and API."""
    declared_options: tuple[Option, ...]
    """Its options. Flags, settings and form fields come from them; the loop keeps them in `settings.options`."""

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        """The steps that this gate needs to judge a claim of the loop; empty: the loop does not use this gate."""

    def ask(self, loop: Loop, supervisor: AgentChoice | None) -> Ask:
        """The question of an `AskSupervisor` step. `supervisor` is None if every candidate is at a usage limit."""

    def problem_with(self, loop: Loop, answer: Answer) -> str:
        """Why the supervisor's answer is neither agreement nor feedback, so that it is asked again; empty: it is judged."""

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        """The verdict on the result of a step."""

    def trials(self, work: Work) -> Planned:
        """The trials of a `RunTrials` step."""

    def headline(self, reason: str, command: str) -> str:
        """One sentence for the agent about a step that failed."""


GatesOf = Callable[[LoopSettings], tuple[Gate, ...]]
"""Returns the gates that the settings of a loop can use. The stepper passes it to `decide`."""


class PlainGate:
    """Defaults that most gates share: no question to a supervisor, and a headline with the gate's name."""

    name = ""
    declared_options: tuple[Option, ...] = ()

    def ask(self, loop: Loop, supervisor: AgentChoice | None) -> Ask:
        raise NotImplementedError(f"the gate {self.name} asks no supervisor")

    def problem_with(self, loop: Loop, answer: Answer) -> str:
        return ""

    def trials(self, work: Work) -> Planned:
        raise NotImplementedError(f"the gate {self.name} is not a proof")

    def headline(self, reason: str, command: str) -> str:
        return f"The gate `{self.name}` failed: {reason}."


def pending(loop: Loop, gates: tuple[Gate, ...]) -> tuple[tuple[Gate, GateStep], ...]:
    """The steps without a result for the present claim: facts of the workspace first, then commands, questions, and proofs last."""
    known = {(result.gate, result.command) for result in loop.gates}
    steps = [(gate, step) for gate in gates for step in gate.steps(loop)]
    left = [(gate, step) for gate, step in steps if (step.gate, step.command) not in known]
    return tuple(sorted(left, key=_place))


def _place(pair: tuple[Gate, GateStep]) -> tuple[int, int]:
    """The sort key of a step: by what it needs, proofs by their cost, steps of plugins last."""
    need = pair[1].need
    name = need.command if isinstance(need, RunTrials) else ""
    return _ORDER.index(type(need)), PROOFS.index(name) if name in PROOFS else len(PROOFS)


def needed(loop: Loop, claim: AnswerRead, gates: tuple[Gate, ...]) -> tuple[NeededGate, ...]:
    """The steps that all gates need to judge a claim that the loop is about to take in."""
    claimed = apply(loop, Entry(loop.seq + 1, loop.updated_at, claim))
    return tuple(NeededGate(step.gate, step.command) for gate in gates for step in gate.steps(claimed))


_ORDER = (InspectWorkspace, RunCommand, AskSupervisor, RunTrials)
