"""What proofs share: the step, the trees without the work and with new tests, and the words about a run."""

from __future__ import annotations

import re

from untildone.core.actions import GateStep, RunTrials
from untildone.core.judging.kinds.classify import is_cache
from untildone.core.judging.tables import Kind
from untildone.core.judging.trees import Edit, Remove, Restore, Write, in_order
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.plugins.gate import CommandRan, Finding, PlainGate
from untildone.core.receipts import proving
from untildone.core.receipts.proving import TrialsRan, Work
from untildone.core.values.value import dataclass, replace


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a proof says about its runs."""

    reason: str = ""
    """Why it failed, in a few words; empty: it holds."""
    tail: str = ""
    """Output that shows the agent why."""
    words: str = ""
    """What was found, in a few words: `14 of 15 mutants died`."""
    proves: bool = True
    notes: tuple[str, ...] = ()


class ProofGate(PlainGate):
    """A proof: its steps, and the result of its `verdict`."""

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        if self.name not in proving.chosen(loop.settings):
            return ()
        return (GateStep(self.name, RunTrials(self.name, loop.settings.check_timeout, _seconds_left(loop))),)

    def judge(self, loop: Loop, step: GateStep, finding: Finding) -> GateResult:
        assert isinstance(finding, TrialsRan)
        assert isinstance(step.need, RunTrials)
        verdict = self._verdict(_without_ignored(loop, finding), step.need.timeout)
        return GateResult(
            gate=self.name,
            command=step.command,
            passed=not verdict.reason,
            tail=verdict.tail,
            seconds=finding.seconds,
            reason=verdict.reason,
            room=finding.runs[0].ran.room if finding.runs else None,
            tests=verdict.words,
            proves=verdict.proves,
            notes=(*finding.notes, *verdict.notes),
        )

    def _verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        if finding.problem:
            return Verdict(finding.problem)
        if not finding.planned:
            return Verdict(proves=False)
        if finding.is_cut and not self.judges_parts:
            return Verdict("the time for proofs was over before it had finished (hint: more `--prove-minutes`)")
        return self.verdict(finding, timeout)

    judges_parts = False
    """Whether some of the trials are enough for a verdict."""

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        """The verdict on trials that have all run; on some of them, if `judges_parts`."""
        raise NotImplementedError

    def headline(self, reason: str, command: str) -> str:
        return f"The checks pass, but the proof `{command}` does not hold: {reason}."


def _seconds_left(loop: Loop) -> float:
    """What is left of the time for proofs at the present claim."""
    used = sum(result.seconds for result in loop.gates if result.gate in proving.PROOFS)
    return max(0.0, proving.seconds(loop.settings) - used)


def _without_ignored(loop: Loop, finding: TrialsRan) -> TrialsRan:
    """The trials without the failures that were ignored at the claim."""
    failing = {result.command: result.failing for result in loop.gates if result.failing}
    if not failing:
        return finding
    from untildone.gates.check.ignored import without

    runs = (replace(each, ran=without(each.ran, failing.get(each.trial.command, ()))) for each in finding.runs)
    return replace(finding, runs=tuple(runs))


def why_red(ran: CommandRan, timeout: float) -> str:
    """Why a run failed; empty: it is green."""
    from untildone.gates.check import why_failed

    return why_failed(ran, timeout)


def failures(ran: CommandRan) -> str:
    """How a red run failed, as the subject of a sentence: `3 failed`, `red`."""
    return f"{ran.report.failed} failed" if ran.report and ran.report.failed else "red"


def number_run(words: str) -> int:
    """How many tests ran, from a report in words: 5 of `2 failed, 3 passed, 1 skipped`."""
    numbers = re.findall(r"(\d+) (?:failed|passed)\b", words)
    return sum(map(int, numbers))


def without_work(work: Work) -> tuple[Edit, ...]:
    """The edits of the claimed tree that take the agent's work back and leave judge files as they are."""
    taken_back = [path for path in work.changed if path not in work.judges]
    return in_order(Restore(path) if path in work.before.files else Remove(path) for path in taken_back)


def new_tests(work: Work) -> dict[str, bytes]:
    """The test files that the agent added, with their contents."""
    paths = [file.path for file in work.survey.added if file.kind is Kind.TEST and not is_cache(file.path)]
    work.after.fetch(paths)
    contents = {path: work.after.content(path) for path in paths}
    return {path: content for path, content in contents.items() if content is not None}


def written(contents: dict[str, bytes]) -> tuple[Edit, ...]:
    return tuple(Write(path, content) for path, content in sorted(contents.items()))
