"""The `Gate` protocol: a gate declares the steps it needs, judges their results, and words a failure for the agent.

A gate is pure. The engine runs commands and asks agents; `decide` orders the steps: facts and commands first, questions last.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from untildone.core.actions import Ask, AskSupervisor, GateStep, InspectWorkspace, RunCommand
from untildone.core.hints import Protocol
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, Changes, GateResult, LoopSettings
from untildone.core.option import Option
from untildone.core.value import dataclass


class CommandEnd(StrEnum):
    """How the command of a gate ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not_started"


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
    tests: int | None = None
    """How many tests its output reports as run; None: the output is not that of a known test runner."""
    problem: str = ""
    """Why it could not be started or had less time than its timeout, as a reason for people."""


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    """The result of an `InspectWorkspace` step."""

    before: Changes
    """The workspace when the loop began."""
    now: Changes
    """The workspace after the last turn."""


Finding = CommandRan | WorkspaceFacts | Answer
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

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        """The verdict on the result of a step."""

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

    def headline(self, reason: str, command: str) -> str:
        return f"The gate `{self.name}` failed: {reason}."


def pending(loop: Loop, gates: tuple[Gate, ...]) -> tuple[tuple[Gate, GateStep], ...]:
    """The steps without a result for the present claim: facts of the workspace first, then commands, questions last."""
    known = {(result.gate, result.command) for result in loop.gates}
    steps = [(gate, step) for gate in gates for step in gate.steps(loop)]
    left = [(gate, step) for gate, step in steps if (step.gate, step.command) not in known]
    return tuple(sorted(left, key=lambda pair: _ORDER.index(type(pair[1].need))))


_ORDER = (InspectWorkspace, RunCommand, AskSupervisor)
