"""The gate `review`: a supervisor must agree that everything the person asked for is done."""

from __future__ import annotations

from untildone.core.actions import Ask, AskSupervisor, GateStep
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, GateResult
from untildone.core.plugins.gate import Finding, PlainGate


class Review(PlainGate):
    name = "review"

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        return (GateStep(self.name, AskSupervisor()),) if loop.settings.review else ()

    def ask(self, loop: Loop, supervisor: AgentChoice | None) -> Ask:
        from untildone.gates.review import question

        return question.ask(loop, supervisor)

    def problem_with(self, loop: Loop, answer: Answer) -> str:
        from untildone.gates.review import question

        return question.problem(loop, answer)

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        from untildone.gates.review import question

        assert isinstance(finding, Answer)
        return question.verdict(loop, finding)

    def headline(self, reason: str, command: str) -> str:
        return f"The review does not pass: {reason}."


GATE = Review()
