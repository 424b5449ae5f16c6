"""Files that single test runners and task runners read: step definitions, keywords, helpers, settings, tables of tasks."""

from __future__ import annotations

import pytest
from tests.support.trees import Program, changed, composed, surveyed

START = {
    "calc.py": "def add(a, b): ...\n",
    "tests/test_calc.py": "def test_a(): ...\n",
    "qa/calc.feature": "Feature: adding\n",
    "qa/environment.py": "def before_all(context): ...\n",
    "qa/steps/calc.py": "from behave import given\n",
    "robots/calc.robot": "*** Settings ***\nResource    res/keys.resource\nLibrary    lib/Calc.py\n",
    "robots/whole.robot": "*** Settings ***\nLibrary    ../money.py\n",
    "money.py": "class money: ...\n",
    "robots/res/keys.resource": "*** Keywords ***\n",
    "robots/lib/Calc.py": "class Calc: ...\n",
    "sh/calc.bats": "load helper\n@test 'adds' { :; }\n",
    "sh/helper.bash": "adds() { :; }\n",
    "spec/calc_spec.sh": "Describe 'adds'\n",
    "spec/spec_helper.sh": "true\n",
    "build/unit.js": "module.exports = config => config.set({})\n",
    "cfg/browsers.ts": "export const config = {}\n",
    "jest.config.js": "module.exports = { projects: ['<rootDir>/cfg/jest.js'] }\n",
    "cfg/jest.js": "module.exports = {}\n",
    "cucumber.mjs": "export default {}\n",
    "Jakefile": "task('test', () => {})\n",
    "moon.yml": "tasks:\n  test:\n    command: jest\n",
    "package-scripts.js": "module.exports = { scripts: { test: 'jest' } }\n",
    "Makefile.toml": "[tasks.check]\ncommand = 'cargo'\n",
    "Cargo.toml": "[package]\nname = 'a'\n",
    "justfile": "mod ci\n\ncheck:\n  just ci unit\n",
    "ci.just": "unit:\n  pytest -q\n",
    ".config/mise/config.toml": "[tasks.check]\nrun = 'pytest'\n",
    "tools/exec.sh": Program('#!/bin/sh\nexec "$@"\n'),
    "tools/overlay.json": "{}\n",
    "tools/run.py": "import subprocess\nfrom lists import SUITES\nsubprocess.check_call(['pytest', *SUITES])\n",
    "tools/lists.py": "SUITES = ['tests']\n",
    "tools/convert.py": "def convert(): ...\n",
    "tools/test_convert.py": "from convert import convert\n\ndef test_it(): ...\n",
    "scripts/release.py": "def version(): ...\n",
    "scripts/check_release.py": "import sys\nfrom release import version\nsys.exit(version() != 2)\n",
    "internal/verify/main.go": 'package main\nimport "os"\nfunc main() { os.Exit(1) }\n',
    "cmd/app/main.go": 'package main\nimport "os"\nfunc main() { os.Exit(1) }\n',
    "go.mod": "module a\n",
    "docs/conf.py": "extensions = ['sphinx.ext.doctest']\n",
    "docs/use.rst": ">>> 1 + 1\n2\n",
    "docs/Makefile": "%: Makefile\n\t@sphinx-build -M $@ . out\n",
    "good.txt": "3\n",
    "tox.ini": "[testenv]\ncommands =\n  {toxinidir}/scripts/go.sh\n",
    "scripts/go.sh": Program("#!/bin/sh\npytest -q\n"),
    "build-logic/src/main/kotlin/tests.gradle.kts": "tasks.test { useJUnitPlatform() }\n",
    "manage.py": "import django\n",
    "proj/settings.py": "TEST_RUNNER = 'proj.runner.Runner'\n",
    "proj/runner.py": "class Runner: ...\n",
    "composer.json": '{"scripts": {"test": "php tools/go.php"}}',
    "tools/go.php": "<?php passthru('vendor/bin/phpunit');\n",
    "dev.env": "MODE=dev\n",
}
JUDGES = (
    ("behave qa", "qa/environment.py"),
    ("python3 -m behave qa", "qa/steps/calc.py"),
    ("robot robots/calc.robot", "robots/res/keys.resource"),
    ("robot robots/calc.robot", "robots/lib/Calc.py"),
    ("bats sh/calc.bats", "sh/helper.bash"),
    ("shellspec", "spec/spec_helper.sh"),
    ("npx karma start build/unit.js", "build/unit.js"),
    ("npx wdio run cfg/browsers.ts", "cfg/browsers.ts"),
    ("npx wtr --config cfg/browsers.ts", "cfg/browsers.ts"),
    ("npx jest", "cfg/jest.js"),
    ("npx cucumber-js", "cucumber.mjs"),
    ("npx jake test", "Jakefile"),
    ("moon run :test", "moon.yml"),
    ("npx nps test", "package-scripts.js"),
    ("cargo make check", "Makefile.toml"),
    ("just check", "ci.just"),
    ("mise run check", ".config/mise/config.toml"),
    ("go test -exec tools/exec.sh ./...", "tools/exec.sh"),
    ("go test -toolexec=tools/exec.sh ./...", "tools/exec.sh"),
    ("go test -overlay tools/overlay.json ./...", "tools/overlay.json"),
    ("go run ./internal/verify", "internal/verify/main.go"),
    ("python3 tools/run.py", "tools/lists.py"),
    ("sphinx-build -b doctest docs out", "docs/conf.py"),
    ("sphinx-build -b doctest docs out", "docs/use.rst"),
    ("make -C docs doctest", "docs/use.rst"),
    ("python3 calc.py > out; git diff --no-index --exit-code out good.txt", "good.txt"),
    ("tox", "scripts/go.sh"),
    ("./gradlew test", "build-logic/src/main/kotlin/tests.gradle.kts"),
    ("python3 manage.py test", "proj/runner.py"),
    ("composer test", "tools/go.php"),
    ("dotenv -f dev.env run -- pytest", "dev.env"),
    ("npx env-cmd -f dev.env jest", "dev.env"),
)
OTHERS = (
    ("behave qa", "calc.py"),
    ("pytest -q", "qa/steps/calc.py"),
    ("pytest -q", "tools/convert.py"),
    ("python3 scripts/check_release.py", "scripts/release.py"),
    ("robot robots/whole.robot", "money.py"),
    ("pytest -q", "docs/conf.py"),
    ("sphinx-build -b html docs out && pytest", "docs/use.rst"),
    ("pytest -q", "Makefile.toml"),
    ("go run ./cmd/app && go test ./...", "cmd/app/main.go"),
    ("git diff --exit-code good.txt", "good.txt"),
)


