"""What the proofs with tests that the agent never sees share: held-out tests, and those of another author."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, number_run, why_red, written
from untildone.gates.canary.deaf import OTHER, why_deaf, with_other_expectations


class UnseenTests(ProofGate):
    """Tests laid over the claimed tree hold. The agent is told that they fail, and not how."""

    label = ""
    """What is special about the run, for people."""
    noun = ""
    """The tests, in words."""
    not_run = ""
    """Why they prove nothing if no check runs them."""

    def files(self, work: Work) -> Mapping[str, bytes]:
        """The tests, by path."""
        raise NotImplementedError

    def trials(self, work: Work) -> Planned:
        """Every check with the files laid over the claimed tree, as they are and with other expectations."""
        files = dict(self.files(work))
        added = written(files)
        texts = {path: content.decode("utf-8", "replace") for path, content in files.items()}
        made, must_fail = with_other_expectations(texts, work.word)
        others = written({**files, **made})
        return Planned(
            tuple(
                trial
                for command in work.commands
                for trial in (
                    Trial(
                        command, Base.CLAIMED, added, self.label, tests_before=number_run(work.tests.get(command, ""))
                    ),
                    *((Trial(command, Base.CLAIMED, others, OTHER, must_fail=must_fail),) if must_fail else ()),
                )
            )
        )

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        plain = {each.trial.command: each for each in finding.runs if each.trial.label == self.label}
        red = [each for each in plain.values() if why_red(each.ran, timeout)]
        if red:
            return Verdict("tests that you cannot see fail: the task is not done in every case that it names")
        more = [each.ran.report.run - each.trial.tests_before for each in plain.values() if each.ran.report]
        if not more or max(more) <= 0:
            return Verdict(self.not_run)
        ran = {command: each for command, each in plain.items() if _runs_more(each)}
        others = [each for each in finding.runs if each.trial.label == OTHER and each.trial.command in ran]
        if any(why_deaf(each, ran[each.trial.command].ran) for each in others):
            return Verdict("tests that you cannot see pass whatever they expect, so they prove nothing")
        return Verdict(words=f"{max(more)} {self.noun} passed")


def _runs_more(each: TrialRan) -> bool:
    """Whether the unseen tests ran beside those of the workspace."""
    return each.ran.report is not None and each.ran.report.run > each.trial.tests_before
