"""The proof `red_first`: tests that the agent added fail on the tree of the start. Tests that pass without the work test nothing of it."""

from __future__ import annotations

from untildone.core.judging.trees import Edit
from untildone.core.plugins.gate import RunnerReport
from untildone.core.plugins.option import Option
from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, new_tests, why_red, written

BEFORE, WITH_TESTS = "before the work", "before the work, with the new tests"


class RedFirst(ProofGate):
    name = "red_first"
    declared_options = (
        Option(name, "Red first", "prove that tests which the agent added fail without its work", default=False),
    )

    def trials(self, work: Work) -> Planned:
        """A command runs on the tree of the start only with the new tests, if it ran there already before the first round."""
        added = written(new_tests(work))
        commands = [command for command in work.commands if work.tests.get(command)]
        if not added or not commands:
            return Planned(notes=("The agent added no tests that could be red first.",) if not added else ())
        return Planned(tuple(trial for command in commands for trial in _trials(command, added, work)))

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        runs = {(each.trial.command, each.trial.label): each for each in finding.runs}
        commands = dict.fromkeys(each.trial.command for each in finding.runs)
        problems = [
            is_red_first(runs.get((command, BEFORE)), runs[command, WITH_TESTS], timeout) for command in commands
        ]
        if any(problems):
            return Verdict(words="new tests fail without the work")
        return Verdict("the tests that you added pass without your work, so they test nothing of it")


def _trials(command: str, added: tuple[Edit, ...], work: Work) -> tuple[Trial, ...]:
    before = work.measured.get(command)
    known = () if before is None else before.failing
    after = Trial(command, Base.START, added, WITH_TESTS, about=known)
    return (after,) if before else (Trial(command, Base.START, label=BEFORE), after)


def is_red_first(before: TrialRan | None, after: TrialRan, timeout: float) -> bool:
    """Whether the new tests made a run fail, or fail in another way than it did without them. Without a run before, the tests that failed
    before the first round are known by name."""
    if not why_red(after.ran, timeout):
        return False
    now = after.ran.report or RunnerReport()
    if before is None:
        return not now.failing or not now.names_all or bool(set(now.failing) - set(after.trial.about))
    then = before.ran.report or RunnerReport()
    fails_alike = now.failed == then.failed and after.ran.exit_code == before.ran.exit_code
    return not (why_red(before.ran, timeout) and fails_alike and now.passed >= then.passed)


GATE = RedFirst()
