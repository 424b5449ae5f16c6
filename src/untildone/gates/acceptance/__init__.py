"""The proof `acceptance`: tests that another agent wrote from the task alone, before the work, hold. The worker never sees them."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.loop import Loop
from untildone.core.model import AcceptanceTried, BeforeWork
from untildone.core.plugins.gate import RunnerReport
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.core.values.value import replace
from untildone.gates._proofs import ProofGate, Verdict, written
from untildone.gates._unseen import UnseenTests
from untildone.gates.red_first import is_red_first

ALONE, WITH_TESTS = "before the work", "before the work, with the acceptance tests"
_SAYS_NOTHING = "The acceptance tests passed before any work, so that they pass now proves nothing."


class Acceptance(UnseenTests):
    name = proving.ACCEPTANCE
    label = "with the acceptance tests"
    noun = "acceptance test"
    not_run = "no check runs the acceptance tests any more"

    def files(self, work: Work) -> Mapping[str, bytes]:
        return work.acceptance

    def trials(self, work: Work) -> Planned:
        planned = super().trials(work)
        return replace(planned, notes=(_SAYS_NOTHING,)) if work.says_nothing else planned

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        verdict = super().verdict(finding, timeout)
        return replace(verdict, proves=False) if _SAYS_NOTHING in finding.notes else verdict


class BeforeAnyWork(ProofGate):
    """The checks on the tree of the start, without and with the acceptance tests: the trials of `tried`."""

    name = proving.ACCEPTANCE

    def trials(self, work: Work) -> Planned:
        added = written(dict(work.acceptance))
        return Planned(
            tuple(
                trial
                for command in work.commands
                for trial in (
                    Trial(command, Base.START, label=ALONE),
                    Trial(command, Base.START, added, WITH_TESTS),
                )
            )
        )


def tried(loop: Loop, finding: TrialsRan) -> tuple[AcceptanceTried, ...]:
    """What each check says of the acceptance tests before any work."""
    runs = {(each.trial.command, each.trial.label): each for each in finding.runs}
    pairs = ((runs.get((command, ALONE)), runs.get((command, WITH_TESTS))) for command in loop.settings.checks)
    timeout = loop.settings.check_timeout
    return tuple(_tried(alone, both, timeout) for alone, both in pairs if alone is not None and both is not None)


def _tried(alone: TrialRan, both: TrialRan, timeout: float) -> AcceptanceTried:
    then, now = (each.ran.report or RunnerReport() for each in (alone, both))
    passes = BeforeWork.PASSES if now.run > then.run else BeforeWork.NOT_RUN
    said = BeforeWork.FAILS if is_red_first(alone, both, timeout) else passes
    return AcceptanceTried(both.trial.command, said, now.words, round(both.ran.seconds, 3))


GATE, FIRST = Acceptance(), BeforeAnyWork()
