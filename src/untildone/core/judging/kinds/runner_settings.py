"""What the settings of test runners at the start say about where tests and their helpers are. Best effort."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterable

from untildone.core.judging.checks.references import module_files
from untildone.core.judging.documents import loaded_toml
from untildone.core.judging.trees import Tree, parent, resolved
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass

_JS_SETTINGS = re.compile(
    r"(?:.*/)?(?:(?:jest|vitest|vite|playwright|cypress|ava)\.config\.\w+|\.mocharc\.?\w*|karma\.conf\.\w+|package\.json)\Z"
)
_JS_FILES = re.compile(
    r"""['"]?\b(?:setupFiles\w*|globalSetup|globalTeardown|testEnvironment|testRunner|runner|resolver|reporters|snapshotSerializers"""
    r"""|require|supportFile|setupNodeEvents|prettierPath|testSequencer)\b['"]?\s*:\s*(\[[^\]]*\]|['"`][^'"`]*['"`])"""
)
_JS_TESTS = re.compile(
    r"""['"]?\b(?:testMatch|testRegex|include|spec|specPattern|testFiles|files)\b['"]?\s*:\s*(\[[^\]]*\]|['"`][^'"`]*['"`])"""
)
_STRING = re.compile(r"""['"`]([^'"`\n]+)['"`]""")
_TESTY = re.compile(r"(?i)tests?|specs?|e2e|checks?")


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    test_folders: frozenset[str] = frozenset()
    test_names: tuple[str, ...] = ()
    """Globs, relative to the root."""
    settings: dict[str, str] | None = None
    """Files that a runner loads, each with the reason."""
    import_roots: frozenset[str] = frozenset()
    """Folders that runners put on Python's path."""


def read(start: Tree, folders: Iterable[str]) -> RunnerSettings:
    """Read the settings at the root and in the folders in which checks run."""
    test_folders: set[str] = set()
    names: list[str] = []
    files: dict[str, str] = {}
    roots: set[str] = set()
    for folder in dict.fromkeys(("", *folders)):
        options = _pytest_options(start, folder)
        test_folders |= {path for word in _words(options, "testpaths") if (path := _tests_below(start, word, folder))}
        names += [
            pattern for pattern in _words(options, "python_files") if _TESTY.search(pattern) and pattern.endswith(".py")
        ]
        roots |= {path for word in _words(options, "pythonpath") if (path := resolved(word, folder)) is not None}
        files |= {**_plugins(start, folder, options), **_named_tests(start, folder, options)}
    test_folders |= _crates_of_tests(start)
    files |= _runners_of_django(start)
    in_javascript = [path for path in start.files if _JS_SETTINGS.match(path) and "node_modules/" not in path]
    start.fetch(in_javascript)
    for path in in_javascript:
        files |= _javascript_files(start, path)
        names += _javascript_tests(start.text(path))
    return RunnerSettings(frozenset(test_folders), tuple(dict.fromkeys(names)), files, frozenset(roots))


_DJANGO = re.compile(r"""^TEST_RUNNER\s*=\s*['"]([\w.]+)\.\w+['"]""", re.MULTILINE)


def _runners_of_django(start: Tree) -> dict[str, str]:
    """Modules with the class that runs the tests, by the settings of Django."""
    settings = [path for path in start.files if path.endswith("settings.py")]
    modules = {name: path for path in settings for name in _DJANGO.findall(start.text(path))}
    return {
        file: f"`{path}` makes Django run the tests with it"
        for name, path in modules.items()
        for file in module_files(name, ("", "src", parent(parent(path))), start)
    }


def _crates_of_tests(start: Tree) -> frozenset[str]:
    """The folders of crates on which only tests of this workspace depend, and that are made for them."""
    manifests = [path for path in start.files if path.rpartition("/")[2] == "Cargo.toml"]
    start.fetch(manifests)
    tests: set[str] = set()
    product: set[str] = set()
    for path in manifests:
        for table in ("dev-dependencies", "dependencies", "build-dependencies"):
            entries = _toml_options(start, path, (table,)).values()
            paths = (entry.get("path") for entry in entries if isinstance(entry, dict))
            folders = (resolved(name, parent(path)) for name in paths if isinstance(name, str))
            (tests if table == "dev-dependencies" else product).update(folder for folder in folders if folder)
    return frozenset(folder for folder in tests - product if _is_for_tests(start, folder))


_HELPS = re.compile(
    r"(?:^|[-_/])(?:tests?|testing|testkit|testutils?|supports?|helpers?|fixtures?|asserts?|assertions?|mocks?|harness)(?:[-_]|$)"
)


def _is_for_tests(start: Tree, folder: str) -> bool:
    """Whether a crate looks like one that is made for tests, and not like a part of the product that other tests use."""
    package = _toml_options(start, f"{folder}/Cargo.toml", ("package",))
    return package.get("publish") is False or _HELPS.search(str(package.get("name", folder))) is not None


