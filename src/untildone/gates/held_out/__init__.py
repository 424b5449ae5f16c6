"""The proof `held_out`: tests that were never in the workspace hold too. The agent is told that they fail, and not how."""

from __future__ import annotations

from untildone.core.plugins.option import Option
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, number_run, why_red, written
from untildone.gates.canary.deaf import OTHER, why_deaf, with_other_expectations

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
        """Every check with the files laid over the claimed tree, as they are and with other expectations."""
        added = written(dict(work.held_out))
        texts = {path: content.decode("utf-8", "replace") for path, content in work.held_out.items()}
        made, must_fail = with_other_expectations(texts, work.word)
        others = written({**work.held_out, **made})
        return Planned(
            tuple(
                trial
                for command in work.commands
                for trial in (
                    Trial(command, Base.CLAIMED, added, LABEL, tests_before=number_run(work.tests.get(command, ""))),
                    *((Trial(command, Base.CLAIMED, others, OTHER, must_fail=must_fail),) if must_fail else ()),
                )
            )
        )

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        plain = {each.trial.command: each for each in finding.runs if each.trial.label == LABEL}
        red = [each for each in plain.values() if why_red(each.ran, timeout)]
        if red:
            return Verdict("tests that you cannot see fail: the task is not done in every case that it names")
        more = [each.ran.report.run - each.trial.tests_before for each in plain.values() if each.ran.report]
        if not more or max(more) <= 0:
            return Verdict(
                "no check runs the held-out tests (hint: lay them out as in the workspace: FOLDER/tests/test_more.py)"
            )
        ran = {command: each for command, each in plain.items() if _runs_more(each)}
        others = [each for each in finding.runs if each.trial.label == OTHER and each.trial.command in ran]
        if any(why_deaf(each, ran[each.trial.command].ran) for each in others):
            return Verdict("tests that you cannot see pass whatever they expect, so they prove nothing")
        return Verdict(words=f"{max(more)} held-out tests passed")


def _runs_more(each: TrialRan) -> bool:
    """Whether the held-out tests ran beside those of the workspace."""
    return each.ran.report is not None and each.ran.report.run > each.trial.tests_before


GATE = HeldOut()
