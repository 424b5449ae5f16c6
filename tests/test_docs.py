"""The documentation does what it says: its examples are run, its links lead somewhere, its command page is current.

An example is a block under `<!-- run -->`. The marked blocks of a section (a heading of one or two #) run in order, in
one shell, in a new empty folder, with an empty home. In a ```sh block every command must succeed. In a ```console
block, `$ ` begins a command, `> ` continues it, and what follows is all that it prints: `…` stands for any text, alone
on a line for any lines. A command must succeed unless the next one is `echo $?`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from untildone.hosts import orphans

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WITHIN = 60
ENDED = "\x1e"
HEADING = re.compile(r"^(#{1,6}) +(.+?)(?: *#*)?$", re.MULTILINE)
FENCED = re.compile(r"^(```+|~~~+)[^\n]*\n.*?^\1 *$\n?", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^<!-- run -->\n```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
PRELUDE = f"""exec 2>&1
_ended() {{ local code=$?; printf '{ENDED}%s{ENDED}' "$code"; return "$code"; }}
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A command of an example; `printed` is None where nothing is said about what it prints."""

    command: str
    printed: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """The examples of one section."""

    name: str
    steps: tuple[Step, ...]


def stories() -> Iterator[Story]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for title, section in sections(text):
            steps = [step for kind, block in EXAMPLE.findall(section) for step in steps_of(kind, block)]
            if steps:
                yield Story(f"{page.name}: {title}", tuple(steps))


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The parts between headings of one or two #; a # inside a block is no heading."""
    outside = FENCED.sub(lambda block: " " * len(block[0]), text)
    starts = [found for found in HEADING.finditer(outside) if len(found[1]) <= 2]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    for found, end in zip(starts, ends, strict=True):
        yield found[2], text[found.start() : end]


def steps_of(kind: str, block: str) -> list[Step]:
    if kind == "sh":
        return [Step(f"set -e\n{block}\nset +e", None)]
    steps: list[Step] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], ""))
        elif line.startswith("> ") and not steps[-1].printed:
            steps[-1] = Step(f"{steps[-1].command}\n{line[2:]}", "")
        else:
            steps[-1] = Step(steps[-1].command, f"{steps[-1].printed}{line}\n")
    return steps


def pattern_of(printed: str) -> re.Pattern[str]:
    parts = []
    for line in printed.splitlines():
        parts.append(r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r" *\n")
    return re.compile("".join(parts))


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A home with nothing in it, and a PATH on which `untildone` and `python` are the ones under test.

    All that an example started, in the background too, ends with it.
    """
    programs, home, temporary = (tmp_path / name for name in ("bin", "home", "tmp"))
    for folder in (programs, home, temporary):
        folder.mkdir()
    for name, arguments in {"untildone": "-P -m untildone.faces.cli", "python": ""}.items():
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    mark, value = orphans.mark(f"docs-{uuid.uuid4()}")
    yield {
        mark: value,
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    orphans.end_all(mark)


def acted_out(script: str, folder: Path, env: dict[str, str]) -> str:
    """What the shell printed, to a file: what goes on in the background must not keep anybody waiting."""
    told = folder.parent / "told.txt"
    with told.open("wb") as output:
        command = ["bash", "--norc", "-c", script]
        subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, timeout=WITHIN)
    return told.read_text(encoding="utf-8", errors="replace")


@pytest.mark.skipif(os.name == "nt", reason="the examples are written for a POSIX shell")
@pytest.mark.parametrize("story", list(stories()), ids=lambda story: story.name)
def test_examples_do_what_they_say(story: Story, tmp_path: Path, surroundings: dict[str, str]) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    script = PRELUDE + "".join(f"{step.command}\n_ended\n" for step in story.steps)
    told = acted_out(script, folder, surroundings).split(ENDED)
    for number, step in enumerate(story.steps):
        assert len(told) > 2 * number + 1, f"the shell left during:\n{step.command}\n{told[-1]}"
        printed, code = told[2 * number], told[2 * number + 1]
        asked_next = number + 1 < len(story.steps) and story.steps[number + 1].command == "echo $?"
        assert code == "0" or asked_next, f"exit code {code}:\n$ {step.command}\n{printed}"
        if step.printed is not None:
            fits = pattern_of(step.printed).fullmatch(printed)
            assert fits, f"$ {step.command}\nshould print:\n{step.printed}\nprinted:\n{printed}"


def test_there_are_examples_to_run() -> None:
    assert {story.name.partition(":")[0] for story in stories()} >= {"README.md", "guide.md", "modes.md"}


def anchors(text: str) -> set[str]:
    """The names under which headings can be linked to."""
    titles = (found[2].lower() for found in HEADING.finditer(FENCED.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    broken = []
    for target in LINK.findall(FENCED.sub("", text)):
        name, _, anchor = target.partition("#")
        if name.startswith(("http://", "https://", "mailto:")):
            continue
        place = page.parent / name if name else page
        if not place.exists() or (anchor and anchor not in anchors(place.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def test_command_page_is_current() -> None:
    program = ROOT / "scripts" / "generate-cli-docs"
    ended = subprocess.run([sys.executable, program, "--check"], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
