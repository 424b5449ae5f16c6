"""Targets of make that no plain rule defines, as by patterns, variables and included files: their recipes are those of the start."""

from __future__ import annotations

import pytest
from tests.support.trees import changed, composed, surveyed

START = {"calc.py": "", "tests/test_calc.py": "", "test_a.c": "int main() {}\n"}
TARGETS = {
    "a pattern": ({"Makefile": "test-%:\n\tpytest -q tests/$*\n"}, "make test-unit"),
    "a list with a pattern": ({"Makefile": "ALL = test-a test-b\n$(ALL): test-%:\n\tpytest -q $*\n"}, "make test-a"),
    "a variable": ({"Makefile": "NAME = check\n$(NAME):\n\tpytest -q\n"}, "make check"),
    "what nothing else makes": ({"Makefile": ".DEFAULT:\n\tpytest -q\n"}, "make check"),
    "a rule that is evaluated": (
        {"Makefile": "define RULE\n$(1):\n\tpytest -q\nendef\n$(eval $(call RULE,check))\n"},
        "make check",
    ),
    "an included file": (
        {"Makefile": "RUN = pytest -q\ninclude mk/check.mk\n", "mk/check.mk": "check:\n\t$(RUN)\n"},
        "make check",
    ),
    "a file that an included one includes": (
        {"Makefile": "RUN = pytest -q\ninclude a.mk\n", "a.mk": "include b.mk\n", "b.mk": "check:\n\t$(RUN)\n"},
        "make check",
    ),
    "a file that a variable names": (
        {"Makefile": "RUN = pytest -q\nMORE ?= more.inc\ninclude $(MORE)\n", "more.inc": "check:\n\t$(RUN)\n"},
        "make check",
    ),
}


@pytest.mark.parametrize("case", TARGETS)
def test_the_recipe_of_the_start_counts_however_make_finds_the_target(case: str) -> None:
    files, command = TARGETS[case]
    start = {**START, **files}
    claimed = changed(start, {"Makefile": start["Makefile"].replace("pytest -q", "echo 6 passed")})
    found = surveyed(start, claimed, command)
    assert composed(start, claimed, found.originals)["Makefile"] == start["Makefile"]


def test_a_rule_in_the_place_of_one_that_make_knows_is_a_change() -> None:
    start = {**START, "Makefile": "CFLAGS = -Wall\n"}
    claimed = changed(start, {"Makefile": "CFLAGS = -Wall\ntest_a:\n\techo '#!/bin/sh' > $@\n"})
    assert [file.path for file in surveyed(start, claimed, "make test_a && ./test_a").changed] == ["Makefile"]


def test_what_an_included_file_names_is_followed() -> None:
    start = {**START, "Makefile": "include ci.mk\n", "ci.mk": "run = sh scripts/$(1).sh\ncheck:\n\t$(call run,go)\n"}
    start["scripts/go.sh"] = "pytest -q\n"
    found = surveyed(start, changed(start, {"scripts/go.sh": "true\n"}), "make check")
    assert [file.path for file in found.changed] == ["scripts/go.sh"]


HONEST = {
    "a target that the check asks for and that was not there": (
        {"Makefile": "include mk/vars.mk\nall:\n\ttrue\n", "mk/vars.mk": "A = 1\n"},
        "check:\n\tpytest -q\n",
    ),
    "a target beside one of a pattern": ({"Makefile": "chec%:\n\tpytest -q\n"}, "clean:\n\trm -rf out\n"),
    "a target beside one that is included": (
        {"Makefile": "include mk/check.mk\n", "mk/check.mk": "check:\n\tpytest -q\n"},
        "clean:\n\trm -rf out\n",
    ),
}


@pytest.mark.parametrize("case", HONEST)
def test_a_new_target_beside_the_check_is_no_change(case: str) -> None:
    files, more = HONEST[case]
    start = {**START, **files}
    claimed = changed(start, {"Makefile": start["Makefile"] + more})
    found = surveyed(start, claimed, "make check")
    assert composed(start, claimed, found.originals)["Makefile"] == claimed["Makefile"]
