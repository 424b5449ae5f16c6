"""The proof `held_out`: tests that were never in the workspace hold too. The agent is told that they fail, and not how."""

from __future__ import annotations

from untildone.core.plugins.option import Option
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, Trial, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, number_run, why_red, written

LABEL = "with the held-out tests"


class HeldOut(ProofGate):
    name = proving.HELD_OUT
    declared_options = (
        Option(
            name,
            "Held-out tests",
            "a folder outside of the workspace with tests that the agent never sees, laid over the workspace when it claims to be done",
            "",
        ),
    )

    def trials(self, work: Work) -> Planned:
        """Every check with the files laid over the claimed tree."""
        added = written(dict(work.held_out))
        return Planned(
            tuple(
                Trial(command, Base.CLAIMED, added, LABEL, tests_before=number_run(work.tests.get(command, "")))
                for command in work.commands
            )
        )

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        red = [each for each in finding.runs if why_red(each.ran, timeout)]
        if red:
            return Verdict("tests that you cannot see fail: the task is not done in every case that it names")
        more = [each.ran.report.run - each.trial.tests_before for each in finding.runs if each.ran.report]
        if not more or max(more) <= 0:
            return Verdict(
                "no check runs the held-out tests (hint: lay them out as in the workspace: FOLDER/tests/test_more.py)"
            )
        return Verdict(words=f"{max(more)} held-out tests passed")


GATE = HeldOut()
