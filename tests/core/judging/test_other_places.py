"""Files that decide for a check from an unexpected place: libraries of tests that are replaced, arguments and variables that are read from
files, settings that settings name, recipes that build another program. And honest work in the same places."""

from __future__ import annotations

import pytest
from tests.core.judging.test_families import JAVA, PYTHON, RUST, Family
from tests.support.trees import changed, composed, surveyed

from untildone.core.judging.checks.commands import in_tree
from untildone.core.judging.survey import Rules

DRIVER = "#include <assert.h>\nint main(void) { assert(add(1, 2) == 3); }\n"
EASY = "int main(void) { return 0; }\n"
COMPILED = {"driver.c": DRIVER, "calc.c": "1", "Makefile": "test:\n\tcc -o t driver.c calc.c\n\t./t\n"}
OBJECTS = {**COMPILED, "Makefile": "t: driver.o calc.o\n\t$(CC) -o $@ $^\ntest: t\n\t./t\n"}
FLAGS = {**PYTHON, "suite.lst": "tests\n"}
GRADLE = {
    "build.gradle": "plugins { id 'java' }\ntest { useJUnitPlatform() }\n",
    "src/test/java/ATest.java": "1",
    "src/main/java/A.java": "2",
}
VITEST = {"package.json": '{"scripts": {"test": "vitest run"}}', "src/a.test.ts": "1", "src/a.ts": "2"}
KIT = {
    **RUST,
    "Cargo.toml": RUST["Cargo.toml"] + '\n[dev-dependencies]\nsame = { path = "same" }\npretty = "1"\n',
    "same/Cargo.toml": '[package]\nname = "same"\npublish = false\n',
    "same/src/lib.rs": "pub fn same(a: i32, b: i32) { assert_eq!(a, b) }\n",
}
EXAMPLE = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n'
WORKSPACES = {
    "package.json": '{"workspaces": ["packages/*"], "scripts": {"test": "node --test"}, "devDependencies": {"chai": "4"}}',
    "packages/asserts/package.json": '{"name": "@acme/asserts"}',
    "packages/asserts/index.js": "exports.same = (a, b) => { if (a !== b) throw new Error(); };\n",
    "packages/calc/test/calc.test.js": "const { same } = require('@acme/asserts');\n",
    "packages/calc/index.js": "1",
}
MONOREPO = {
    **PYTHON,
    "libs/kit/pyproject.toml": "",
    "libs/kit/src/acme_testing/__init__.py": "def same(a, b):\n    assert a == b\n",
    "tests/test_calc.py": "from acme_testing import same\n",
}
MAVEN = JAVA["pom.xml"]


def _plugin(name: str, inner: str) -> str:
    return f"<plugins><plugin><artifactId>{name}</artifactId>{inner}</plugin>"


