"""`python -m proof.newcomer`: clones and installs the project, runs the documents, and prints which blocks were run."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proof.newcomer.documents import Block, Section, Undeclared, blocks_of, pages, sections
from proof.newcomer.setup import PROGRAMS, VENV, environment
from proof.newcomer.shell import OutputDiffers, run_section

from untildone.system import orphans

ROOT = Path(__file__).resolve().parent.parent.parent
SETUP_TIMEOUT, SECTION_TIMEOUT = 600.0, 240.0


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of a run: an empty home with a clone in it."""

    home: Path
    temporary: Path

    @property
    def clone(self) -> Path:
        return self.home / "untildone"

    @property
    def agents(self) -> Path:
        return self.home.parent / "agents"

    @property
    def tools(self) -> Path:
        """A folder on PATH with uv, which the documents use to install untildone."""
        return self.home.parent / "tools"

    @property
    def environment(self) -> dict[str, str]:
        return {**environment(self.home, self.temporary, self.agents, self.tools), **_package_index_variables()}


def _package_index_variables() -> dict[str, str]:
    """The environment variables that configure the package index and its proxies."""
    names = ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "requests_ca_bundle")
    given = {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_")) or name.lower() in names
    }
    return {"UV_PYTHON_DOWNLOADS": "never", **given}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proof.newcomer", description=__doc__)
    parser.add_argument(
        "--this-tree", action="store_true", help="copy the working tree, with uncommitted changes, instead of a clone"
    )
    parser.add_argument("--keep", action="store_true", help="keep the home folder")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="newcomer-"))
    try:
        return run_documents(Place(folder / "home", folder / "tmp"), this_tree=chosen.this_tree)
    finally:
        if chosen.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def run_documents(place: Place, *, this_tree: bool) -> int:
    for made in (place.home, place.temporary, place.agents, place.tools, place.home.parent / "folders"):
        made.mkdir(parents=True)
    (copy_tree if this_tree else clone)(place.clone)
    (place.tools / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    blocks, undeclared = read_all(place.clone)
    all_sections = list(sections(blocks))
    problems = [*undeclared]
    for section in [section for section in all_sections if section.in_clone]:
        problems += run_and_report(section, place, place.clone, SETUP_TIMEOUT)
    if not problems:
        prepare(place)
        for number, section in enumerate(section for section in all_sections if not section.in_clone):
            folder = place.home.parent / "folders" / f"{number:02d}"
            folder.mkdir()
            problems += run_and_report(section, place, folder, SECTION_TIMEOUT)
    print("\n".join(("", *table(blocks))))
    for problem in problems:
        print(f"\n{problem}")
    print(f"\n{len(problems)} problems" if problems else "\nEvery command did what its page says.")
    return 1 if problems else 0


def clone(place: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True, timeout=120)


def copy_tree(place: Path) -> None:
    """Copy all files that are tracked or could be added, with their current content."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, timeout=60).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def read_all(root: Path) -> tuple[list[Block], list[str]]:
    """The blocks of all pages, and the errors of those that cannot be read."""
    blocks: list[Block] = []
    errors: list[str] = []
    for page in pages(root):
        try:
            blocks += blocks_of(page, root)
        except Undeclared as problem:
            errors.append(str(problem))
    return blocks, errors


def prepare(place: Place) -> None:
    """Install what readers of the guide already have: pytest, and an agent that is logged in."""
    python = place.home / VENV / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest"]
    subprocess.run(install, check=True, env=place.environment, timeout=SETUP_TIMEOUT)
    (place.home / PROGRAMS / "pytest").symlink_to(python.with_name("pytest"))
    code = "import sys, pathlib; from proof.newcomer.setup import install_fake_agents; install_fake_agents(pathlib.Path(sys.argv[1]))"
    command = [str(python), "-c", code, str(place.agents)]
    subprocess.run(command, check=True, cwd=place.clone, env=place.environment, timeout=60)


def run_and_report(section: Section, place: Place, folder: Path, within: float) -> list[str]:
    """Run a section, print the result and kill leftover processes; return the problems."""
    mark, value = orphans.mark(f"newcomer-{os.getpid()}-{abs(hash(section.name))}")
    began = time.monotonic()
    try:
        run_section(section, folder, {**place.environment, mark: value}, within)
    except OutputDiffers as problem:
        print(f"  NO    {time.monotonic() - began:5.1f} s  {section.name}", flush=True)
        return [str(problem)]
    finally:
        orphans.end_all(mark)
    print(f"  ok    {time.monotonic() - began:5.1f} s  {section.name} ({len(section.steps)} commands)", flush=True)
    return []


def table(blocks: list[Block]) -> Iterator[str]:
    yield "| page | run | compared | in the clone | not run |"
    yield "| --- | --- | --- | --- | --- |"
    for page in dict.fromkeys(block.page for block in blocks):
        yield _row(page, [block for block in blocks if block.page == page])
    yield _row("**all**", blocks)
    reasons = [block for block in blocks if block.reason]
    if reasons:
        yield "\nNot run:"
    yield from (f"  {block.place}: {block.reason}" for block in reasons)


def _row(name: str, blocks: list[Block]) -> str:
    run, compared, cloned, unrun = (
        sum(bool(holds) for holds in column)
        for column in zip(*((b.steps, b.is_compared, b.in_clone, b.reason) for b in blocks), strict=True)
    )
    return f"| {name} | {run} | {compared} | {cloned} | {unrun} |"


if __name__ == "__main__":
    sys.exit(main())
