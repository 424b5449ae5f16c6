"""Ways to deceive a check by its judge files, by family: each is a small change of a tree, and the pass with the originals undoes it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from tests.support.trees import Link, Program, changed, composed, surveyed

from untildone.core.judging.survey import Change, Rules

PYPROJECT = """\
[project]
name = "calc"
dependencies = []

[tool.pytest.ini_options]
testpaths = ["tests"]
"""
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
PYTHON = {"calc.py": "def add(a, b):\n    return a - b\n", "tests/test_calc.py": TEST, "pyproject.toml": PYPROJECT}
PACKAGE = json.dumps({"name": "calc", "scripts": {"test": "jest", "build": "tsc"}, "dependencies": {}})
JAVASCRIPT = {"src/calc.js": "1", "src/calc.test.js": "2", "package.json": PACKAGE, "package-lock.json": "{}"}
MAKE = {
    "Makefile": "PYTHON = python3\n\ninclude rules.mk\n\ntest: lint\n\t$(PYTHON) -m pytest -q\n\nlint:\n\ttrue\n",
    "rules.mk": "QUIET = 1\n",
    **PYTHON,
}
SHELL = {"check.sh": Program("#!/bin/sh\n. ci/setup.sh\npython -m pytest -q\n"), "ci/setup.sh": "set -e\n", **PYTHON}
RUST = {
    "Cargo.toml": '[package]\nname = "calc"\n\n[workspace]\nmembers = ["one", "two"]\n',
    "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a - b }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n"
    '        assert_eq!(super::add(1, 2), 3, "}");\n    }\n}\n',
    "tests/all.rs": "#[test]\nfn t() {}\n",
}
POM = "<project><build><plugins>{}</plugins></build><dependencies>{}</dependencies></project>"
SUREFIRE = "<plugin><artifactId>maven-surefire-plugin</artifactId><configuration>{}</configuration></plugin>"
JAVA = {
    "pom.xml": POM.format(SUREFIRE.format(""), ""),
    "src/test/java/CalcTest.java": "1",
    "src/main/java/Calc.java": "2",
}
C = {
    "CMakeLists.txt": "project(calc)\nadd_library(calc calc.c)\nenable_testing()\nadd_subdirectory(tests)\nadd_test(NAME calc COMMAND t)\n",
    "calc.c": "1",
    "tests/CMakeLists.txt": "add_executable(t test_calc.c)\n",
    "tests/test_calc.c": "2",
}

Family = tuple[Mapping[str, str], Mapping[str, str | None], str]
"""The tree at the start, what the agent changes, and the check."""

FAMILIES: dict[str, Family] = {
    "make runs a program while it reads a new variable": (
        MAKE,
        {"Makefile": 'VERSION := $(shell sed -i "s/3/-1/" tests/test_calc.py; echo 1)\n' + MAKE["Makefile"]},
        "make test",
    ),
    "make runs a program by another operator": (
        MAKE,
        {"Makefile": MAKE["Makefile"] + "\nV != sed -i s/3/-1/ tests/test_calc.py\n"},
        "make test",
    ),
    "a new variable of make defines another": (
        MAKE,
        {"Makefile": MAKE["Makefile"] + "\nX := $(eval PYTHON := echo 1 passed)\n"},
        "make test",
    ),
    "a new target of make has a name that runs a program": (
        MAKE,
        {"Makefile": MAKE["Makefile"] + "\nnew: $(shell rm -r tests)\n\ttrue\n"},
        "make test",
    ),
    "make sets a variable that the test runner reads": (
        MAKE,
        {"Makefile": "PYTHONPATH = $(CURDIR)/h\n" + MAKE["Makefile"]},
        "make test",
    ),
    # tests
    "a test is deleted": (PYTHON, {"tests/test_calc.py": None}, "pytest -q"),
    "a test asserts nothing": (PYTHON, {"tests/test_calc.py": "def test_add():\n    assert True\n"}, "pytest -q"),
    "a test is skipped": (
        PYTHON,
        {"tests/test_calc.py": f"import pytest\npytestmark = pytest.mark.skip\n{TEST}"},
        "pytest -q",
    ),
    "a test expects what is": (PYTHON, {"tests/test_calc.py": TEST.replace("3", "-1")}, "pytest -q"),
    "a test swallows the failure": (
        PYTHON,
        {
            "tests/test_calc.py": TEST.replace("    assert", "    try:\n        assert")
            + "    except AssertionError:\n        pass\n"
        },
        "pytest -q",
    ),
    "a test is a link": (PYTHON, {"tests/test_calc.py": Link("../fake.py"), "fake.py": "1"}, "pytest -q"),
    "the folder of tests is a link": (
        PYTHON,
        {"tests/test_calc.py": None, "tests": Link("fake"), "fake/a.py": "1"},
        "pytest -q",
    ),
    "the folder of tests is a file": (PYTHON, {"tests/test_calc.py": None, "tests": "1"}, "pytest -q"),
    "a test is a folder": (PYTHON, {"tests/test_calc.py": None, "tests/test_calc.py/a": "1"}, "pytest -q"),
    "a fixture of a conftest fakes the product": (
        PYTHON,
        {"tests/conftest.py": "import calc\ncalc.add = 1\n"},
        "pytest -q",
    ),
    "a file of tests that only the settings of pytest name": (
        {"pytest.ini": "[pytest]\naddopts = --doctest-modules test.py\n", "test.py": TEST},
        {"test.py": "1"},
        "pytest -q",
    ),
    "a module beside the tests hides the product": (PYTHON, {"tests/calc.py": "add = max\n"}, "pytest -q"),
    "a helper of tests": (
        {**PYTHON, "tests/helpers.py": "x = 1\n"},
        {"tests/helpers.py": "x = 2\n"},
        "pytest -q",
    ),
    "data that a test reads": (
        {**PYTHON, "tests/data/want.json": "[3]"},
        {"tests/data/want.json": "[-1]"},
        "pytest -q",
    ),
    "data beside tests": ({**PYTHON, "fixtures/want.json": "[3]"}, {"fixtures/want.json": "[-1]"}, "pytest -q"),
    "a file that a link of the tests names": (
        {**PYTHON, "tests/data.json": Link("../share/data.json"), "share/data.json": "1"},
        {"share/data.json": "2"},
        "pytest -q",
    ),
    "a test with a name from the settings": (
        {**PYTHON, "pytest.ini": "[pytest]\npython_files = check_*.py\n", "qa/check_add.py": "1"},
        {"qa/check_add.py": "2"},
        "pytest -q",
    ),
    "a test in a folder from the settings": (
        {"pytest.ini": "[pytest]\ntestpaths = qa\n", "qa/test_a.py": "1", "qa/shared.py": "1"},
        {"qa/shared.py": "2"},
        "pytest -q",
    ),
    # runner settings
    "a conftest ends the process": (PYTHON, {"conftest.py": "import os\nos._exit(0)\n"}, "pytest -q"),
    "a conftest in the folder of the product": (PYTHON, {"src/conftest.py": "1"}, "pytest -q"),
    "pytest.ini deselects": (PYTHON, {"pytest.ini": "[pytest]\naddopts = -k nothing\n"}, "pytest -q"),
    "a hidden pytest.ini": (PYTHON, {".pytest.ini": "[pytest]\naddopts = -h\n"}, "pytest -q"),
    "pyproject.toml deselects": (PYTHON, {"pyproject.toml": PYPROJECT + 'addopts = "--co"\n'}, "pytest -q"),
    "pyproject.toml of pytest 9": (
        PYTHON,
        {"pyproject.toml": PYPROJECT + '\n[tool.pytest]\naddopts = ["-h"]\n'},
        "pytest -q",
    ),
    "tox.ini deselects": (PYTHON, {"tox.ini": "[pytest]\naddopts = --ignore=tests\n"}, "pytest -q"),
    "setup.cfg deselects": (PYTHON, {"setup.cfg": "[tool:pytest]\naddopts = --deselect tests\n"}, "pytest -q"),
    "a plugin in an entry point": (PYTHON, {"calc.egg-info/entry_points.txt": "[pytest11]\nx = plugin\n"}, "pytest -q"),
    "coverage is not wanted": (
        {**PYTHON, ".coveragerc": "[report]\nfail_under = 90\n"},
        {".coveragerc": "[report]\nfail_under = 0\n"},
        "pytest --cov",
    ),
    "a plugin of a conftest": (
        {**PYTHON, "conftest.py": 'pytest_plugins = ["support.plugin"]\n', "support/plugin.py": "1"},
        {"support/plugin.py": "2"},
        "pytest -q",
    ),
    "the linter's settings": ({**PYTHON, "ruff.toml": "1"}, {"ruff.toml": "2"}, "ruff check ."),
    "the linter's section": (
        {"pyproject.toml": "[tool.ruff]\nselect = ['ALL']\n"},
        {"pyproject.toml": "[tool.ruff]\nselect = []\n"},
        "uv run ruff check .",
    ),
    # the interpreter
    "another pytest": (PYTHON, {"pytest.py": "1"}, "python -m pytest -q"),
    "another pytest as a package": (
        PYTHON,
        {"_pytest/__init__.py": "1", "_pytest/config.py": "2"},
        "python -m pytest -q",
    ),
    "another logging": (PYTHON, {"logging.py": "1"}, "python -m pytest -q"),
    "another logging as a package": (PYTHON, {"src/logging/__init__.py": "1"}, "python -m pytest -q"),
    "another of a declared dependency": (
        {**PYTHON, "pyproject.toml": PYPROJECT.replace("[]", '["requests>=2"]')},
        {"requests.py": "1"},
        "pytest -q",
    ),
    "code at the start of Python": (
        PYTHON,
        {"sitecustomize.py": "1", "src/usercustomize.py": "2", "x.pth": "import y"},
        "pytest -q",
    ),
    "an installed package is edited": (
        {**PYTHON, ".venv/lib/pytest.py": "1"},
        {".venv/lib/pytest.py": "2", ".venv/lib/x.pth": "3"},
        "pytest -q",
    ),
    "a program of an installed package": (
        {**JAVASCRIPT, "node_modules/.bin/jest": "1"},
        {"node_modules/.bin/jest": "2"},
        "npm test",
    ),
    # the check command
    "a recipe does nothing": (
        MAKE,
        {"Makefile": MAKE["Makefile"].replace("$(PYTHON) -m pytest -q", "true")},
        "make test",
    ),
    "a recipe ignores failures": (
        MAKE,
        {"Makefile": MAKE["Makefile"].replace("\t$(PYTHON)", "\t-$(PYTHON)")},
        "make test",
    ),
    "a recipe needs another program": (MAKE, {"Makefile": MAKE["Makefile"].replace("python3", "true")}, "make test"),
    "make has another shell": (MAKE, {"Makefile": f"SHELL = /bin/true\n{MAKE['Makefile']}"}, "make test"),
    "make ignores errors": (MAKE, {"Makefile": f"{MAKE['Makefile']}\n.IGNORE:\n"}, "make test"),
    "a rule is written twice": (MAKE, {"Makefile": f"{MAKE['Makefile']}\ntest:\n\ttrue\n"}, "make test"),
    "a variable for pytest": (MAKE, {"Makefile": f"{MAKE['Makefile']}\nexport PYTEST_ADDOPTS = -h\n"}, "make test"),
    "an included file": (MAKE, {"rules.mk": "PYTHON = true\n"}, "make test"),
    "an included file that was optional": (
        {**MAKE, "Makefile": "-include local.mk\n" + MAKE["Makefile"]},
        {"local.mk": "PYTHON = true\n"},
        "make test",
    ),
    "an included file by a pattern": (
        {**MAKE, "Makefile": "include $(wildcard mk/*.mk)\n" + MAKE["Makefile"]},
        {"mk/more.mk": "PYTHON = true\n"},
        "make test",
    ),
    "a file in the place of a target": (MAKE, {"test": "1", "lint/README.md": "2"}, "make test"),
    "a script that was optional": (
        {**SHELL, "check.sh": "[ -f ci/local.sh ] && . ci/local.sh\npytest -q\n"},
        {"ci/local.sh": "pytest() { true; }\n"},
        "sh check.sh",
    ),
    "a Makefile that comes first": (MAKE, {"GNUmakefile": "test:\n\ttrue\n"}, "make test"),
    "the Makefile of a folder": (
        {"sub/Makefile": "test:\n\tpytest\n"},
        {"sub/Makefile": "test:\n\ttrue\n"},
        "make -C sub test",
    ),
    "a script of the check": (SHELL, {"check.sh": Program("exit 0\n")}, "./check.sh"),
    "a script without its right": (SHELL, {"check.sh": str(SHELL["check.sh"])}, "./check.sh"),
    "a script that the script reads": (SHELL, {"ci/setup.sh": "pytest() { true; }\n"}, "sh check.sh"),
    "a script behind other programs": (
        SHELL,
        {"check.sh": Program("exit 0\n")},
        "env X=1 timeout 60 bash -e check.sh | tee log",
    ),
    "a script in a shell's argument": (SHELL, {"check.sh": Program("exit 0\n")}, "bash -c 'cd . && ./check.sh'"),
    "a program that asserts": (
        {"app.py": "1", "run.py": "from app import x\nassert x == 1\n"},
        {"run.py": "print('ok')\n"},
        "python run.py",
    ),
    "what the output is compared with": (
        {"app.py": "1", "expected.txt": "3"},
        {"expected.txt": "-1"},
        "python app.py | diff - expected.txt",
    ),
    "a package script": (JAVASCRIPT, {"package.json": PACKAGE.replace('"jest"', '"true"')}, "npm test"),
    "a package script before the test": (
        JAVASCRIPT,
        {"package.json": PACKAGE.replace('"build"', '"pretest": "rm -rf src/*.test.js", "build"')},
        "npm run test",
    ),
    "a package script of a package script": (
        {"package.json": '{"scripts": {"test": "npm run unit", "unit": "jest"}}'},
        {"package.json": '{"scripts": {"test": "npm run unit", "unit": "true"}}'},
        "npm test",
    ),
    "the shell of package scripts": (JAVASCRIPT, {".npmrc": "script-shell=/bin/true\n"}, "npm test"),
    "options of node": (JAVASCRIPT, {".npmrc": "node-options=--require ./x.js\n"}, "npm test"),
    "jest's section": (JAVASCRIPT, {"package.json": PACKAGE[:-1] + ', "jest": {"passWithNoTests": true}}'}, "npm test"),
    "jest's settings": (JAVASCRIPT, {"jest.config.js": "module.exports = {testMatch: []}"}, "npm test"),
    "a file that jest loads": (
        {
            **JAVASCRIPT,
            "jest.config.js": "module.exports = {setupFiles: ['<rootDir>/config/start.js']}",
            "config/start.js": "1",
        },
        {"config/start.js": "2"},
        "npx jest",
    ),
    "vitest's settings in those of vite": (
        {**JAVASCRIPT, "vite.config.ts": "export default {test: {}}"},
        {"vite.config.ts": "export default {test: {exclude: ['**']}}"},
        "npx vitest run",
    ),
    "a snapshot": ({**JAVASCRIPT, "src/__snapshots__/a.snap": "1"}, {"src/__snapshots__/a.snap": "2"}, "npx jest"),
    "a recipe of just": ({"justfile": "test:\n    pytest\n"}, {"justfile": "test:\n    true\n"}, "just test"),
    # other ecosystems
    "Go": ({"a.go": "1", "a_test.go": "2"}, {"a_test.go": "3"}, "go test ./..."),
    "Go with a new main of tests": (
        {"a.go": "1", "a_test.go": "2"},
        {"main_test.go": "func TestMain"},
        "go test ./...",
    ),
    "Go data": ({"a_test.go": "2", "testdata/want": "1"}, {"testdata/want": "2"}, "go test ./..."),
    "Rust unit tests": (RUST, {"src/lib.rs": RUST["src/lib.rs"].replace("assert_eq", "assert_ne")}, "cargo test"),
    "Rust unit tests are gone": (RUST, {"src/lib.rs": "pub fn add() {}\n"}, "cargo test"),
    "Rust unit tests are left out": (
        RUST,
        {"src/lib.rs": RUST["src/lib.rs"].replace("#[cfg(test)]", "#[cfg(any())]\n#[cfg(test)]")},
        "cargo test",
    ),
    "Rust unit tests in a dead module": (
        RUST,
        {"src/lib.rs": "#[cfg(any())]\nmod dead {\n" + RUST["src/lib.rs"] + "}\n"},
        "cargo test",
    ),
    "Rust without tests": (RUST, {"Cargo.toml": RUST["Cargo.toml"] + "\n[lib]\ntest = false\n"}, "cargo test"),
    "Rust without a member": (RUST, {"Cargo.toml": RUST["Cargo.toml"].replace(', "two"', "")}, "cargo test"),
    "Rust with another runner": (RUST, {".cargo/config.toml": '[target.x]\nrunner = "true"\n'}, "cargo test"),
    "Maven ignores failures": (
        JAVA,
        {"pom.xml": POM.format(SUREFIRE.format("<testFailureIgnore>true</testFailureIgnore>"), "")},
        "mvn test",
    ),
    "Maven skips tests": (
        JAVA,
        {"pom.xml": "<project><properties><skipTests>true</skipTests></properties></project>"},
        "mvn test",
    ),
    "Maven's settings": (JAVA, {".mvn/maven.config": "-DskipTests"}, "mvn test"),
    "a Java test": (JAVA, {"src/test/java/CalcTest.java": "3"}, "mvn test"),
    "Gradle ignores failures": (
        {"build.gradle": "test { useJUnitPlatform() }\n"},
        {"build.gradle": "test { useJUnitPlatform()\n ignoreFailures = true }\n"},
        "./gradlew test",
    ),
    "CTest loses a test": (
        C,
        {"CMakeLists.txt": C["CMakeLists.txt"].replace("add_test(NAME calc COMMAND t)\n", "")},
        "ctest",
    ),
    "CTest wants failure": (
        C,
        {"CMakeLists.txt": C["CMakeLists.txt"] + "set_tests_properties(calc PROPERTIES WILL_FAIL TRUE)\n"},
        "ctest",
    ),
    "CMake leaves early": (
        C,
        {"CMakeLists.txt": C["CMakeLists.txt"].replace("enable_testing", "return()\nenable_testing")},
        "ctest",
    ),
    "Ruby": ({"spec/a_spec.rb": "1", ".rspec": "-r x"}, {".rspec": "--dry-run"}, "bundle exec rspec"),
    "a Ruby helper": ({"spec/a_spec.rb": "1", "spec/support/x.rb": "1"}, {"spec/support/x.rb": "2"}, "rspec"),
    "PHP": ({"tests/ATest.php": "1", "phpunit.xml": "1"}, {"phpunit.xml": "2"}, "vendor/bin/phpunit"),
    "a person's glob": ({"docs/contract.md": "1"}, {"docs/contract.md": "2"}, "pytest -q"),
}
RULES = {"a person's glob": ("docs/",)}


@pytest.mark.parametrize("family", FAMILIES)
def test_originals_undo(family: str) -> None:
    start, changes, command = FAMILIES[family]
    claimed = changed(start, changes)
    seen = surveyed(start, claimed, rules=Rules(commands=(command,), protect=RULES.get(family, ())))
    assert seen.needs_originals
    passed = composed(start, claimed, seen.originals)
    judging = set(changes) - {"fake.py", "fake/a.py", "src/lib.rs"}
    restored = {path for path in judging if passed.get(path) == start.get(path)}
    merged = {file.path for file in (*seen.changed, *seen.added) if file.merged}
    assert judging <= restored | merged
    again = surveyed(start, passed, command)
    assert not again.needs_originals, "what is put back is as it was"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_change_says_why(family: str) -> None:
    start, changes, command = FAMILIES[family]
    seen = surveyed(start, changed(start, changes), rules=Rules(commands=(command,), protect=RULES.get(family, ())))
    for file in (*seen.changed, *seen.added):
        assert file.why
        assert (file.change is Change.ADDED) == (file.path not in start or file in seen.added)
