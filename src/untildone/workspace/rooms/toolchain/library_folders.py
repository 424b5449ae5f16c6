"""Folders outside of a workspace from which the programs on PATH load modules: a table of ecosystems, and where their programs look.

Only folders that this user can change are listed: agents run as this user, and cannot change others.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from untildone.system import disk
from untildone.workspace.rooms.toolchain.caches import home_of, is_below

BELOW_PREFIX = (
    "lib/python[23]*", "lib64/python[23]*", "local/lib/python3*", "lib/pypy*", "Lib", "lib/node_modules", "share/nodejs",
    "share/node_modules", "lib/ruby", "share/rubygems-integration", "lib/perl5", "share/perl5", "share/php",
)  # fmt: skip
"""Where the programs in `PREFIX/bin` have their libraries, as patterns below the prefix."""
SITES = ("site-packages", "dist-packages")
PREFIXES_NAMED_BY = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONUSERBASE")
FOLDERS_NAMED_BY = ("PYTHONPATH", "NODE_PATH", "GEM_HOME", "GEM_PATH", "RUBYLIB", "PERL5LIB")
SHIMS = {
    "pyenv": "versions/*",
    "rbenv": "versions/*",
    "nodenv": "versions/*",
    "asdf": "installs/*/*",
    "mise": "installs/*/*",
}
"""Where version managers, whose folder on PATH is named `shims`, keep what their programs start."""
ENVIRONMENTS = {
    "poetry.lock": (".cache/pypoetry/virtualenvs/*",),
    "Pipfile": (".local/share/virtualenvs/*",),
    "pyproject.toml": (
        ".cache/pypoetry/virtualenvs/*",
        ".local/share/hatch/env/virtual/*/*/*",
        ".local/share/pdm/venvs/*",
    ),
}
"""Where tools keep the environments of projects in the home folder, by a file that a project has which they serve."""
ENVIRONMENTS_NAMED_BY = {"WORKON_HOME": "*", "POETRY_VIRTUALENVS_PATH": "*", "HATCH_DATA_DIR": "env/virtual/*/*/*"}
SMALL = 64 * 1024
"""Bytes. Bigger files are no scripts."""
SYSTEM = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
"""Their scripts name programs of the system."""


class Growth(StrEnum):
    """How a folder changes in honest work."""

    NEVER = "never"
    """Only if a person installs something."""
    NEW_VERSIONS = "new versions"
    """A cache that keeps each version of a package in a folder of its own: folders are added, and files never change."""


MOST_LINKS = 40
"""Links that lead to each other, as many as the kernel follows."""


@dataclass(frozen=True, slots=True)
class Library:
    """A folder with modules."""

    path: str
    """Links resolved."""
    growth: Growth = Growth.NEVER
    has_sites: bool = True
    """Whether installed packages in it count: a virtual environment uses the standard library of its Python and no more."""
    is_environment: bool = False
    """Whether it is a virtual environment as a whole."""

    @property
    def left_out(self) -> frozenset[str]:
        """Names of files and folders in it that do not count."""
        return frozenset(() if self.has_sites else SITES)


def libraries(environment: Mapping[str, str], root: str, tree: Collection[str]) -> dict[str, Library]:
    """The folders, by path. `root` is the folder of the workspace, `tree` holds the paths of its files."""
    named, own = frozenset(_prefixes(environment, root)), frozenset(_environments(environment, root, tree))
    based = [_base_of(prefix) for prefix in named | own]
    prefixes = named | {base.prefix for base in based if base and base.has_sites}
    bases = {base.prefix for base in based if base} - prefixes
    found = {os.path.realpath(path): Growth.NEVER for path in _folders(environment, prefixes, tree) if _is_mine(path)}
    standard = {os.path.realpath(path) for base in bases for path in _below(base) if _is_mine(path)} - found.keys()
    found |= dict.fromkeys(
        (*standard, *map(os.path.realpath, _user_sites(environment, prefixes | bases))), Growth.NEVER
    )
    found |= {
        os.path.realpath(path): Growth.NEW_VERSIONS
        for path in _version_caches(environment, tree)
        if os.path.isdir(path)
    }
    found |= dict.fromkeys(own, Growth.NEVER)
    outside = {path for path in found if not is_below(path, root) and not is_below(root, path)}
    inner = {path for path in outside for other in outside - standard if path != other and is_below(path, other)}
    return {path: Library(path, found[path], path not in standard, path in own) for path in sorted(outside - inner)}


def _is_mine(path: str) -> bool:
    """Whether this is a folder and this user can change what is in it."""
    try:
        return (
            os.path.isabs(path)
            and os.path.isdir(path)
            and (os.access(path, os.W_OK) or os.stat(path).st_uid == os.geteuid())
        )
    except OSError:
        return False


def _folders(environment: Mapping[str, str], prefixes: Iterable[str], tree: Collection[str]) -> Iterator[str]:
    for path in (path for prefix in prefixes for path in _below(prefix)):
        yield path
        yield from (os.path.join(path, name) for name in SITES)
    on_path = {os.path.realpath(entry) for entry in environment.get("PATH", "").split(os.pathsep)}
    programs = (os.path.join(prefix, "bin") for prefix in prefixes)
    # What is on PATH itself is compared by `workspace.programs`.
    yield from (path for path in programs if os.path.realpath(path) not in on_path)
    for name in FOLDERS_NAMED_BY:
        yield from filter(None, environment.get(name, "").split(os.pathsep))
    home = home_of(environment)
    yield from (os.path.join(home, name) for name in (".node_modules", ".node_libraries"))
    if _has(tree, "Cargo.toml"):
        rustup = environment.get("RUSTUP_HOME") or os.path.join(home, ".rustup")
        yield from glob.glob(os.path.join(glob.escape(rustup), "toolchains", "*", "bin"))
        yield from glob.glob(os.path.join(glob.escape(rustup), "toolchains", "*", "lib"))
    if _has(tree, "go.mod"):
        roots = (environment.get("GOROOT", ""), *(prefix for prefix in prefixes if os.path.exists(f"{prefix}/VERSION")))
        yield from (os.path.join(path, name) for path in roots if path for name in ("src", "pkg", "bin"))
    if _has(tree, "Gemfile"):
        yield from (os.path.join(home, ".gem"), os.path.join(home, ".local", "share", "gem"))


def _below(prefix: str) -> Iterator[str]:
    for pattern in BELOW_PREFIX:
        yield from glob.glob(os.path.join(glob.escape(prefix), pattern))


def _version_caches(environment: Mapping[str, str], tree: Collection[str]) -> Iterator[str]:
    home = home_of(environment)
    if _has(tree, "Cargo.toml"):
        cargo = environment.get("CARGO_HOME") or os.path.join(home, ".cargo")
        yield from (os.path.join(cargo, "registry", "src"), os.path.join(cargo, "git", "checkouts"))
    if _has(tree, "go.mod"):
        path = environment.get("GOPATH", "").split(os.pathsep)[0] or os.path.join(home, "go")
        modules = environment.get("GOMODCACHE") or os.path.join(path, "pkg", "mod")
        yield from (each for each in glob.glob(os.path.join(glob.escape(modules), "*")) if not each.endswith("/cache"))


def _has(tree: Collection[str], name: str) -> bool:
    return name in tree or any(path.endswith(f"/{name}") for path in tree)


def _user_sites(environment: Mapping[str, str], prefixes: Iterable[str]) -> Iterator[str]:
    """Where each Python looks for the user's own packages; also folders that do not exist, because an agent could make them."""
    base = environment.get("PYTHONUSERBASE") or os.path.join(home_of(environment), ".local")
    for prefix in prefixes:
        for path in glob.glob(os.path.join(glob.escape(prefix), "lib", "python[23]*")):
            yield os.path.join(base, "lib", os.path.basename(path), "site-packages")