def _pytest_options(start: Tree, folder: str) -> dict[str, Any]:
    """The options that pytest would read in the folder; the first file with a section of pytest counts."""
    base = f"{folder}/" if folder else ""
    for name in ("pytest.toml", ".pytest.toml"):
        if options := _toml_options(start, base + name, ("pytest",)):
            return options
    for name in ("pytest.ini", ".pytest.ini"):
        if base + name in start.files:
            return _ini_options(start.text(base + name), "pytest")
    for keys in (("tool", "pytest"), ("tool", "pytest", "ini_options")):
        options = _toml_options(start, f"{base}pyproject.toml", keys)
        if set(options) - {"ini_options"}:
            return options
    return _ini_options(start.text(f"{base}tox.ini"), "pytest") or _ini_options(
        start.text(f"{base}setup.cfg"), "tool:pytest"
    )


def _toml_options(start: Tree, path: str, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        options: Any = loaded_toml(start.content(path))
    except ValueError:
        return {}
    for key in keys:
        options = options.get(key, {}) if isinstance(options, dict) else {}
    return options if isinstance(options, dict) else {}


def _ini_options(text: str, section: str) -> dict[str, str]:
    body = re.search(rf"^\[{re.escape(section)}\][ \t]*\n(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    if body is None:
        return {}
    options = re.findall(r"^(\w+)[ \t]*[=:][ \t]*(.*(?:\n[ \t]+.*)*)", body[1], re.MULTILINE)
    return dict(options)


def _words(options: dict[str, Any], name: str) -> list[str]:
    value = options.get(name, "")
    return [str(word) for word in value] if isinstance(value, list) else str(value).split()


def _tests_below(start: Tree, word: str, folder: str) -> str | None:
    """The folder that `testpaths` names, if at least half of its Python files have the names of tests."""
    path = resolved(word, folder)
    if not path:
        return None
    code = [name.rpartition("/")[2] for name in start.files if name.startswith(f"{path}/") and name.endswith(".py")]
    tests = [name for name in code if re.match(r"test_|conftest|__init__|.*_test\.py", name)]
    return path if code and 2 * len(tests) >= len(code) else None


def _plugins(start: Tree, folder: str, options: dict[str, Any]) -> dict[str, str]:
    """Modules of the workspace that pytest loads as plugins: named by `-p` in its options, or by `pytest_plugins`."""
    modules = _plugins_of_options(options)
    conftests = [
        path
        for path in start.files
        if path.rpartition("/")[2] == "conftest.py" and parent(path) in ("", folder, "tests")
    ]
    for path in conftests[:20]:
        modules += _plugins_of_conftest(start.text(path))
    places = [
        f"{root}/{name}".strip("/")
        for module in modules
        for name in (module.replace(".", "/"),)
        for root in ("", folder, "src", "tests")
    ]
    paths = [place + end for place in places for end in (".py", "/__init__.py")]
    return {path: "pytest loads it as a plugin" for path in paths if path in start.files}


def _named_tests(start: Tree, folder: str, options: dict[str, Any]) -> dict[str, str]:
    """Files with tests that pytest runs because its settings name them, such as `test.py`."""
    words = (*_options_of_command(options), *_words(options, "testpaths"))
    named = (path for word in words if word.endswith(".py") and (path := resolved(word, folder)) in start.files)
    return {path: "the settings of pytest name it" for path in named if path and _TESTY.search(path.rpartition("/")[2])}


def _options_of_command(options: dict[str, Any]) -> list[str]:
    """The words that pytest adds to its command line."""
    try:
        value = options.get("addopts", "")
        return [str(word) for word in value] if isinstance(value, list) else shlex.split(str(value))
    except ValueError:
        return []


def _plugins_of_options(options: dict[str, Any]) -> list[str]:
    words = _options_of_command(options)
    after = [words[position + 1] for position, word in enumerate(words[:-1]) if word == "-p"]
    joined = [word[2:] for word in words if word.startswith("-p") and len(word) > 2]
    return [name for name in (*after, *joined) if not name.startswith("no:")]


def _plugins_of_conftest(text: str) -> list[str]:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    values = [
        node.value for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytest_plugins"
    ]
    constants = [inner.value for value in values for inner in ast.walk(value) if isinstance(inner, ast.Constant)]
    return [constant for constant in constants if isinstance(constant, str)]


def _javascript_files(start: Tree, path: str) -> dict[str, str]:
    """Files that a JavaScript runner loads before the tests."""
    files = {}
    for value in _JS_FILES.findall(start.text(path)):
        for name in _STRING.findall(value):
            named = resolved(name.replace("<rootDir>/", ""), parent(path))
            for candidate in (named, *(f"{named}{end}" for end in (".js", ".ts", ".mjs", ".cjs"))):
                if candidate and candidate in start.files:
                    files[candidate] = f"`{path}` makes the test runner load it"
    return files


def _javascript_tests(text: str) -> list[str]:
    globs = [name for value in _JS_TESTS.findall(text) for name in _STRING.findall(value)]
    plain = [name.replace("<rootDir>/", "").replace("?(*.)", "*").lstrip("./") for name in globs]
    return [name for name in plain if _TESTY.search(name) and "*" in name and not re.search(r"[()|^$\\!]", name)]
