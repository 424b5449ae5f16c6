"""Folders outside of the workspace that tools write to: caches of package managers and compilers.

In a room, tools read the person's; what they write goes to layers of the room's own, where the machine has layers. Of caches that hold
results, such as compiled code, a room shows what was there when the loop began: an agent could have put other results there since.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping

IN_HOME = (
    ".cache", ".npm", ".cargo", ".rustup", ".gradle", ".m2", "go", ".yarn", ".pnpm-store", ".local/share/pnpm", ".bun", ".deno", ".ivy2",
    ".sbt", ".nuget", ".dotnet", ".composer", ".bundle", ".gem", ".pub-cache", ".cabal", ".stack", ".hex", ".mix", ".julia", ".conan",
    ".conan2", ".ccache", ".nv", ".keras", ".matplotlib", ".ipython", ".jupyter", ".local/share/jupyter", ".local/share/uv",
    ".electron", ".electron-gyp", ".node-gyp", ".dart", ".dart-tool", ".terraform.d", ".kube/cache", ".vcpkg", ".esy", ".opam",
)  # fmt: skip
NAMED_BY = ("XDG_CACHE_HOME", "CARGO_HOME", "GOPATH", "GOCACHE", "GOMODCACHE", "npm_config_cache", "NPM_CONFIG_CACHE", "GRADLE_USER_HOME",
            "PIP_CACHE_DIR", "UV_CACHE_DIR", "YARN_CACHE_FOLDER", "PNPM_HOME", "DENO_DIR", "CCACHE_DIR", "SCCACHE_DIR", "NUGET_PACKAGES",
            "COMPOSER_HOME", "GEM_HOME", "BUNDLE_PATH", "HF_HOME", "TORCH_HOME", "PLAYWRIGHT_BROWSERS_PATH", "PRE_COMMIT_HOME")  # fmt: skip
"""Variables that name such a folder."""
RESULTS = (
    ".cache/go-build", ".cache/ccache", ".cache/sccache", ".cache/bazel", ".cache/zig", ".cache/deno", ".cache/node", ".cache/turbo",
    ".cache/nx", ".cache/mypy", ".cache/pre-commit", ".cache/torch_extensions", ".cache/jest", ".cache/pants", ".ccache", ".npm/_npx",
    ".nv", ".gradle/caches/build-cache-1", ".bun/install/cache",
)  # fmt: skip
RESULTS_NAMED_BY = ("GOCACHE", "CCACHE_DIR", "SCCACHE_DIR", "DENO_DIR", "PRE_COMMIT_HOME")
ABSENT = {
    "XDG_CACHE_HOME": ".cache",
    "npm_config_cache": ".npm",
    "CARGO_HOME": ".cargo",
    "GOPATH": "go",
    "GRADLE_USER_HOME": ".gradle",
}
"""Variables by which a tool is given another folder, if the one in the home folder does not exist and so cannot be a layer."""


def folders(environment: Mapping[str, str]) -> list[str]:
    """The folders that exist, links resolved, without those that lie inside another."""
    home = home_of(environment)
    named = (environment.get(name, "") for name in NAMED_BY)
    parts = (part for value in named for part in value.split(os.pathsep) if os.path.isabs(part))
    found = {
        os.path.realpath(path)
        for path in (*parts, *(os.path.join(home, name) for name in IN_HOME))
        if os.path.isdir(path)
    }
    return sorted(path for path in found if not any(path != other and is_below(path, other) for other in found))


def results(environment: Mapping[str, str], folder: str) -> list[str]:
    """The caches of results in a folder, or the folder itself if it is one, as paths below it."""
    home = home_of(environment)
    named = (environment.get(name, "") for name in RESULTS_NAMED_BY)
    paths = (*filter(os.path.isabs, named), *(os.path.join(home, name) for name in RESULTS))
    found = (os.path.realpath(path) for path in paths if os.path.isdir(path))
    return sorted({os.path.relpath(path, folder) for path in found if is_below(path, folder)})


def variables(environment: Mapping[str, str], private: str) -> dict[str, str]:
    """Variables for folders that do not exist: they name folders inside `private`."""
    home = home_of(environment)
    return {
        variable: os.path.join(private, name)
        for variable, name in ABSENT.items()
        if variable not in environment and not os.path.isdir(os.path.join(home, name))
    }


def home_of(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder itself or lies in it."""
    return path == folder or path.startswith(folder if folder[-1:] in ("", os.sep) else folder + os.sep)


def leave_out(layer: str, paths: Iterable[bytes]) -> bool:
    """Make files of the folder below a layer invisible in it. False: the machine does not allow it."""
    above = os.fsencode(os.path.join(layer, "above"))
    try:
        for path in paths:
            os.makedirs(os.path.join(above, os.path.dirname(path)), exist_ok=True)
            _whiteout(os.path.join(above, path))
    except OSError:
        return False
    return True


def _whiteout(path: bytes) -> None:
    """What stands for "nothing is here" in a layer: a device file without a device."""
    if not os.path.lexists(path):
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))