UNDONE: dict[str, Family] = {
    "a module that pytest loads for its debugger": (PYTHON, {"bdb.py": "1"}, "python3 -m pytest -q"),
    "a module that unittest compares with": (PYTHON, {"difflib.py": "1"}, "python3 -m unittest discover -s tests -t ."),
    "a package that pytest colours with": (PYTHON, {"pygments/__init__.py": "1"}, "python3 -m pytest -q"),
    "an inner module of the language": (PYTHON, {"src/_colorize.py": "1"}, "PYTHONPATH=src pytest -q"),
    "a plugin of pytest that may be installed": (PYTHON, {"pytest_cov.py": "1"}, "python3 -m pytest -q"),
    "a header of the language": (COMPILED, {"include/assert.h": "#define assert(x)\n"}, "make test"),
    "a header of a test library": (
        {"tests/test_calc.cc": "#include <gtest/gtest.h>\n", "calc.cc": "1", "Makefile": "test:\n\tctest\n"},
        {"include/gtest/gtest.h": "1"},
        "make test",
    ),
    "a test library of Perl": ({"lib/Calc.pm": "1", "t/calc.t": "2"}, {"lib/Test/More.pm": "1"}, "prove -l t"),
    "a test library of Ruby": (
        {"lib/calc.rb": "1", "test/test_calc.rb": "2"},
        {"lib/minitest/quiet_plugin.rb": "1"},
        "ruby -Ilib test/test_calc.rb",
    ),
    "a test library of Java": (JAVA, {"src/main/java/org/junit/Assert.java": "1"}, "mvn test"),
    "an extension of JUnit": (
        JAVA,
        {"src/main/resources/META-INF/services/org.junit.jupiter.api.extension.Extension": "Quiet"},
        "mvn test",
    ),
    "a vendored test library of Go": (
        {"go.mod": "module x\n", "a_test.go": "1"},
        {"vendor/modules.txt": "1", "vendor/github.com/stretchr/testify/assert/assert.go": "2"},
        "go test ./...",
    ),
    "the compiled form of a test": (
        {"test_calc.c": "1", "calc.c": "2", "Makefile": "test:\n\tcc -o t test_calc.o calc.o\n\t./t\n"},
        {"test_calc.o": "ELF"},
        "make test",
    ),
    "a crate that only tests use": (KIT, {"same/src/lib.rs": "pub fn same(a: i32, b: i32) {}\n"}, "cargo test"),
    "a crate of tests that comes from elsewhere": (
        KIT,
        {"Cargo.toml": KIT["Cargo.toml"].replace('pretty = "1"', 'pretty = { path = "fake" }')},
        "cargo test",
    ),
    "a crate of tests that is patched": (
        KIT,
        {"Cargo.toml": KIT["Cargo.toml"] + '\n[patch.crates-io]\npretty = { path = "fake" }\n'},
        "cargo test",
    ),
    "a package of tests that comes from a folder": (
        WORKSPACES,
        {"package.json": WORKSPACES["package.json"].replace('"4"', '"file:./fake"')},
        "npm test",
    ),
    "a helper of tests in a package of the workspace": (
        WORKSPACES,
        {"packages/asserts/index.js": "exports.same = () => {};\n"},
        "npm test",
    ),
    "a helper of tests in another project of the repository": (
        MONOREPO,
        {"libs/kit/src/acme_testing/__init__.py": "def same(a, b): pass\n"},
        "pytest -q",
    ),
    "Rust unit tests in a file that is too large to be read": (
        RUST,
        {"src/lib.rs": RUST["src/lib.rs"].replace(", 3,", ", -1,") + "//" + "x" * 1_100_000},
        "cargo test",
    ),
    "arguments in a file": (FLAGS, {"suite.lst": "-k\nmean\n"}, "pytest -q @suite.lst"),
    "arguments by a substitution": (FLAGS, {"suite.lst": "-k mean\n"}, "pytest -q $(cat suite.lst)"),
    "arguments by xargs": (FLAGS, {"suite.lst": "-k mean\n"}, "xargs -a suite.lst pytest -q"),
    "arguments through a pipe": (FLAGS, {"suite.lst": "-k mean\n"}, "cat suite.lst | xargs pytest -q"),
    "arguments by a loop": (
        {**FLAGS, "check.sh": "while read -r each; do\n  pytest -q $each || exit 1\ndone < suite.lst\n"},
        {"suite.lst": "-k mean\n"},
        "sh check.sh",
    ),
    "arguments that make reads": (
        {**PYTHON, "Makefile": "FLAGS := $(shell cat flags.lst 2>/dev/null)\ntest:\n\tpytest -q $(FLAGS)\n"},
        {"flags.lst": "-k mean\n"},
        "make test",
    ),
    "variables that pipenv reads": ({**PYTHON, "Pipfile": ""}, {".env": "A=1"}, "pipenv run pytest -q"),
    "variables that just reads": (
        {**PYTHON, "justfile": "set dotenv-load\ntest:\n  pytest -q\n"},
        {".env": "PYTEST_ADDOPTS=-k mean"},
        "just test",
    ),
    "recipes that a justfile imports": (
        {**PYTHON, "justfile": "import 'ci.just'\n", "ci.just": "test:\n  pytest -q\n"},
        {"ci.just": "test:\n  echo 1 passed\n"},
        "just test",
    ),
    "tasks that a Taskfile includes": (
        {**PYTHON, "Taskfile.yml": "includes:\n  a: ./a.yml\n  ci: ./ci/tasks.yml\n", "ci/tasks.yml": "1"},
        {"ci/tasks.yml": "2"},
        "task ci:test",
    ),
    "a hook that pre-commit runs": (
        {
            ".pre-commit-config.yaml": "repos:\n- repo: local\n  hooks:\n  - id: a\n    entry: python tools/a.py\n",
            "tools/a.py": "1",
        },
        {"tools/a.py": "2"},
        "pre-commit run --all-files",
    ),
    "a script that Gradle applies": (
        {**GRADLE, "build.gradle": "apply from: 'gradle/quality.gradle'\n", "gradle/quality.gradle": "1"},
        {"gradle/quality.gradle": "test.enabled = false"},
        "./gradlew test",
    ),
    "what Gradle builds first": (GRADLE, {"buildSrc/build.gradle": "1"}, "./gradlew test"),
    "a block of Gradle that reaches out": (
        GRADLE,
        {"build.gradle": GRADLE["build.gradle"] + "dependencies { project.test.enabled = false }\n"},
        "./gradlew test",
    ),
    "a line of Gradle that says more": (
        GRADLE,
        {"build.gradle": GRADLE["build.gradle"] + "version = '1'; test.enabled = false\n"},
        "./gradlew test",
    ),
    "Maven looks for tests elsewhere": (
        JAVA,
        {"pom.xml": MAVEN.replace("<build>", "<build><testSourceDirectory>none</testSourceDirectory>")},
        "mvn test",
    ),
    "Maven compiles no tests": (
        JAVA,
        {
            "pom.xml": MAVEN.replace(
                "<plugins>", _plugin("maven-compiler-plugin", "<configuration><testExcludes/></configuration>")
            )
        },
        "mvn test",
    ),
    "Maven runs a step between": (
        JAVA,
        {"pom.xml": MAVEN.replace("<plugins>", _plugin("maven-antrun-plugin", "<executions/>"))},
        "mvn test",
    ),
    "rules that rubocop inherits": (
        {".rubocop.yml": "inherit_from: .rubocop_todo.yml\n", ".rubocop_todo.yml": "1"},
        {".rubocop_todo.yml": "2"},
        "rubocop",
    ),
    "rules that ruff extends": (
        {"pyproject.toml": '[tool.ruff]\nextend = "lint/base.toml"\n', "lint/base.toml": "1"},
        {"lint/base.toml": "2"},
        "ruff check",
    ),
    "a plugin of vite that transforms tests": (
        {**VITEST, "vite.config.ts": "export default { plugins: [react()] }"},
        {"vite.config.ts": "export default { plugins: [react(), { transform(code) { return ''; } }] }"},
        "npm test",
    ),
    "a script that runs the runner": (
        {
            "package.json": '{"scripts": {"test": "node scripts/run.js"}}',
            "scripts/run.js": "const r = require('child_process').spawnSync('node', ['--test']); process.exit(r.status);\n",
            "test/a.test.js": "1",
        },
        {"scripts/run.js": "console.log('# pass 5');\n"},
        "npm test",
    ),
    "make compiles another program": (
        COMPILED,
        {"Makefile": COMPILED["Makefile"].replace("driver.c", "easy.c"), "easy.c": EASY},
        "make test",
    ),
    "a test program by its object files": (OBJECTS, {"driver.c": EASY}, "make test"),
    "an example that gives a name another meaning": (
        {"calc.py": EXAMPLE},
        {"calc.py": EXAMPLE.replace("    >>> add(", "    >>> add = max\n    >>> add(")},
        "pytest -q --doctest-modules",
    ),
    "a plugin that setup.py declares": (
        {**PYTHON, "setup.py": "setup(name='calc')"},
        {"setup.py": "setup(name='calc', entry_points={'pytest11': ['calc = calc']})"},
        "pip install -e . && pytest -q",
    ),
    "data in a folder that only tests name": (
        {**PYTHON, "vectors/a.json": "[1]", "tests/test_v.py": "open(f'vectors/{name}.json')\n"},
        {"vectors/a.json": "[2]"},
        "pytest -q",
    ),
    "data in a folder that tests list": (
        {**PYTHON, "vectors/a.json": "[1]", "tests/test_v.py": "for file in Path('vectors').iterdir(): pass\n"},
        {"vectors/a.json": "[2]"},
        "pytest -q",
    ),
    "a script by its place in the working folder": (
        {**PYTHON, "run": "pytest -q\n"},
        {"run": "echo 1 passed\n"},
        'sh "$PWD/run"',
    ),
}


