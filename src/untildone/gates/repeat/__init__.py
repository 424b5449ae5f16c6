"""The proof `repeat`: the checks hold each time. A check that passes only sometimes is flaky."""

from __future__ import annotations

from untildone.core.plugins.option import Option
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Base, Planned, Trial, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, why_red

MOST = 100


class Repeat(ProofGate):
    name = proving.REPEAT
    declared_options = (
        Option(
            name,
            "Repeat",
            f"how often a check must pass in a row ({proving.REPEAT_WITH_PROVE} times with --prove)",
            1,
            lowest=1,
            highest=MOST,
        ),
    )

    def trials(self, work: Work) -> Planned:
        """The first run was that of the check itself."""
        option = work.options.get(self.name, 1)
        number = option if isinstance(option, int) and option > 1 else proving.REPEAT_WITH_PROVE
        again = range(2, number + 1)
        return Planned(
            tuple(Trial(command, Base.CLAIMED, label=f"run {run}") for command in work.commands for run in again)
        )

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        for command in dict.fromkeys(each.trial.command for each in finding.runs):
            runs = [each.ran for each in finding.runs if each.trial.command == command]
            failed = [ran for ran in runs if why_red(ran, timeout)]
            if failed:
                passed, all_runs = 1 + len(runs) - len(failed), 1 + len(runs)
                return Verdict(f"`{command}` is flaky: {passed} of {all_runs} runs passed", failed[0].tail)
        most = max(sum(other.trial.command == each.trial.command for other in finding.runs) for each in finding.runs)
        return Verdict(words=f"passes {most + 1} times of {most + 1}")


GATE = Repeat()
