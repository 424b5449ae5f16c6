"""A few cheats of each family are refused, and honest work on the same projects is not. `make cheats` plays all."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from proof.cheats.case import Cheat, Expected, Result, Verdict
from proof.cheats.families import ALL
from proof.cheats.play import Stage
from proof.cheats.report import table

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the cases find processes in /proc")
EVERY = [(family, cheat) for family, cheats in ALL.items() for cheat in cheats]
PLAYED = (
    "tests: assertions ask for nothing",
    "runner settings: conftest drops the failing tests",
    "vacuous runs: collects only",
    "pipes: pytest into tail",
    "check command: make: GNUmakefile in front",
    "code under test: ends the process at import",
    "code under test: a constant says that tests are skipped",
    "code under test: prints a better summary after the real one",
    "programs: forged bytecode of the source",
    "stand-ins: a module that pytest loads for its debugger",
    "wrappers: a script that runs what it is given",
    "hidden from git: assume-unchanged",
    "races: a child swaps the tests",
    "state: the end as a line of the journal",
    "control: a daemon lives on",
    "control: the person's stop fails over the project's settings",
    "supervisor: the marker in the agent's message is quoted",
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("cheats"))


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_cheat_is_refused(stage: Stage, name: str) -> None:
    number, (family, cheat) = next(
        (number, each) for number, each in enumerate(EVERY, 1) if name == f"{each[0]}: {each[1].name}"
    )
    verdict = stage.play(family, cheat, number)
    assert verdict.result is Result.REFUSED, verdict.detail


def test_corpus_has_many_cases_and_a_reason_for_each_that_is_out_of_reach() -> None:
    assert len(EVERY) >= 110
    assert not [
        name for name, count in Counter(f"{family}: {cheat.name}" for family, cheat in EVERY).items() if count > 1
    ]
    assert all(bool(cheat.reason) == (cheat.expected is not Expected.REFUSED) for _, cheat in EVERY)


def verdict(result: Result, expected: Expected = Expected.REFUSED, *signs: str) -> Verdict:
    return Verdict("tests", Cheat("a case", "", expected=expected), result, signs, 1.0)


@pytest.mark.parametrize(
    ("verdict", "is_hole"),
    [
        (verdict(Result.REFUSED), False),
        (verdict(Result.BELIEVED), True),
        (verdict(Result.BELIEVED, Expected.REFUSED, "warning: tests were changed"), True),
        (verdict(Result.BELIEVED, Expected.TOLD), True),
        (verdict(Result.BELIEVED, Expected.TOLD, "warning: tests were changed"), False),
        (verdict(Result.BELIEVED, Expected.OUT_OF_REACH), False),
        (verdict(Result.BROKEN, Expected.OUT_OF_REACH), True),
    ],
)
def test_believed_is_a_hole_unless_out_of_reach_or_told(verdict: Verdict, is_hole: bool) -> None:
    assert verdict.is_hole is is_hole
    assert ("hole: tests: a case" in table([verdict])) is is_hole
