"""The proof `causal`: a check fails again when the agent's work is taken back and all else stays. Then the work made it pass."""

from __future__ import annotations

from untildone.core.judging.wording import names
from untildone.core.plugins.option import Option
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, failures, why_red, without_work

BEFORE, WITHOUT, SAME = "before the work", "without the work", "before and without the work"
LONGEST = 1440.0


class Causal(ProofGate):
    name = "causal"
    declared_options = (
        Option(
            proving.PROVE, "Prove", "find out at the last claim what the checks are worth: every proof", default=False
        ),
        Option(
            proving.MINUTES,
            "Minutes for proofs",
            "the most minutes that proofs take at one claim",
            proving.DEFAULT_MINUTES,
            lowest=0.1,
            highest=LONGEST,
        ),
        Option(name, "Causal", "prove that a check fails again without the agent's work", default=False),
    )

    def trials(self, work: Work) -> Planned:
        """The tree of the start and the claimed tree without the work: one and the same if no judge file is new or changed."""
        if work.all_is_work or not work.judges:
            return Planned(tuple(Trial(command, Base.START, label=SAME) for command in work.commands))
        edits = without_work(work)
        return Planned(
            tuple(
                trial
                for command in work.commands
                for trial in (
                    Trial(command, Base.START, label=BEFORE),
                    Trial(command, Base.CLAIMED, edits, WITHOUT),
                )
            )
        )

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        red = {(each.trial.command, each.trial.label): each for each in finding.runs if why_red(each.ran, timeout)}
        without = [each for (_, label), each in red.items() if label in (WITHOUT, SAME)]
        if without:
            before = next((each for (_, label), each in red.items() if label in (BEFORE, SAME)), None)
            return Verdict(words=_words(before, without[0]))
        before_red = [command for command, label in red if label == BEFORE]
        if before_red:
            return Verdict(
                f"{names(before_red)} failed before the work and passes when your work is taken back and only tests, settings of "
                "test runners and scripts of checks stay as you left them"
            )
        return Verdict("every check passes without your work, so none of them can tell done from not done")


def _words(before: TrialRan | None, without: TrialRan) -> str:
    again = failures(without.ran)
    then = f"{failures(before.ran)} before" if before else "green before"
    return f"{then}, {again} {'again ' if before else ''}without the work"


GATE = Causal()
