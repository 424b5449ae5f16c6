"""The gate `require_change`: a claim with nothing changed in the workspace is not believed. A condition, no proof."""

from __future__ import annotations

from untildone.core.actions import GateStep, InspectWorkspace
from untildone.core.loop import Loop
from untildone.core.model import Changes, GateResult
from untildone.core.plugins.gate import Finding, PlainGate, WorkspaceFacts


class RequireChange(PlainGate):
    name = "require_change"

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        return (GateStep(self.name, InspectWorkspace()),) if loop.settings.require_change else ()

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        assert isinstance(finding, WorkspaceFacts)
        unknown = finding.before.tree is not None and finding.now.tree is None
        same = unknown or is_unchanged(finding.before, finding.now)
        reason = "there is no snapshot of the work" if unknown else "nothing changed in the workspace" if same else ""
        return GateResult(self.name, "", passed=not same, reason=reason, proves=False)

    def headline(self, reason: str, command: str) -> str:
        return f"The claim is not believed: {reason}."


def is_unchanged(before: Changes, now: Changes) -> bool:
    """Whether no file content has changed. A new commit with the same files is no change."""
    same_tree = before.tree is not None and before.tree == now.tree
    return before.fingerprint == now.fingerprint or (same_tree and _without_commit(before) == _without_commit(now))


def _without_commit(changes: Changes) -> str:
    return changes.fingerprint.partition(":")[2]


GATE = RequireChange()