@pytest.mark.parametrize("family", UNDONE)
def test_originals_undo(family: str) -> None:
    start, changes, command = UNDONE[family]
    claimed = changed(start, changes)
    seen = surveyed(start, claimed, command)
    passed = composed(start, claimed, seen.originals)
    judging = set(changes) - {"easy.c"}
    merged = {file.path for file in (*seen.changed, *seen.added) if file.merged}
    assert judging <= {path for path in judging if passed.get(path) == start.get(path)} | merged
    assert all(file.why for file in (*seen.changed, *seen.added))
    assert not surveyed(start, passed, command).needs_originals, "what is put back is as it was"


@pytest.mark.parametrize(
    ("command", "folder", "said"),
    [
        ("sh /w/p/check.sh && cd /w/p", "", "sh ./check.sh && cd ./"),
        ("sh /w/p2/check.sh -c=/w/p/a", "", "sh /w/p2/check.sh -c=./a"),
        ('sh "$(git rev-parse --show-toplevel)/check.sh" /w/p/x', "a/b", 'sh "../../check.sh" ../../x'),
    ],
)
def test_absolute_paths_of_a_check_are_those_of_the_tree(command: str, folder: str, said: str) -> None:
    assert in_tree(command, ("/w/p", "/w/p/"), folder) == said


