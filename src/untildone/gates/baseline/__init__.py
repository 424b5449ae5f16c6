"""The baseline: each check runs once before the first round. It judges no claim; it tells what a check says before any work."""

from __future__ import annotations

from untildone.core.actions import GateStep
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Measured
from untildone.core.plugins.gate import Finding, PlainGate
from untildone.core.plugins.option import Option
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, Trial, TrialsRan, Work
from untildone.gates._proofs import why_red


class Baseline(PlainGate):
    name = proving.BASELINE
    declared_options: tuple[Option, ...] = (
        Option(
            name, "Baseline", "run each check once before the first round, and say what it says then", default=False
        ),
    )

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        return ()

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        raise NotImplementedError("the baseline judges no claim")

    def trials(self, work: Work) -> Planned:
        return Planned(tuple(Trial(command, Base.START, label="before the work") for command in work.commands))


def measured(loop: Loop, finding: TrialsRan) -> tuple[Measured, ...]:
    """What the checks of a loop said before any work. One that did not run says why."""
    runs = {each.trial.command: each.ran for each in finding.runs}
    reason = finding.problem or "there was no time for it"
    return tuple(
        Measured(
            command,
            reason=why_red(runs[command], loop.settings.check_timeout) if command in runs else reason,
            tests=ran.report.words if (ran := runs.get(command)) and ran.report else "",
            seconds=round(ran.seconds, 3) if ran else 0.0,
            has_run=command in runs,
        )
        for command in loop.settings.checks
    )


GATE = Baseline()
