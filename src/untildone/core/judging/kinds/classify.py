"""Says of a path whether it is a judge file, of which kind, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, cached_property

from untildone.core.judging import globs
from untildone.core.judging.checks.references import MOST_READ, modules
from untildone.core.judging.checks.scripts import CheckFiles
from untildone.core.judging.kinds import library_names, runner_settings, shadowing
from untildone.core.judging.kinds.helpers import Helpers
from untildone.core.judging.tables import (
    BUILD_FOLDERS,
    CACHES,
    CI,
    DATA_FOLDERS,
    INSTALLED,
    NEVER_TESTS,
    PROJECT_FILES,
    SETTINGS,
    TEST_FOLDERS,
    TEST_FOLDERS_BY_CONTENT,
    TEST_FOLDERS_OF_PROJECTS,
    TESTS,
    TESTS_OF_TOOLS,
    TEXT_FOLDERS,
    TOOL_FILES,
    Kind,
    Language,
    Row,
)
from untildone.core.judging.trees import PROGRAM, Tree, ancestors, parent
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class Judging:
    """Why a path is a judge file."""

    kind: Kind
    why: str
    """Completes the sentence "It is a judge file: …"."""
    hijacks: bool = False
    """Whether the file can only serve to take over a runner: it is never left in place."""
    module: str = ""
    """The new module that it is, or belongs to, if judge files of the start import one of that name."""


@cache
def _named_tests() -> re.Pattern[str]:
    return globs.of_names(pattern for patterns in TESTS.values() for pattern in patterns)


@cache
def _never_tests() -> re.Pattern[str]:
    return globs.of_names(NEVER_TESTS)


def _row_pattern(row: Row) -> re.Pattern[str]:
    return globs.of_names_cached(row.patterns)


@cache
def _caches() -> re.Pattern[str]:
    return globs.of_names(CACHES)


def is_cache(path: str) -> bool:
    """Whether the file is what a runner kept from an earlier run."""
    return _caches().match(path) is not None


def has_test_name(path: str) -> bool:
    return _named_tests().match(path) is not None and _never_tests().match(path) is None


def looks_like_judge(path: str) -> bool:
    """Whether the name of a file alone makes it a judge file, whatever the checks are: a test, or settings of a test runner."""
    return has_test_name(path) or any(globs.of_names_cached(row.patterns).match(path) for row in SETTINGS)


def is_test_source(path: str) -> bool:
    """Whether a file is a test, or code that a test runner loads, by its name: no command that judges has a reason to rewrite it."""
    is_code = language_of(path) is not None and not path.endswith(".snap")
    return is_code and (has_test_name(path) or path.rpartition("/")[2] == "conftest.py" or _lies_among_tests(path))


def _lies_among_tests(path: str) -> bool:
    """Whether a file lies in a folder of tests, and in no folder to which tests write."""
    folders = frozenset(path.lower().split("/")[:-1])
    return bool(folders & _AMONG_TESTS) and not folders & _WRITTEN_BY_TESTS and _never_tests().match(path) is None


_AMONG_TESTS = TEST_FOLDERS | TEST_FOLDERS_OF_PROJECTS | globs.words("spec specs")
_WRITTEN_BY_TESTS = TEXT_FOLDERS | globs.words("generated gen output out tmp temp build __generated__ _generated")


def language_of(path: str) -> Language | None:
    """The language of a file, by its suffix."""
    return _SUFFIXES.get(path[path.rfind(".") :].lower()) if "." in path.rpartition("/")[2] else None


_SUFFIXES = {
    **dict.fromkeys((".py", ".pyi", ".robot"), Language.PYTHON),
    **dict.fromkeys(
        (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".snap"), Language.JAVASCRIPT
    ),
    ".go": Language.GO,
    ".rs": Language.RUST,
    **dict.fromkeys((".java", ".kt", ".kts", ".groovy", ".scala"), Language.JAVA),
    ".rb": Language.RUBY,
    **dict.fromkeys((".php", ".phpt"), Language.PHP),
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp"), Language.C),
    **dict.fromkeys((".cs", ".fs", ".vb"), Language.DOTNET),
    **dict.fromkeys((".sh", ".bats", ".t"), Language.SHELL),
}


_COMPILED = ("c", "cc", "cpp", "cxx", "m", "mm")

_LOADING = globs.of_names(
    (
        ".mocharc*",
        ".rspec*",
        "phpunit*.xml*",
        ".coveragerc",
        ".coveragerc.toml",
        "{jest,vitest,vite,playwright,cypress,ava,karma}.{config,conf}.*",
        "deno.json*",
        ".nycrc*",
        ".c8rc*",
        ".taprc",
        "jasmine.*",
        "behat.y*ml",
        "codeception.y*ml",
        "bunfig.toml",
        "package.json",
        ".npmrc",
        ".cargo/config",
        ".cargo/config.toml",
        ".proverc",
        ".busted",
        ".shellspec",
    )
)
"""Settings that may name files which a runner loads."""

_LOADING_OF_TOOLS = {
    "task": globs.of_names(("Taskfile*.y*ml",)),
    "go-task": globs.of_names(("Taskfile*.y*ml",)),
    "pre-commit": globs.of_names((".pre-commit-config.y*ml",)),
    "prek": globs.of_names((".pre-commit-config.y*ml",)),
    "just": globs.of_names(("justfile", ".justfile", "Justfile")),
    "gradle": globs.of_names(("build.gradle*",)),
    "gradlew": globs.of_names(("build.gradle*",)),
    "rubocop": globs.of_names((".rubocop.yml",)),
    "ruff": globs.of_names(("ruff.toml", ".ruff.toml", "pyproject.toml")),
    "mypy": globs.of_names(("mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml")),
}
"""The same, of tools that only some checks run."""


class Classifier:
    """Classifies paths of two trees, for the checks of a loop."""

    def __init__(self, start: Tree, claimed: Tree, files: CheckFiles, protect: Iterable[str]) -> None:
        self._start = start
        self._claimed = claimed
        self._files = files
        self._protect = globs.of_paths(protect)
        self._settings = runner_settings.read(start, [place.folder for place in files.places])
        of_tools = [name for tool in sorted(files.tools & TESTS_OF_TOOLS.keys()) for name in TESTS_OF_TOOLS[tool]]
        names = (*self._settings.test_names, *of_tools)
        self._names = globs.of_names(names) if names else None
        rows = (*SETTINGS, *TOOL_FILES)
        self._rows = tuple(row for row in rows if not row.tools or files.tools.intersection(row.tools))
        self._holding: frozenset[str] | None = None
        self._beside: dict[str, bool] = {}
        self._wanting: dict[str, bool] = {}
        self._imported: frozenset[str] | None = None
        self._linked: dict[str, Judging] | None = None
        self._packages: frozenset[str] | None = None
        self._dependencies: frozenset[str] | None = None

    def existing(self, path: str) -> Judging | None:
        """Why a file of the start tree is a judge file; None: it is none."""
        known = self._by_rule(path) or self._data(path) or self._links().get(path) or self._below_link(path)
        if known or self._installed_folder(path):
            return known
        why = self._helpers.why(path)
        return Judging(Kind.TEST, why) if why else None

    @cached_property
    def _helpers(self) -> Helpers:
        """Closed over the judge files by name."""
        settings = [path for path in self._start.files if self._loads_others(path)]
        return Helpers(self._start, lambda path: self._by_rule(path) or self._data(path), settings, has_test_name)

    def _loads_others(self, path: str) -> bool:
        """Whether a file of the start can name files that a test runner loads."""
        is_free = path.rpartition("/")[2].startswith("vite.") and "vitest" not in self._files.tools
        loads = _LOADING.match(path) is not None or any(
            pattern.match(path) for tool, pattern in _LOADING_OF_TOOLS.items() if tool in self._files.tools
        )
        return not is_free and loads and self._installed_folder(path) is None

    def new(self, path: str) -> Judging | None:
        """Why a file that was not there at the start is a judge file; None: it is none."""
        judging = self._shadow(path) or self._built(path) or self._by_rule(path) or self._stands_for(path)
        judging = judging or self._imported_at_start(path) or self._among_scripts(path)
        is_part_of_source = judging and judging.kind is Kind.TEST and path.endswith(".rs") and "src" in path.split("/")
        return None if is_part_of_source else judging

    def _among_scripts(self, path: str) -> Judging | None:
        """A new script in a folder of which a check runs all."""
        name = path.rpartition("/")[2]
        if (parent(path), name.rpartition(".")[2] if "." in name else "") not in self._files.filled:
            return None
        return Judging(Kind.SCRIPT, f"the check runs what is in `{parent(path)}`")

    def _stands_for(self, path: str) -> Judging | None:
        """A link in the place of a folder that judges, or of a package: what it points to is reached by its name."""
        target = self._claimed.target(path) if self._claimed.is_link(path) else None
        if not target:
            return None
        below = [name[len(target) :] for name in self._claimed.files if name.startswith(f"{target}/")]
        suffix = target[target.rfind(".") :] if "." in target.rpartition("/")[2] else ""
        reached = (path + rest for rest in (*below, ".py", *([suffix] if suffix else ())))
        return next((found for name in reached if (found := self._shadow(name) or self._by_rule(name))), None)

    def _imported_at_start(self, path: str) -> Judging | None:
        """A part of a new module that judge files of the start import: it may take the place of one that is installed."""
        name, place = shadowing.top_module(path, self._import_roots())
        if not name or self._installed_folder(path) or self._had_module(name, place):
            return None
        if name not in self._imported_names():
            return None
        why = f"tests import `{name}`, and the workspace had none"
        is_hijack = name in shadowing.STANDARD
        if is_hijack:
            why = f"Python would import it instead of `{name}`, which tests use"
        return Judging(Kind.SETTINGS, why, hijacks=is_hijack, module="" if is_hijack else name)

    def _had_module(self, name: str, place: str) -> bool:
        roots = {place, *self._import_roots()}
        bases = [f"{root}/{name}" if root else name for root in roots]
        return any(base in self._start.folders or f"{base}.py" in self._start.files for base in bases)

    def _imported_names(self) -> frozenset[str]:
        """The modules that Python judge files of the start import."""
        if self._imported is None:
            judging = [path for path in self._start.files if path.endswith(".py") and self._by_rule(path)][:MOST_READ]
            self._start.fetch(judging)
            self._imported = frozenset(name for path in judging for name in modules(self._start.text(path)))
        return self._imported

    def _built(self, path: str) -> Judging | None:
        """A file or folder in the place of a target of make: make takes the target for done."""
        if self._installed_folder(path):
            return None
        for place in (path, *ancestors(path)):
            if place in self._files.built and (place == path or place not in self._start.folders):
                return Judging(
                    Kind.SCRIPT,
                    f"make takes it for the result of a target of `{self._files.built[place]}`",
                    hijacks=True,
                )
        return None

    def is_original_test(self, path: str) -> bool:
        """Whether a file of the start tree is a test, by name or folder, or because a check or settings say so."""
        return has_test_name(path) or self._in_test_folder(path) is not None or self._is_named_as_test(path)

    def _is_named_as_test(self, path: str) -> bool:
        named = self._files.named.get(path)
        in_names = self._names is not None and self._names.match(path) is not None
        return in_names or (named is not None and named.kind is not Kind.SETTINGS and path in self._start.files)

    def _by_rule(self, path: str) -> Judging | None:
        if self._protect and self._protect.match(path):
            return Judging(Kind.PROTECTED, "--protect names it")
        if self._installed_folder(path):
            return self._installed(path)
        if named := self._files.named.get(path):
            return Judging(named.kind, named.why)
        for row in self._rows:
            if _row_pattern(row).match(path):
                return Judging(Kind.SETTINGS, row.why, hijacks=row is SETTINGS[2])
        if loaded := (self._settings.settings or {}).get(path):
            return Judging(Kind.SETTINGS, loaded)
        return self._test(path) or (Judging(Kind.CI, CI.why) if _row_pattern(CI).match(path) else None)

    def _test(self, path: str) -> Judging | None:
        folders = [parent(path), *ancestors(parent(path))] if parent(path) else []
        if (
            any(folder.rpartition("/")[2].lower() in BUILD_FOLDERS for folder in folders)
            and path not in self._start.files
        ):
            return None
        if has_test_name(path) or (self._names and self._names.match(path)):
            return Judging(Kind.TEST, "its name is that of a test")
        if path.rpartition("/")[2] == "tests.py" and self._imports_test_runner(path):
            return Judging(Kind.TEST, "it contains tests")
        folder = self._in_test_folder(path)
        return None if folder is None else Judging(Kind.TEST, f"it lies in the folder of tests `{folder}`")

    def _imports_test_runner(self, path: str) -> bool:
        text = self._start.text(path) or self._claimed.text(path)
        return (
            re.search(
                r"^\s*(?:from|import)\s+(?:unittest|pytest|django\.test|rest_framework\.test)\b", text, re.MULTILINE
            )
            is not None
        )

    def _in_test_folder(self, path: str) -> str | None:
        """The folder of tests in which the path lies; a link may itself stand in the place of such a folder."""
        is_link = self._start.is_link(path) or self._claimed.is_link(path)
        if _never_tests().match(path):
            return None
        return next(
            (
                folder
                for folder in ((path, *ancestors(path)) if is_link else ancestors(path))
                if self._is_test_folder(folder)
            ),
            None,
        )

    def _is_test_folder(self, folder: str) -> bool:
        name = folder.rpartition("/")[2].lower()
        if name in TEST_FOLDERS or folder in self._settings.test_folders | self._files.test_folders:
            return True
        if name in TEST_FOLDERS_OF_PROJECTS and (self._is_project(parent(folder)) or folder in self._holding_tests()):
            return True
        return name in TEST_FOLDERS_BY_CONTENT and folder in self._holding_tests()

    def _is_project(self, folder: str) -> bool:
        base = f"{folder}/" if folder else ""
        return not folder or any(
            base + name in tree.files for name in PROJECT_FILES for tree in (self._start, self._claimed)
        )

    def _holding_tests(self) -> frozenset[str]:
        """The folders with a file that has the name of a test, in either tree."""
        if self._holding is None:
            every = (path for tree in (self._start, self._claimed) for path in tree.files)
            named = [path for path in every if has_test_name(path) or (self._names and self._names.match(path))]
            self._holding = frozenset(folder for path in named for folder in ancestors(path))
        return self._holding

    def _data(self, path: str) -> Judging | None:
        for folder in ancestors(path):
            if folder.rpartition("/")[2].lower() in DATA_FOLDERS and self._has_tests_beside(folder):
                return Judging(Kind.TEST, f"it lies in `{folder}`, beside tests")
        return None

    def _has_tests_beside(self, folder: str) -> bool:
        if folder not in self._beside:
            self._beside[folder] = self._finds_tests_in(parent(folder))
        return self._beside[folder]

    def _finds_tests_in(self, around: str) -> bool:
        base = f"{around}/" if around else ""
        beside = {path[len(base) :].partition("/")[0] for path in self._start.files if path.startswith(base)}
        return any(
            name.lower() in TEST_FOLDERS | TEST_FOLDERS_OF_PROJECTS or has_test_name(base + name) for name in beside
        )

    def _installed_folder(self, path: str) -> str | None:
        return next((folder for folder in ancestors(path) if self._holds_packages(folder)), None)

    def _holds_packages(self, folder: str) -> bool:
        name = folder.rpartition("/")[2]
        if name not in INSTALLED:
            return False
        base = f"{parent(folder)}/" if parent(folder) else ""
        return name != "vendor" or any(base + listed in self._start.files for listed in INSTALLED[name])

    def _installed(self, path: str) -> Judging | None:
        """An installed package that changed although what is to be installed did not."""
        folder = self._installed_folder(path)
        if folder is not None and folder not in self._start.folders and self._is_vendored_go(folder):
            return Judging(
                Kind.SETTINGS, f"Go would take packages from `{folder}` instead of those that were downloaded"
            )
        if folder is None or folder not in self._start.folders or self._wants_others(folder):
            return None
        return Judging(Kind.SETTINGS, f"it belongs to the packages that were installed in `{folder}`")

    def _is_vendored_go(self, folder: str) -> bool:
        base = f"{parent(folder)}/" if parent(folder) else ""
        return folder.rpartition("/")[2] == "vendor" and f"{base}go.mod" in self._start.files

    def _wants_others(self, folder: str) -> bool:
        """Whether a lock file or the list of dependencies changed."""
        if folder not in self._wanting:
            self._wanting[folder] = self._changed_lists(folder)
        return self._wanting[folder]

    def _changed_lists(self, folder: str) -> bool:
        wanted = globs.of_names(INSTALLED[folder.rpartition("/")[2]])
        changed = [
            path
            for path in {**self._start.files, **self._claimed.files}
            if wanted.match(path) and "/node_modules/" not in f"/{path}"
        ]
        return any(self._start.files.get(path) != self._claimed.files.get(path) for path in changed)

    def _links(self) -> dict[str, Judging]:
        """The files that links among the judge files of the start point to."""
        if self._linked is None:
            self._linked = {}
            links = [path for path in self._start.files if self._start.is_link(path)]
            self._start.fetch(links)
            for path in links:
                target = self._start.target(path)
                if target and (judging := self._by_rule(path)):
                    self._linked[target] = Judging(judging.kind, f"`{path}` is a link to it")
        return self._linked

    def _below_link(self, path: str) -> Judging | None:
        links = self._links()
        return next((links[folder] for folder in ancestors(path) if folder in links), None)

    def _shadow(self, path: str) -> Judging | None:
        file = self._claimed.files.get(path)
        if file is not None and file.mode == PROGRAM and path.rpartition("/")[2] in self._files.tools:
            return Judging(Kind.SCRIPT, "it has the name of a program that the check runs", hijacks=True)
        roots, packages = self._import_roots(), self._python_packages()
        hidden = shadowing.shadowed(path, roots, packages, self._declared(), self._start.files)
        if self._installed_folder(path):
            return None
        if hidden is not None:
            is_hijack = not hidden.startswith(shadowing.PLUGIN)
            return Judging(Kind.SETTINGS, f"Python would import it instead of `{hidden}`", hijacks=is_hijack)
        return self._in_place_of_library(path)

    def _in_place_of_library(self, path: str) -> Judging | None:
        """A new file that a compiler or an interpreter would find before a library of tests, or that stands for a compiled test."""
        found = library_names.replacement(path, self._start.files)
        if found and (not library_names.is_header(path) or self._is_included(path)):
            return Judging(Kind.SETTINGS, found.why, hijacks=found.is_standard)
        stem, _, suffix = path.rpartition(".")
        if suffix in ("o", "obj", "lo") and any(self._is_judge_source(f"{stem}.{end}") for end in _COMPILED):
            return Judging(Kind.SCRIPT, f"a build may take it for the compiled `{stem}`", hijacks=True)
        return None

    def _is_included(self, header: str) -> bool:
        """Whether a test of the start includes a header of that name."""
        tests = [path for path in self._start.files if language_of(path) is Language.C and self._is_judge_source(path)]
        self._start.fetch(tests[:MOST_READ])
        name = re.compile(rf"""#\s*include\s*[<"](?:[^>"\n]*/)?{re.escape(header.rpartition("/")[2])}[>"]""")
        return any(name.search(self._start.text(path)) for path in tests[:MOST_READ])

    def _is_judge_source(self, path: str) -> bool:
        return path in self._start.files and self._by_rule(path) is not None

    def _import_roots(self) -> frozenset[str]:
        places = {place.folder for place in self._files.places}
        return frozenset({"", "src", "lib", "tests", "test", *places, *self._settings.import_roots})

    def _python_packages(self) -> frozenset[str]:
        if self._packages is None:
            inits = [path for tree in (self._start, self._claimed) for path in tree.files if "__init__." in path]
            self._packages = frozenset(parent(path) for path in inits)
        return self._packages

    def _declared(self) -> frozenset[str]:
        if self._dependencies is None:
            self._dependencies = shadowing.dependencies(self._start)
        return self._dependencies
