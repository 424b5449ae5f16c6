"""The gate `check`: a command of the person's must succeed, and a test run must have run tests."""

from __future__ import annotations

from untildone.core.actions import GateStep, RunCommand
from untildone.core.gate import CommandEnd, CommandRan, Finding, PlainGate
from untildone.core.hints import assert_never
from untildone.core.loop import Loop
from untildone.core.model import GateResult


class Check(PlainGate):
    name = "check"

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        timeout = loop.settings.check_timeout
        return tuple(GateStep(self.name, RunCommand(command, timeout)) for command in loop.settings.checks)

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        assert isinstance(finding, CommandRan)
        assert isinstance(step.need, RunCommand)
        reason = why_failed(finding, step.need.timeout)
        return GateResult(
            gate=self.name,
            command=step.command,
            passed=not reason,
            tail=finding.tail,
            exit_code=finding.exit_code,
            seconds=round(finding.seconds, 3),
            output_sha256=finding.output_sha256,
            reason=reason,
        )

    def headline(self, reason: str, command: str) -> str:
        return f"The check `{command}` failed: {reason}."


def why_failed(ran: CommandRan, timeout: float) -> str:
    """The reason in a few words; empty if the command succeeded."""
    match ran.end:
        case CommandEnd.NOT_STARTED:
            return ran.problem or "could not be started"
        case CommandEnd.INTERRUPTED:
            return "interrupted"
        case CommandEnd.TIMED_OUT:
            return ran.problem or f"timed out after {timeout:g} s"
        case CommandEnd.EXITED:
            return _why_exited(ran)
        case _:
            assert_never(ran.end)


def _why_exited(ran: CommandRan) -> str:
    if ran.killed_by is not None:
        return f"killed by signal {ran.killed_by}"
    if ran.tests == 0:
        return "ran no test"
    return f"exit code {ran.exit_code}" if ran.exit_code else ""


GATE = Check()
