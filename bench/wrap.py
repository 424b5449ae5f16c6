"""What `untildone wrap` adds to a program at a terminal, for bulk output and for a key echo; compared with no wrapper and script(1)."""

from __future__ import annotations

import os
import pty
import select
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from figures import Figure, Row, figure
from tests.support.terminal_agent import write_program

READY = b"READY"
MEGABYTE = 10**6
PATIENCE = 60.0
SHOWS = """stty raw -echo; printf READY; head -c 1 > /dev/null; exec cat "$FILE" """
ECHOES = """stty raw -echo; printf READY; exec cat"""


def rows(*, quick: bool) -> Iterator[Row]:
    megabytes, keys, times = (10, 200, 3) if quick else (100, 1000, 9)
    with tempfile.TemporaryDirectory(prefix="untildone-bench-") as folder:
        place = Path(folder)
        (place / "SUPERVISOR.md").write_text("Look closely.\n")
        (place / "file").write_bytes(b"".join(_coloured_line(number) for number in range(100)) * (megabytes * 142))
        size = (place / "file").stat().st_size
        what = f"{size // MEGABYTE} MB shown by cat"
        shown, bare, *others = _in_turn(place, SHOWS, times, lambda terminal: _output(terminal, size))
        yield Row(what, shown, "cat without wrap", bare, goal=2.0)
        yield from (Row(what, shown, "script(1), which only forwards the output", other) for other in others)
        echoed, bare = _in_turn(place, ECHOES, 1, lambda terminal: _echoes(terminal, keys))
        note = f"adds {echoed.middle - bare.middle:.3f} ms"
        yield Row("a key and its echo", echoed, "without wrap", bare, note=note)


def _coloured_line(number: int) -> bytes:
    return f"\x1b[1;3{number % 8}mtest_{number:02d}\x1b[0m {'.' * (number % 60)} \x1b[32mPASSED\x1b[0m in a moment\r\n".encode()


def _in_turn(place: Path, lines: str, times: int, measure: object) -> list[Figure]:
    """Measure with wrap, without it, and in script(1), in turn, so that other load affects all alike."""
    assert callable(measure)
    program = write_program(place / "bin", lines)
    environment = {**os.environ, "FILE": str(place / "file"), "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
    commands = [[sys.executable, "-m", "untildone", "wrap", "--dir", str(place)], [str(program)]]
    if lines == SHOWS and shutil.which("script") and sys.platform == "linux":
        commands.append(["script", "-qfc", str(program), "/dev/null"])
    times_of: list[list[float]] = [[] for _ in commands]
    for _ in range(times):
        for command, measured in zip(commands, times_of, strict=True):
            with _terminal(command, place, environment) as terminal:
                measured += measure(terminal)
    return [figure(each, "ms") for each in times_of]


@contextmanager
def _terminal(command: Sequence[str], place: Path, environment: Mapping[str, str]) -> Iterator[int]:
    pid, leader = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.execvpe(command[0], list(command), {**environment, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        output = b""
        while READY not in output:
            output += _read(leader)
        yield leader
    finally:
        os.close(leader)
        os.waitpid(pid, 0)


def _read(leader: int) -> bytes:
    ready, _, _ = select.select([leader], [], [], PATIENCE)
    if not ready:
        sys.exit("The program printed nothing in time.")
    return os.read(leader, 1 << 16)


def _output(leader: int, size: int) -> list[float]:
    began, left = time.perf_counter(), size
    os.write(leader, b"x")
    while left > 0:
        left -= len(_read(leader))
    return [(time.perf_counter() - began) * 1000]


def _echoes(leader: int, keys: int) -> list[float]:
    took = []
    for _ in range(keys):
        began = time.perf_counter()
        os.write(leader, b"k")
        _read(leader)
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(0.001)
    return took