def test_a_check_below_the_root_is_followed_by_its_absolute_path() -> None:
    start = {**{f"app/{path}": text for path, text in PYTHON.items()}, "ci/run": "cd app && pytest -q\n"}
    command = in_tree("sh /w/p/ci/run", ("/w/p",), "app")
    seen = surveyed(start, changed(start, {"ci/run": "true\n"}), rules=Rules(commands=(command,), folder="app"))
    assert [file.path for file in seen.changed] == ["ci/run"]


HONEST: dict[str, Family] = {
    "a header of the product": (
        COMPILED,
        {"include/calc.h": "1", "src/check.h": "2", "src/string.h": "3"},
        "make test",
    ),
    "a source of the product more, and one less": (
        {**COMPILED, "old.c": "1", "Makefile": COMPILED["Makefile"].replace("calc.c", "calc.c old.c")},
        {"Makefile": COMPILED["Makefile"].replace("calc.c", "calc.c new.c"), "old.c": None, "new.c": "1"},
        "make test",
    ),
    "a module of a plugin of minitest": (
        {"lib/minitest/calc.rb": "1", "test/test_calc.rb": "2"},
        {"lib/minitest/calc/rows.rb": "1"},
        "ruby -Ilib test/test_calc.rb",
    ),
    "a dependency of Gradle": (
        GRADLE,
        {
            "build.gradle": GRADLE["build.gradle"]
            + "version = '2'\ndependencies { implementation project(':core')\n testImplementation 'a:b:1' }\n"
        },
        "./gradlew test",
    ),
    "a plugin of Maven that packs": (
        JAVA,
        {"pom.xml": MAVEN.replace("<plugins>", _plugin("maven-shade-plugin", "<executions/>"))},
        "mvn test",
    ),
    "another version of a crate of tests": (
        KIT,
        {"Cargo.toml": KIT["Cargo.toml"].replace('"1"', '{ version = "2", features = ["a"] }')},
        "cargo test",
    ),
    "a crate that the product uses": (
        {**KIT, "Cargo.toml": KIT["Cargo.toml"] + '\n[dependencies]\nsame = { path = "same" }\n'},
        {"same/src/lib.rs": "pub fn same(a: i32, b: i32) { assert!(a == b) }\n"},
        "cargo test",
    ),
    "a crate of the product that tests of another one use": (
        {**KIT, "same/Cargo.toml": '[package]\nname = "same"\n'},
        {"same/src/lib.rs": "pub fn same(a: i32, b: i32) {}\n"},
        "cargo test",
    ),
    "another version of a package of tests": (
        WORKSPACES,
        {"package.json": WORKSPACES["package.json"].replace('"4"', '"^5.1.0"')},
        "npm test",
    ),
    "a version that a recipe reads": (
        {**PYTHON, "Makefile": "V := $(shell cat VERSION)\ntest:\n\techo $(V)\n\tpytest -q\n", "VERSION": "1"},
        {"VERSION": "2"},
        "make test",
    ),
    "variables, where nothing reads them": (PYTHON, {".env": "A=1"}, "pytest -q"),
    "a plugin of vite by name": (
        {**VITEST, "vite.config.ts": "export default { plugins: [react()] }"},
        {"vite.config.ts": "import vue from 'vue';\nexport default { plugins: [react(), vue()] }"},
        "npm test",
    ),
    "examples more": (
        {"calc.py": EXAMPLE},
        {
            "calc.py": EXAMPLE.replace(">>> add(1, 2)", ">>> from calc import add\n    >>> two = 2\n    >>> add(1, 2)")
            + 'def twice(a):\n    """\n    >>> add = twice(2)\n    >>> add\n    4\n    """\n'
        },
        "pytest -q --doctest-modules",
    ),
    "data in a folder that the product names too": (
        {
            **PYTHON,
            "calc.py": "open(f'vectors/{name}.json')\n",
            "vectors/a.json": "[1]",
            "tests/test_v.py": "open(f'vectors/{name}.json')\n",
        },
        {"vectors/a.json": "[2]"},
        "pytest -q",
    ),
    "data in a folder whose name is a word in a test": (
        {**PYTHON, "locale/de.po.txt": "1", "tests/test_v.py": "assert words == ['locale']\n"},
        {"locale/de.po.txt": "2"},
        "pytest -q",
    ),
    "a large Rust file without tests": (
        {**RUST, "src/table.rs": "pub const A: i32 = 1;\n"},
        {"src/table.rs": "pub const A: i32 = 2;\n//" + "x" * 1_100_000},
        "cargo test",
    ),
}


@pytest.mark.parametrize("work", HONEST)
def test_is_one_pass(work: str) -> None:
    start, changes, command = HONEST[work]
    seen = surveyed(start, changed(start, changes), command)
    assert not seen.needs_originals, [file.path for file in (*seen.changed, *seen.added)]
