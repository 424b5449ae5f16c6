"""Files with two uses, such as `pyproject.toml`: a part judges, the rest belongs to the product.

The judging parts of two versions are compared. If they differ, the pass with the originals gets the judging part of the start and the
rest as claimed; if that cannot be done safely, the whole file of the start.
"""

from __future__ import annotations

import re

from untildone.core.judging.checks.scripts import CheckFiles
from untildone.core.judging.documents import (
    Key,
)
from untildone.core.judging.versions import builds, inis, led_elsewhere
from untildone.core.judging.versions.crates import compare_manifest, compare_source
from untildone.core.judging.versions.javascript import compare_deno, compare_package, compare_tsconfig, compare_vite
from untildone.core.judging.versions.parts import (
    SAME,
    Comparer,
    Comparison,
    Part,
    compare_build,
    compare_build_of,
    compare_json,
    compare_toml,
    text_of,
    with_tools,
)
from untildone.core.judging.versions.python import PYPROJECT, PYPROJECT_OF_TOOLS, compare_text

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
    "rust-toolchain.toml": "the folder of a toolchain in it",
    "rust-toolchain": "the folder of a toolchain in it",
    "Gemfile": "the libraries of tests and the code in it",
    "uv.lock": "where the libraries of tests come from",
    "poetry.lock": "where the libraries of tests come from",
    "pdm.lock": "where the libraries of tests come from",
    "angular.json": "the settings of tests in it",
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
    ending = next((each for each in _BY_ENDING if name.endswith(each)), None)
    if ending and name != "build.zig" and not name.startswith(("CTest", "init.")):
        return _BY_ENDING[ending]
    if re.match(r"tsconfig(\.\w+)?\.json\Z", name):
        return compare_tsconfig
    if name.endswith((".py", ".pyi", ".md", ".rst", ".txt")) and name not in ("entry_points.txt",):
        return compare_text
    if re.match(r"vite\.config\.\w+\Z", name):
        return compare_vite
    return None


def _ini(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    was, now = inis.judging(start or b"", files.tools), inis.judging(claimed or b"", files.tools)
    if was is None or now is None:
        return Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if was == now:
        return SAME
    return Comparison(Part.CHANGED if was else Part.ADDED, inis.merged(start or b"", claimed or b"", files.tools))


_ASSERTS = re.compile(r"(?i)test|assert|gomega|ginkgo|go-cmp|quicktest|check|convey|mock|expect|require")


def _go_mod(_path: str, start: bytes | None, claimed: bytes | None, _files: CheckFiles) -> Comparison:
    """A library of tests that is replaced by a folder of the workspace."""
    was, now = _go_replaced(start), _go_replaced(claimed)
    if start is None or was == now:
        return SAME
    lines = [line for line in text_of(claimed or b"").splitlines() if line not in now - was]
    return Comparison(Part.CHANGED, None if was - now else ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def _go_replaced(content: bytes | None) -> set[str]:
    lines = text_of(content or b"").splitlines()
    return {line for line in lines if "=>" in line and _ASSERTS.search(line.partition("=>")[0].replace("require", ""))}


def _go_work(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    return Comparison(Part.ADDED) if start is None else compare_build(builds.same_list)(path, start, claimed, files)


_OWN_TOOLCHAIN = re.compile(r"^\s*path\s*=.*$", re.MULTILINE)


def _rust_toolchain(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """A folder from which cargo and its compiler are taken, in the place of a release."""
    was, now = (_OWN_TOOLCHAIN.findall(text_of(content or b"")) for content in (start, claimed))
    if was == now or not files.tools & {"cargo", "cargo-nextest", "rustc"}:
        return SAME
    return Comparison(Part.CHANGED if start is not None else Part.ADDED)


def _unless_elsewhere(signs: led_elsewhere.Signs, compare: Comparer | None = None, *tools: str) -> Comparer:
    """As `compare`. A file that leads a library of tests elsewhere counts as at the start, as a whole. `tools`: only if one of these
    runs."""

    def compare_all(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
        leads = led_elsewhere.leads_elsewhere(signs, text_of(start or b""), text_of(claimed or b""))
        if leads and start is not None and (not tools or files.tools.intersection(tools)):
            return Comparison(Part.CHANGED)
        return compare(path, start, claimed, files) if compare else SAME

    return compare_all


_RUBY = ("bundle", "bundler", "rake", "rspec", "rails", "ruby", "cucumber")
_gems = _unless_elsewhere(led_elsewhere.of_gemfiles, None, *_RUBY)


def _angular(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    compare = compare_json(
        lambda _files: (("projects", "*", "architect", "test"), ("projects", "*", "targets", "test"))
    )
    return compare(path, start, claimed, files) if "ng" in files.tools else SAME


_COMPOSER: tuple[Key, ...] = (("config", "bin-dir"), ("config", "vendor-dir"), ("autoload-dev",))
_BY_ENDING: dict[str, Comparer] = {
    ".rs": compare_source,
    ".gradle": compare_build(builds.same_gradle),
    ".gradle.kts": compare_build(builds.same_gradle),
    ".sbt": compare_build_of(builds.same_sbt, "sbt"),
    ".cabal": compare_build_of(builds.same_cabal, "cabal", "stack"),
    ".cmake": compare_build(builds.same_cmake),
    ".gemspec": _gems,
    ".zig": compare_build_of(builds.same_zig, "zig"),
}
_COMPARERS: dict[str, Comparer] = {
    "pyproject.toml": _unless_elsewhere(
        led_elsewhere.of_python, compare_toml(with_tools(PYPROJECT, PYPROJECT_OF_TOOLS))
    ),
    "Cargo.toml": compare_manifest,
    "package.json": compare_package,
    "composer.json": compare_json(with_tools(_COMPOSER, {"composer": (("scripts",),)})),
    "deno.json": compare_deno,
    "deno.jsonc": compare_deno,
    "setup.cfg": _unless_elsewhere(led_elsewhere.of_python, _ini),
    "tox.ini": _ini,
    "entry_points.txt": _ini,
    "pom.xml": compare_build(builds.same_maven),
    "build.gradle": compare_build(builds.same_gradle),
    "build.gradle.kts": compare_build(builds.same_gradle),
    "settings.gradle": compare_build(builds.same_gradle_projects),
    "settings.gradle.kts": compare_build(builds.same_gradle_projects),
    "CMakeLists.txt": compare_build(builds.same_cmake),
    "meson.build": compare_build(builds.same_meson),
    "pnpm-workspace.yaml": compare_build(builds.same_list),
    "go.work": _go_work,
    "go.mod": _go_mod,
    "mix.exs": compare_build_of(builds.same_mix, "mix"),
    "build.sbt": compare_build_of(builds.same_sbt, "sbt"),
    "Package.swift": compare_build_of(builds.same_swift, "swift"),
    "rust-toolchain.toml": _rust_toolchain,
    "rust-toolchain": _rust_toolchain,
    "Gemfile": _gems,
    "uv.lock": _unless_elsewhere(led_elsewhere.of_locks),
    "poetry.lock": _unless_elsewhere(led_elsewhere.of_locks),
    "pdm.lock": _unless_elsewhere(led_elsewhere.of_locks),
    "angular.json": _angular,
    "BUILD": compare_build_of(builds.same_bazel, "bazel", "bazelisk", "blaze"),
    "BUILD.bazel": compare_build_of(builds.same_bazel, "bazel", "bazelisk", "blaze"),
}
