"""The baseline: each check runs once before the first round. It judges no claim; it records the result of a check before any work."""

from __future__ import annotations

from untildone.core.actions import AwaitPerson, GateStep
from untildone.core.loop import Loop
from untildone.core.model import GateResult, LoopSettings, Measured
from untildone.core.plugins.gate import CommandRan, Finding, PlainGate, RunnerReport
from untildone.core.plugins.option import Option
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, Trial, TrialsRan, Work
from untildone.gates._proofs import why_red
from untildone.gates.check.failing import can_name

FIX, IGNORE = "fix", "ignore"
"""What a person may say of tests that fail before any work."""


class Baseline(PlainGate):
    name = proving.BASELINE
    declared_options: tuple[Option, ...] = (
        Option(
            name, "Baseline", "run each check once before the first round, and say what it says then", default=False
        ),
        Option(
            proving.IGNORE_FAILING,
            "Ignore what failed before",
            "a check passes if only tests fail that failed before the first round, by name",
            default=False,
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
        _measured(loop.settings, command, runs[command])
        if command in runs
        else Measured(command, reason, has_run=False)
        for command in loop.settings.checks
    )


def _measured(settings: LoopSettings, command: str, ran: CommandRan) -> Measured:
    report = ran.report or RunnerReport()
    return Measured(
        command,
        reason=why_red(ran, settings.check_timeout),
        tests=report.words,
        seconds=round(ran.seconds, 3),
        passed=report.passed,
        failing=report.failing if report.names_all and can_name(command) else (),
        ignored=bool(settings.options.get(proving.IGNORE_FAILING)),
    )


def question(loop: Loop) -> AwaitPerson | None:
    """The question what the failures before any work are; None: there are none with a name, or they are ignored already."""
    failing = tuple(dict.fromkeys(name for each in loop.baseline for name in each.failing))
    if not failing or loop.settings.options.get(proving.IGNORE_FAILING):
        return None
    number = f"{len(failing)} tests fail" if len(failing) > 1 else "1 test fails"
    return AwaitPerson(
        f"{number} before any work\n"
        f"{FIX}: that is what this loop is for; all tests must pass at the end\n"
        f"{IGNORE}: that was there before, and may fail at the end",
        (FIX, IGNORE),
    )


GATE = Baseline()
