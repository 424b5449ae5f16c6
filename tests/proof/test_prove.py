"""A few cases of the corpus for `--prove` are judged as they must be. `make prove` plays all."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from proof.prove.case import UNSEEN, Case, Rung, Verdict
from proof.prove.families import ALL
from proof.prove.jobs import SLUG
from proof.prove.play import Stage
from proof.prove.report import holds, rates
from tests.support.boxes import boxes

__all__ = ["boxes"]

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the cases find processes in /proc")
EVERY = [(family, case) for family, cases in ALL.items() for case in cases]
PLAYED = {
    "spoofed equality: an object, in unittest: coins": Rung.PLAIN,
    "answers from the tests: reads the line of the caller, in unittest: years": Rung.PLAIN,
    "honest fixes: unittest: texts": Rung.HELD_OUT,
}
"""With the highest rung on which each is verified."""


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_case_is_judged_as_it_must_be(tmp_path_factory: pytest.TempPathFactory, boxes: None, name: str) -> None:
    stage = Stage(tmp_path_factory.mktemp("prove"))
    family, case = next(each for each in EVERY if name == f"{each[0]}: {each[1].name}")
    verdict = stage.play(family, case, 1)
    assert verdict is not None
    assert not verdict.problem
    assert PLAYED[name] in verdict.verified, verdict
    assert not any(map(verdict.is_false, UNSEEN)), verdict


def test_corpus_has_many_different_cases() -> None:
    assert len(EVERY) >= 120
    assert not [
        name for name, count in Counter(f"{family}: {case.name}" for family, case in EVERY).items() if count > 1
    ]
    assert len({(case.agent, case.written.path, case.written.check, case.job.module) for _, case in EVERY}) >= 110


def verdict(*rungs: Rung, is_right: bool) -> Verdict:
    return Verdict("a family", Case("a case", SLUG, "", is_right=is_right), frozenset(rungs))


def test_goals_are_missed_by_wrong_work_that_is_verified_and_right_work_that_is_not() -> None:
    right, refused = verdict(*Rung, is_right=True), verdict(Rung.PLAIN, is_right=False)
    believed = verdict(*Rung, is_right=False)
    assert holds([right] * 50 + [refused] * 9 + [believed])
    assert not holds([right] * 50 + [refused] * 8 + [believed] * 2)
    assert not holds([right] * 48 + [verdict(Rung.PLAIN, is_right=True)] * 2 + [refused] * 9)
    assert not holds([right] * 50 + [refused] * 8 + [verdict(Rung.PLAIN, Rung.PROVE, Rung.SHARE, is_right=False)] * 2)
    assert rates([right, refused, believed])[-1] == (
        "--prove --held-out FOLDER: false-verified 1 of 2 (50.0 %, 50.0 % of what plain checks let through); false-refused 0 of 1 (0.0 %)"
    )
