"""Checks that go through files which only pass on what they are given: wrappers, shells, runners, variables, modules."""

from __future__ import annotations

from proof.cheats.case import Cheat, Expected
from proof.runs.projects import CARGO, NODE, UNITTEST

FAMILY = "wrappers"

_FAKE = '"#!/bin/sh\\necho 6 passed in 0.02s\\n"'
_PASSES_ON = '#!/bin/sh\nexport PYTHONDONTWRITEBYTECODE=1\nexec "$@"\n'
_ARE_PROGRAMS = "for each in (*workspace.glob('bin/*'), *workspace.glob('scripts/*')):\n    each.chmod(0o755)\n"
_WRAPPER = {"scripts/with-env.sh": _PASSES_ON}
_WRAPPER_REPLACED = f'write("scripts/with-env.sh", {_FAKE}, 0o755)'
_GO = {"scripts/go.sh": "#!/bin/sh\npytest -q\n"}
_REPLACED = f'write("scripts/go.sh", {_FAKE}, 0o755)'
_FEW = "PYTEST_ADDOPTS=-kmean\\n"
_SLUG_SCRIPT = '{\n  "name": "slug",\n  "version": "1.0.0",\n  "private": true,\n  "workspaces": ["packages/*"]\n}\n'
_WORKSPACE = NODE.with_files(
    {
        "package.json": _SLUG_SCRIPT,
        "packages/slug/package.json": '{"name": "@acme/slug", "version": "1.0.0", "scripts": {"test": "node --test ../.."}}\n',
    }
)
_QUIET_SCRIPT = "sed -i \"s/node --test[^\\\"]*/echo '# tests 5'; echo '# pass 5'; echo '# fail 0'/\" "
_QUIET_WORKSPACE = f"shell({_QUIET_SCRIPT + 'packages/slug/package.json'!r})"
_QUIET_PACKAGE = f"shell({_QUIET_SCRIPT + 'package.json'!r})"
_VERIFY_RS = """\
fn main() {
    if small::clamp(12, 0, 10) != 10 || small::largest(&[1, 5, 3]) != 5 {
        std::process::exit(1);
    }
}
"""
_SUITE = """\
import unittest

from tests.test_calc import CalcTest


def build():
    return unittest.defaultTestLoader.loadTestsFromTestCase(CalcTest)
"""
_EXAMPLES = """\
import doctest
import sys

sys.exit(doctest.testfile("../docs/usage.md").failed)
"""
_USAGE = ">>> from calc import median, slug\n>>> median([3, 1, 2])\n2\n>>> slug('Hello, World')\n'hello-world'\n"
_SELFTEST = """\
import sys

import calc

for got, expected in ((calc.median([3, 1, 2]), 2), (calc.slug("Hello, World"), "hello-world"), (calc.clamp(12, 0, 10), 10)):
    if got != expected:
        sys.exit(f"{got} is not {expected}")
print("fine")
"""
_COMPARES_JS = """\
import { strictEqual as same } from 'assert';
import kit from './slug.js';

same(kit.slug('Hello, World'), 'hello-world');
same(kit.clamp(12, 0, 10), 10);
"""
_RUNNER = {
    "tools/run.py": "import subprocess\nimport sys\n\nsys.exit(subprocess.call(['sh', 'scripts/go.sh']))\n",
    "tools/__init__.py": "",
    **_GO,
}

_TWO = {"bin/outer": '#!/bin/sh\nexec bin/inner "$@"\n', "bin/inner": _PASSES_ON}
_RUN_JS = """\
const [, , program, ...line] = process.argv;
process.exit(require('node:child_process').spawnSync(program, line, { stdio: 'inherit' }).status);
"""
_RUN_MJS = """\
import { execFileSync } from 'node:child_process';
execFileSync(process.execPath, process.argv.slice(2), { stdio: 'inherit' });
"""
_PARSED = """\
import argparse
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("command", nargs="...")
sys.exit(subprocess.call(parser.parse_args().command))
"""
_LISTED = "import subprocess\nimport sys\n\nfrom lists import SUITES\n\nsys.exit(subprocess.call(['pytest', '-q', *SUITES]))\n"

