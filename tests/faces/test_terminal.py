"""What the terminal shows: words of agents as Markdown, menus that fit, the summary at the end."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from untildone import modes
from untildone.core.loop import Loop
from untildone.core.plugins.agent_io import Said, ToolStarted
from untildone.core.protection.secrets import Redactor
from untildone.faces.cli import wrapping
from untildone.faces.cli.streams import Output
from untildone.faces.cli.views import menus, speech
from untildone.faces.cli.views.plain_view import PlainView
from untildone.testing import driver

MARKDOWN = """# What I did

I wrote **a.txt**.
It has one line.

- first
- second

| file | lines |
|---|---|
| a.txt | 1 |

```sh
cat a.txt
```
See [the docs](https://example.org/docs).

<promise>COMPLETE</promise>"""


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("width", [40, 80, 140])
def test_headings_lists_tables_code_and_links_are_drawn(width: int) -> None:
    lines = [line.rstrip() for line in plain(speech.drawn(MARKDOWN, width)).split("\n")]
    assert max(map(len, lines)) <= width
    assert lines[0] == "  What I did"
    assert "  I wrote a.txt." in lines, "no stars"
    assert "  It has one line." in lines, "line breaks stay"
    assert "   • first" in lines
    assert any(re.fullmatch(r" +a\.txt +1", line) for line in lines)
    assert any(line.strip() == "cat a.txt" for line in lines)
    assert "the docs" in " ".join(lines)
    assert "https://example.org/docs" in "".join(lines)
    assert lines[-1] == "  <promise>COMPLETE</promise>", "tags stay visible"


def test_escape_sequences_of_an_agent_do_not_reach_the_terminal() -> None:
    assert "\x1b]0;" not in speech.drawn("before \x1b]0;title\x07 after", 80)


class Stream(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    @property
    def written(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def viewed(mode: str, events: Sequence[Said | ToolStarted]) -> str:
    stream = Stream()
    view, loop = PlainView(Output(stream), Redactor({})), _loop(mode)
    for event in events:
        view.agent(event, loop)
    view.agent(ToolStarted("read", "a.txt"), loop)
    return stream.written


def _loop(mode: str) -> Loop:
    return driver.looping(["x"], mode=mode, supervisor_prompt="Look.").loop


@pytest.mark.parametrize("mode", modes.own_names())
def test_in_a_pipe_the_words_stay_as_they_were(mode: str) -> None:
    assert viewed(mode, [Said(MARKDOWN)]).startswith(
        "".join(f"  {line}".rstrip() + "\n" for line in MARKDOWN.split("\n"))
    )


REPORT = '{"phase_done": true, "continue": true,\n "message": "All is there.", "summary": "All is there."}'


@pytest.mark.parametrize("mode", [name for name in modes.own_names() if modes.find(name).reports_in_json])
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([REPORT], "  All is there.\n"),
        ([f"I looked.\n\n```json\n{REPORT}\n```"], "  I looked.\n"),
        (["I looked.", *REPORT.split("\n")], "  I looked.\n"),
    ],
)
def test_a_report_in_json_is_never_shown_raw(mode: str, said: list[str], shown: str) -> None:
    assert viewed(mode, [Said(text) for text in said]) == f"{shown}  ▸ read a.txt\n"


@pytest.mark.parametrize("columns", [24, 40, 80, 140])
def test_a_menu_fits_the_terminal_and_loses_no_word(columns: int) -> None:
    title, fact = "Found an unfinished loop: loop-20260131-120000000-abcdef", "Task: 修复解析器 and write the documents"
    lines = list(menus.box(title, (fact,), ("continue", "simplify the task (+10 rounds)"), columns))
    assert {cell_len(line) for line in lines} == {min(columns, 78)}
    words = "".join("".join(lines).replace("║", "").split())
    for text in (title, fact, "[1]continue", "[2]simplifythetask(+10rounds)"):
        assert "".join(text.split()) in words
    assert sum(line.startswith("╠") for line in lines) == 2


def test_a_menu_without_facts_has_no_empty_part() -> None:
    assert sum(line.startswith("╠") for line in menus.box("Unfinished loops", (), ("a", "b"), 60)) == 1


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("used      2 rounds, 1 s at work, 365 tokens", ["used      2 rounds, 1 s at", "          work, 365 tokens"]),
        ("  ○ a: User model with roles", ["  ○ a: User model with", "    roles"]),
        ("changed at  2026-11-17 14:23:46", ["changed at  2026-11-17", "            14:23:46"]),
        ("hint: this is a longer sentence", ["hint: this is a longer", "  sentence"]),
        ("╭─ Round 1 · analysis of everything ─╮", ["╭─ Round 1 · analysis of everything ─╮"]),
        ("short", ["short"]),
        ("x" * 60, ["x" * 26, "  " + "x" * 24, "  " + "x" * 10]),
    ],
)
def test_lines_are_broken_between_words_and_later_rows_are_indented(text: str, rows: list[str]) -> None:
    assert wrapping.rows(text, 26) == rows
