"""Checks that name a program by a path, however they write it: the program is a judge file."""

from __future__ import annotations

import pytest
from tests.support.trees import Program, changed, surveyed

from untildone.core.judging.checks.commands import PROFILES, files_by_path, in_tree, programs_by_path, with_words
from untildone.core.judging.survey import Rules

SCRIPT = Program("#!/bin/sh\npython -m pytest -q\n")
RECIPE = "t:\n\tpytest -q\n"
PYTHON = "import calc\nassert calc.add(1, 2) == 3\n"
JAVASCRIPT = "const assert = require('assert'); assert.equal(1, 1)\n"
OWN_FOLDER = Program('#!/bin/sh\nHERE=$(cd "$(dirname "$0")" && pwd)\n"$HERE/go.sh"\n')
START = {
    "calc.py": "def add(a, b): ...\n",
    "tests/test_calc.py": "def test_a():\n    assert True\n",
    "scripts/go.sh": SCRIPT,
    "scripts/x.mk": RECIPE,
    "scripts/jf": "t:\n  pytest\n",
    "scripts/go.py": PYTHON,
    "scripts/go.js": JAVASCRIPT,
    "scripts/check": Program("#!scripts/harness\ncase\n"),
    "scripts/harness": SCRIPT,
    "scripts/check-all": OWN_FOLDER,
    "tools/bats/bin/bats": Program("#!/bin/sh\nexec x\n"),
    "tools/bats/libexec/run": Program("#!/bin/sh\n"),
    "b": Program("#!/usr/bin/env python3\nimport subprocess\nsubprocess.check_call(['cargo', 'test'])\n"),
}
SH = (
    "bash -euo pipefail scripts/go.sh", "bash --rcfile /dev/null scripts/go.sh", "bash < scripts/go.sh", "cat scripts/go.sh | bash",
    "cd -- scripts && ./go.sh", "(cd tests && true) && ./scripts/go.sh", "cd tests; cd - && ./scripts/go.sh",
    "pushd tests && popd && ./scripts/go.sh", 'cd "$(git rev-parse --show-toplevel)" && ./scripts/go.sh', "cd $PWD && ./scripts/go.sh",
    'cd "$ROOT" && ./scripts/go.sh', "env -C scripts ./go.sh", "env -S './scripts/go.sh -x'", "setarch -R ./scripts/go.sh",
    "script -qec './scripts/go.sh x' /dev/null", "find tests -exec ./scripts/go.sh {} +", "C=./scripts/go.sh; $C", "./scripts/g*.sh",
    'for f in scripts/*.sh; do sh "$f"; done', "PATH=$PWD/scripts:$PATH go.sh", 'export PATH="$PWD/scripts:$PATH"; go.sh',
    "./scripts/go.sh | grep -q passed", "out=$(./scripts/go.sh); echo $out", "./scripts/check-all",
)  # fmt: skip
OTHERS = (
    ("make -sf scripts/x.mk t", "scripts/x.mk"),
    ("make -sC scripts -f x.mk t", "scripts/x.mk"),
    ("make -f a.mk -f scripts/x.mk t", "scripts/x.mk"),
    ("MAKEFILES=scripts/x.mk make t", "scripts/x.mk"),
    ("just -f scripts/jf t", "scripts/jf"),
    ("python3 -W error scripts/go.py", "scripts/go.py"),
    ("python3 -Im scripts.go", "scripts/go.py"),
    ("PYTHONPATH=scripts python3 -m go", "scripts/go.py"),
    ("node -r ./h.js scripts/go.js", "scripts/go.js"),
    ("node scripts/go", "scripts/go.js"),
    ("./scripts/check", "scripts/harness"),
    ("tools/bats/bin/bats tests", "tools/bats/libexec/run"),
    ("./b ci", "b"),
)


@pytest.mark.parametrize(("command", "path"), [*((command, "scripts/go.sh") for command in SH), *OTHERS])
def test_the_program_of_a_check_judges(command: str, path: str) -> None:
    claimed = changed(START, {path: Program("#!/bin/sh\necho 6 passed\n")})
    found = surveyed(START, claimed, rules=Rules((in_tree(command, (), ""),)))
    assert path in {file.path for file in found.changed}


@pytest.mark.parametrize("command", ["./app | diff - out.txt", "shellcheck app", "cat app && pytest -q"])
def test_a_product_stays_a_product(command: str) -> None:
    start = {**START, "app": Program("#!/bin/sh\nmake all\n"), "out.txt": "1\n"}
    found = surveyed(start, changed(start, {"app": Program("#!/bin/sh\necho 1\n")}), rules=Rules((command,)))
    assert not found.changed


def test_files_outside_that_a_command_names() -> None:
    assert programs_by_path("../x/run -q && ~/bin/y") == ("../x/run", "~/bin/y")
    assert files_by_path("sh ../x/run.sh") == ("../x/run.sh",)
    assert "../x/./run.sh" in files_by_path("cd ../x && ./run.sh")
    assert "$HOME/run.sh" in files_by_path('"$HOME/run.sh"')
    assert set(files_by_path("bash -lc 'pytest -q'")) == PROFILES
    assert not files_by_path("bash -euo pipefail -c 'pytest -q'")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sh /a/go", "sh /root/go"),
        ("sh /a/go && sh /a/go.sh", "sh /root/go && sh /b/go.sh"),
        ("FOO=/a/go sh '/a/go'", "FOO=/root/go sh '/root/go'"),
        ("sh /a/gone /x/a/go ~/a/go", "sh /a/gone /x/a/go ~/a/go"),
        ("sh $HOME/a/go ${HOME}/a/go", "sh $HOME/a/go ${HOME}/a/go"),
    ],
)
def test_a_path_is_written_otherwise_only_where_it_stands_as_a_whole(command: str, expected: str) -> None:
    assert with_words(command, {"/a/go": "/root/go", "/a/go.sh": "/b/go.sh"}) == expected
