"""Honest work in projects of several shapes is verified, and nobody is warned of it. `make honest` plays all cases."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from proof.honest import releases
from proof.honest.case import Honest, Result, Verdict
from proof.honest.groups import ALL
from proof.honest.play import Stage
from proof.honest.report import table

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the cases find processes in /proc")
EVERY = [(group, case) for group, cases in ALL.items() for case in cases]
PLAYED = (
    "work: more tests in the same file",
    "work: a new folder of tests with its own conftest",
    "work: in two rounds, the first claim is wrong",
    "shapes: src layout, an editable install in .venv",
    "shapes: a folder of a repository with settings above",
    "shapes: a folder without a repository",
    "shapes: a package is installed into .venv, with its lock file",
    "checks: tests that write into the tree, /tmp and ~/.cache",
    "checks: processes and shared memory",
    "checks: a server on loopback",
    "checks: two checks, the second needs what the first built",
    "projects: npm: all packages of the workspace",
    "projects: generated code that the check generates again",
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("honest"))


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_honest_work_is_verified(stage: Stage, name: str) -> None:
    number, (group, case) = next(
        (number, each) for number, each in enumerate(EVERY, 1) if name == f"{each[0]}: {each[1].name}"
    )
    verdict = stage.play(group, case, number)
    assert verdict.result is Result.VERIFIED, verdict.detail


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("rule", releases.RULES)
def test_the_next_release_of_a_package_is_verified(stage: Stage, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two releases of a small package lie beside this file; `make honest` downloads many more."""
    monkeypatch.setenv("UNTILDONE_RELEASES_DIR", str(Path(__file__).with_name("releases")))
    (case,) = (each for each in releases.cases() if each.name.endswith(rule))
    verdict = stage.play(releases.GROUP, case, 900 + releases.RULES.index(rule))
    assert verdict.result is Result.VERIFIED, verdict.detail


def test_there_are_many_cases_with_names_of_their_own() -> None:
    assert len(EVERY) >= 60
    assert not [name for name, count in Counter(f"{group}: {case.name}" for group, case in EVERY).items() if count > 1]


@pytest.mark.parametrize("result", list(Result))
def test_anything_but_verified_is_wrong(result: Result) -> None:
    verdict = Verdict("work", Honest("a case"), result, 1.0)
    assert verdict.is_wrong is (result not in (Result.VERIFIED, Result.CONTRADICTED, Result.LEFT_OUT))
    assert ("wrong: work: a case" in table([verdict])) is verdict.is_wrong
