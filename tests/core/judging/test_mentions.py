"""Commands that are not understood wholly: the scripts that their texts mention judge, and what they test does not."""

from __future__ import annotations

import pytest
from tests.support.trees import Program, changed, surveyed

from untildone.core.judging.checks.commands import in_tree
from untildone.core.judging.survey import Rules

RUNS_TESTS = "#!/bin/sh\npython -m pytest -q\n"
LAUNCHES = "import subprocess, sys\nsys.exit(subprocess.call(['pytest', '-q']))\n"
NEUTRAL = Program("#!/bin/sh\necho 6 passed\n")
START = {
    "calc.py": "def add(a, b): ...\n",
    "tests/test_calc.py": "def test_a():\n    assert True\n",
    "scripts/go.sh": Program(RUNS_TESTS),
    "scripts/x.py": LAUNCHES,
    "scripts/x.js": "require('child_process').execSync('npx jest')\n",
    "steps/10-a": Program(RUNS_TESTS),
    "deep/a.sh": "sh deep/b/c.sh\n",
    "deep/b/c.sh": "sh deep/b/d.sh\n",
    "deep/b/d.sh": "pytest -q\n",
    "lib.sh": "go() { pytest -q; }\n",
    "each.sh": "for each in steps/*; do $each || exit 1; done\n",
    "listed.sh": 'cd "$(dirname "$0")"\nfor each in $(ls steps); do steps/$each; done\n',
    "launched.sh": "exec python3 launched.py\n",
    "launched.py": LAUNCHES,
    "function.sh": 'run() { sh "$1/go.sh"; }\nrun scripts\n',
    "pieces.sh": 'D=scripts\nN=go\neval "$D/$N.sh"\n',
    "words.sh": 'set -- scripts/go.sh\n"$@"\n',
    "input.sh": "cat <<EOT | sh\nscripts/go.sh\nEOT\n",
    "trapped.sh": "trap 'scripts/go.sh' EXIT\n",
    "Makefile": "define RUN\nscripts/go.sh\nendef\nt:\n\t$(RUN)\n",
    "Taskfile.yml": "version: 3\ntasks:\n  t:\n    cmds: [scripts/go.sh]\n",
    "tasks.py": "from invoke import task\n@task\ndef t(c):\n    c.run('scripts/go.sh')\n",
    "Rakefile": "task :t do\n  sh 'scripts/go.sh'\nend\n",
    "build.xml": "<project><target name='t'><exec executable='scripts/go.sh'/></target></project>",
    "dodo.py": "def task_t():\n    return {'actions': ['scripts/go.sh']}\n",
    "Procfile": "t: scripts/go.sh\n",
    "build.ninja": "rule t\n  command = scripts/go.sh\nbuild x: t\n",
    "composer.json": '{"scripts": {"t": "scripts/go.sh"}}',
    "deno.json": '{"tasks": {"t": "scripts/go.sh"}}',
    ".github/workflows/ci.yml": "jobs:\n  t:\n    steps:\n    - run: scripts/go.sh\n",
    "package.json": '{"scripts": {"p": "run-s one:*", "one:a": "scripts/go.sh", "c": "concurrently npm:one:a"}, '
    '"bin": {"jest-all": "./t.js"}}',
    "Cargo.toml": "[workspace]\nmembers = ['xtask']\n",
    ".cargo/config.toml": '[alias]\nxtask = "run --package xtask --"\n',
    "xtask/src/main.rs": 'use std::process::Command;\nfn main() { Command::new("cargo").arg("test").status(); }\n',
    "go.mod": "module m\n",
    "tools/ci/main.go": 'package main\nimport "os/exec"\nfunc main() { exec.Command("go", "test", "./...").Run() }\n',
    "magefile.go": 'package main\nimport "os/exec"\nfunc Test() error { return exec.Command("go", "test").Run() }\n',
    "pyproject.toml": "[project.scripts]\nci = 'tools.ci:main'\n",
    "tools/ci.py": "import subprocess, sys\ndef main():\n    sys.exit(subprocess.call(['pytest']))\n",
    "tool.py": "import sys, steps_of_it\nsys.exit(steps_of_it.main())\n",
    "steps_of_it.py": "import subprocess\ndef main():\n    return subprocess.call(['pytest', '-q'])\n",
    "t.js": "require('./lib/run.js').main()\n",
    "lib/run.js": "const {execSync} = require('child_process')\nexports.main = () => execSync('npx jest')\n",
    "pkg/package.json": '{"name": "pkg", "scripts": {"one": "sh ../scripts/go.sh"}}',
}
GO = (
    "bash -c '\"$@\"' _ scripts/go.sh", "bash -c '$0' scripts/go.sh", "sh -c 'exec \"$0\" \"$@\"' ./scripts/go.sh -q",
    "python3 -c \"import subprocess; subprocess.check_call(['scripts/go.sh'])\"", "python3 -c \"import os; os.system('scripts/go.sh')\"",
    r"find scripts -name 'go.sh' -exec sh {} \;", r"find . -name '*.sh' -exec sh {} \;", r"find scripts -type f -exec {} \;",
    "ls scripts/*.sh | xargs -n1 sh", "git ls-files 'scripts/*.sh' | xargs -n1 sh", "git ls-files | grep go.sh | xargs sh",
    "git ls-files '*.sh' | while read f; do sh $f; done", "while read s; do sh $s; done < <(ls scripts/*.sh)", "xargs -a list.txt sh",
    "printf '%s\\n' scripts/go.sh | xargs -I{} sh {}", "ls scripts | sed 's,^,scripts/,' | sh", "echo scripts/go.sh | sh",
    "env -S'sh scripts/go.sh'", "env --split-string='sh scripts/go.sh'", 'eval "$(cat scripts/go.sh)"',
    "bash <(sed 's/a/b/' scripts/go.sh)",
    'bash <<< "scripts/go.sh"', "sh <<E\nscripts/go.sh\nE", "perl -e 'exit system(\"sh\",\"scripts/go.sh\")>>8'",
    "node -e \"require('child_process').execSync('scripts/go.sh')\"", "ruby -e 'exit system(\"scripts/go.sh\")'",
    "awk 'BEGIN{exit system(\"scripts/go.sh\")}'", 't() { sh "$1"; }; t scripts/go.sh', "alias t=scripts/go.sh; t",
    "cd $(dirname scripts/go.sh) && ./go.sh", "for f in scripts/x.py scripts/go.sh; do sh $f; done", "sh scripts/{go,x}.sh",
    'sh "$(find . -name go.sh)"', "cp scripts/go.sh /tmp/r.sh && sh /tmp/r.sh", "cat scripts/go.sh > /tmp/a; sh /tmp/a",
    "git archive HEAD | tar x -C /tmp/x && sh /tmp/x/scripts/go.sh", "docker run -v .:/w img sh /w/scripts/go.sh", "parallel -a list sh",
    "BASH_ENV=scripts/go.sh bash -c true", "GIT_EXTERNAL_DIFF=scripts/go.sh git diff", "watchexec -- scripts/go.sh",
    "any-tool scripts/go.sh",
    "make t", "task t", "invoke t", "bundle exec rake t", "ant t", "doit t", "foreman start t", "ninja x", "composer t", "deno task t",
    "act -j t", "npm run p", "npm run c", "pnpm -r run one", "npx turbo run one", "lerna run one", "sh function.sh", "sh pieces.sh",
    "sh words.sh", "sh input.sh", "sh trapped.sh",
)  # fmt: skip
OTHERS = (
    ("run-parts --exit-on-error ./steps", "steps/10-a"),
    ("find steps -type f -print0 | xargs -0 -n1 sh", "steps/10-a"),
    ("sh each.sh", "steps/10-a"),
    ("sh each.sh", "each.sh"),
    ("sh listed.sh", "steps/10-a"),
    ("python3 -c \"exec(open('scripts/x.py').read())\"", "scripts/x.py"),
    ("python3 <(cat scripts/x.py)", "scripts/x.py"),
    ("python3 -m cProfile scripts/x.py", "scripts/x.py"),
    ("python3 -m runpy scripts.x", "scripts/x.py"),
    ("node --eval=\"require('./scripts/x')\"", "scripts/x.js"),
    ('NODE_OPTIONS="--require ./scripts/x.js" node app.js', "scripts/x.js"),
    ("source <(cat lib.sh); go", "lib.sh"),
    ("make -f <(cat Makefile) t", "Makefile"),
    ("sh deep/a.sh", "deep/a.sh"),
    ("sh deep/a.sh", "deep/b/c.sh"),
    ("sh deep/a.sh", "deep/b/d.sh"),
    ("sh launched.sh", "launched.sh"),
    ("sh launched.sh", "launched.py"),
    ("sh function.sh", "function.sh"),
    ("cargo xtask test", "xtask/src/main.rs"),
    ("cargo run -p xtask -- test", "xtask/src/main.rs"),
    ("go run ./tools/ci", "tools/ci/main.go"),
    ("mage test", "magefile.go"),
    ("uv run ci", "tools/ci.py"),
    ("python3 tool.py", "tool.py"),
    ("python3 tool.py", "steps_of_it.py"),
    ("bun run t.js", "t.js"),
    ("npx jest-all", "t.js"),
    ("node t.js", "lib/run.js"),
)


