"""How fast an agent's output is read, stored and parsed, compared with `cat` and with a plain Python loop over lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from driving import StartedLoop, program, start_loop, with_command
from figures import Row, figure, seconds_of, taking_turns

MEGABYTE = 10**6
BARE_LOOP = """
import sys
with open(sys.argv[1], "wb", 0) as spool:
    for line in sys.stdin.buffer:
        spool.write(line)
"""
PARSING_LOOP = BARE_LOOP.replace("import sys", "import json, sys").replace(
    "        spool", "        json.loads(line)\n        spool"
)


def rows(*, quick: bool) -> Iterator[Row]:
    megabytes, times = (10, 3) if quick else (100, 7)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        texts = _prepared(place, "text", _text_lines(), megabytes)
        claude = _prepared(place, "claude", _claude_lines(), megabytes)
        for name, recording, loop in (("text", texts, BARE_LOOP), ("claude", claude, PARSING_LOOP)):
            works = (_ours(place, name, recording), _cat(recording, place), _loop(loop, recording, place))
            took: list[list[float]] = [[] for _ in works]
            for number in taking_turns(range(len(works)), times):
                took[number].append(works[number]() / megabytes * 1000)
            ours, cat, bare = (figure(each, "ms/MB") for each in took)
            yield Row(_what(name), ours, "cat into a file", cat)
            yield Row(_what(name), ours, _loop_name(loop), bare, goal=2.0)


def _what(name: str) -> str:
    return "command, lines of text" if name == "text" else "claude, stream-json"


def _loop_name(loop: str) -> str:
    return "a plain Python loop over lines" + (" with json.loads" if loop is PARSING_LOOP else "")


def _text_lines() -> Iterator[bytes]:
    while True:
        for number in range(100):
            yield (f"tests/test_part{number}.py::test_case " + "." * (number % 80) + " PASSED\n").encode()


def _claude_lines() -> Iterator[bytes]:
    """Typical agent output: texts, tool calls, and tool results of a few kilobytes."""
    while True:
        for number in range(50):
            text = {"type": "text", "text": f"Now I look at part {number} of the program. " * 3}
            call = {
                "type": "tool_use",
                "id": f"call{number}",
                "name": "Read",
                "input": {"file_path": f"/p/{number}.py"},
            }
            result = {
                "type": "tool_result",
                "tool_use_id": f"call{number}",
                "content": f"   1→import part{number}\n" * 150,
            }
            for kind, content in (("assistant", text), ("assistant", call), ("user", result)):
                message = {"id": f"m{number}", "role": kind, "content": [content]}
                line = {"type": kind, "message": message, "session_id": "s", "uuid": f"u{number}"}
                yield json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _prepared(place: Path, name: str, lines: Iterator[bytes], megabytes: int) -> Path:
    path, left = place / f"{name}.recording", megabytes * MEGABYTE
    with open(path, "wb") as file:
        while left > 0:
            left -= file.write(next(lines))
        if name == "claude":
            result = {
                "type": "result",
                "subtype": "success",
                "is_error": False,
                "result": "More to do.",
                "session_id": "s",
            }
            file.write(json.dumps(result).encode() + b"\n")
    return path


Work = Callable[[], float]
"""Runs once and returns the seconds it took."""


def _ours(place: Path, name: str, recording: Path) -> Work:
    folder, numbers = place / f"bin-{name}", count()
    player = program(
        folder / ("claude" if name == "claude" else "play"), f"#!/bin/sh\ncat > /dev/null\ncat {recording}\necho $$\n"
    )
    return lambda: _start(place / f"work-{name}-{next(numbers)}", name, player).drive().programs[0]


def _start(workspace: Path, name: str, player: Path) -> StartedLoop:
    if name == "text":
        return with_command(workspace, player, 1)
    path = f"{player.parent}{os.pathsep}{os.environ['PATH']}"
    return start_loop(workspace, {**os.environ, "PATH": path}, agent="claude", max_iterations=1)


def _cat(recording: Path, place: Path) -> Work:
    """`cat` through a pipe, as agents print."""
    return lambda: _run(f"cat {recording} | cat > {place}/out")


def _loop(loop: str, recording: Path, place: Path) -> Work:
    script = place / "loop.py"
    script.write_text(loop)
    return lambda: _run(f"cat {recording} | {sys.executable} {script} {place}/out")


def _run(command: str) -> float:
    return seconds_of(lambda: subprocess.run(["sh", "-c", command], check=True))
