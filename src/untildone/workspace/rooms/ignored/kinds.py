"""What lies beside the snapshot of a workspace, by name: installed packages, build outputs, caches. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase


class Kind(StrEnum):
    """What an ignored file or folder is for."""

    PACKAGES = "packages"
    """Installed by a package manager, from dependency files that are in the snapshot."""
    OUTPUT = "output"
    """Made from files of the snapshot, and can be made again."""
    CACHE = "cache"
    """May be missing at any time. It can hold code or results that no longer belong to the files."""
    OURS = "ours"
    """Written by untildone, or the folder of git."""
    OTHER = "other"


_PACKAGES = frozenset({
    ".venv", "venv", ".virtualenv", "virtualenv", "node_modules", "bower_components", "jspm_packages", ".tox", ".nox", "vendor",
    "Pods", "Carthage", ".bundle", ".yarn", ".pnpm-store", "elm-stuff", "deps", ".stack-work", "__pypackages__", ".pixi", ".conda",
    "site-packages", ".eggs",
})  # fmt: skip
_OUTPUTS = frozenset({
    "target", "build", "dist", "out", "output", ".next", ".nuxt", ".output", ".svelte-kit", ".astro", ".docusaurus", "obj",
    ".gradle", ".dart_tool", "DerivedData", "zig-out", "_build", ".build", "bazel-out", "CMakeFiles", "coverage", "htmlcov",
    ".nyc_output", "test-results", "playwright-report", "storybook-static", ".serverless", ".aws-sam", ".vercel",
})  # fmt: skip
_CACHES = frozenset({
    "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".cache", ".eslintcache", ".stylelintcache",
    ".parcel-cache", ".turbo", ".nx", ".angular", ".sass-cache", ".zig-cache", "zig-cache", ".ccache", ".sccache", ".pytype",
    ".pyre", ".import_linter_cache", ".benchmarks", ".phpunit.result.cache", ".phpunit.cache", ".rspec_status", ".jest", ".vite",
    ".vite-temp", ".swc", ".testmondata", ".coverage",
})  # fmt: skip
_OURS = frozenset({".git", ".loop"})
INNER_CACHES = frozenset({b".cache", b".vite", b".vite-temp", b".vitest", b".bin-cache"})
"""Caches that tools keep inside a folder of packages."""

_PYTHON = ("pyproject.toml", "setup.py", "setup.cfg", "*requirements*.txt", "requirements/*.txt", "constraints*.txt",
           "*requirements*.in", "requirements/*.in", "*requirements*.lock", "pylock*.toml",
           "poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "environment.y*ml", "pixi.lock", "pixi.toml",
           "tox.ini", "noxfile.py")  # fmt: skip
_NODE = ("package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml",
         "bun.lock", "bun.lockb", "deno.json", "deno.lock", ".npmrc", ".yarnrc.yml", "bower.json")  # fmt: skip
_OTHERS = ("composer.json", "composer.lock", "Gemfile", "Gemfile.lock", "*.gemspec", "go.mod", "go.sum", "go.work", "go.work.sum",
           "Cargo.toml", "Cargo.lock", "Podfile", "Podfile.lock", "Cartfile", "Cartfile.resolved", "mix.exs", "mix.lock",
           "elm.json", "stack.yaml", "*.cabal", "rebar.config", "rebar.lock", "pom.xml", "build.gradle*",
           "gradle.lockfile", "conanfile.*", "vcpkg.json")  # fmt: skip
PYTHON_PACKAGES = ".venv"
"""Stands for every folder of Python packages."""
_EXACT = frozenset(name for name in _PYTHON + _NODE + _OTHERS if "*" not in name)
_PACKAGES_OF = {
    _PYTHON: (
        ".venv",
        "venv",
        ".virtualenv",
        "virtualenv",
        ".tox",
        ".nox",
        "__pypackages__",
        ".pixi",
        ".conda",
        ".eggs",
    ),
    _NODE: ("node_modules", "bower_components", "jspm_packages", ".yarn", ".pnpm-store"),
}
_SECTIONS = {
    "pyproject.toml": (
        "project.dependencies", "project.optional-dependencies", "project.scripts", "project.entry-points", "project.version",
        "project.name", "dependency-groups", "build-system", "tool.poetry", "tool.pdm", "tool.uv",
        "tool.hatch",
    ),
    "package.json": (
        "dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "bundledDependencies", "overrides",
        "resolutions", "workspaces",
    ),
}  # fmt: skip
"""The parts of a file with several uses that decide what is installed."""
_METADATA = re.compile(
    rb"(^|/)(bin|Scripts)/[^/]*$|\.(dist|egg)-info/|\.pth$|(^|/)__editable__|/\.package-lock\.json$|/\.yarn-integrity$|pyvenv\.cfg$"
)


def kind_of(path: str, *, is_folder: bool, is_environment: bool = False) -> Kind:
    """The kind of what lies at a path. `is_environment`: whether it is a folder with a `pyvenv.cfg`."""
    name = path.rpartition("/")[2]
    if name in _OURS:
        return Kind.OURS
    if name in _CACHES or name.endswith((".pyc", ".pyo", ".tsbuildinfo")) or name.startswith(".coverage."):
        return Kind.CACHE
    if is_folder and (is_environment or name in _PACKAGES):
        return Kind.PACKAGES
    if is_folder and _is_output_folder(name):
        return Kind.OUTPUT
    return Kind.OTHER


def is_output(path: str) -> bool:
    """Whether a file lies in a folder with the outputs of a build."""
    return any(_is_output_folder(name) for name in path.split("/")[:-1])


def _is_output_folder(name: str) -> bool:
    return name in _OUTPUTS or name.startswith(("cmake-build-", "bazel-"))


def may_hold_packages(path: str) -> bool:
    """Whether the folder of this file may have a folder of packages beside it."""
    name = path.rpartition("/")[2]
    return name in _EXACT or ("requirements" in name and name.endswith((".txt", ".in", ".lock")))


def holds_python(folder: str) -> bool:
    """Whether a folder of packages is, by its name, one of Python."""
    return folder.rpartition("/")[2] in (*_PACKAGES_OF[_PYTHON], "site-packages")


def package_folders() -> frozenset[str]:
    return _PACKAGES


def is_metadata(path: bytes) -> bool:
    """Whether a file of a package folder is one that another installation of the same writes again: its content is compared."""
    return bool(_METADATA.search(path))


def dependency_files(folder: str, paths: Iterable[str]) -> list[str]:
    """Those of the paths that decide what a package manager installs into the folder."""
    name = folder.rpartition("/")[2]
    patterns = next((patterns for patterns, names in _PACKAGES_OF.items() if name in names), _PYTHON + _NODE + _OTHERS)
    return [path for path in paths if _matches(path, patterns)]


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    name = path.rpartition("/")[2]
    return any(
        fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")
        if "/" in pattern
        else fnmatchcase(name, pattern)
        for pattern in patterns
    )


def installs_otherwise(path: str, before: bytes, after: bytes) -> bool:
    """Whether two versions of a dependency file may install different packages."""
    return bool(differing(path, before, after))


def differing(path: str, before: bytes, after: bytes) -> str:
    """What of a dependency file differs between two versions, as text: the leaves of a document, or the lines without comments."""
    sections = _SECTIONS.get(path.rpartition("/")[2])
    try:
        then, now = ({} if not content else _document(path, content) for content in (before, after))
        parts = [({name: _part(each, name) for name in sections} if sections else each) for each in (then, now)]
        sets = [set(_leaves(part)) for part in parts]
    except (ValueError, RecursionError):
        sets = [set(_lines(content)) for content in (before, after)]
    return "\n".join(sorted(sets[0] ^ sets[1]))


def _lines(content: bytes) -> Iterable[str]:
    for line in content.decode(errors="replace").splitlines():
        meant = re.sub(r"(?:^|\s)(?:#|//).*", "", line).strip()
        if meant:
            yield meant


def _leaves(document: object, path: str = "") -> Iterable[str]:
    """The values in a document with their paths. An entry of a list goes by its name, if it has one."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from _leaves(value, f"{path} {name}")
    elif isinstance(document, list):
        for value in document:
            name = value.get("name", "") if isinstance(value, dict) else ""
            yield from _leaves(value, f"{path} {name}")
    else:
        yield f"{path} {document}"


def _document(path: str, content: bytes) -> object:
    text = content.decode()
    is_toml = path.endswith((".toml", "poetry.lock", "uv.lock", "pdm.lock", "Cargo.lock", "Pipfile"))
    return tomllib.loads(text) if is_toml else json.loads(text)


def _part(document: object, section: str) -> object:
    for name in section.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document
