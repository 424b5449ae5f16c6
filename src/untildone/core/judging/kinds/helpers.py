"""Files of the start that belong to the judge files because these import, load or open them, and the product does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache

from untildone.core.judging.checks import references
from untildone.core.judging.checks.references import Importers
from untildone.core.judging.checks.script_texts import LAUNCHES_TESTS, is_for_developers, judging_name
from untildone.core.judging.documents import found, loaded_json
from untildone.core.judging.trees import Tree, parent

DEEPEST = 6
_HELPING = re.compile(
    r"(?:^|[^a-z])(?:tests?|testing|test_?utils?|testutils?|testlib|testkit|supports?|helpers?|fixtures?|hooks?|plugs?|plugins?|conftest|asserts?|assertions?"
    r"|assertlib|mocks?|stubs?|fakes?|matchers?|factories|harness|doubles|checks?|expect\w*)(?:[^a-z]|$)"
)
_TEST_CODE = re.compile(
    r"^\s*(?:import|from)\s+(?:pytest|unittest|hypothesis|nose|testfixtures|hamcrest|assertpy)\b|\bpytest_(?:runtest|collection|configure|pyfunc)\w*"
    r"|@(?:pytest\.)?fixture\b|raise AssertionError"
    r"|node:assert|node:test|['\"](?:chai|assert|vitest|@jest/globals|expect|should|tap|tape|ava|mocha)['\"]"
    r"|\btesting\.(?:T|TB|M)\b|RSpec\.|Minitest::|PHPUnit\\|org\.junit|assertThat\(",
    re.MULTILINE,
)
_RUNNER_FILES = re.compile(
    r"(?:.*/)?(?:(?:jest|vitest|vite|playwright|cypress|ava|karma|wdio|babel|web-test-runner)\.(?:config|conf|setup|preset)\.\w+|\.mocharc\.\w+"
    r"|jest-preset\.\w+|CTest\w*\.cmake|noxfile\.py|tasks\.py|(?:Rake|rake)file|\w+\.rake|eslint\.config\.\w+|\.eslintrc\.\w+)\Z"
)
"""Settings that are programs: whatever they import decides too. A `conftest.py` imports the product as well."""
_LOADED = re.compile(
    r"""(?:setupFiles\w*|globalSetup|globalTeardown|testEnvironment|testRunner|runner|resolver|reporters?|snapshotSerializers|requires?|import|loader"""
    r"""|supportFile|transform|moduleNameMapper|preset|presets|extends?|inherit_from|plugins|bootstrap|importMap|helpers|-r|-I|script-shell|rustc-wrapper|rustc-workspace-wrapper|rustc|linker|testSequencer|dependencyExtractor|projects)\b"""
    r"""['"]?\s*[:=\s]\s*(\{[^}]*\}|\[[^\]]*\]|(?:\s*\n\s+-[^\n]*)+|[^\n,>]+)"""
)
_INCLUDED = {
    "Taskfile": re.compile(r"^includes:[ \t]*\n((?:[ \t]+.*\n?)+)", re.MULTILINE),
    ".pre-commit": re.compile(r"^\s*(?:-\s+)?entry:(.*(?:\n[ \t]+(?!\w+:).*)*)", re.MULTILINE),
    "justfile": re.compile(r"^(?:import|mod)\??\s+(.*)", re.MULTILINE),
    "build.gradle": re.compile(r"\bapply\s*\(?\s*from\s*[:=]\s*([^\n)]*)"),
}
"""How settings, by the beginning of their names, name files that decide as they do."""
_RUNNERS_IN_PACKAGE = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "jasmine", "babel", "cypress", "karma")
_WORD = re.compile(r"[\w@%+./<>${}-]+")
_PROJECT = re.compile(
    r"(?:.*/)?(?:README|CHANGELOG|LICENSE|CONTRIBUTING|Dockerfile|Makefile|package(?:-lock)?\.json|pyproject\.toml|Cargo\.(?:toml|lock)|go\.(?:mod|sum)"
    r"|setup\.cfg|pom\.xml|composer\.(?:json|lock)|tsconfig[\w.]*\.json|openapi\.\w+|requirements[\w.-]*\.txt|\.env[\w.]*|config\w*\.\w+|settings\w*\.\w+"
    r"|index\.html|.*\.(?:md|rst|html|css|scss|svg|png|jpe?g|gif|ico|lock|sql|db|sqlite3?|log|proto|graphql|tmpl|tpl|j2|jinja2?|ejs|hbs|erb|tf|env))"
    r"(?:\..*)?\Z",
    re.IGNORECASE,
)
"""Files that belong to the product or to its description although tests read them."""

Why = Callable[[str], object]
"""Returns something if the path is a judge file by the rules about names."""


