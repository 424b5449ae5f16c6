"""Honest work: what is no change of a judge file, and what stays in the pass with the originals."""

from __future__ import annotations

import json

import pytest
from tests.core.judging.test_families import (
    JAVA,
    JAVASCRIPT,
    MAKE,
    PACKAGE,
    POM,
    PYPROJECT,
    PYTHON,
    RUST,
    SHELL,
    SUREFIRE,
    TEST,
    C,
    Family,
)
from tests.support.trees import Link, changed, composed, surveyed

from untildone.core.judging.survey import Rules

FORMATTED = 'from calc import add\n\n\ndef test_add() -> None:\n    assert add(1, 2) == 3, "x"\n'
UNFORMATTED = "from calc import   add\ndef test_add()->None:\n\n  assert add(1,\n    2)==3,'x'  # a remark\n"
NOT_JUDGING: dict[str, Family] = {
    "source": (PYTHON, {"calc.py": "1", "new.py": "2"}, "pytest -q"),
    "a test is formatted": (
        {**PYTHON, "tests/test_calc.py": UNFORMATTED},
        {"tests/test_calc.py": FORMATTED},
        "pytest -q",
    ),
    "a new module of a package that test runners use, in that package's own project": (
        {**PYTHON, "src/pluggy/__init__.py": "1"},
        {"src/pluggy/_warnings.py": "2"},
        "PYTHONPATH=src pytest",
    ),
    "a dependency": (PYTHON, {"pyproject.toml": PYPROJECT.replace("[]", '["requests"]')}, "pytest -q"),
    "the formatter sorts pyproject.toml": (
        PYTHON,
        {
            "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = [\n  'tests',\n]\n[project]\nname = 'calc'\ndependencies = []\n"
        },
        "pytest -q",
    ),
    "the linter's settings, where no check runs it": (
        PYTHON,
        {"ruff.toml": "1", "pyproject.toml": PYPROJECT + "\n[tool.ruff]\n"},
        "pytest",
    ),
    "setup.cfg of a package": (
        {**PYTHON, "setup.cfg": "[metadata]\nname = a\n"},
        {"setup.cfg": "[metadata]\nname = b\n"},
        "pytest",
    ),
    "what tox installs": (
        {"tox.ini": "[testenv]\ndeps =\n    pytest\ncommands = pytest\n"},
        {"tox.ini": "[testenv]\ndeps =\n    pytest\n    requests\ncommands = pytest\n"},
        "tox",
    ),
    "a Makefile lists more sources, by functions that read only names": (
        MAKE,
        {"Makefile": MAKE["Makefile"] + "\nSOURCES := $(sort $(wildcard src/*.c))\nall: $(SOURCES:.c=.o)\n\ttrue\n"},
        "make test",
    ),
    "a module that only tests import, with assertions of its own": (
        {**PYTHON, "calc.py": "def add(a, b):\n    assert a is not None\n    return a - b\n"},
        {"calc.py": "def add(a, b):\n    assert a is not None\n    return a + b\n"},
        "pytest -q",
    ),
    "the application that conftest.py imports": (
        {**PYTHON, "conftest.py": "from app import create\n", "app.py": "def create(): pass\n"},
        {"app.py": "def create(): return 1\n"},
        "pytest -q",
    ),
    "data that the product reads too": (
        {
            **PYTHON,
            "calc.py": "open('data/rates.json')\n",
            "tests/test_calc.py": "open('data/rates.json')\n",
            "data/rates.json": "1",
        },
        {"data/rates.json": "2"},
        "pytest -q",
    ),
    "a text that tests read": (
        {**PYTHON, "tests/test_calc.py": "assert 'add' in open('README.md').read()\n", "README.md": "1"},
        {"README.md": "add"},
        "pytest -q",
    ),
    "what a check looks for": (
        {"README.md": "1", "app.py": "1"},
        {"README.md": "usage", "app.py": "2"},
        "grep -q usage README.md && test -f app.py && python app.py",
    ),
    "what a check compares, if it is not what it compares with": (
        {"expected.txt": "1", "output.txt": "2"},
        {"output.txt": "1"},
        "diff expected.txt output.txt",
    ),
    "what a check writes and compares": (
        {"app.py": "1", "out.txt": "2", "ref/out.txt": "1"},
        {"app.py": "2", "out.txt": "1"},
        "python app.py > out.txt && diff out.txt ref/out.txt",
    ),
    "the program that a check runs": (
        {"app.py": "import sys\nsys.exit(1)\n"},
        {"app.py": "print(1)\n"},
        "python app.py",
    ),
    "a source that a name of a module stands for": (
        {
            **JAVASCRIPT,
            "jest.config.js": "module.exports = {moduleNameMapper: {'^app$': '<rootDir>/src/index.js'}}",
            "src/index.js": "1",
        },
        {"src/index.js": "2"},
        "npx jest",
    ),
    "more names of modules": (
        {"tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}', "a.test.ts": "1"},
        {"tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"], "@new/*": ["./new/*"]}}}'},
        "npx vitest run",
    ),
    "a dependency of Elixir": (
        {"mix.exs": "defmodule A do\n  def project do\n    [app: :a]\n  end\n\n  defp deps do\n    []\n  end\nend\n"},
        {
            "mix.exs": "defmodule A do\n  def project do\n    [app: :a]\n  end\n\n  defp deps do\n    [{:b, 1}]\n  end\nend\n"
        },
        "mix test",
    ),
    "another function with an example": (
        {"calc.py": 'def add(a, b):\n    """\n    >>> add(2, 3)\n    5\n    """\n'},
        {
            "calc.py": 'def add(a, b):\n    """Add.\n\n    >>> add(2, 3)\n    5\n    >>> add(1, 1)\n    2\n    """\n    return a + b\n'
        },
        "pytest --doctest-modules",
    ),
    "a Rust module less, without tests": (
        {"src/lib.rs": "mod a;\nmod b;\n", "src/a.rs": "1", "src/b.rs": "1"},
        {"src/lib.rs": "mod b;\n"},
        "cargo test",
    ),
    "a source of a test program of CMake more": (
        {"CMakeLists.txt": "add_executable(t tests/t.c a.c)\nadd_test(NAME t COMMAND t)\n", "tests/t.c": "1"},
        {
            "CMakeLists.txt": "add_executable(t tests/t.c a.c b.c)\nadd_test(NAME t COMMAND t)\ntarget_link_libraries(t m)\n",
            "b.c": "1",
        },
        "ctest",
    ),
    "a module of the standard library's name that no test uses": (
        PYTHON,
        {"src/calc/queue.py": "1", "statistics.py": "1"},
        "pytest -q",
    ),
    "a lock file": (JAVASCRIPT, {"package-lock.json": "{1}"}, "npm test"),
    "a package is installed": (
        {**JAVASCRIPT, "node_modules/a/x.js": "1"},
        {"package-lock.json": "{1}", "node_modules/a/x.js": "2"},
        "npm test",
    ),
    "packages appear": (
        JAVASCRIPT,
        {"node_modules/a/tests/x.test.js": "1", "node_modules/a/jest.config.js": "1"},
        "npm test",
    ),
    "a dependency of JavaScript": (
        JAVASCRIPT,
        {"package.json": PACKAGE.replace("{}", '{"left-pad": "1"}')},
        "npm test",
    ),
    "a package script that no check runs": (JAVASCRIPT, {"package.json": PACKAGE.replace("tsc", "tsc -b")}, "npm test"),
    "a workspace more": (
        {"package.json": '{"workspaces": ["a"], "scripts": {"test": "jest"}}', "a/x.test.js": "1"},
        {"package.json": '{"workspaces": ["a", "b"], "scripts": {"test": "jest"}}'},
        "npm test",
    ),
    "a target more": (MAKE, {"Makefile": MAKE["Makefile"] + "\nclean:\n\trm -rf build\n"}, "make test"),
    "another recipe than the check's": (
        {"Makefile": "test:\n\tpytest\n\nrun:\n\t./a\n", "tests/test_a.py": "1"},
        {"Makefile": "test:\n\tpytest\n\nrun:\n\t./b\n"},
        "make test",
    ),
    "a source file more": (
        {
            "Makefile": "SRCS = a.c b.c\n\ntest: prog\n\t./run_tests\n\nprog: $(SRCS)\n\tcc -o prog $(SRCS)\n",
            "a.c": "1",
        },
        {
            "Makefile": "SRCS = a.c b.c c.c\n\ntest: prog\n\t./run_tests\n\nprog: $(SRCS)\n\tcc -o prog $(SRCS)\n",
            "c.c": "1",
        },
        "make test",
    ),
    "a Makefile that no check reads": (MAKE, {"Makefile": "all:\n", "check.sh": "1"}, "pytest -q"),
    "the program under test": ({"greet.sh": "echo hi\n"}, {"greet.sh": "echo hello\n"}, "./greet.sh | grep -q hello"),
    "the program under test, by its exit code": (
        {"app.py": "x = 1\n"},
        {"app.py": "x = 2\n"},
        "python app.py --version",
    ),
    "the program under test in a script": (
        {**SHELL, "check.sh": "python app.py | diff - expected.txt\n", "app.py": "1", "expected.txt": "2"},
        {"app.py": "2"},
        "sh check.sh",
    ),
    "product code with the word test": (
        PYTHON,
        {"src/testing/tools.py": "1", "calc/attest.py": "2", "src/latest.py": "3"},
        "pytest -q",
    ),
    "a folder of the product called test": (
        {"pkg/__init__.py": "", "pkg/test/__init__.py": "", "pkg/test/client.py": "1", "tests/test_a.py": "1"},
        {"pkg/test/client.py": "2", "pkg/test/server.py": "3"},
        "pytest -q",
    ),
    "a folder of the product called spec": (
        {**PYTHON, "spec/api.yaml": "1"},
        {"spec/api.yaml": "2", "src/spec/x.py": "1"},
        "pytest",
    ),
    "a product module called tests": (
        {**PYTHON, "pkg/tests.py": "def test_odd(x): return x % 2\n"},
        {"pkg/tests.py": "1"},
        "pytest -q",
    ),
    "modules with ordinary names": (
        PYTHON,
        {"app/logging.py": "1", "app/__init__.py": "", "colors.py": "2", "app/responses.py": "1"},
        "pytest",
    ),
    "a folder called packaging": (PYTHON, {"packaging/build.py": "1"}, "pytest -q"),
    "a Rust function": (RUST, {"src/lib.rs": RUST["src/lib.rs"].replace("a - b", "a + b")}, "cargo test"),
    "a Rust module of tests more": (
        RUST,
        {"src/new.rs": "mod tests;", "src/new/tests.rs": "#[test]\nfn x() {}"},
        "cargo test",
    ),
    "a Rust dependency and member": (
        RUST,
        {"Cargo.toml": RUST["Cargo.toml"].replace('"two"', '"two", "three"') + '\n[dependencies]\nserde = "1"\n'},
        "cargo test",
    ),
    "a Maven dependency": (JAVA, {"pom.xml": POM.format(SUREFIRE.format(""), "<dependency/>")}, "mvn test"),
    "a Gradle dependency": (
        {"build.gradle": "dependencies {\n  implementation 'a'\n}\ntest { }\n"},
        {"build.gradle": "dependencies {\n  implementation 'a'\n  implementation 'b'\n}\n\ntest { }\n"},
        "./gradlew test",
    ),
    "a source file in CMake": (
        C,
        {"CMakeLists.txt": C["CMakeLists.txt"].replace("calc.c)", "calc.c more.c)"), "more.c": "1"},
        "ctest",
    ),
    "what runners keep": (
        PYTHON,
        {"tests/__pycache__/a.pyc": "1", ".pytest_cache/v/x": "1", ".coverage": "1", ".mypy_cache/x": "1"},
        "pytest -q",
    ),
    "a class named as a test in the main folder": (JAVA, {"src/main/java/ATest.java": "1"}, "mvn test"),
}