def _prefixes(environment: Mapping[str, str], root: str) -> Iterator[str]:
    """The folders above those of the programs on PATH, and of the programs that these start."""
    for name in PREFIXES_NAMED_BY:
        if prefix := environment.get(name):
            yield os.path.realpath(prefix)
    entries = filter(os.path.isabs, environment.get("PATH", os.defpath).split(os.pathsep))
    for place in dict.fromkeys(map(os.path.realpath, entries)):
        if is_below(place, root):
            continue
        yield os.path.dirname(place)
        if os.path.basename(place) == "shims":
            yield from _managed(os.path.dirname(place), environment, root)
        else:
            yield from (os.path.dirname(os.path.dirname(target)) for target in _started_from(place))


def _environments(environment: Mapping[str, str], root: str, tree: Collection[str]) -> list[str]:
    """Environments that a tool such as poetry made for the project, outside of it. Their names begin with that of the project or of its
    folder."""
    home = glob.escape(home_of(environment))
    patterns = {os.path.join(home, each) for file, paths in ENVIRONMENTS.items() if file in tree for each in paths}
    named = ((environment.get(name, ""), below) for name, below in ENVIRONMENTS_NAMED_BY.items())
    patterns |= {os.path.join(glob.escape(folder), below) for folder, below in named if os.path.isabs(folder)}
    names = _project_names(root)
    found = (os.path.realpath(path) for pattern in patterns for path in glob.glob(pattern))
    return [path for path in found if _is_of_project(path, names) and os.path.exists(os.path.join(path, "pyvenv.cfg"))]


