"""The proof `canary`: a test that must fail is added for one run, and in another tests expect other results. A run that passes although
the added test must fail proves nothing, nor does a test that passes with any expected value."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.plugins.option import Option
from untildone.core.receipts.proving import Base, Planned, Trial, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, why_red, written
from untildone.gates.canary.deaf import AT_START, OTHER, TWINS, both_ways, why_deaf
from untildone.gates.canary.languages import failing_test, selects, with_failing_test

MOST_FILES = 200
_DEPENDS = "Tests of `{}` depend on those before them, so these were not compared with changed ones beside them."
LABEL = "with a test that must fail"


class Canary(ProofGate):
    name = "canary"
    declared_options = (
        Option(
            name,
            "Canary",
            "prove that a check fails if a test fails: one that must fail is added for one run",
            default=False,
        ),
    )

    def trials(self, work: Work) -> Planned:
        texts = _test_files(work)
        edits = written(_with_canaries(texts, work.word))
        others = both_ways(texts, work.word)
        commands = [command for command in work.commands if work.tests.get(command) and not selects(command)]
        left_out = [command for command in work.commands if command not in commands]
        notes = [
            f"No canary for `{command}`: it runs no known test runner, or only chosen tests." for command in left_out
        ]
        if not edits:
            return Planned(notes=("No canary: there is no test file of a known language.",))
        planted = [Trial(command, Base.CLAIMED, edits, LABEL) for command in commands]
        other = [trial for command in commands for each in others for trial in each.trials(command, work)]
        return Planned((*planted, *other), tuple(notes))

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        green = [each.trial.command for each in finding.runs if not why_red(each.ran, timeout)]
        if green:
            return Verdict(
                f"`{green[0]}` passes although a test that must fail was added to every test file, so its runs prove nothing"
            )
        runs = {(each.trial.command, each.trial.label): each for each in finding.runs}
        for (command, label), each in runs.items():
            at_start = runs.get((command, AT_START)) if label == TWINS else None
            if label in (OTHER, TWINS) and (reason := why_deaf(each, runs[command, LABEL].ran, at_start)):
                return Verdict(reason)
        notes = tuple(_DEPENDS.format(command) for command, label in runs if label == AT_START)
        return Verdict(words="a planted failure is noticed", notes=notes)


def _test_files(work: Work) -> dict[str, str]:
    paths = [path for path in work.after.files if failing_test(path, "", work.word)][:MOST_FILES]
    work.after.fetch(paths)
    return {path: work.after.text(path) for path in paths if work.after.content(path) is not None}


def _with_canaries(texts: Mapping[str, str], word: str) -> dict[str, bytes]:
    """The test files, each with one more test, which fails."""
    made = {path: with_failing_test(path, text, word) for path, text in texts.items()}
    return {path: text.encode() for path, text in made.items() if text}


GATE = Canary()
