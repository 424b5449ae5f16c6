"""Files outside of a workspace that decide what a check means: settings of tools in the folders above it, and in the home folder, and
scripts that checks name.

Nothing in a snapshot shows a change of them, so those that changed since the loop began are refused.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from fnmatch import translate
from itertools import islice

from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.refusal import RoomRefused, named

MOST_FILES = 2000
"""Of one folder of settings."""
ABOVE = (
    "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "conftest.py", ".coveragerc",
    "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", "pnpm-workspace.yaml", "jest.config.*", "vitest.config.*",
    "babel.config.*", ".babelrc*", ".mocharc*", "tsconfig*.json", ".eslintrc*", "eslint.config.*", "nx.json", "turbo.json", "lerna.json",
    "Cargo.toml", ".cargo", "rust-toolchain", "rust-toolchain.toml", "go.work", "go.mod", ".rspec", "Gemfile", ".bundle", "phpunit.xml*",
    "composer.json", "settings.gradle*", "build.gradle*", "gradle.properties", "pom.xml", ".mvn", ".python-version",
    ".node-version", ".nvmrc", ".ruby-version", ".tool-versions", "mise.toml", ".mise.toml",
    ".envrc", "mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", "bunfig.toml", "deno.json", "__init__.py",
    "pytest.toml", ".pytest.toml", ".pylintrc", "pylintrc", "pyrightconfig.json", ".rubocop.yml", ".shellcheckrc", ".golangci.*",
    ".prettierrc*", "prettier.config.*", ".editorconfig", "biome.json*", ".swcrc", ".clang-tidy",
    "justfile", ".justfile", "Justfile", "Taskfile*", ".env",
)  # fmt: skip
"""Names, as patterns, that tools look for in the folder of a project and in every folder above it."""
_CARGO_SETTINGS = ("config", "config.toml")
_ABOVE = re.compile("|".join(map(translate, ABOVE)))
IN_HOME = (
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".noderc", ".cargo/config", ".cargo/config.toml", ".config/go/env", ".gradle/init.gradle",
    ".gradle/init.gradle.kts", ".gradle/init.d", ".gradle/gradle.properties", ".m2/settings.xml", ".m2/extensions.xml", ".mavenrc",
    ".rspec", ".bundle/config", ".gemrc", ".pydistutils.cfg", ".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml",
    ".pythonrc", ".python-version", ".pyenv/version", ".tool-versions", ".node-version", ".nvmrc", ".ruby-version", ".asdfrc",
    ".config/mise", ".config/direnv", ".coveragerc", ".config/ruff", ".config/mypy", ".mypy.ini",
    ".config/pytest", ".bazelrc", ".sbt", ".stack/config.yaml", ".cabal/config", ".config/composer", ".phpunit.xml", ".bunfig.toml",
    ".config/node", ".rustup/settings.toml", ".proverc", ".behaverc", "behave.ini", ".config/rspec", ".config/nextest", ".config/tox",
    ".config/hatch", ".config/pypoetry", ".config/pdm", ".pylintrc", ".config/pylintrc", ".shellcheckrc", ".rubocop.yml", ".config/rubocop",
    ".golangci.yml", ".julia/config", ".Rprofile", ".lein", ".config/vitest", ".config/just",
)  # fmt: skip
"""Settings of tools in the home folder: they name programs, or options of every run."""


def listed(root: str, environment: Mapping[str, str], scripts: Collection[str] = ()) -> dict[str, int]:
    """The change times of such files, above the workspace and in the home folder; and of `scripts` that checks name."""
    inside = os.path.join(root, "")
    found = (each for path in {*_above(root), *_in_home(environment), *scripts} for each in _files(path))
    return {path: changed for path, changed in found if not path.startswith(inside)}


def refuse_changes(before: Mapping[str, int], now: Mapping[str, int], approved: Collection[str]) -> None:
    """Raise RoomRefused if such files were changed since the loop began, and no person approved it."""
    differing = (path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    changed = sorted(path for path in differing if path not in approved)
    if changed:
        raise RoomRefused(
            f"Files outside of the workspace that a check may use were changed since the loop began: {named(changed)}.",
            "undo the change, or approve it if it is yours",
            changed,
        )


def _files(path: str) -> Iterator[tuple[str, int]]:
    """A file, or the files in a folder, with their change times. Of a link both it and what it leads to count."""
    try:
        status, target = os.lstat(path), os.stat(path)
    except OSError:
        return
    if not stat.S_ISDIR(target.st_mode):
        yield path, max(status.st_ctime_ns, target.st_ctime_ns)
        return
    for name, each in islice(stamps.walk(os.fsencode(path)), MOST_FILES):
        yield os.path.join(path, os.fsdecode(name)), each.st_ctime_ns


def _above(root: str) -> Iterator[str]:
    folder = os.path.dirname(root)
    while True:
        try:
            names = os.listdir(folder)
        except OSError:
            names = []
        for name in names:
            if name == ".cargo":
                # In the home folder it holds caches and locks as well, which change with every build.
                yield from (os.path.join(folder, name, each) for each in _CARGO_SETTINGS)
            elif _ABOVE.fullmatch(name):
                yield os.path.join(folder, name)
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)


def _in_home(environment: Mapping[str, str]) -> Iterator[str]:
    home = environment.get("HOME") or os.path.expanduser("~")
    yield from (os.path.join(home, name) for name in IN_HOME)
    if cargo := environment.get("CARGO_HOME"):
        yield from (os.path.join(cargo, name) for name in _CARGO_SETTINGS)
