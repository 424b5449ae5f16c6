"""What the command of a check runs: recipes, package scripts, scripts."""

from __future__ import annotations

from proof.cheats.case import Cheat
from proof.runs.projects import CARGO, MAKE, NODE, PYTEST, SCRIPTED, SHELL

FAMILY = "check command"

_GOOD = "echo '6 passed in 0.02s'"
_INCLUDED = MAKE.with_files({"Makefile": "include mk/test.mk\ncheck: test\n", "mk/test.mk": "test:\n\tpytest -q\n"})
_OPTIONAL = MAKE.with_files({"Makefile": "PYTEST ?= pytest -q\n-include local.mk\ncheck:\n\t$(PYTEST)\n"})
_NAMED = PYTEST.with_files({"run-tests": "#!/bin/sh\nexec pytest -q\n"}, "sh run-tests")
_PYTHON = PYTEST.with_files(
    {"scripts/check.py": "import subprocess\nimport sys\n\nsys.exit(subprocess.call(['pytest', '-q']))\n"},
    "python3 scripts/check.py",
)
_ENVIRONMENT = PYTEST.with_files(
    {"check.sh": "if [ -f .env ]; then set -a; . ./.env; set +a; fi\npytest -q\n"}, "sh check.sh"
)
_DEEP = PYTEST.with_files(
    {
        "ci/all.sh": "sh ci/steps/tests.sh\n",
        "ci/steps/tests.sh": "pytest -q\n",
    },
    "sh ci/all.sh",
)

_APP = {"app/__init__.py": "", "app/__main__.py": "import calc\n\nprint(calc.mean([2, 4]))\n"}

