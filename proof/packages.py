"""`python -m proof.packages`: builds wheel and sdist, installs the wheel bare and with each extra, and imports every module there."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WITHIN = 600
EXTRAS = ((), ("client",), ("serve",), ("cluster",), ("serve", "cluster"), ("mcp",), ("acp",))
NOT_IN_SDIST = (".editorconfig", ".github/", ".pre-commit-config.yaml")
"""Files that only a clone needs."""
IMPORT_ALL = """
import importlib, pkgutil, sys, untildone
absent = set(sys.argv[1:])
count = 0
for module in pkgutil.walk_packages(untildone.__path__, "untildone.", onerror=lambda name: None):
    if module.name.rpartition(".")[2] == "__main__":
        continue
    try:
        importlib.import_module(module.name)
        count += 1
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in absent:
            raise SystemExit(f"{module.name} needs {problem.name}, which nothing declares for this set of extras")
print(count, "modules imported")
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        wheel, sdist = build(Path(folder))
        check_sdist(sdist)
        for extras in EXTRAS:
            install_and_import(wheel, extras, Path(folder))
    return 0


def build(folder: Path) -> tuple[Path, Path]:
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def check_sdist(sdist: Path) -> None:
    """The sdist holds every file of the project but those that only a clone needs."""
    with tarfile.open(sdist) as archive:
        packed = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    tracked = call("git", "-C", ROOT, "ls-files", "-z").split("\0")
    missing = {
        name for name in tracked if name and (ROOT / name).exists() and not name.startswith(NOT_IN_SDIST)
    } - packed
    if missing:
        raise SystemExit(f"The sdist lacks: {', '.join(sorted(missing)[:20])}")
    print(f"{sdist.name}: {len(packed)} files, nothing is missing")


def install_and_import(wheel: Path, extras: tuple[str, ...], folder: Path) -> None:
    place = folder / ("-".join(extras) or "bare")
    call(sys.executable, "-m", "venv", place)
    python, requirement = place / "bin" / "python", f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    call(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-c",
        ROOT / "constraints.txt",
        requirement,
    )
    imported = call(python, "-c", IMPORT_ALL, *packages_without(extras)).strip()
    version = call(place / "bin" / "untildone", "--version").strip()
    print(f"{wheel.name}, {' and '.join(extras) or 'no extra'}: {imported}; {version}", flush=True)


def packages_without(extras: Iterable[str]) -> set[str]:
    """The import names of packages that only other extras bring, directly or by what they need."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    others = {need for extra, needs in declared.items() if extra not in extras for need in needs}
    names = with_dependencies({name_of(need) for need in others})
    installed = importlib.metadata.packages_distributions().items()
    modules = {module for module, projects in installed if names & {project.lower() for project in projects}}
    return modules | {name.replace("-", "_") for name in names}


def with_dependencies(names: set[str]) -> set[str]:
    known, ahead = set[str](), list(names)
    while ahead:
        name = ahead.pop()
        if name in known:
            continue
        known.add(name)
        try:
            ahead += [name_of(need) for need in importlib.metadata.requires(name) or () if "extra ==" not in need]
        except importlib.metadata.PackageNotFoundError:
            continue
    return known


def name_of(requirement: str) -> str:
    return re.split(r"[\s\[(<>=!~;]", requirement, maxsplit=1)[0].lower()


def call(*command: str | Path) -> str:
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, stdin=subprocess.DEVNULL)
    if ended.returncode:
        words = " ".join(map(str, command[:6]))
        raise SystemExit(f"{words} …: exit code {ended.returncode}\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
