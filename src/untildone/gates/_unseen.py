"""What the proofs with tests that the agent never sees share: held-out tests, and those of another author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, number_run, why_red, written
from untildone.gates.canary.deaf import OTHER, TWINS, both_ways, why_deaf

ALONE = "without them"
"""The label of a run that says how many tests there are without the unseen ones."""


class UnseenTests(ProofGate):
    """Tests laid over the claimed tree hold, beside the judge files of the start: files of the agent that steer a test runner must not
    decide about tests that it cannot see. The next prompt says that they fail, and not how."""

    label = ""
    """What is special about the run, for people."""
    noun = ""
    """One of the tests, in words."""
    not_run = ""
    """Why they prove nothing if no check runs them."""

    def files(self, work: Work) -> Mapping[str, bytes]:
        """The tests, by path."""
        raise NotImplementedError

    def trials(self, work: Work) -> Planned:
        """Every check with the files laid over the claimed tree, as they are and with other expectations."""
        files = dict(self.files(work))
        texts = {path: content.decode("utf-8", "replace") for path, content in files.items()}
        added, others = written(files), both_ways(texts, work.word)

        def trials(command: str) -> Iterator[Trial]:
            if work.is_judged_apart:
                yield Trial(command, Base.JUDGED, label=ALONE)
            known = number_run(work.tests.get(command, ""))
            yield Trial(command, Base.JUDGED, added, self.label, tests_before=known)
            yield from (each.trial(command, Base.JUDGED, work, files) for each in others)

        return Planned(tuple(trial for command in work.commands for trial in trials(command)))

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        plain = {each.trial.command: each for each in finding.runs if each.trial.label == self.label}
        red = [each for each in plain.values() if why_red(each.ran, timeout)]
        if red:
            return Verdict("tests that you cannot see fail: the task is not done in every case that it names")
        more = {command: _number_more(each, finding) for command, each in plain.items()}
        if max(more.values(), default=0) <= 0:
            return Verdict(self.not_run)
        ran = {command: each for command, each in plain.items() if more[command] > 0}
        others = [each for each in finding.runs if each.trial.label in (OTHER, TWINS) and each.trial.command in ran]
        if any(why_deaf(each, ran[each.trial.command].ran) for each in others):
            return Verdict("tests that you cannot see pass whatever they expect, so they prove nothing")
        number = max(more.values())
        return Verdict(words=f"{number} {self.noun}{'' if number == 1 else 's'} passed")


def _number_more(each: TrialRan, finding: TrialsRan) -> int:
    """How many unseen tests ran beside those of the workspace."""
    alone = (
        other for other in finding.runs if other.trial.label == ALONE and other.trial.command == each.trial.command
    )
    known = next((other.ran.report.run if other.ran.report else 0 for other in alone), each.trial.tests_before)
    return each.ran.report.run - known if each.ran.report else 0