@pytest.mark.parametrize("work", NOT_JUDGING)
def test_is_one_pass(work: str) -> None:
    start, changes, command = NOT_JUDGING[work]
    seen = surveyed(start, changed(start, changes), command)
    assert (seen.changed, seen.added) == ((), ())


def test_caches_are_in_no_pass() -> None:
    claimed = changed(PYTHON, {"__pycache__/calc.pyc": "1", ".mypy_cache/x": "2"})
    seen = surveyed(PYTHON, claimed)
    assert composed(PYTHON, claimed, seen.as_changed) == composed(PYTHON, claimed, seen.originals) == PYTHON


# Nothing judged at the start: what the check needs is the agent's own, and one pass is all there is.
FROM_NOTHING: dict[str, Family] = {
    "an empty folder": (
        {},
        {"calc.py": "1", "tests/test_calc.py": TEST, "conftest.py": "", "pyproject.toml": PYPROJECT},
        "pytest -q",
    ),
    "a project without tests": (
        {"calc.py": "1", "pyproject.toml": "[project]\nname = 'calc'\n"},
        {"tests/test_calc.py": TEST, "pyproject.toml": PYPROJECT},
        "pytest -q",
    ),
    "npm init": (
        {"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})},
        {"package.json": json.dumps({"scripts": {"test": "node --test"}}), "a.test.js": "1"},
        "npm test",
    ),
    "a new package script": (
        {**PYTHON, "web/package.json": '{"scripts": {"build": "vite"}}'},
        {
            "web/package.json": '{"scripts": {"build": "vite", "test": "vitest"}}',
            "web/a.test.ts": "1",
            "web/vitest.config.ts": "1",
        },
        "cd web && npm test",
    ),
    "a new script": (PYTHON, {"check.sh": "pytest -q\n"}, "./check.sh"),
    "a new Makefile": (PYTHON, {"Makefile": "test:\n\tpytest\n"}, "make test"),
    "a new target": (
        {**PYTHON, "Makefile": "run:\n\t./a\n"},
        {"Makefile": "run:\n\t./a\n\ntest:\n\tpytest\n"},
        "make test",
    ),
    "a new test that the check names": (PYTHON, {"tests/test_login.py": "1"}, "pytest tests/test_login.py"),
    "tests of another language": (
        PYTHON,
        {"web/a.test.js": "1", "web/package.json": '{"scripts": {"test": "jest"}}'},
        "cd web && npm test",
    ),
    "unit tests of Rust": (
        {"src/lib.rs": "1"},
        {"tests/all.rs": "1", "Cargo.toml": "[[test]]\nname = 'all'\n"},
        "cargo test",
    ),
    "CI": (PYTHON, {".github/workflows/ci.yml": "1"}, "pytest -q"),
}


@pytest.mark.parametrize("work", FROM_NOTHING)
def test_stays_where_nothing_judged_before(work: str) -> None:
    start, changes, command = FROM_NOTHING[work]
    claimed = changed(start, changes)
    seen = surveyed(start, claimed, command)
    assert not seen.changed
    assert all(file.needed or file.wanted for file in seen.added)
    assert composed(start, claimed, seen.with_wanted) == claimed


def test_a_module_that_tests_of_the_start_import_counts_if_they_lack_it() -> None:
    start = {"tests/test_new.py": "import newapp\n"}
    claimed = {**start, "newapp.py": "1"}
    seen = surveyed(start, claimed)
    assert seen.modules == {"newapp"}
    assert composed(start, claimed, seen.originals) == start
    assert composed(start, claimed, seen.with_wanted) == claimed


def test_a_module_in_place_of_the_runner_never_stays() -> None:
    claimed = {"calc.py": "1", "tests/test_calc.py": TEST, "pytest.py": "1", "sitecustomize.py": "2"}
    seen = surveyed({}, claimed)
    assert seen.needs_originals
    assert set(composed({}, claimed, seen.with_wanted)) == {"calc.py", "tests/test_calc.py"}


def test_a_new_dependency_reaches_the_pass_with_the_originals() -> None:
    claimed = changed(PYTHON, {"pyproject.toml": PYPROJECT.replace("[]", '["requests"]') + 'addopts = "-h"\n'})
    passed = composed(PYTHON, claimed, surveyed(PYTHON, claimed).originals)
    assert '"requests"' in passed["pyproject.toml"]
    assert "addopts" not in passed["pyproject.toml"]


def test_settings_that_moved_to_another_file_still_apply() -> None:
    start = {
        **PYTHON,
        "pyproject.toml": "[project]\nname = 'calc'\n",
        "setup.cfg": "[metadata]\nname = a\n\n[tool:pytest]\naddopts = -x\n",
    }
    claimed = changed(start, {"setup.cfg": None, "pyproject.toml": PYPROJECT})
    passed = composed(start, claimed, surveyed(start, claimed).originals)
    assert passed["setup.cfg"] == "[tool:pytest]\naddopts = -x\n"
    assert "pytest" not in passed["pyproject.toml"]


def test_a_test_that_the_build_names_stays() -> None:
    claimed = changed(
        C,
        {
            "CMakeLists.txt": C["CMakeLists.txt"] + "add_executable(u test_more.c)\nadd_test(NAME u COMMAND u)\n",
            "test_more.c": "1",
        },
    )
    assert surveyed(C, claimed, "ctest").needs_originals is False


def test_an_approved_change_counts_as_claimed() -> None:
    claimed = changed(PYTHON, {"tests/test_calc.py": "1", "conftest.py": "2"})
    seen = surveyed(PYTHON, claimed, rules=Rules(("pytest -q",), approved=("tests/test_calc.py", "conftest.py")))
    assert not seen.needs_originals
    assert [file.path for file in seen.approved] == ["conftest.py", "tests/test_calc.py"]
    assert composed(PYTHON, claimed, seen.originals) == claimed


def test_changed_programs_under_test_are_named() -> None:
    start = {"greet.sh": "echo hi\n"}
    assert surveyed(start, {"greet.sh": "echo hello\n"}, "./greet.sh").under_test == ("greet.sh",)


@pytest.mark.parametrize(
    "changes", [{"pyproject.toml": Link("../x")}, {"pyproject.toml": "[[["}, {"pyproject.toml": "x" * 2_000_000}]
)
def test_a_shared_file_that_cannot_be_read_is_taken_from_the_start(changes: dict[str, str]) -> None:
    claimed = changed(PYTHON, changes)
    assert composed(PYTHON, claimed, surveyed(PYTHON, claimed).originals) == PYTHON
