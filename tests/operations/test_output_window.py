"""The output of an agent, read in windows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from untildone.core.model import (
    AgentChoice,
)
from untildone.operations.showing import output_window
from untildone.operations.showing.output_window import Output, Window
from untildone.store.spool import FileSpool

SCRIPTED = AgentChoice("scripted", "scripted")


def said(text: str) -> bytes:
    return json.dumps({"event": "say", "text": text}).encode() + b"\n"


def tool(name: str, **more: Any) -> bytes:
    return json.dumps({"event": "tool", "tool": name, "summary": f"{name} it", **more}).encode() + b"\n"


def texts_in(window: Window) -> str:
    return "\n".join(block.text for block in window.blocks)


class TestOutput:
    def test_texts_thoughts_tools_and_notices_become_blocks(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        ended = (
            json.dumps({"event": "tool_end", "tool": "run", "ok": False, "summary": "no such file"}).encode() + b"\n"
        )
        path.write_bytes(
            said("One.") + said("Two.") + tool("run") + ended + tool("write") + b"not JSON\n" + said("Three.")
        )
        blocks = Output(FileSpool(lambda: path), SCRIPTED).tail().blocks
        assert [block.kind.value for block in blocks] == ["said", "tools", "notice", "said"]
        assert blocks[0].text == "One.\nTwo."
        assert [(call.tool, call.ok, call.result) for call in blocks[1].calls] == [
            ("run", False, "no such file"),
            ("write", None, ""),
        ]

    def test_no_file_is_an_empty_window(self, tmp_path: Path) -> None:
        window = Output(FileSpool(lambda: tmp_path / "none"), SCRIPTED).tail()
        assert (window.blocks, window.is_first, window.is_last) == ((), True, True)

    def test_going_back_and_on_shows_every_line(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        parts = [
            b"".join(said(f"<{each}> " + "x" * 400) + tool("run") for each in range(start, start + 500))
            for start in (0, 500)
        ]
        path.write_bytes(b"".join(parts))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        window, seen = output.tail(), ""
        while True:
            seen = texts_in(window) + seen
            assert window.end - window.start <= output_window.WINDOW * 2
            if window.is_first:
                break
            window = output.before(window)
        assert [int(found) for found in re.findall(r"<(\d+)>", seen)] == list(range(1000))
        on = texts_in(window)
        while not window.is_last:
            window = output.after(window)
            on += texts_in(window)
        assert [int(found) for found in re.findall(r"<(\d+)>", on)] == list(range(1000))

    def test_it_is_followed_line_by_line(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(said("One."))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        first = output.tail()
        assert output.followed(first) is first
        half = said("Two.")
        with path.open("ab") as file:
            file.write(half[:10])
        assert output.followed(first) is first
        with path.open("ab") as file:
            file.write(half[10:])
        assert texts_in(output.followed(first)) == "One.\nTwo."

    def test_a_last_line_without_an_end_counts_once_the_turn_is_over(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(b"begun\ndone")
        output = Output(FileSpool(lambda: path), AgentChoice("command", "command", command="cat"))
        window = output.tail()
        assert texts_in(window) == "begun"
        output.is_complete = True
        assert texts_in(output.followed(window)) == "begun\ndone"

    @pytest.mark.parametrize("size", [output_window.WINDOW * 2, output_window.LONGEST_LINE + output_window.WINDOW])
    def test_a_line_longer_than_a_window_does_not_bar_the_way(self, tmp_path: Path, size: int) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(said("Before.") + said("x" * size) + said("After."))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        window = output.tail()
        assert "After." in texts_in(window)
        for _ in range(10):
            if "Before." in texts_in(window):
                break
            window = output.before(window)
        assert "Before." in texts_in(window)

    def test_a_flood_moves_the_window_to_the_end(self, tmp_path: Path) -> None:
        path = tmp_path / "0001.jsonl"
        path.write_bytes(said("One."))
        output = Output(FileSpool(lambda: path), SCRIPTED)
        window = output.tail()
        with path.open("ab") as file:
            file.write(b"".join(said(f"{each} " + "x" * 1000) for each in range(1000)))
        window = output.followed(window)
        assert window.start > 0
        assert len(window.blocks) <= output_window.MOST_BLOCKS