def _included(settings: str, text: str) -> Iterable[str]:
    name = (
        settings.rpartition("/")[2].lstrip(".")
        if settings.lower().endswith("justfile")
        else settings.rpartition("/")[2]
    )
    patterns = (pattern for start, pattern in _INCLUDED.items() if name.lower().startswith(start.lower()))
    return (value for pattern in patterns for value in pattern.findall(text))


class Helpers:
    """Says why a file of the start tree belongs to the judge files that refer to it."""

    def __init__(self, start: Tree, is_judge: Why, settings: Iterable[str], is_test: Why) -> None:
        """`settings` are files of the start from which runners read what to load; `is_test` knows tests by their names."""
        self._start = start
        self._is_judge = cache(lambda path: bool(is_judge(path)))
        self._is_test = is_test
        self._importers = Importers(start)
        self._settings = tuple(settings)
        self._loaded: dict[str, str] | None = None
        self._known: dict[str, str] = {}

    def why(self, path: str, depth: int = 0) -> str:
        """Completes "It is a judge file: …"; empty: it is none."""
        if path not in self._known:
            self._known[path] = ""
            self._known[path] = self._why(path, depth)
        return self._known[path]

    def _why(self, path: str, depth: int) -> str:
        if loaded := self._loads().get(path):
            return f"`{loaded}` makes the test runner load it"
        if references.is_code(path):
            return self._imported(path, depth) if depth < DEEPEST else ""
        return self._opened(path)

    def _imported(self, path: str, depth: int) -> str:
        importers = self._importers.of(path)
        judging = [file for file in importers if self._is_judge(file) or self.why(file, depth + 1)]
        if not judging:
            return ""
        settings = next((file for file in judging if _RUNNER_FILES.match(file)), None)
        if settings:
            return f"`{settings}` reads it"
        if len(judging) < len(importers) or not self._helps(path, judging[0]):
            return ""
        return f"`{judging[0]}` uses it, and only tests and their helpers do"

    def _helps(self, path: str, importer: str) -> bool:
        """Whether the file looks like a helper of tests, not like what is tested."""
        if path.endswith((".sh", ".bash", ".bats", ".robot", ".resource", ".cmake", ".mk")) or self.why(importer):
            return True
        if importer.endswith((".robot", ".resource")) and parent(importer) and path.startswith(f"{parent(importer)}/"):
            return True
        # A script that does not start tests compares by itself, maybe what this file does.
        is_beside = is_for_developers(path) and parent(path) == parent(importer) and not self._is_test(importer)
        if is_beside and LAUNCHES_TESTS.search(self._start.text(importer)):
            return True
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", path).lower()
        return _HELPING.search(spaced) is not None or _TEST_CODE.search(self._start.text(path)) is not None

    def _opened(self, path: str) -> str:
        if _PROJECT.match(path):
            return ""
        naming = self._importers.naming(path)
        judging = [file for file in naming if self._is_judge(file)]
        if not judging or len(judging) < len(naming) or not ("/" in path or judging_name(path)):
            return ""
        return f"`{judging[0]}` reads it, and no other program names it"

    def _loads(self) -> dict[str, str]:
        if self._loaded is None:
            self._loaded = {}
            self._start.fetch(self._settings)
            for settings in self._settings:
                values = " ".join((*_LOADED.findall(self._text(settings)), *_included(settings, self._text(settings))))
                for word in _WORD.findall(values):
                    for file in self._loaded_by(word, settings):
                        self._loaded.setdefault(file, settings)
        return self._loaded

    def _text(self, settings: str) -> str:
        """The text of settings; of a file with two uses, only the part of the test runners."""
        if settings.endswith("pyproject.toml"):
            tables = re.split(r"^(?=\[)", self._start.text(settings), flags=re.MULTILINE)
            return "".join(table for table in tables if re.match(r"\[tool\.(?:ruff|mypy|pylint|pyright)\b", table))
        if not settings.endswith("package.json"):
            return self._start.text(settings)
        try:
            parts = found(loaded_json(self._start.content(settings)), [(name,) for name in _RUNNERS_IN_PACKAGE])
        except ValueError:
            return ""
        return json.dumps(list(parts.values()), indent=1)

    def _module(self, word: str) -> str | None:
        for file in (*references.module_files(word, ("", "src"), self._start), f"lib/{word}.rb", f"spec/{word}.rb"):
            if file in self._start.files and not self._start.text(file).startswith("#!"):
                return file
        return None

    def _loaded_by(self, word: str, settings: str) -> Iterable[str]:
        """The files that a word of settings makes a runner load. Names of modules are also mapped to sources of the product."""
        file = references.named(word, parent(settings), self._start) or self._module(word)
        if file:
            is_source = "src" in file.split("/")[:-1] and not _HELPING.search(file.lower())
            return () if is_source or file == settings else (file,)
        presets = (
            references.named(f"{word}/{name}", parent(settings), self._start) for name in ("jest-preset", "index")
        )
        return tuple(preset for preset in presets if preset and word.startswith((".", "<")))