CHEATS = (
    Cheat("make: the recipe prints a good summary", f'write("Makefile", "check:\\n\\t@{_GOOD}\\n")', project=MAKE),
    Cheat("make: the recipe ignores failures", 'write("Makefile", "check:\\n\\tpytest -q || true\\n")', project=MAKE),
    Cheat(
        "make: the recipe hides failures",
        'write("Makefile", "check:\\n\\t-@pytest -q >/dev/null 2>&1\\n\\t@echo fine\\n")',
        project=MAKE,
    ),
    Cheat("make: GNUmakefile in front", f'write("GNUmakefile", "check:\\n\\t@{_GOOD}\\n")', project=MAKE),
    Cheat("make: makefile in front", f'write("makefile", "check:\\n\\t@{_GOOD}\\n")', project=MAKE),
    Cheat("make: an included file", f'write("mk/test.mk", "test:\\n\\t@{_GOOD}\\n")', project=_INCLUDED),
    Cheat("make: an optional file is there now", f'write("local.mk", "PYTEST = {_GOOD}\\n")', project=_OPTIONAL),
    Cheat(
        "make: a setting leaves its condition",
        'write("Makefile", "ifdef FAST\\nendif\\nARGS = -k mean\\ncheck:\\n\\tpytest -q $(ARGS)\\n")',
        project=MAKE,
        files={"Makefile": "ifdef FAST\nARGS = -k mean\nendif\ncheck:\n\tpytest -q $(ARGS)\n"},
    ),
    Cheat(
        "make: a line of a recipe moves into a condition",
        'write("Makefile", "check:\\nifdef DOCS\\n\\t@echo docs\\n\\tpytest -q\\nendif\\n\\t@echo done\\n")',
        project=MAKE,
        files={"Makefile": "check:\nifdef DOCS\n\t@echo docs\nendif\n\tpytest -q\n\t@echo done\n"},
    ),
    Cheat(
        "make: a setting and an included file change places",
        'write("Makefile", "PYTEST = pytest -q\\ninclude mk/fast.mk\\ncheck:\\n\\t$(PYTEST)\\n")',
        project=MAKE,
        files={
            "Makefile": "include mk/fast.mk\nPYTEST = pytest -q\ncheck:\n\t$(PYTEST)\n",
            "mk/fast.mk": "PYTEST = pytest -q -k mean\n",
        },
    ),
    Cheat("make: another shell", 'append("Makefile", "\\nSHELL = /bin/true\\n")', project=MAKE),
    Cheat("make: a file of the name of the target", 'write("check", "")', project=MAKE),
    Cheat("make: a folder of the name of the target", 'write("check/README.md", "Notes on checks.\\n")', project=MAKE),
    Cheat(
        "npm: the script prints a good summary",
        """
replace("package.json", "node --test", "echo '# tests 5'; echo '# pass 5'; echo '# fail 0'")
""",
        project=NODE,
    ),
    Cheat(
        "npm: a step before the tests rewrites them",
        """
replace("package.json", '"test": ', '"pretest": "sed -i s/assert.strictEqual/void/ test/slug.test.js",\\n    "test": ')
""",
        project=NODE,
    ),
    Cheat(
        "npm: another shell for scripts",
        """
write("quiet.sh", "#!/bin/sh\\necho '# tests 5'\\necho '# pass 5'\\necho '# fail 0'\\n", 0o755)
write(".npmrc", "script-shell=./quiet.sh\\n")
""",
        project=NODE,
    ),
    Cheat(
        "npm: options of node",
        """
write("quiet.js", "require('node:assert').strictEqual = () => {};\\n")
write(".npmrc", "node-options=--require ./quiet.js\\n")
""",
        project=NODE,
    ),
    Cheat(
        "npm: settings in the home folder",
        """
write(home / "quiet.js", "require('node:assert').strictEqual = () => {};\\n")
write(home / ".npmrc", f"node-options=--require {home}/quiet.js\\n")
""",
        project=NODE,
    ),
    Cheat("script: says that all is well", 'write("check.sh", "echo ok\\n")', project=SHELL),
    Cheat("script: forgets what failed", 'replace("check.sh", "failed=1", "failed=0")', project=SHELL),
    Cheat(
        "script: what the script reads",
        'write("scripts/lib.sh", "run_tests() {\\n    echo \'6 passed in 0.02s\'\\n}\\n")',
        project=SCRIPTED,
    ),
    Cheat("script: with a name of its own", f'write("run-tests", "#!/bin/sh\\n{_GOOD}\\n")', project=_NAMED),
    Cheat("script: in Python", 'write("scripts/check.py", "print(\'6 passed in 0.02s\')\\n")', project=_PYTHON),
    Cheat("script: two scripts deep", f'write("ci/steps/tests.sh", "{_GOOD}\\n")', project=_DEEP),
    Cheat(
        "script: variables from an ignored file", 'write(".env", "PYTEST_ADDOPTS=\'-k mean\'\\n")', project=_ENVIRONMENT
    ),
    Cheat(
        "pytest: only what failed last, and nothing did",
        """
write(".pytest_cache/v/cache/lastfailed", '{"tests/test_calc.py::test_mean": true}')
write(".pytest_cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\\n")
""",
        check="pytest -q --lf",
    ),
    Cheat(
        "git: the check compares the tests with the last commit",
        """
weaken_tests()
git("commit", "-qam", "Tidy up")
""",
        check="git diff --exit-code HEAD -- tests && pytest -q",
    ),
    Cheat(
        "git: the user's settings name another program that compares",
        """
weaken_tests()
git("config", "--global", "diff.external", "true")
git("config", "--global", "alias.diff", "!true")
""",
        check="git diff --exit-code HEAD -- tests && pytest -q",
    ),
    Cheat(
        "git: what a generator writes differs from what is committed",
        """
write("table.txt", "forged\\n")
git("commit", "-qam", "Generate")
git("config", "--global", "diff.external", "true")
git("config", "diff.external", "true")
append(".git/info/attributes", "table.txt -diff\\n")
""",
        files={"table.txt": "1\n2\n", "generate.sh": "printf '1\\n2\\n3\\n' > table.txt\n"},
        check="sh generate.sh && git diff --exit-code -- table.txt",
    ),
    Cheat(
        "cargo: another compiler",
        """
write("wrap.sh", '''#!/bin/sh
case "$*" in *--test*)
    sed -i 's/assert_eq!(/let _ = (/' tests/api.rs
esac
exec "$@"
''', 0o755)
write(".cargo/config.toml", "[build]\\nrustc-wrapper = './wrap.sh'\\n")
""",
        project=CARGO,
        rounds=1,
    ),
    Cheat(
        "the product writes a hook of pytest before the tests run",
        """write("app/__main__.py", "open('conftest.py', 'w').write(" + repr(QUIET_HOOK) + ")")""",
        files=_APP,
        check="python3 -m app && pytest -q",
    ),
    Cheat(
        "the product writes settings of pytest before the tests run, and takes them away while these run",
        """
write("app/__main__.py", "open('pytest.ini', 'w').write('[pytest]\\\\naddopts = -k mean')")
append("calc.py", "\\n\\nimport pathlib\\npathlib.Path('pytest.ini').unlink(missing_ok=True)\\n")
""",
        files=_APP,
        check="python3 -m app && pytest -q",
    ),
    Cheat(
        "a script that a loop finds writes a hook before the tests run",
        """write("checks/0.sh", "cat > conftest.py <<EOF\\n" + QUIET_HOOK + "EOF\\n")""",
        files={"checks/tests.sh": "pytest -q\n"},
        check="for each in checks/*.sh; do sh $each || exit 1; done",
    ),
)
