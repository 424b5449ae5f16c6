"""Which known test runners a shell command names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from untildone.core.shell.filters import hides_lines
from untildone.core.shell.splitting import SimpleCommand, simple_commands
from untildone.core.shell.wrappers import Words, program, script_for_shell, unwrapped
from untildone.core.values.value import dataclass, replace
from untildone.gates.check.patterns import SPREAD
from untildone.gates.check.programs import KnownRunner, may_run_tests, runner_of

DEEPEST = 4
"""How many shells inside each other are looked into."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a test runner that the command names."""

    name: str
    """What people call the runner: `pytest`, `go test`."""
    runners: frozenset[str]
    """The runners, as `patterns` names them, of which one must report."""
    certain: bool = True
    repeated: bool = False
    negated: bool = False
    advice: str = ""
    """What to change if the runner does not report."""
    filtered_by: str = ""
    """A program after a pipe that may leave out lines of its output."""
    repeats_failed: bool = False
    """Whether the runner is run again if it failed, as in `pytest || pytest --lf`."""


@dataclass(frozen=True, slots=True)
class Naming:
    """What a command says about the test runners that it runs."""

    runs: tuple[Run, ...] = ()
    indirect: bool = False
    """Whether it also runs something that can run any test runner: make, a package script, a file."""

    @property
    def negated(self) -> bool:
        """Whether it wants tests to fail, as `! pytest` does."""
        return any(run.negated for run in self.runs)

    def counts(self, runner: str) -> bool:
        """Whether what `runner` reports says something about the command."""
        return not self.runs or self.indirect or any(runner in run.runners for run in self.runs)

    def runs_of(self, runner: str) -> int | None:
        """How many times the command names `runner`; None: in a loop."""
        runs = [run for run in self.runs if runner in run.runners]
        return None if any(run.repeated for run in runs) else len(runs)

    def repeats_failed(self, runner: str) -> bool:
        """Whether the command runs `runner` again if it failed."""
        return any(run.repeats_failed for run in self.runs if runner in run.runners)


def named(command: str, depth: int = 0) -> Naming:
    """The runs of test runners that `command` names, in order. Runs that `||` joins are one run: the last one made decides."""
    runs: list[Run] = []
    indirect = False
    commands = simple_commands(command)
    for number, simple in enumerate(commands):
        if simple.captured:
            continue
        inner = _named_by(simple, depth)
        indirect = indirect or inner.indirect
        filtered_by = "" if "pipefail" in command else _filter(commands[number:])
        for run in (replace(each, filtered_by=each.filtered_by or filtered_by) for each in inner.runs):
            if simple.operator == "||" and runs:
                runs[-1] = _either(runs[-1], run)
            else:
                runs.append(run)
    return Naming(tuple(runs), indirect)


def _filter(commands: tuple[SimpleCommand, ...]) -> str:
    """The program in the pipe after the first command that may leave out lines; empty: there is none."""
    for before, simple in pairwise(commands):
        if before.ended_by not in ("|", "|&"):
            return ""
        if hides_lines(unwrapped(simple.words)):
            return program(unwrapped(simple.words)[0])
    return ""


def _either(first: Run, second: Run) -> Run:
    name = first.name if first.name == second.name else f"{first.name} or {second.name}"
    return replace(first, name=name, runners=first.runners | second.runners, filtered_by="", repeats_failed=True)


def _named_by(simple: SimpleCommand, depth: int) -> Naming:
    words = unwrapped(simple.words)
    script = script_for_shell(words)
    if script is not None:
        return named(script, depth + 1) if depth < DEEPEST else Naming(indirect=True)
    runner = runner_of(words)
    if runner is None:
        return Naming(indirect=may_run_tests(simple.words) or may_run_tests(words))
    run = Run(
        name=runner.name,
        runners=runner.runners,
        certain=simple.certain,
        repeated=simple.repeated,
        negated=simple.negated,
        advice=_advice(simple, runner, words),
    )
    return Naming((run,))


# With these options, a runner prints no summary if all tests pass.
_QUIET = {"maven": r"-q|--quiet", "gradle": r"-q|--quiet", "pytest": r"-q{2,}"}


def _advice(simple: SimpleCommand, runner: KnownRunner, words: Words) -> str:
    if simple.to_file:
        return "its output goes into a file: write `| tee FILE` instead of `> FILE`"
    quiet = _quiet_option(runner, words)
    return f"leave out `{quiet}`" if quiet else ""


def _quiet_option(runner: KnownRunner, words: Words) -> str:
    pattern = _QUIET.get(runner.name)
    return next((word for word in words if pattern and re.fullmatch(pattern, word)), "")


def silencing_option(command: str) -> str:
    """The option with which `command` can never show that its tests ran; empty: there is none. pytest still shows its dots."""
    for simple in simple_commands(command):
        words = unwrapped(simple.words)
        runner = runner_of(words)
        if runner is not None and runner.name != "pytest" and (option := _quiet_option(runner, words)):
            return option
    return ""


def missing(naming: Naming, summaries: dict[str, int]) -> Iterator[str]:
    """A clause for each named runner that printed fewer summaries than it ran."""
    groups: dict[frozenset[str], list[Run]] = {}
    for run in naming.runs:
        groups.setdefault(run.runners, []).append(run)
    for runners, runs in groups.items():
        filtered = [run for run in runs if run.filtered_by]
        if filtered and runners & SPREAD:
            yield f"the output of {filtered[0].name} goes through {filtered[0].filtered_by}, which may leave out what failed (leave it out)"
            continue
        printed = sum(summaries.get(runner, 0) for runner in runners)
        expected = max(1, sum(run.certain for run in runs))
        if printed < expected:
            yield _clause(runs[0], expected, printed)


def _clause(run: Run, expected: int, printed: int) -> str:
    advice = f" ({run.advice})" if run.advice else ""
    if not printed:
        return f"{run.name} printed no summary: no sign that tests ran{advice}"
    return f"{run.name} printed {printed} of {expected} summaries: no sign that all tests ran{advice}"