@pytest.mark.parametrize(("command", "path"), JUDGES)
def test_what_a_runner_reads_by_itself_judges(command: str, path: str) -> None:
    assert path in judging(command, path)


@pytest.mark.parametrize(("command", "path"), OTHERS)
def test_what_the_runner_of_a_check_does_not_read_is_free(command: str, path: str) -> None:
    assert path not in judging(command, path)


def judging(command: str, path: str) -> set[str]:
    return {file.path for file in surveyed(START, changed(START, {path: "other\n"}), command).changed}


def test_a_mark_of_the_byte_order_hides_no_script() -> None:
    start = {"package.json": '\ufeff{"scripts": {"test": "jest"}}', "a.test.js": ""}
    claimed = changed(start, {"package.json": '\ufeff{"scripts": {"test": "echo"}}'})
    found = surveyed(start, claimed, "npm test")
    assert [(file.path, file.needed) for file in found.changed] == [("package.json", False)]


@pytest.mark.parametrize("command", ["run-parts checks.d", "for each in checks.d/*; do sh $each || exit 1; done"])
def test_a_new_script_among_those_that_a_check_runs_is_not_there_in_the_pass_with_the_originals(command: str) -> None:
    start = {"calc.py": "", "checks.d/10-unit": Program("#!/bin/sh\npytest -q\n"), "tools/a.sh": "true\n"}
    claimed = changed(start, {"checks.d/05-more": Program("#!/bin/sh\ntrue\n"), "tools/b.sh": "true\n"})
    found = surveyed(start, claimed, command)
    assert [(file.path, file.needed) for file in found.added] == [("checks.d/05-more", False)]
    assert "checks.d/05-more" not in composed(start, claimed, found.originals)


