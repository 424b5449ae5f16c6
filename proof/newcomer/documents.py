"""Reads the documents: which commands they show, which of these are run, and what output they show.

A block of commands is fenced as `sh`, `bash` or `console`. An HTML comment above it says whether it is run:

    <!-- run -->                   it is run, and every command must succeed
    <!-- run: exit 3 -->           its last command ends with this exit code
    <!-- run: in the clone -->     it is part of the setup: only `make newcomer` runs it, in the clone
    <!-- not run: REASON -->       it is not run, with the reason
    <!-- first: COMMANDS -->       above one of these: commands that readers have run before; may span several lines

The blocks of a section (a heading of one or two #) are run in order, in one shell, in a new folder. In a `console` block `$ ` begins a
command, `> ` continues it, and what follows is all that it prints; a command may fail if the next one is `echo $?`. A `text`
block right below a block of commands is all that these print. `…` stands for any text, alone on a line for any lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

COMMANDS = ("sh", "bash", "console")
CLONE = "in the clone"
WHAT_TO_DO = "put `<!-- run -->`, `<!-- run: exit 3 -->` or `<!-- not run: REASON -->` on the line above it (docs/testing.md, Documents)"

HEADING = re.compile(r"^(#{1,6}) +(.+?)(?: *#*)?$", re.MULTILINE)
FENCED = re.compile(r"^(```+|~~~+)([^\n]*)\n(.*?)^\1 *$\n?", re.MULTILINE | re.DOTALL)
_COMMENTS_ABOVE = re.compile(r"(?:<!--(?:(?!-->).)*-->\s*)+\Z", re.DOTALL)
_COMMENT = re.compile(r"<!--\s*(not run|run|first)(?::\s*(.*?))?\s*-->", re.DOTALL)
_LOOKS_LIKE_COMMANDS = re.compile(
    r"\$ |(?:\w+=\S+ )*(?:untildone|make|git|pip|python3?|\.venv/\S+|npm|curl|cd|export|docker|psql|claude|codex) "
)
_EXIT = re.compile(r"exit (\d{1,3})")


class Undeclared(ValueError):
    """The comment that says whether a block is run is missing or invalid."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command. `printed` is None if the page shows no output, `code` is None if the command may fail."""

    command: str
    printed: str | None = None
    code: int | None = 0


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    section: str
    steps: tuple[Step, ...] = ()
    in_clone: bool = False
    reason: str = ""
    """Why the block is not run."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_compared(self) -> bool:
        return any(step.printed is not None for step in self.steps)


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks of one section that are run."""

    name: str
    blocks: tuple[Block, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for block in self.blocks for step in block.steps)

    @property
    def in_clone(self) -> bool:
        return any(block.in_clone for block in self.blocks)


def pages(root: Path) -> tuple[Path, ...]:
    """The pages in reading order."""
    guide = root / "docs" / "guide.md"
    others = sorted(path for path in (root / "docs").glob("*.md") if path != guide)
    for_developers = ("CONTRIBUTING.md", "AGENTS.md", "SECURITY.md", "examples/README.md")
    return (root / "README.md", guide, *others, *(root / name for name in for_developers))


def sections(blocks: Iterable[Block]) -> Iterator[Section]:
    """The blocks to run, by section. Blocks that set up the clone are a separate section."""
    by_section: dict[tuple[str, str, bool], list[Block]] = {}
    for block in blocks:
        if block.steps:
            by_section.setdefault((block.page, block.section, block.in_clone), []).append(block)
    for (page, section, _), members in by_section.items():
        yield Section(f"{page}: {section}", tuple(members))


def blocks_of(page: Path, root: Path) -> Iterator[Block]:
    """The command blocks of a page. Raises Undeclared for a block without a valid comment."""
    text, name = page.read_text(encoding="utf-8"), str(page.relative_to(root))
    headings = [(heading.start(), heading[2]) for heading in _headings(text)]
    fenced = list(FENCED.finditer(text))
    for place, fence in enumerate(fenced):
        language = (fence[2].split() or [""])[0]
        line = text.count("\n", 0, fence.start()) + 1
        if language not in COMMANDS:
            if not language and _LOOKS_LIKE_COMMANDS.match(fence[3]):
                raise Undeclared(
                    f"{name}:{line}: a block of commands must be fenced as ```sh or ```console; then {WHAT_TO_DO}."
                )
            continue
        section = next((title for start, title in reversed(headings) if start < fence.start()), "")
        below = fenced[place + 1] if place + 1 < len(fenced) else None
        printed = (
            below[3] if below and below[2].strip() == "text" and not text[fence.end() : below.start()].strip() else None
        )
        above = _COMMENTS_ABOVE.search(text, 0, fence.start())
        comments = dict(_COMMENT.findall(above[0])) if above else {}
        yield _block(Block(name, line, section), language, fence[3], comments, printed)


def _headings(text: str) -> list[re.Match[str]]:
    """The headings of one or two #, outside fenced blocks."""
    outside = FENCED.sub(lambda block: " " * len(block[0]), text)
    return [heading for heading in HEADING.finditer(outside) if len(heading[1]) <= 2]


def _block(block: Block, language: str, text: str, comments: dict[str, str], printed: str | None) -> Block:
    how, reason = comments.get("run"), comments.get("not run")
    if (how is None) == (reason is None) or reason == "":
        raise Undeclared(f"{block.place}: it does not say whether this block is run: {WHAT_TO_DO}.")
    if reason is not None:
        return Block(block.page, block.line, block.section, reason=reason)
    ends = _EXIT.fullmatch(how or "")
    if how and not ends and how != CLONE:
        raise Undeclared(f"{block.place}: '{how}' is not understood: {WHAT_TO_DO}.")
    code = int(ends[1]) if ends else 0
    first = [Step(_all_succeed(comments["first"]))] if comments.get("first") else []
    steps = _console(text, code) if language == "console" else [_script(text, code, printed)]
    return Block(block.page, block.line, block.section, (*first, *steps), in_clone=how == CLONE)


def _script(text: str, code: int, printed: str | None) -> Step:
    return Step(text if code else _all_succeed(text), printed, code)


def _all_succeed(commands: str) -> str:
    return f"set -e\n{commands}\nset +e"


def _console(text: str, code: int) -> list[Step]:
    steps: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            if line == "$ echo $?" and steps:
                steps[-1] = Step(steps[-1].command, steps[-1].printed, None)
            steps.append(Step(line[2:], ""))
        elif line.startswith("> ") and not steps[-1].printed:
            steps[-1] = Step(f"{steps[-1].command}\n{line[2:]}", "")
        else:
            steps[-1] = Step(steps[-1].command, f"{steps[-1].printed}{line}\n")
    return [*steps[:-1], Step(steps[-1].command, steps[-1].printed, code)]
