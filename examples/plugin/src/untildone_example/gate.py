"""The gate `forbidden-word`: no file of the workspace may contain a word. `--gate forbidden-word=draft` names it."""

from __future__ import annotations

import shlex

from untildone.core.actions import GateStep, RunCommand
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.plugins.gate import CommandRan, Finding, PlainGate

SECONDS = 60.0
NOT_FOUND = 1
"""The exit code of grep if no line matches."""


class ForbiddenWord(PlainGate):
    name = "forbidden-word"

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        """untildone runs the command; the gate only says which."""
        word = loop.settings.gates[self.name]
        command = f"grep -rnIw --exclude-dir=.git --exclude-dir=.loop -e {shlex.quote(word)} ."
        return (GateStep(self.name, RunCommand(command, SECONDS)),)

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        assert isinstance(finding, CommandRan)
        passed = finding.exit_code == NOT_FOUND
        reason = "" if passed else finding.problem or f"the word {loop.settings.gates[self.name]!r} was found"
        return GateResult(
            self.name, step.command, passed, finding.tail, finding.exit_code, finding.seconds, reason=reason
        )

    def headline(self, reason: str, command: str) -> str:
        return f"The claim is not believed: {reason}. Remove it from these lines:"


GATE = ForbiddenWord()