@pytest.mark.parametrize(("command", "path"), [*((command, "scripts/go.sh") for command in GO), *OTHERS])
def test_what_a_command_mentions_judges(command: str, path: str) -> None:
    found = surveyed(START, changed(START, {path: NEUTRAL}), rules=Rules((in_tree(command, (), ""),)))
    assert path in {file.path for file in found.changed}


PRODUCT = {
    "calc.py": "def mean(values):\n    assert values\n    return sum(values) / len(values)\n",
    "src/calc.py": "def mean(values):\n    assert values\n    return 1\n",
    "src/validator.py": "def is_valid(text):\n    return bool(text)\n",
    "validate.py": "def is_valid(text):\n    return bool(text)\n",
    "slug.js": "exports.slug = text => text\n",
    "src/slug.js": "const assert = require('assert');\nexports.slug = text => { assert.ok(text) }\n",
    "bin/app": Program('#!/bin/bash\n. lib/util.sh\nif [ "$1" = list ]; then cat data; fi\ncase $1 in test) ;; build) make all;; esac\n'),
    "lib/util.sh": 'die() { [ -n "$1" ] && echo $1; exit 1; }\n',
    "scripts/release.sh": Program("#!/bin/sh\nnpm run build\nmake dist\n"),
    "scripts/gen.py": "import json\nprint(json.dumps(1))\n",
    "tests/test_a.py": "import calc\ndef test_a():\n    assert calc.mean([1]) == 1\n",
    "tests/run.sh": "for each in tests/cases/*; do bin/app < $each | diff - $each.out || exit 1; done\n",
    "Makefile": "t:\n\tsh tests/run.sh\nrelease:\n\tscripts/release.sh\n",
    "pyproject.toml": "[project.scripts]\ntool = 'app.cli:main'\n",
    "app/cli.py": '"""Run by pytest users."""\nimport sys\ndef main():\n    if not sys.argv: sys.exit("x")\n',
    "src/main.rs": 'fn main() { assert!(true); std::process::Command::new("ls"); }\n',
    "main.go": 'package main\nimport "os/exec"\nfunc main() { exec.Command("ls").Run() }\n',
    "main.py": "import subprocess, sys\nsubprocess.call(['make', 'all'])\nif len(sys.argv) < 2: sys.exit(1)\n",
    "package.json": '{"main": "slug.js", "scripts": {"test": "node -e \\"if (require(\'./slug.js\').slug(1) !== 1) process.exit(1)\\""}}',
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("sh tests/run.sh", "bin/app"),
        ("make t", "scripts/release.sh"),
        ('python3 -c "import calc; assert calc.mean([2, 4]) == 3"', "calc.py"),
        ("python3 -c \"exec(open('calc.py').read()); assert mean([2]) == 2\"", "calc.py"),
        ("node -e \"if (require('./slug.js').slug('A') !== 'a') process.exit(1)\"", "slug.js"),
        ("node -e \"require('assert').equal(require('./src/slug.js').slug('A'), 'a')\"", "src/slug.js"),
        ("npm test", "slug.js"),
        ("python3 -c \"import subprocess; assert subprocess.check_output(['bin/app']) == b''\"", "bin/app"),
        ("bin/app list | python3 -c 'import sys; assert sys.stdin.read()'", "bin/app"),
        ("docker run -v .:/w img bin/app list | grep -q a", "bin/app"),
        ("timeout 60 bash -c 'bin/app list | grep -q a'", "bin/app"),
        ("any-tool src && pytest -q", "src/calc.py"),
        ("find . -name '*.py' | xargs python3 -m py_compile", "scripts/gen.py"),
        ("find src -name '*.py' -exec python3 -m py_compile {} +", "src/calc.py"),
        ("find . -name '*.sh' -exec shellcheck {} +", "lib/util.sh"),
        ("git ls-files '*.sh' | xargs shellcheck", "lib/util.sh"),
        ("python3 main.py all > out && diff out data", "main.py"),
        ("bats tests", "bin/app"),
        ("uv run tool --version && pytest -q", "app/cli.py"),
        ("cargo run -- --version && cargo test", "src/main.rs"),
        ("go run . list | grep -q a", "main.go"),
        ("any-tool src", "src/validator.py"),
        ("find src -name '*.py' | xargs any-tool", "src/validator.py"),
        ("any-tool validate && pytest -q", "validate.py"),
    ],
)
def test_what_is_tested_stays_the_product(command: str, path: str) -> None:
    edited = type(PRODUCT[path])(PRODUCT[path] + "\n# More.\n")
    found = surveyed(PRODUCT, changed(PRODUCT, {path: edited}), rules=Rules((in_tree(command, (), ""),)))
    assert path not in {file.path for file in found.changed}
