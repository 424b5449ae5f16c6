"""Files with two uses, such as `pyproject.toml`: a part judges, the rest belongs to the product.

The judging parts of two versions are compared. If they differ, the pass with the originals gets the judging part of the start and the
rest as claimed; if that cannot be done safely, the whole file of the start.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from enum import Enum, auto

from untildone.core.judging.checks.scripts import PLACEHOLDER, CheckFiles
from untildone.core.judging.documents import (
    Document,
    Key,
    found,
    loaded_json,
    loaded_toml,
    replaced,
    written_json,
    written_toml,
)
from untildone.core.judging.globs import words
from untildone.core.judging.versions import builds, inis, rust
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass


class Part(Enum):
    """What happened to the judging part of a file."""

    SAME = auto()
    ADDED = auto()
    """There was none at the start."""
    CHANGED = auto()


@dataclass(frozen=True, slots=True)
class Comparison:
    part: Part
    merged: bytes | None = None
    """The judging part of the start with the rest as claimed; None: take the whole file of the start, or none if it is new."""


SAME = Comparison(Part.SAME)
Comparer = Callable[[str, bytes | None, bytes | None, CheckFiles], Comparison]

_WHAT = {
    "pyproject.toml": "the sections of test runners in it",
    "Cargo.toml": "the entries about tests in it",
    "package.json": "the scripts that the check runs and the settings of test runners in it",
    "composer.json": "the scripts in it",
    "deno.json": "the tasks and test settings in it",
    "deno.jsonc": "the tasks and test settings in it",
    "setup.cfg": "the sections of test runners in it",
    "tox.ini": "the sections of test runners in it",
    "entry_points.txt": "the plugins of test runners in it",
    "pom.xml": "the test settings in it",
    "build.gradle": "the build steps in it",
    "build.gradle.kts": "the build steps in it",
    "settings.gradle": "the projects in it",
    "settings.gradle.kts": "the projects in it",
    "CMakeLists.txt": "the tests in it",
    "meson.build": "the tests in it",
    "pnpm-workspace.yaml": "the packages in it",
    "go.work": "the modules in it",
    "go.mod": "the libraries of tests that it replaces",
    "mix.exs": "the aliases and test settings in it",
    "build.sbt": "the test settings in it",
    "Package.swift": "the test targets in it",
    "BUILD": "the tests in it",
    "BUILD.bazel": "the tests in it",
    "tsconfig.json": "the options and the names of modules in it",
}


def why(path: str) -> str:
    """The judging part of a shared file, in words."""
    name = path.rpartition("/")[2]
    what = "the examples in it" if name.endswith((".py", ".pyi", ".md", ".rst", ".txt")) else "the tests in it"
    return f"{_WHAT.get(name, what)} decide what a check means"


def comparer(path: str) -> Comparer | None:
    """The function that compares two versions of a shared file; None: the file has one use."""
    name = path.rpartition("/")[2]
    if "buildSrc" in path.split("/")[:-1]:
        return None
    if name in _COMPARERS:
        return _COMPARERS[name]
    if name.endswith(".rs"):
        return _rust
    if name.endswith(".cabal"):
        return _of_tools(builds.same_cabal, "cabal", "stack")
    if name.endswith(".cmake"):
        return _build(builds.same_cmake)
    if name.endswith(".zig") and name != "build.zig":
        return _of_tools(builds.same_zig, "zig")
    if re.match(r"tsconfig(\.\w+)?\.json\Z", name):
        return _tsconfig
    if name.endswith((".py", ".pyi", ".md", ".rst", ".txt")) and name not in ("entry_points.txt",):
        return _examples
    if re.match(r"vite\.config\.\w+\Z", name):
        return _vite
    return None


def _toml(patterns: Callable[[CheckFiles], tuple[Key, ...]], growing: tuple[Key, ...] = ()) -> Comparer:
    def compare(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
        try:
            before, after = loaded_toml(start), loaded_toml(claimed)
        except ValueError:
            return Comparison(Part.CHANGED if start is not None else Part.ADDED)
        return _documents(before, after, patterns(files), growing, written_toml)

    return compare


def _json(patterns: Callable[[CheckFiles], tuple[Key, ...]], growing: tuple[Key, ...] = ()) -> Comparer:
    def compare(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
        try:
            before, after = loaded_json(start), loaded_json(claimed)
        except ValueError:
            return Comparison(Part.CHANGED if start is not None else Part.ADDED)
        names = tuple(("imports", name) for name in sorted(_table(before, "imports")))
        judged = (*patterns(files), *_judged_scripts(path, before, files), *names)
        return _documents(before, after, judged, growing, written_json)

    return compare


def _table(document: Document, name: str) -> Document:
    """A table of the document. Names of modules that were there at the start may be those by which tests get their helpers."""
    table = document.get(name)
    return table if isinstance(table, dict) else {}


def _documents(
    before: Document,
    after: Document,
    patterns: tuple[Key, ...],
    growing: tuple[Key, ...],
    write: Callable[[Document], bytes],
) -> Comparison:
    was, now = found(before, patterns), found(after, patterns)
    shrunk = {
        key: value
        for key, value in found(before, growing).items()
        if not _has_grown(value, found(after, (key,)).get(key))
    }
    if repr(_ordered(was)) == repr(_ordered(now)) and not shrunk:
        return SAME
    merged = replaced(after, now, {**was, **shrunk})
    part = Part.CHANGED if was or shrunk else Part.ADDED
    try:
        return Comparison(part, write(merged))
    except ValueError:
        return Comparison(part)


def _ordered(values: Mapping[Key, Any]) -> list[tuple[Key, Any]]:
    return sorted(values.items(), key=lambda pair: pair[0])


def _has_grown(before: Any, after: Any) -> bool:
    """Whether a list still has every entry, and no new one that excludes something."""
    if not isinstance(before, list) or not isinstance(after, list):
        return repr(before) == repr(after)
    new = [entry for entry in after if entry not in before]
    return all(entry in after for entry in before) and not any(str(entry).startswith("!") for entry in new)


_PYPROJECT: tuple[Key, ...] = (
    *(
        ("tool", name)
        for name in sorted(
            words("pytest coverage tox nox nose nosetests ward behave robot pytest-enabler hypothesis stestr")
        )
    ),
    ("project", "entry-points", "pytest11"),
    ("tool", "poetry", "plugins", "pytest11"),
)
_PYPROJECT_OF_TOOLS: dict[str, tuple[Key, ...]] = {
    **{
        tool: (("tool", tool),)
        for tool in words("ruff mypy pyright basedpyright pylint black isort bandit flake8 ty pyrefly vulture")
    },
    "lint-imports": (("tool", "importlinter"),),
    "hatch": (("tool", "hatch", "envs", "*", "scripts"),),
    "poe": (("tool", "poe"),),
    "task": (("tool", "taskipy"),),
    "pdm": (("tool", "pdm", "scripts"),),
    "rye": (("tool", "rye", "scripts"),),
    "pixi": (("tool", "pixi", "tasks"),),
}
_CARGO: tuple[Key, ...] = (
    ("test",),
    ("package", "autotests"),
    ("package", "build"),
    ("package", "autobins"),
    ("package", "autoexamples"),
    ("profile", "test"),
    *((place, key) for place in ("lib",) for key in ("test", "doctest", "harness", "path")),
    *((place, "*", key) for place in ("bin", "example") for key in ("test", "harness", "path")),
    ("workspace", "exclude"),
    ("workspace", "default-members"),
)
_PACKAGE = tuple(
    (name,)
    for name in sorted(words("jest vitest mocha ava nyc c8 tap jasmine config husky wireit babel cypress karma"))
)
_PACKAGE_OF_TOOLS = {
    "eslint": (("eslintConfig",), ("eslintIgnore",)),
    "prettier": (("prettier",),),
    "stylelint": (("stylelint",),),
    "xo": (("xo",),),
    "lint-staged": (("lint-staged",),),
    "nx": (("nx",),),
}


def _with_tools(
    always: tuple[Key, ...], by_tool: Mapping[str, tuple[Key, ...]]
) -> Callable[[CheckFiles], tuple[Key, ...]]:
    def patterns(files: CheckFiles) -> tuple[Key, ...]:
        return always + tuple(key for tool in sorted(files.tools) for key in by_tool.get(tool, ()))

    return patterns


def _judged_scripts(path: str, before: Document, files: CheckFiles) -> tuple[Key, ...]:
    """The scripts that a check runs and that were there at the start, and whatever npm runs before and after them."""
    named = {name for of, name in files.package_scripts if of in (path, "*")}
    at_start = {key[1] for key, line in found(before, (("scripts", "*"),)).items() if not PLACEHOLDER.match(str(line))}
    judged = named & at_start
    around = {f"{when}{name}" for name in judged for when in ("pre", "post")}
    return tuple(("scripts", name) for name in sorted(judged | around))


def _ini(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    was, now = inis.judging(start or b"", files.tools), inis.judging(claimed or b"", files.tools)
    if was is None or now is None:
        return Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if was == now:
        return SAME
    return Comparison(Part.CHANGED if was else Part.ADDED, inis.merged(start or b"", claimed or b"", files.tools))


def _build(same: Callable[[str, str], bool]) -> Comparer:
    """For files that can be compared but not merged. A new one belongs to the product."""

    def compare(_path: str, start: bytes | None, claimed: bytes | None, _files: CheckFiles) -> Comparison:
        if start is None or (claimed is not None and same(_text(start), _text(claimed))):
            return SAME
        return SAME if claimed is None and same(_text(start), "") else Comparison(Part.CHANGED)

    return compare


def _of_tools(same: Callable[[str, str], bool], *tools: str) -> Comparer:
    """As `_build`, for files that count only if a check runs one of the tools."""
    compare = _build(same)

    def compare_for_tools(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
        return compare(path, start, claimed, files) if files.tools.intersection(tools) else SAME

    return compare_for_tools


_RESOLVING = words("tsx ts-node ts-node-esm vitest jest bun deno mocha ava esno swc-node")


def _tsconfig(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """Type checkers read all of it; programs that run TypeScript resolve modules as `paths` says."""
    if files.tools & words("tsc vue-tsc svelte-check"):
        same = start is not None and start == claimed
        return SAME if same else Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if not files.tools & _RESOLVING:
        return SAME
    try:
        before, after = loaded_json(start), loaded_json(claimed)
    except ValueError:
        return (
            SAME
            if start is not None and claimed is not None and _paths_text(start) == _paths_text(claimed)
            else Comparison(Part.CHANGED if start is not None else Part.ADDED)
        )
    return _resolution(
        before, after, ("compilerOptions", "paths", "*"), (("compilerOptions", "baseUrl"), ("extends",)), files
    )


def _paths_text(content: bytes) -> list[str]:
    """What a document that is no plain JSON says about modules."""
    return re.findall(r'"(?:paths|baseUrl|extends)"\s*:\s*(?:\{[^}]*\}|[^\n]*)', _text(content))


def _resolution(
    before: Document, after: Document, names: Key, fixed: tuple[Key, ...], _files: CheckFiles
) -> Comparison:
    """Names of modules that a document maps to files. Tests of the start use only names that were there then, or names of packages:
    a new name with a pattern or a mark is the product's own."""
    was = found(before, (names, *fixed))
    now = {
        key: value
        for key, value in found(after, (names, *fixed)).items()
        if key in was or not re.search(r"[*]|^[#~]|/\Z", key[-1])
    }
    if repr(_ordered(was)) == repr(_ordered(now)):
        return SAME
    return Comparison(Part.CHANGED if was else Part.ADDED, written_json(replaced(after, now, was)))


