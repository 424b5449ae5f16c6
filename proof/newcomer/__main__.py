"""`python -m proof.newcomer`: clone, set up, follow the documents, and a table of what was run and what was not."""

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

from proof.newcomer.acting import NotAsTold, act
from proof.newcomer.belongings import PROGRAMS, VENV, environment
from proof.newcomer.documents import Block, Story, Undeclared, blocks_of, pages, stories

from untildone.system import orphans

ROOT = Path(__file__).resolve().parent.parent.parent
SETTING_UP_WITHIN, STORY_WITHIN = 600.0, 240.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where the newcomer is: an empty home with a clone in it."""

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
        return {**environment(self.home, self.temporary, self.agents, self.tools), **_ways_to_packages()}


def _ways_to_packages() -> dict[str, str]:
    """How this machine reaches its package index, where it is told by variables."""
    ways = ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "requests_ca_bundle")
    found = {
        name: told for name, told in os.environ.items() if name.startswith(("PIP_", "UV_")) or name.lower() in ways
    }
    return {"UV_PYTHON_DOWNLOADS": "never", **found}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proof.newcomer", description=__doc__)
    parser.add_argument("--this-tree", action="store_true", help="with what is not committed yet, instead of a clone")
    parser.add_argument("--keep", action="store_true", help="leave the home where it is, to look at")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="newcomer-"))
    try:
        return visit(Place(folder / "home", folder / "tmp"), this_tree=chosen.this_tree)
    finally:
        if chosen.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def visit(place: Place, *, this_tree: bool) -> int:
    for made in (place.home, place.temporary, place.agents, place.tools, place.home.parent / "folders"):
        made.mkdir(parents=True)
    (copy_tree if this_tree else clone)(place.clone)
    (place.tools / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    blocks, undeclared = read_all(place.clone)
    told = list(stories(blocks))
    problems = [*undeclared]
    for story in [story for story in told if story.in_clone]:
        problems += tell(story, place, place.clone, SETTING_UP_WITHIN)
    if not problems:
        prepare(place)
        for number, story in enumerate(story for story in told if not story.in_clone):
            folder = place.home.parent / "folders" / f"{number:02d}"
            folder.mkdir()
            problems += tell(story, place, folder, STORY_WITHIN)
    print("\n".join(("", *table(blocks))))
    for problem in problems:
        print(f"\n{problem}")
    print(f"\n{len(problems)} not as told" if problems else "\nEverything is as the documents tell.")
    return 1 if problems else 0


def clone(place: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True, timeout=120)


def copy_tree(place: Path) -> None:
    """What git knows or would take, as it is now."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, timeout=60).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def read_all(root: Path) -> tuple[list[Block], list[str]]:
    """The blocks of all pages, and what is wrong with those that cannot be read."""
    found: list[Block] = []
    wrong: list[str] = []
    for page in pages(root):
        try:
            found += blocks_of(page, root)
        except Undeclared as problem:
            wrong.append(str(problem))
    return found, wrong


def prepare(place: Place) -> None:
    """What a reader of the guide has besides: pytest for their project, and an agent that is logged in."""
    python = place.home / VENV / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest"]
    subprocess.run(install, check=True, env=place.environment, timeout=SETTING_UP_WITHIN)
    (place.home / PROGRAMS / "pytest").symlink_to(python.with_name("pytest"))
    play = (
        "import sys, pathlib; from proof.newcomer.belongings import play_agents; play_agents(pathlib.Path(sys.argv[1]))"
    )
    command = [str(python), "-c", play, str(place.agents)]
    subprocess.run(command, check=True, cwd=place.clone, env=place.environment, timeout=60)


def tell(story: Story, place: Place, folder: Path, within: float) -> list[str]:
    """Act it out, say how it went, and end what it left behind."""
    mark, value = orphans.mark(f"newcomer-{os.getpid()}-{abs(hash(story.name))}")
    began = time.monotonic()
    try:
        act(story, folder, {**place.environment, mark: value}, within)
    except NotAsTold as problem:
        print(f"  NO    {time.monotonic() - began:5.1f} s  {story.name}", flush=True)
        return [str(problem)]
    finally:
        orphans.end_all(mark)
    print(f"  ok    {time.monotonic() - began:5.1f} s  {story.name} ({len(story.steps)} commands)", flush=True)
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