def _is_of_project(path: str, names: Collection[str]) -> bool:
    last = [_plain(part) for part in path.split(os.sep)[-3:]]
    return any(part.startswith(name) for part in last for name in names)


def _project_names(root: str) -> set[str]:
    """The names that a project goes by: that of its folder, and what its settings say."""
    names = re.findall(r"""^name\s*=\s*["']([\w.-]+)["']""", _text(os.path.join(root, "pyproject.toml")), re.MULTILINE)
    return {plain for name in (os.path.basename(root), *names) if (plain := _plain(name))}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class _Base:
    """The Python from which a virtual environment was made."""

    prefix: str
    has_sites: bool
    """Whether the environment uses the packages that are installed there."""


def _base_of(prefix: str) -> _Base | None:
    """The base of a virtual environment; None: the prefix is none."""
    try:
        with disk.open_promptly(os.path.join(prefix, "pyvenv.cfg")) as file:
            text = file.read(SMALL).decode("utf-8", "replace")
        settings = dict(re.findall(r"^\s*([\w-]+)\s*=\s*(.*?)\s*$", text, re.MULTILINE))
    except OSError:
        return None
    has_sites = settings.get("include-system-site-packages", "").lower() == "true"
    return _Base(os.path.dirname(os.path.realpath(settings["home"])), has_sites) if settings.get("home") else None


def _managed(folder: str, environment: Mapping[str, str], root: str) -> Iterator[str]:
    """The installations that a version manager may choose in the workspace."""
    name = os.path.basename(folder).lstrip(".")
    installed = glob.glob(os.path.join(glob.escape(folder), SHIMS.get(name, "versions/*")))
    wanted = _wanted_versions(folder, environment, root) if name == "pyenv" else ()
    chosen = [path for path in installed if any(_is_version(os.path.basename(path), each) for each in wanted)]
    yield from chosen or installed


def _is_version(installed: str, wanted: str) -> bool:
    return installed == wanted or installed.startswith(f"{wanted}.")


def _wanted_versions(folder: str, environment: Mapping[str, str], root: str) -> tuple[str, ...]:
    if named := environment.get("PYENV_VERSION"):
        return tuple(named.split(":"))
    places = [root]
    while (above := os.path.dirname(places[-1])) != places[-1]:
        places.append(above)
    files = (*(os.path.join(place, ".python-version") for place in places), os.path.join(folder, "version"))
    return next((words for path in files if (words := _words(path))), ())


def _words(path: str) -> tuple[str, ...]:
    return tuple(_text(path).split())


def _text(path: str) -> str:
    try:
        with disk.open_promptly(path) as file:
            return file.read(SMALL).decode("utf-8", "replace")
    except OSError:
        return ""


def _started_from(place: str) -> Iterator[str]:
    """The programs that links and scripts in a folder of PATH start: those that lie in another folder named `bin`."""
    try:
        entries = list(os.scandir(place))
    except OSError:
        return
    is_environment = os.path.exists(os.path.join(os.path.dirname(place), "pyvenv.cfg"))
    folders: dict[str, str] = {}
    for entry in entries:
        if is_environment and entry.name.startswith("python"):
            continue
        target = entry.path
        if entry.is_symlink():
            if _leads_beside(target):
                continue
            target = _real(target, folders)
            folder = os.path.dirname(target)
            if folder != place and os.path.basename(folder) == "bin":
                yield target
        if place not in SYSTEM and (interpreter := _interpreter(target)):
            yield interpreter


def _real(path: str, folders: dict[str, str]) -> str:
    """As `os.path.realpath`, for many paths in a few folders: these are resolved once, and kept in `folders`."""
    for _ in range(MOST_LINKS):
        folder, name = os.path.split(path)
        if name in ("", os.curdir, os.pardir):
            break
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        full = os.path.join(folders[folder], name)
        try:
            path = os.path.join(folders[folder], os.readlink(full))
        except OSError:
            return full
    return os.path.realpath(path)


def _leads_beside(link: str) -> bool:
    """Whether a link leads to an entry of its own folder, which is looked at by itself."""
    try:
        return os.sep not in os.readlink(link)
    except OSError:
        return False


def _interpreter(path: str) -> str:
    """The program that a script names in its first line; empty: it names none by its path."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > SMALL:
            return ""
        with disk.open_promptly(path) as file:
            first = file.readline(500)
    except OSError:
        return ""
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    return words[0] if words and os.path.isabs(words[0]) and not words[0].endswith("/env") else ""
