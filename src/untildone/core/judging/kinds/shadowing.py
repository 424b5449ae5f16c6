"""New Python modules that a test runner would import instead of itself or of what it needs."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection

from untildone.core.judging.documents import found, loaded_toml
from untildone.core.judging.globs import words
from untildone.core.judging.trees import Tree

_RUNNERS = frozenset(("pytest", "_pytest", "pluggy", "iniconfig"))
"""Nobody but a test runner has modules of these names."""

_RUNNER_MODULES = _RUNNERS | words(
    "py packaging exceptiongroup tomli unittest nose nose2 xdist execnet hypothesis _hypothesis_pytestplugin tox nox doctest "
    "pygments colorama anyio importlib_metadata"
)

_STARTUP_MODULES = words(
    "abc argparse array ast asyncio atexit base64 bdb binascii bisect bz2 calendar cmd code codecs codeop collections configparser "
    "contextlib contextvars copy copyreg csv dataclasses datetime decimal difflib dis doctest email encodings enum errno "
    "faulthandler fcntl fnmatch functools gc genericpath getpass gettext glob hashlib heapq html importlib inspect io ipaddress "
    "itertools json keyword linecache locale logging lzma marshal math ntpath numbers opcode operator os pathlib pdb pkgutil "
    "platform posix posixpath pprint pwd pyexpat quopri random re readline reprlib runpy select selectors shlex shutil signal site "
    "socket stat string struct subprocess sys sysconfig tempfile termios textwrap threading time token tokenize tomllib traceback "
    "types typing unicodedata unittest urllib uuid warnings weakref xml zipfile zipimport zlib"
)
"""Modules of the standard library that pytest and unittest load before the first test, or to report one that failed: another
module of such a name in their place would be used by the runner, and no program can use it for itself."""

STANDARD = frozenset(sys.stdlib_module_names)
_INNER = frozenset(name for name in STANDARD if name.startswith("_")) | words("_colorize _pyrepl annotationlib")
"""Parts of the standard library, of newer versions too, that no program has a reason to replace."""

PLUGIN = "pytest_"
"""The beginning of the names of pytest's plugins: one that is installed is loaded by its name."""

_IMPORT_NAMES = {
    "pyyaml": "yaml",
    "pillow": "PIL",
    "beautifulsoup4": "bs4",
    "python-dateutil": "dateutil",
    "attrs": "attr",
    "scikit-learn": "sklearn",
}


def shadowed(
    path: str,
    roots: Collection[str],
    packages: Collection[str],
    dependencies: Collection[str],
    start: Collection[str] = (),
) -> str | None:
    """The module that a new file at `path` would hide; None: it hides nothing that tests need.

    `roots` are the folders from which Python imports, `packages` those with an `__init__.py`. A package among the files of the `start` is
    the project's own: what is new in it hides nothing that it did not hide before.
    """
    parts = path.split("/")
    if not parts[-1].endswith((".py", ".so", ".pyd")):
        return None
    for depth, part in enumerate(parts):
        folder, here = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
        is_file = depth == len(parts) - 1
        name = part.split(".")[0] if is_file else part
        if f"{here}/__init__.py" in start:
            continue
        if (is_file or here in packages) and _hides(name, folder, roots, packages, dependencies):
            return name
    return None


def top_module(path: str, roots: Collection[str]) -> tuple[str, str]:
    """The module at the top that a Python file is, or belongs to, and the folder from which it is imported; empty: it is none."""
    if not path.endswith((".py", ".so", ".pyd")):
        return "", ""
    for folder in sorted(roots, key=len, reverse=True):
        base = f"{folder}/" if folder else ""
        if path.startswith(base):
            return path[len(base) :].split("/")[0].split(".")[0], folder
    return "", ""


def _hides(
    name: str, folder: str, roots: Collection[str], packages: Collection[str], dependencies: Collection[str]
) -> bool:
    if folder in roots:
        is_known = name in _RUNNER_MODULES or name in _STARTUP_MODULES or name in _INNER
        return is_known or name in dependencies or name.startswith(PLUGIN)
    return name in _RUNNERS and folder not in packages


def dependencies(start: Tree) -> frozenset[str]:
    """The import names of the packages that the project declared at the start, without those that lie in its own tree."""
    try:
        document = loaded_toml(start.content("pyproject.toml"))
    except ValueError:
        document = {}
    patterns = (
        ("project", "dependencies"),
        ("project", "optional-dependencies", "*"),
        ("dependency-groups", "*"),
        ("build-system", "requires"),
    )
    lists = [value for value in found(document, patterns).values() if isinstance(value, list)]
    lines = [str(line) for entries in lists for line in entries]
    lines += [
        line
        for path in start.files
        if re.fullmatch(r"requirements[\w.-]*\.txt", path)
        for line in start.text(path).splitlines()
    ]
    names = [match[0].lower() for line in lines if (match := re.match(r"[A-Za-z0-9][\w.-]*", line.strip()))]
    modules = {_IMPORT_NAMES.get(name, name.replace("-", "_").replace(".", "_")) for name in names}
    own = {
        path.split("/")[1 if path.startswith(("src/", "lib/")) else 0].removesuffix(".py")
        for path in start.files
        if "/" in path or path.endswith(".py")
    }
    return frozenset(modules - own)
