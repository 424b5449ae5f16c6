"""The documentation does what it says: its commands are run, its links lead somewhere, its command page is current.

How a page says which of its commands are run is told in `proof.newcomer.documents`. What sets up a clone is left to `make newcomer`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from proof.newcomer.__main__ import read_all
from proof.newcomer.documents import FENCED, HEADING, Section, Undeclared, blocks_of, pages, sections
from proof.newcomer.setup import PROGRAMS, VENV, environment, install_fake_agents, write_program
from proof.newcomer.shell import OutputDiffers, run_section

from untildone.system import orphans

ROOT = Path(__file__).parent.parent
WITHIN = 240
BLOCKS, UNDECLARED = read_all(ROOT)
STORIES = [section for section in sections(BLOCKS) if not section.in_clone]
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


@pytest.fixture
def surroundings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A home in which untildone is installed where the guide puts it, and it is the one under test.

    All that an example started, in the background too, ends with it.
    """
    home, temporary, programs = (tmp_path / name for name in ("home", "tmp", "bin"))
    for folder in (home, temporary, programs):
        folder.mkdir()
    write_program(home / PROGRAMS / "untildone", f'"{sys.executable}" -P -m untildone')
    write_program(home / VENV / "bin" / "python", f'"{sys.executable}"')
    write_program(programs / "python3", f'"{sys.executable}"')
    write_program(programs / "pytest", f'"{sys.executable}" -m pytest -p no:cacheprovider')
    install_fake_agents(programs)
    mark, value = orphans.mark(f"docs-{uuid.uuid4()}")
    ours = {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    yield {**environment(home, temporary, programs), **ours, mark: value}
    orphans.end_all(mark)


@pytest.mark.slow
@pytest.mark.timeout(WITHIN + 60)
@pytest.mark.parametrize("section", STORIES, ids=lambda section: section.name)
def test_examples_do_what_they_say(section: Section, tmp_path: Path, surroundings: dict[str, str]) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    run_section(section, folder, surroundings, WITHIN)


def test_every_block_of_commands_says_whether_it_is_run() -> None:
    assert UNDECLARED == []


def test_most_blocks_are_run_and_the_others_say_why() -> None:
    assert {block.page for block in BLOCKS if block.steps} >= {
        "README.md",
        "docs/guide.md",
        "docs/modes.md",
        "docs/api.md",
    }
    assert sum(bool(block.steps) for block in BLOCKS) > 2 * sum(bool(block.reason) for block in BLOCKS)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("```sh\nls\n```\n", "page.md:1: it does not say whether this block is run"),
        ("# A\n\n<!-- run: twice -->\n```console\n$ ls\n```\n", "page.md:4: 'twice' is not understood"),
        ("<!-- not run: -->\n```bash\nls\n```\n", "page.md:2: it does not say"),
        ("```\n$ ls\n```\n", "page.md:1: a block of commands must be fenced as ```sh or ```console; then put"),
        ("```\nuntildone list\n```\n", "page.md:1: a block of commands must be fenced as ```sh"),
    ],
)
def test_a_block_that_says_nothing_is_told_what_to_say(page: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page)
    with pytest.raises(Undeclared, match=re.escape(told)):
        list(blocks_of(tmp_path / "page.md", tmp_path))


@pytest.mark.parametrize(
    ("page", "fits"),
    [
        ("<!-- run -->\n```sh\necho one; echo two\n```\n\n```text\none\n…\n```\n", True),
        ("<!-- run -->\n```sh\necho one; echo two\n```\n\n```text\none\n```\n", False),
        ("<!-- run: exit 3 -->\n```sh\nexit_with() { return 3; }\nexit_with\n```\n", True),
        ("<!-- run: exit 3 -->\n```sh\ntrue\n```\n", False),
        ("<!-- run -->\n```sh\nfalse\ntrue\n```\n", False),
        (
            "<!-- first: word=hello -->\n<!-- run -->\n```console\n$ echo $word\nhello\n$ false\n$ echo $?\n1\n```\n",
            True,
        ),
        ("<!-- run -->\n```console\n$ echo hello\ngood…bye\n```\n", False),
        ("<!-- run -->\n```console\n$ cat <<END\n> a\n> END\na\n```\n", True),
    ],
)
def test_what_is_printed_is_compared(page: str, fits: bool, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(page)
    (section,) = sections(blocks_of(tmp_path / "page.md", tmp_path))
    try:
        run_section(section, tmp_path, {"PATH": "/usr/bin:/bin"}, WITHIN)
    except OutputDiffers:
        assert not fits
    else:
        assert fits


def anchors(text: str) -> set[str]:
    """The names under which headings can be linked to."""
    titles = (found[2].lower() for found in HEADING.finditer(FENCED.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", pages(ROOT), ids=lambda page: page.name)
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
    ended = subprocess.run([sys.executable, program, "--check"], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