CARGO = {"Cargo.toml": "[package]\nname = 'a'\n", "tests/api.rs": "#[test]\nfn a() {}\n"}
GEMS = {"Gemfile": "gem 'rspec'\ngem 'rake'\n", "spec/a_spec.rb": ""}
VITE = {"package.json": '{"scripts": {"test": "vitest run"}}', "vite.config.ts": "export default { resolve: {} }\n"}
ANGULAR = {
    "package.json": '{"scripts": {"test": "ng test"}}',
    "angular.json": '{"projects": {"a": {"architect": {"test": {"builder": "karma"}, "build": {}}}}}',
}
REPLACED = {
    "a toolchain of the workspace": (
        {**CARGO, "rust-toolchain.toml": "[toolchain]\nchannel = 'stable'\n"},
        "rust-toolchain.toml",
        "[toolchain]\npath = './rust'\n",
        "[toolchain]\nchannel = '1.80'\n",
        "cargo test",
    ),
    "a library of tests from a folder": (
        GEMS,
        "Gemfile",
        "gem 'rspec', path: 'lib/rspec'\ngem 'rake'\n",
        "gem 'rspec'\ngem 'rake'\ngem 'rack', '~> 3'\n",
        "bundle exec rspec",
    ),
    "an alias of a library of tests": (
        VITE,
        "vite.config.ts",
        "export default { resolve: { alias: { chai: './fake.ts' } } }\n",
        "export default { resolve: { alias: { '@': './src' } } }\n",
        "npm test",
    ),
    "sources of uv": (
        {"pyproject.toml": "[project]\nname = 'a'\n[dependency-groups]\ndev = ['pytest']\n"},
        "pyproject.toml",
        "[project]\nname = 'a'\n[dependency-groups]\ndev = ['pytest']\n[tool.uv.sources]\npytest = { path = 'fake' }\n",
        (
            "[project]\nname = 'a'\ndependencies = ['six']\n[dependency-groups]\ndev = ['pytest', 'pytest-cov>=5']\n"
            "[tool.uv.sources]\nsix = { path = 'lib/six' }\n"
        ),
        "uv run pytest",
    ),
    "a dependency of poetry": (
        {"pyproject.toml": "[tool.poetry.group.dev.dependencies]\npytest = '8'\n"},
        "pyproject.toml",
        "[tool.poetry.group.dev.dependencies]\npytest = { path = 'fake' }\n",
        "[tool.poetry.group.dev.dependencies]\npytest = '9'\n",
        "poetry run pytest",
    ),
    "a lock file": (
        {"uv.lock": '[[package]]\nname = "pytest"\nsource = { registry = "https://a.example" }\n'},
        "uv.lock",
        '[[package]]\nname = "pytest"\nsource = { path = "fake.whl" }\n',
        (
            '[[package]]\nname = "pytest"\nversion = "9"\nsource = { registry = "https://a.example" }\n'
            '\n[[package]]\nname = "app"\nsource = { editable = "." }\n'
        ),
        "uv run --frozen pytest",
    ),
    "a program of the project with the name of a runner": (
        {"pyproject.toml": "[project]\nname = 'a'\n[project.scripts]\na = 'a.cli:main'\n"},
        "pyproject.toml",
        "[project]\nname = 'a'\n[project.scripts]\na = 'a.cli:main'\npytest = 'a.cli:fake'\n",
        "[project]\nname = 'a'\n[project.scripts]\na = 'a.cli:main'\nb = 'a.cli:other'\n",
        "uv run pytest",
    ),
    "code in a Gemfile": (
        GEMS,
        "Gemfile",
        "gem 'rspec'\ngem 'rake'\nputs '6 examples, 0 failures'; exit! 0\n",
        "source 'https://a.example'\ngem 'rspec', require: false\ngem 'rake'\ngroup :development do\n  gem 'pry'\nend\n",
        "bundle exec rspec",
    ),
    "a library of tests from a file of the project": (
        {
            "pom.xml": "<project><dependencies><dependency><artifactId>junit</artifactId></dependency></dependencies></project>"
        },
        "pom.xml",
        "<project><dependencies><dependency><artifactId>junit</artifactId><systemPath>a.jar</systemPath></dependency></dependencies></project>",
        (
            "<project><dependencies><dependency><artifactId>junit</artifactId></dependency>"
            "<dependency><artifactId>guava</artifactId></dependency></dependencies></project>"
        ),
        "mvn test",
    ),
    "a library of tests from files of the project": (
        {"build.gradle": "dependencies {\n  testImplementation 'junit:junit:4'\n}\n"},
        "build.gradle",
        "dependencies {\n  testImplementation files('fake.jar')\n}\n",
        "dependencies {\n  implementation files('own.jar')\n  testImplementation 'junit:junit:4.13'\n}\n",
        "gradle test",
    ),
    "variables of an environment of hatch": (
        {"pyproject.toml": "[tool.hatch.envs.test.scripts]\nrun = 'pytest'\n"},
        "pyproject.toml",
        "[tool.hatch.envs.test.env-vars]\nPYTEST_ADDOPTS = '-k a'\n[tool.hatch.envs.test.scripts]\nrun = 'pytest'\n",
        "[tool.hatch.envs.test]\ndependencies = ['pytest', 'six']\n[tool.hatch.envs.test.scripts]\nrun = 'pytest'\n",
        "hatch run test:run",
    ),
    "what ctest leaves out": (
        {"CMakeLists.txt": "enable_testing()\n", "CTestCustom.cmake": ""},
        "CTestCustom.cmake",
        "list(APPEND CTEST_CUSTOM_TESTS_IGNORE a)\n",
        "",
        "ctest",
    ),
    "the tests of Angular": (
        ANGULAR,
        "angular.json",
        '{"projects": {"a": {"architect": {"test": {"builder": "noop"}, "build": {}}}}}',
        '{"projects": {"a": {"architect": {"test": {"builder": "karma"}, "build": {"x": 1}}}}}',
        "npm test",
    ),
}


def test_a_lock_file_that_is_too_large_to_be_read_belongs_to_the_product() -> None:
    large = '[[package]]\nname = "a"\n' * 50_000
    start = {"uv.lock": large, "tests/test_a.py": ""}
    assert not surveyed(start, changed(start, {"uv.lock": large + "# more\n"}), "uv run pytest").changed


@pytest.mark.parametrize("case", REPLACED)
def test_what_takes_the_place_of_a_tool_of_tests_is_a_change_and_other_work_is_none(case: str) -> None:
    start, path, cheat, honest, command = REPLACED[case]
    assert path in [file.path for file in surveyed(start, changed(start, {path: cheat}), command).changed]
    assert not surveyed(start, changed(start, {path: honest}), command).changed
