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
    "tools/node.js": "require('child_process').spawnSync(process.execPath, process.argv.slice(2))\n",
    "tools/parse.py": "import argparse, subprocess\np = argparse.ArgumentParser()\n"
    "p.add_argument('c', nargs='...')\nsubprocess.call(p.parse_args().c)\n",
    "tools/exec.pl": "exec @ARGV;\n",
    "tools/run.php": "<?php array_shift($argv); passthru(implode(' ', $argv), $code); exit($code);\n",
    "bin/first": Program('#!/bin/sh\nexec "$1" -q\n'),
    "bin/line": Program('#!/bin/bash\nbash -c "$*"\n'),
    "bin/kept": Program('#!/bin/bash\nline=("$@")\nretry() { "${line[@]}"; }\nretry || retry\n'),
    "bin/todo": Program(
        '#!/bin/bash\nadd() { echo "$*" >> list; }\nmain() {\n  case "$1" in\n'
        '    task) shift; add "$@" ;;\n    go | make) add "$@" ;;\n  esac\n}\nmain "$@"\n'
    ),
    "bin/app": Program('#!/bin/sh\nexec python3 app.py "$@"\n'),
    "bin/own": Program('#!/bin/bash\ncommand_go() { sort "$@"; }\nname=$1; shift\n"command_$name" "$@"\n'),
    "run": Program('#!/bin/bash\ndiff() { echo; }\n"$@"\n'),
    "compile.py": "import subprocess, sys\nsubprocess.check_call(['cc', *sys.argv[1:]])\n",
    "bin/sorted": Program('#!/bin/sh\nsort "$@"\n'),
    "tests/check.c": "int main() {}\n",
    "tests/check.py": "assert True\n",
    "scripts/all.sh": Program("#!/bin/sh\nscripts/shift.sh --env dev pytest -q\n"),
    "scripts/shift.sh": Program('#!/bin/sh\nshift 2\nexec "$@"\n'),
    "scripts/activate.sh": Program("#!/bin/sh\n. .venv/bin/activate\npython scripts/main.py\n"),
    "scripts/main.py": "import sys, pytest\nsys.exit(pytest.main([]))\n",
    "scripts/lines.sh": Program(
        '#!/bin/bash\nLIST="$(dirname "$0")/lines.txt"\nwhile read -r each; do pytest "$each" || exit 1; done < "$LIST"\n'
    ),
    "scripts/lines.txt": "tests\n",
    "samples/a.in": "1\n",
    "samples/a.out": "2\n",
    "samples/b/out": "2\n",
    "golden/site/index.html": "<p>\n",
    "VERSION": "1.0\n",
    "CHANGELOG.md": "# 1.0\n",
    "requirements.txt": "six\n",
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
    ("node tools/node.js --test", "tools/node.js"),
    ("python3 tools/parse.py pytest -q", "tools/parse.py"),
    ("perl tools/exec.pl prove -r t", "tools/exec.pl"),
    ("php tools/run.php vendor/bin/phpunit", "tools/run.php"),
    ("bin/first pytest", "bin/first"),
    ("bin/line 'pytest -q'", "bin/line"),
    ("bin/kept pytest -q", "bin/kept"),
    ("bin/in make check", "bin/in"),
    ("pytest $(cat -s suites)", "suites"),
    ("pytest $(tac suites)", "suites"),
    ("pytest $(perl -ne print suites)", "suites"),
    ("pytest $(python3 -c \"print(open('suites').read())\")", "suites"),
    ('LIST=suites; xargs pytest < "$LIST"', "suites"),
    ("LIST=suites; pytest $(cat $LIST)", "suites"),
    ("NAMES=$(cut -f1 suites); mkdir -p out; pytest $NAMES", "suites"),
    ("cut -f1 suites | while read each; do pytest $each; done", "suites"),
    ("cat suites | grep -v '^#' | xargs pytest", "suites"),
    ("set -e; mapfile -t names < <(grep -v '^#' suites); pytest \"${names[@]}\"", "suites"),
    ('PYTEST_ADDOPTS="$(cat dev.env)" pytest', "dev.env"),
    ("set -a; source <(cat dev.env); pytest", "dev.env"),
    ("scripts/all.sh", "scripts/shift.sh"),
    ("scripts/activate.sh", "scripts/main.py"),
    ("scripts/lines.sh", "scripts/lines.txt"),
    ("for i in samples/*.in; do python3 calc.py < $i | diff - ${i%.in}.out || exit 1; done", "samples/a.out"),
    ("for i in samples/*.in; do cmp <(python3 calc.py < $i) ${i/.in/.out} || exit 1; done", "samples/a.out"),
    ('for i in samples/*/; do python3 calc.py > got; cmp -s got "$i/out" || exit 1; done', "samples/b/out"),
    ("python3 calc.py && diff -r golden out", "golden/site/index.html"),
    ("python3 names.py && diff VERSION CHANGELOG.md", "VERSION"),
    ("python3 calc.py | diff - VERSION", "VERSION"),
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
    ("yarn workspace @x/a run test", "packages/a/package.json"),
    ("yarn workspaces foreach -A run test", "packages/a/package.json"),
    ("npx nx run-many -t test", "packages/a/package.json"),
    ("npx nx run @x/a:test", "packages/a/package.json"),
    ("npx run-p 'te*'", "package.json"),
    ("npx concurrently npm:test 'npm:lint:*'", "package.json"),
    ("npx concurrently 'npm run test'", "package.json"),
    ("npx start-server-and-test start 3000 test", "package.json"),
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
    ("bin/todo task add && test -s list", "bin/todo"),
    ("bin/todo make tea && test -s list", "bin/todo"),
    ("bin/own go suites", "bin/own"),
    ("bin/app run pytest", "bin/app"),
    ("./run diff && pytest -q", "run"),
    ("python3 compile.py tests/check.c && ./a.out", "compile.py"),
    ('test "$(bin/sorted tests/check.py)" = 1', "bin/sorted"),
    ("head -1 CHANGELOG.md | grep -q 2.0 && pytest -q", "CHANGELOG.md"),
    ('test "$(sed -n 1p CHANGELOG.md | wc -w)" = 2 && pytest -q', "CHANGELOG.md"),
    ('test "$(cat VERSION)" = 2.0 && pytest -q', "VERSION"),
    ("diff VERSION CHANGELOG.md && pytest -q", "VERSION"),
    ("V=$(cat VERSION); echo $V; pytest -q $ARGS", "VERSION"),
    ("V=$(grep 1 VERSION); echo $V; pytest -q $(cat suites)", "CHANGELOG.md"),
    ("PATH=$PWD/bin:$PATH pytest -q $ARGS CHANGELOG.md", "CHANGELOG.md"),
    ("python3 calc.py && diff -r samples out", "samples/a.in"),
    ("docker build -t a:$(cat VERSION) . && pytest -q", "VERSION"),
    ("V=$(head -1 VERSION); pytest -q", "VERSION"),
    ("make VERSION=$(cat VERSION) check", "VERSION"),
    ("cat requirements.txt | xargs pip install && pytest -q", "requirements.txt"),
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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pattern", ["[a--b]*", "[&&]x", "[^~~]", "[||]", "[a[b]"])
def test_a_pattern_with_unusual_signs_is_read_without_a_warning(pattern: str) -> None:
    start = {"tests/test_calc.py": "", "go.sh": Program("#!/bin/sh\npytest -q\n")}
    command = f"for each in {pattern} *.sh; do sh $each; done"
    found = surveyed(start, changed(start, {"go.sh": Program("true\n")}), command)
    assert [file.path for file in found.changed] == ["go.sh"]