def _deno(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    compared = _json(_with_tools((("test",),), {"deno": (("tasks",), ("lint",), ("fmt",), ("importMap",))}))(
        path, start, claimed, files
    )
    if compared.part is not Part.SAME or "deno" not in files.tools:
        return compared
    before, after = loaded_json(start), loaded_json(claimed)
    kept = found(before, (("imports", "*"),))
    local = {
        key: value
        for key, value in found(after, (("imports", "*"),)).items()
        if key in kept or (str(value).startswith((".", "/")) and not key[-1].startswith(("./", "../", "#", "~", "@/")))
    }
    if repr(_ordered(kept)) == repr(_ordered(local)):
        return SAME
    return Comparison(Part.CHANGED, written_json(replaced(after, local, kept)))


_ASSERTS = re.compile(r"(?i)test|assert|gomega|ginkgo|go-cmp|quicktest|check|convey|mock|expect|require")


def _go_mod(_path: str, start: bytes | None, claimed: bytes | None, _files: CheckFiles) -> Comparison:
    """A library of tests that is replaced by a folder of the workspace."""
    was, now = _go_replaced(start), _go_replaced(claimed)
    if start is None or was == now:
        return SAME
    lines = [line for line in _text(claimed or b"").splitlines() if line not in now - was]
    return Comparison(Part.CHANGED, None if was - now else ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _go_replaced(content: bytes | None) -> set[str]:
    lines = _text(content or b"").splitlines()
    return {line for line in lines if "=>" in line and _ASSERTS.search(line.partition("=>")[0].replace("require", ""))}


def _go_work(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    return Comparison(Part.ADDED) if start is None else _build(builds.same_list)(path, start, claimed, files)


_EXAMPLE = re.compile(r"^[ \t]*>>> (.*(?:\n[ \t]*\.\.\. ?.*)*)((?:\n[ \t]*(?!>>>)\S.*)*)", re.MULTILINE)


def _examples(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """Examples in documentation that a check runs, and Django's choice of a test runner."""
    if path.endswith("settings.py") and "manage.py" in files.tools and _django(start) != _django(claimed):
        return Comparison(Part.CHANGED, _with_django(start or b"", claimed))
    if path.rpartition("/")[2] == "setup.py" and _plugins(start) != _plugins(claimed):
        return Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if start is None or "doctest" not in files.tools:
        return SAME
    was, now = (Counter(_doctests(content)) for content in (start, claimed or b""))
    return Comparison(Part.CHANGED) if was - now or _rebinds(start, claimed or b"") else SAME


def _plugins(content: bytes | None) -> list[str]:
    """The plugins of pytest that a `setup.py` declares."""
    return re.findall(r"pytest11[^\]]*", _text(content or b""))


_BINDS = re.compile(r"(\w+)\s*(?::[^=]*)?=(?!=)|(?:def|class|del)\s+(\w+)|(?:from\s.*)?import\s.*\bas\s+(\w+)")


def _rebinds(start: bytes, claimed: bytes) -> bool:
    """Whether a new example gives a name another meaning that an example of the start, later in the same text, uses."""
    known = Counter(_doctests(start))
    for text in re.split(r"\"\"\"|\'\'\'", _text(claimed)):
        bound: set[str] = set()
        for example in _doctests(text.encode("utf-8", "surrogateescape")):
            if known[example]:
                known[example] -= 1
                if bound.intersection(re.findall(r"\w+", example[0])):
                    return True
            elif binding := _BINDS.match(example[0]):
                bound |= {name for name in binding.groups() if name}
    return False


def _doctests(content: bytes) -> list[tuple[str, ...]]:
    text = _text(content).replace('"""', "").replace("'''", "")
    return [tuple(" ".join(part.split()) for part in example) for example in _EXAMPLE.findall(text)]


_DJANGO = re.compile(r"^TEST(?:_\w+)?\s*=.*\n?", re.MULTILINE)


def _django(content: bytes | None) -> list[str]:
    return [line.strip() for line in _DJANGO.findall(_text(content or b""))]


def _with_django(start: bytes, claimed: bytes | None) -> bytes | None:
    kept = "".join(_DJANGO.findall(_text(start)))
    return (
        None if claimed is None else (_DJANGO.sub("", _text(claimed)) + "\n" + kept).encode("utf-8", "surrogateescape")
    )


_VITE_HOOK = re.compile(
    r"\b(?:transform|load|resolveId|configureVitest|configResolved|buildStart|enforce)\b\s*[(:]|(?:from|import|require)\s*\(?\s*['\"]\.[^'\"]*"
)


def _vite(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """Vitest reads `test` in Vite's settings, and sends tests through its plugins. They are a program, so they cannot be merged."""
    was, now = (re.search(r"\btest\s*:", _text(content or b"")) for content in (start, claimed))
    hooks, new_hooks = (Counter(_VITE_HOOK.findall(_text(content or b""))) for content in (start, claimed))
    if "vitest" in files.tools and new_hooks - hooks:
        return Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if not was and not now:
        return SAME
    return Comparison(Part.CHANGED) if was else Comparison(Part.ADDED, start)


def _rust(_path: str, start: bytes | None, claimed: bytes | None, _files: CheckFiles) -> Comparison:
    """Unit tests inside a source file."""
    hidden = rust.hidden_asserts(_text(claimed or b"")) - rust.hidden_asserts(_text(start or b""))
    if hidden:
        return Comparison(Part.ADDED if start is None else Part.CHANGED)
    if start is None:
        return SAME
    was = rust.test_blocks(_text(start))
    if was is not None and not was:
        return SAME
    if claimed is None or was is None:
        return Comparison(Part.CHANGED)
    if rust.same_tests(_text(start), _text(claimed)):
        return SAME
    merged = rust.merged(_text(start), _text(claimed))
    return Comparison(Part.CHANGED, None if merged is None else merged.encode("utf-8", "surrogateescape"))


def has_tests(content: bytes) -> bool:
    """Whether a Rust file has unit tests."""
    return rust.test_blocks(_text(content)) != ()


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _cargo(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """The entries about tests, and the libraries of tests of the start if they come from elsewhere now."""
    try:
        redirected = _redirected_crates(loaded_toml(start), loaded_toml(claimed))
    except ValueError:
        redirected = ()
    patterns = _with_tools((*_CARGO, *redirected), {"clippy": (("lints",),)})
    return _toml(patterns, (("workspace", "members"),))(path, start, claimed, files)


def _redirected_crates(before: Document, after: Document) -> tuple[Key, ...]:
    were = found(before, (("dev-dependencies", "*"), ("target", "*", "dev-dependencies", "*")))
    moved = [key for key, entry in were.items() if _origin(entry) != _origin(found(after, (key,)).get(key, entry))]
    names = {key[-1] for key in were} - set(_table(before, "dependencies"))
    patched = found(after, (("patch", "*", "*"), ("replace", "*")))
    return (*moved, *(key for key in patched if key[-1].partition(":")[0] in names))


def _origin(entry: Any) -> tuple[str, ...]:
    """Where a crate comes from: a folder, a repository, another name."""
    keys = ("path", "git", "registry", "package")
    return tuple(str(entry.get(key, "")) for key in keys) if isinstance(entry, dict) else ("",) * len(keys)


_LOCAL = re.compile(r"(?:file|link|portal|patch|git\+\w+):|\.{0,2}/")


def _package(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """The settings of runners and scripts of the check, and the libraries of tests of the start if they come from a folder now."""
    try:
        before, after = loaded_json(start), loaded_json(claimed)
    except ValueError:
        before, after = {}, {}
    were = found(before, (("devDependencies", "*"),))
    moved = [key for key, entry in were.items() if _is_moved(entry, found(after, (key,)).get(key, entry))]
    names = {key[-1] for key in were}
    forced = found(after, (("overrides", "*"), ("resolutions", "*"), ("pnpm", "overrides", "*")))
    moved += [key for key, entry in forced.items() if key[-1] in names and _is_moved("", entry)]
    patterns = _with_tools((*_PACKAGE, *moved), _PACKAGE_OF_TOOLS)
    return _json(patterns, (("workspaces",), ("workspaces", "packages")))(path, start, claimed, files)


def _is_moved(before: Any, after: Any) -> bool:
    return before != after and _LOCAL.match(str(after)) is not None


_COMPOSER: tuple[Key, ...] = (("config", "bin-dir"), ("config", "vendor-dir"), ("autoload-dev",))
_COMPARERS: dict[str, Comparer] = {
    "pyproject.toml": _toml(_with_tools(_PYPROJECT, _PYPROJECT_OF_TOOLS)),
    "Cargo.toml": _cargo,
    "package.json": _package,
    "composer.json": _json(_with_tools(_COMPOSER, {"composer": (("scripts",),)})),
    "deno.json": _deno,
    "deno.jsonc": _deno,
    "setup.cfg": _ini,
    "tox.ini": _ini,
    "entry_points.txt": _ini,
    "pom.xml": _build(builds.same_maven),
    "build.gradle": _build(builds.same_gradle),
    "build.gradle.kts": _build(builds.same_gradle),
    "settings.gradle": _build(builds.same_gradle_projects),
    "settings.gradle.kts": _build(builds.same_gradle_projects),
    "CMakeLists.txt": _build(builds.same_cmake),
    "meson.build": _build(builds.same_meson),
    "pnpm-workspace.yaml": _build(builds.same_list),
    "go.work": _go_work,
    "go.mod": _go_mod,
    "mix.exs": _of_tools(builds.same_mix, "mix"),
    "build.sbt": _of_tools(builds.same_sbt, "sbt"),
    "Package.swift": _of_tools(builds.same_swift, "swift"),
    "BUILD": _of_tools(builds.same_bazel, "bazel", "bazelisk", "blaze"),
    "BUILD.bazel": _of_tools(builds.same_bazel, "bazel", "bazelisk", "blaze"),
}
