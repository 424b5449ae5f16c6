"""The gate `check`: a command of the person's must succeed, and a test run must report that tests ran and none failed."""

from __future__ import annotations

from untildone.core.actions import GateStep, RunCommand
from untildone.core.judging.wording import names
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.plugins.gate import CommandEnd, CommandRan, Finding, PlainGate, RunnerReport
from untildone.core.values.hints import assert_never


class Check(PlainGate):
    name = "check"

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        timeout = loop.settings.check_timeout
        return tuple(GateStep(self.name, RunCommand(command, timeout)) for command in loop.settings.checks)

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        assert isinstance(finding, CommandRan)
        assert isinstance(step.need, RunCommand)
        from untildone.gates.check import ignored, passes

        timeout, before = step.need.timeout, ignored.known(loop, step.command)
        raw, finding = finding, ignored.of_claim(finding, before)
        verdict = passes.verdict(finding, loop.settings.tests, lambda ran: why_failed(ran, timeout))
        shown = _shown(finding, timeout)
        failing = () if verdict.reason else ignored.ignored(raw, before)
        new = ignored.why_new(shown, before) if verdict.reason else ""
        recorded = shown.report.recorded if verdict.reason and shown.report else ()
        new = new or (f"its JUnit report names {names(recorded)}" if recorded else "")
        said = (f"Failed before this loop too, and ignored: {names(failing)}.",) if failing else ()
        return GateResult(
            gate=self.name,
            command=step.command,
            passed=not verdict.reason,
            tail=shown.tail,
            exit_code=shown.exit_code,
            seconds=round(finding.seconds + (finding.as_changed.seconds if finding.as_changed else 0.0), 3),
            output_sha256=shown.output_sha256,
            reason=f"{verdict.reason}; {new}" if new else verdict.reason,
            tests=_words(shown, failing),
            room=None if finding.end is CommandEnd.NOT_STARTED else finding.room,
            tree=finding.tree,
            tampered=verdict.tampered or _tampered(finding, timeout),
            notes=(*verdict.notes, *said),
            failing=failing,
        )

    def headline(self, reason: str, command: str) -> str:
        return f"The check `{command}` failed: {reason}."


def _words(ran: CommandRan, failing: tuple[str, ...]) -> str:
    """What the test runner reported: `212 passed, 3 failed as before`."""
    words = ran.report.words if ran.report else ""
    return f"{words}, {len(failing)} failed as before" if failing else words


def _tampered(ran: CommandRan, timeout: float) -> tuple[str, ...]:
    """The files that a person may approve after a run that failed for them."""
    hiding = ran.may_hide if _why_fewer(ran) else ()
    return (*ran.rewrote, *ran.skipping, *hiding) if why_failed(ran, timeout) else ()


def _shown(ran: CommandRan, timeout: float) -> CommandRan:
    """The run whose output is shown: the one with the originals if it failed, else the last one."""
    return ran.as_changed if ran.as_changed is not None and not why_failed(ran, timeout) else ran


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
    if ran.exit_code:
        return "ran no test" if ran.report and _ran_none(ran.report) else f"exit code {ran.exit_code}"
    if ran.rewrote:
        return f"it wrote to {names(ran.rewrote)} while it ran, so it did not judge by the tests that are there"
    return (why_not_believed(ran.report) or _why_skipped(ran, ran.report) or _why_fewer(ran)) if ran.report else ""


def _why_skipped(ran: CommandRan, report: RunnerReport) -> str:
    """Why skipped tests are no proof: the code that they test skipped them."""
    if not ran.skipping or not (report.skipped or report.xfailed):
        return ""
    return f"{report.words}, and {names(ran.skipping)}, which is not a test, skips tests or expects them to fail"


def _why_fewer(ran: CommandRan) -> str:
    """Why tests that passed are no proof: more of the same tests ran when the loop began."""
    before, now = ran.at_start, ran.report
    if before is None or now is None or before.run <= now.run:
        return ""
    said = f"{now.run} tests ran ({now.words}), and {before.run} of the same tests did when the loop began"
    return f"{said}: {names(ran.may_hide)} may keep the others from running"


def _ran_none(report: RunnerReport) -> bool:
    return bool(report.runners) and not (report.run or report.unfinished or report.missing)


def why_not_believed(report: RunnerReport) -> str:
    """Why the report of a command with the exit code 0 is no proof; empty: it is one. The exit code of a pipe or of a
    manipulated program says nothing."""
    if report.failed:
        verb = "reports" if len(report.runners) == 1 else "report"
        return (
            f"the exit code is 0, but {_names(report)} {verb} {report.words}{_EARLIER if report.failed_before else ''}"
        )
    if report.missing:
        return report.missing
    if report.unfinished:
        return f"{_names(report)} announced tests without a result: {report.unfinished}"
    return "" if report.run else ": ".join(filter(None, ["ran no test", report.words]))


_EARLIER = ", in a summary before the last one (if a test prints that one, let the runner capture output)"


def _names(report: RunnerReport) -> str:
    return " and ".join(report.runners)


GATE = Check()
