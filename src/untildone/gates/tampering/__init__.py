"""The gate `tampering`: with `--fail-on-tampering`, work with signs of tampering is not believed. A condition, no proof."""

from __future__ import annotations

from untildone.core.actions import GateStep, InspectWorkspace
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.plugins.gate import Finding, PlainGate, WorkspaceFacts


class Tampering(PlainGate):
    name = "tampering"

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        return (GateStep(self.name, InspectWorkspace()),) if loop.settings.fail_on_tampering else ()

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        assert isinstance(finding, WorkspaceFacts)
        signs = finding.signs
        reason = "1 sign of tampering" if len(signs) == 1 else f"{len(signs)} signs of tampering" if signs else ""
        return GateResult(self.name, "", passed=not signs, tail="\n".join(signs), reason=reason, proves=False)

    def headline(self, reason: str, command: str) -> str:
        return f"The claim is not believed: the work has {reason}."


GATE = Tampering()