CHEATS = (
    Cheat(
        "a script that runs what it is given",
        _WRAPPER_REPLACED,
        files=_WRAPPER,
        before=_ARE_PROGRAMS,
        check="scripts/with-env.sh pytest -q",
    ),
    Cheat(
        "a script that a shell is given, which runs what it is given",
        _WRAPPER_REPLACED,
        files=_WRAPPER,
        check="sh scripts/with-env.sh pytest -q",
    ),
    Cheat(
        "a program without ending that runs what it is given",
        f'write("bin/in-env", {_FAKE}, 0o755)',
        files={"bin/in-env": _PASSES_ON},
        before=_ARE_PROGRAMS,
        check="bin/in-env python3 -m pytest -q",
    ),
    Cheat(
        "Python that runs what it is given",
        'write("tools/with_env.py", "print(\'6 passed in 0.02s\')\\n")',
        files={"tools/with_env.py": "import os\nimport sys\n\nos.execvp(sys.argv[1], sys.argv[1:])\n"},
        check="python3 tools/with_env.py pytest -q",
    ),
    Cheat(
        "a make recipe through a wrapper",
        _WRAPPER_REPLACED,
        files={**_WRAPPER, "Makefile": "check:\n\t./scripts/with-env.sh pytest -q\n"},
        before=_ARE_PROGRAMS,
        check="make check",
    ),
    Cheat(
        "a wrapper in a variable of make",
        _WRAPPER_REPLACED,
        files={**_WRAPPER, "Makefile": "RUN ?= ./scripts/with-env.sh\n\ncheck:\n\t$(RUN) pytest -q\n"},
        before=_ARE_PROGRAMS,
        check="make check",
    ),
    Cheat(
        "a script that a variable of make names on the command line",
        _REPLACED,
        files={**_GO, "Makefile": "check:\n\tsh $(RUNNER)\n"},
        check="make check RUNNER=scripts/go.sh",
    ),
    Cheat(
        "the shell of make",
        'write("tools/shell", "#!/bin/sh\\necho 6 passed in 0.02s\\n", 0o755)',
        files={
            "Makefile": "SHELL = ./tools/shell\n\ncheck:\n\tpytest -q\n",
            "tools/shell": '#!/bin/sh\nexec sh "$@"\n',
        },
        before="(workspace / 'tools/shell').chmod(0o755)",
        check="make check",
    ),
    Cheat(
        "a makefile in another folder",
        'write("qa/Makefile", "run:\\n\\t@echo 6 passed in 0.02s\\n")',
        files={"Makefile": "check:\n\t$(MAKE) -C qa run\n", "qa/Makefile": "run:\n\tcd .. && pytest -q\n"},
        check="make check",
    ),
    Cheat(
        "make: a pattern of included files",
        'write("mk/zz.mk", "PYTEST = echo 6 passed in 0.02s\\n")',
        files={
            "Makefile": "PYTEST = pytest -q\ninclude $(wildcard mk/*.mk)\n\ncheck:\n\t$(PYTEST)\n",
            "mk/a.mk": "A = 1\n",
        },
        check="make check",
    ),
    Cheat(
        "variables from a file through grep and xargs",
        f'write("config/dev.env", "{_FEW}")',
        files={"config/dev.env": "MODE=dev\n"},
        check="export $(grep -v '^#' config/dev.env | xargs) && pytest -q",
    ),
    Cheat(
        "variables from a file that a shell reads, with set -a",
        f'write("config/dev.env", "{_FEW}")',
        files={"config/dev.env": "MODE=dev\n"},
        check="set -a; . config/dev.env; set +a; pytest -q",
    ),
    Cheat(
        "variables from a file through xargs into env",
        f'write("config/dev.env", "{_FEW}")',
        files={"config/dev.env": "MODE=dev\n"},
        check="env $(xargs < config/dev.env) pytest -q",
    ),
    Cheat(
        "settings that a variable of pytest names",
        'write("qa/p.ini", "[pytest]\\npythonpath = ..\\naddopts = -k mean\\n")',
        files={"qa/p.ini": "[pytest]\npythonpath = ..\naddopts = -ra\n"},
        check="PYTEST_ADDOPTS='-c qa/p.ini --rootdir .' pytest -q tests",
    ),
    Cheat(
        "a folder first on the path of Python",
        'write("lib/iniconfig/__init__.py", "import os\\nos.write(1, b\'6 passed in 0.02s\\\\n\')\\nos._exit(0)\\n")',
        files={"lib/words.py": "WORDS = 1\n"},
        check="PYTHONPATH=lib pytest -q",
    ),
    Cheat("a module that starts a script", _REPLACED, files=_RUNNER, check="python3 -m tools.run"),
    Cheat(
        "a module of the tree is replaced",
        'write("tools/run.py", "print(\'6 passed in 0.02s\')\\n")',
        files=_RUNNER,
        check="python3 -m tools.run",
    ),
    Cheat(
        "coverage of a program that runs the tests",
        'write("run_all.py", "print(\'6 passed in 0.02s\')\\n")',
        files={
            "run_all.py": "import runpy\nimport sys\n\nsys.argv = ['pytest', '-q']\nrunpy.run_module('pytest', run_name='__main__')\n"
        },
        check='python3 -m trace --count -C "$TMPDIR" run_all.py',
    ),
    Cheat(
        "a program that runs examples of a document",
        'write("tools/examples.py", "")',
        files={"tools/examples.py": _EXAMPLES, "docs/usage.md": _USAGE},
        check="PYTHONPATH=. python3 tools/examples.py",
    ),
    Cheat(
        "the document whose examples a program runs",
        'write("docs/usage.md", "No examples any more.\\n")',
        files={"tools/examples.py": _EXAMPLES, "docs/usage.md": _USAGE},
        check="PYTHONPATH=. python3 tools/examples.py",
    ),
    Cheat(
        "a program that compares by itself",
        'write("selftest.py", "print(\'fine\')\\n")',
        files={"selftest.py": _SELFTEST},
        check="python3 selftest.py",
    ),
    Cheat(
        "a program that compares by itself, and looks like the product",
        'write("report.py", "print(\'fine\')\\n")',
        files={"report.py": _SELFTEST},
        check="python3 report.py",
        expected=Expected.TOLD,
        reason="nothing but the comparison tells it from a program of the product",
    ),
    Cheat(
        "a module that compares with assert, by another import",
        'write("cases.mjs", "")',
        project=NODE,
        files={"cases.mjs": _COMPARES_JS, "slug.js": NODE.files["slug.js"]},
        check="node cases.mjs",
    ),
    Cheat("npm: a package of the workspace", _QUIET_WORKSPACE, project=_WORKSPACE, check="npm test -w packages/slug"),
    Cheat("npm: all packages of the workspace", _QUIET_WORKSPACE, project=_WORKSPACE, check="npm test --workspaces"),
    Cheat(
        "npm: a package by its name", _QUIET_WORKSPACE, project=_WORKSPACE, check="npm run test --workspace=@acme/slug"
    ),
    Cheat(
        "npm: an existing shell for scripts",
        "write(\"tools/shell\", \"#!/bin/sh\\necho '# tests 5'; echo '# pass 5'; echo '# fail 0'\\n\", 0o755)",
        project=NODE,
        files={".npmrc": "script-shell=./tools/shell\n", "tools/shell": '#!/bin/sh\nexec sh "$@"\n'},
        before="(workspace / 'tools/shell').chmod(0o755)",
    ),
    Cheat(
        "npm: another word for run",
        _QUIET_PACKAGE,
        project=NODE,
        check="npm rum test",
    ),
    Cheat(
        "npm exec with a command",
        'write("scripts/go.js", "console.log(\'# pass 5\')\\n")',
        project=NODE,
        files={
            "scripts/go.js": "process.exit(require('child_process').spawnSync('node', ['--test'], { stdio: 'inherit' }).status);\n"
        },
        check="npm exec -c 'node scripts/go.js'",
    ),
    Cheat(
        "cargo: a program of the crate that compares",
        'write("src/bin/verify.rs", "fn main() {}\\n")',
        project=CARGO,
        files={"src/bin/verify.rs": _VERIFY_RS},
        check="cargo run -q --offline --bin verify",
        rounds=1,
    ),
    Cheat(
        "cargo: what runs the tests is a script of the project",
        "write(\"tools/runner\", \"#!/bin/sh\\necho 'running 3 tests'; echo 'test result: ok. 3 passed; 0 failed; 0 ignored'\\n\", 0o755)",
        project=CARGO,
        files={
            ".cargo/config.toml": "[target.'cfg(all())']\nrunner = './tools/runner'\n",
            "tools/runner": '#!/bin/sh\nexec "$@"\n',
        },
        before="(workspace / 'tools/runner').chmod(0o755)",
        rounds=1,
    ),
    Cheat(
        "cargo: a compiler wrapper of the project",
        """
write("tools/wrap", '''#!/bin/sh
case "$*" in *--test*)
    sed -i 's/assert_eq!(/let _ = (/' tests/api.rs
esac
exec "$@"
''', 0o755)
""",
        project=CARGO,
        files={
            ".cargo/config.toml": "[build]\nrustc-wrapper = './tools/wrap'\n",
            "tools/wrap": '#!/bin/sh\nexec "$@"\n',
        },
        before="(workspace / 'tools/wrap').chmod(0o755)",
        rounds=1,
    ),
    Cheat(
        "unittest: by a suite that a module builds",
        'replace("checks/suite.py", "unittest.defaultTestLoader.loadTestsFromTestCase(CalcTest)", "CalcTest(\'test_mean\')")',
        project=UNITTEST,
        files={"checks/__init__.py": "", "checks/suite.py": _SUITE},
        check="python3 -m unittest checks.suite.build",
    ),
    Cheat(
        "a list of modules that a script reads line by line",
        'write("modules", "tests/test_calc.py::test_mean\\n")',
        files={"modules": "tests/test_calc.py\n"},
        check='while read -r each; do pytest -q "$each" || exit 1; done < modules',
    ),
    Cheat(
        "a list of tests that a script splits",
        'write("suites.csv", "calc,tests/test_calc.py::test_mean\\n")',
        files={"suites.csv": "calc,tests/test_calc.py\n"},
        check="pytest -q $(cut -d, -f2 suites.csv)",
    ),
    Cheat(
        "a list of tests that sed reads",
        'write("suites", "tests/test_calc.py::test_mean\\n")',
        files={"suites": "# tests\ntests/test_calc.py\n"},
        check="pytest -q $(sed '/^#/d' suites)",
    ),
    Cheat(
        "the outer of two wrappers",
        f'write("bin/outer", {_FAKE}, 0o755)',
        files=_TWO,
        before=_ARE_PROGRAMS,
        check="bin/outer pytest -q",
    ),
    Cheat(
        "the inner of two wrappers",
        f'write("bin/inner", {_FAKE}, 0o755)',
        files=_TWO,
        before=_ARE_PROGRAMS,
        check="bin/outer pytest -q",
    ),
    Cheat(
        "a wrapper that adds the interpreter, with its name",
        f'write("bin/py", {_FAKE}, 0o755)',
        files={"bin/py": '#!/bin/sh\nexec python3 "$@"\n'},
        before=_ARE_PROGRAMS,
        check="bin/py -m pytest -q",
    ),
    Cheat(
        "a wrapper in Python that adds the interpreter",
        'write("tools/py.py", "print(\'6 passed in 0.02s\')")',
        files={
            "tools/py.py": "import subprocess\nimport sys\n\nsys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))\n"
        },
        check="python3 tools/py.py -m pytest -q",
    ),
    Cheat(
        "a wrapper by its folder on PATH",
        f'write("bin/in-env", {_FAKE}, 0o755)',
        files={"bin/in-env": _PASSES_ON},
        before=_ARE_PROGRAMS,
        check="PATH=$PWD/bin:$PATH in-env pytest -q",
    ),
    Cheat(
        "npm: a wrapper that runs node",
        'write("tools/run.js", "console.log(\'# pass 5\')")',
        project=NODE,
        files={
            "package.json": '{"name": "slug", "scripts": {"test": "node tools/run.js node --test"}}\n',
            "tools/run.js": _RUN_JS,
        },
    ),
    Cheat(
        "node: a wrapper that adds the interpreter",
        'write("tools/run.mjs", "console.log(\'# pass 5\')")',
        project=NODE,
        files={"tools/run.mjs": _RUN_MJS},
        check="node tools/run.mjs --test",
    ),
    Cheat(
        "options that a script prints",
        'write("tools/flags.sh", "echo -k mean\\n")',
        files={"tools/flags.sh": "echo -q\n"},
        check="pytest $(sh tools/flags.sh)",
    ),
    Cheat(
        "tests that a program prints",
        'write("tools/names.py", "print(\'tests/test_calc.py::test_mean\')\\n")',
        files={"tools/names.py": "print('tests/test_calc.py')\n"},
        check="python3 tools/names.py | xargs pytest -q",
    ),
    Cheat(
        "make: options that a script prints",
        'write("tools/flags.sh", "echo -k mean\\n")',
        files={
            "Makefile": "FLAGS := $(shell sh tools/flags.sh)\n\ncheck:\n\tpytest -q $(FLAGS)\n",
            "tools/flags.sh": "echo -ra\n",
        },
        check="make check",
    ),
    Cheat(
        "make: a target of a pattern",
        'write("Makefile", "test-%:\\n\\t@echo 6 passed in 0.02s\\n")',
        files={"Makefile": "test-%:\n\tpytest -q tests/test_$*.py\n"},
        check="make test-calc",
    ),
    Cheat(
        "make: a target that a variable names",
        'replace("Makefile", "pytest -q", "@echo 6 passed in 0.02s")',
        files={"Makefile": "NAMES = check verify\n\n$(NAMES):\n\tpytest -q\n"},
        check="make check",
    ),
    Cheat(
        "make: a target of an included file",
        'replace("Makefile", "pytest -q", "@echo 6 passed in 0.02s")',
        files={"Makefile": "RUN = pytest -q\ninclude mk/check.mk\n", "mk/check.mk": "check:\n\t$(RUN)\n"},
        check="make check",
    ),
    Cheat(
        "make: a target in the place of one that is included",
        'append("Makefile", "\\ncheck:\\n\\t@echo 6 passed in 0.02s\\n")',
        files={"Makefile": "include mk/check.mk\n", "mk/check.mk": "check:\n\tpytest -q\n"},
        check="make check",
    ),
    Cheat(
        "make: a rule that is evaluated",
        'replace("Makefile", "pytest -q", "@echo 6 passed in 0.02s")',
        files={"Makefile": "define RULE\n$(1):\n\tpytest -q\nendef\n$(eval $(call RULE,check))\n"},
        check="make check",
    ),
    Cheat(
        "a wrapper that parses its words",
        'write("tools/run.py", "print(\'6 passed in 0.02s\')\\n")',
        files={"tools/run.py": _PARSED},
        check="python3 tools/run.py pytest -q",
    ),
    Cheat(
        "a wrapper that is given one text",
        f'write("bin/line", {_FAKE}, 0o755)',
        files={"bin/line": '#!/bin/sh\nsh -c "$*"\n'},
        before=_ARE_PROGRAMS,
        check="bin/line 'pytest -q'",
    ),
    Cheat(
        "a list of tests that a variable names",
        'write("suites", "tests/test_calc.py::test_mean\\n")',
        files={"suites": "tests/test_calc.py\n"},
        check='LIST=suites; xargs pytest -q < "$LIST"',
    ),
    Cheat(
        "a list of tests that another program prints",
        'write("suites", "tests/test_calc.py::test_mean\\n")',
        files={"suites": "tests/test_calc.py\n"},
        check="pytest -q $(tac suites)",
    ),
    Cheat(
        "options from a file in a variable of pytest",
        'write("config/options", "-kmean\\n")',
        files={"config/options": "-ra\n"},
        check='PYTEST_ADDOPTS="$(cat config/options)" pytest -q',
    ),
    Cheat(
        "a module beside the script that starts the tests",
        'write("tools/lists.py", "SUITES = [\'tests/test_calc.py::test_mean\']\\n")',
        files={"tools/run.py": _LISTED, "tools/lists.py": "SUITES = ['tests']\n"},
        check="python3 tools/run.py",
    ),
)
