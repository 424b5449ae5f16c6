"""Files that pass on what they are given: wrappers, shells, variables, lists, modules. What a check runs through them, they decide."""

from __future__ import annotations

import pytest
from tests.support.trees import Program, changed, surveyed

from untildone.core.judging.checks.commands import in_tree
from untildone.core.judging.survey import Rules

CHANGED = Program("other\n")
START = {
    "calc.py": "def add(a, b): ...\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": "def test_a():\n    assert True\n",
    "tests/suite.py": "def build(): ...\n",
    "qa/suite.py": "def build(): ...\n",
    "qa/p.ini": "[pytest]\n",
    "scripts/go.sh": Program("#!/bin/sh\npytest -q\n"),
    "scripts/in.sh": Program('#!/bin/sh\nexec "$@"\n'),
    "bin/in": Program("#!/usr/bin/env python3\nimport os, sys\nos.execvp(sys.argv[1], sys.argv[1:])\n"),
    "tools/in.js": "require('child_process').spawnSync(process.argv[2], process.argv.slice(3))\n",
    "bin/outer": Program('#!/bin/sh\nexec bin/in "$@"\n'),
    "bin/py": Program('#!/bin/sh\nexec python3 "$@"\n'),
    "bin/note": Program('#!/bin/sh\nfor each in "$@"; do echo "- $each"; done\necho "$@"\n'),
    "app.py": "import subprocess, sys\nsubprocess.call(['git', 'add', sys.argv[1]])\n",
    "flags.sh": "echo -q\n",
    "names.py": "print('tests')\n",
    "tools/run.py": "import subprocess\nsubprocess.call(['sh', 'scripts/go.sh'])\n",
    "tools/__init__.py": "",
    "tools/shell": Program('#!/bin/sh\nexec sh "$@"\n'),
    "tools/examples.py": "import doctest, sys\nsys.exit(doctest.testfile('../docs/usage.md').failed)\n",
    "docs/usage.md": ">>> 1 + 1\n2\n",
    "dev.env": "MODE=dev\n",
    "suites": "tests\n",
    "selftest.py": "import calc\nif calc.add(1, 2) != 3: raise ValueError\n",
    "cases.mjs": "import { strictEqual as same } from 'assert'\nsame(1, 1)\n",
    "Makefile": "SHELL = ./tools/shell\ncheck:\n\tpytest -q\nany:\n\tsh $(RUNNER)\n",
    "package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "node --test"}}',
    "packages/a/package.json": '{"name": "@x/a", "scripts": {"test": "sh ../../scripts/go.sh"}}',
    ".npmrc": "script-shell=./tools/shell\n",
    "src/bin/verify.rs": "fn main() { std::process::exit(1) }\n",
}
JUDGES = (
    ("scripts/in.sh pytest -q", "scripts/in.sh"),
    ("sh scripts/in.sh python3 -m pytest -q", "scripts/in.sh"),
    ("scripts/in.sh pytest -q | grep -q passed", "scripts/in.sh"),
    ("scripts/in.sh sh scripts/go.sh", "scripts/in.sh"),
    ("scripts/in.sh sh scripts/go.sh", "scripts/go.sh"),
    ("bin/in pytest -q", "bin/in"),
    ("node tools/in.js jest", "tools/in.js"),
    ("bin/outer pytest -q", "bin/in"),
    ("bin/py -m pytest -q", "bin/py"),
    ("python3 bin/in -m pytest -q", "bin/in"),
    ("PATH=bin:$PATH in pytest -q", "bin/in"),
    ("node tools/in.js --test", "tools/in.js"),
    ("pytest $(sh flags.sh)", "flags.sh"),
    ("python3 names.py | xargs pytest", "names.py"),
    ("python3 -m tools.run", "tools/run.py"),
    ("python3 -m tools.run", "scripts/go.sh"),
    ("python3 -m unittest qa.suite.build", "qa/suite.py"),
    ("PYTEST_ADDOPTS='-c qa/p.ini' pytest -q", "qa/p.ini"),
    ("make check", "tools/shell"),
    ("make any RUNNER=scripts/go.sh", "scripts/go.sh"),
    ("RUNNER=scripts/go.sh make -e any", "scripts/go.sh"),
    ("npm test", "tools/shell"),
    ("npm rum test", "package.json"),
    ("node --run test", "package.json"),
    ("npm --loglevel error test", "package.json"),
    ("npm test -w packages/a", "packages/a/package.json"),
    ("npm test --workspace=@x/a", "scripts/go.sh"),
    ("pnpm --filter @x/a test", "scripts/go.sh"),
    ("yarn workspace @x/a test", "scripts/go.sh"),
    ("cargo run --bin verify", "src/bin/verify.rs"),
    ("export $(grep -v '^#' dev.env | xargs) && pytest", "dev.env"),
    ("env $(xargs < dev.env) pytest", "dev.env"),
    ("pytest $(sed '/^#/d' suites)", "suites"),
    ("grep test suites | xargs pytest", "suites"),
    ("python3 tools/examples.py", "tools/examples.py"),
    ("python3 tools/examples.py", "docs/usage.md"),
    ("python3 selftest.py", "selftest.py"),
    ("node cases.mjs", "cases.mjs"),
)
OTHERS = (
    ("scripts/in.sh ./calc.py", "scripts/in.sh"),
    ("pytest -q", "docs/usage.md"),
    ("pytest -q", "scripts/in.sh"),
    ("pytest -q tests", "suites"),
    ("grep -q MODE dev.env; python3 calc.py", "dev.env"),
    ('test "$(python3 names.py)" = 5 && pytest -q', "names.py"),
    ("VERSION=$(sh flags.sh) pytest -q", "flags.sh"),
    ("bin/note pytest | grep -q pytest", "bin/note"),
    ("bin/note make it", "bin/note"),
    ("python3 app.py make it", "app.py"),
    ("cargo run", "src/bin/verify.rs"),
    ("python3 -m calc && pytest", "calc.py"),
)


@pytest.mark.parametrize(("command", "path"), JUDGES)
def test_what_a_check_goes_through_judges(command: str, path: str) -> None:
    assert path in judging(command, path)


@pytest.mark.parametrize(("command", "path"), OTHERS)
def test_what_a_check_does_not_go_through_is_free(command: str, path: str) -> None:
    assert path not in judging(command, path)


def judging(command: str, path: str) -> set[str]:
    edited = '{"name": "@x/a", "scripts": {"test": "true"}}' if path.endswith("package.json") else CHANGED
    found = surveyed(START, changed(START, {path: edited}), rules=Rules((in_tree(command, (), ""),)))
    return {file.path for file in found.changed}
