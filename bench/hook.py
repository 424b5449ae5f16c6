"""The stop hook compared with a hook in bash and jq: milliseconds per stop, with transcripts from 1 KB to 100 MB.

Sizes and hooks take turns, so that other load on the machine affects all alike. Each stop sends the agent back to work.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from figures import Curve, Result, Row, figure, grown, growth, taking_turns

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "src" / "untildone" / "hosts" / "hook" / "program.py"
BASH = ROOT / "bench" / "hook_bash.sh"
TASK = "Make the tests pass."
SIZES = {
    "1 KB": 1 << 10,
    "10 KB": 10 << 10,
    "100 KB": 100 << 10,
    "1 MB": 1 << 20,
    "10 MB": 10 << 20,
    "100 MB": 100 << 20,
}
COMPARED_WITH_BASH = {"1 KB": 0.5, "10 MB": 1.0, "100 MB": 1.0}
"""The sizes that are also measured with bash, with their goals."""
ROUNDS = 40
SESSION = "00000000-0000-4000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class HookFixture:
    """The folder of the loop and its transcripts by size."""

    folder: Path
    transcripts: dict[str, Path]


def transcript(path: Path, size: int, text: str) -> Path:
    """Write a transcript of about this size that ends with the agent's message."""
    last = {"type": "assistant", "message": {"id": "last", "content": [{"type": "text", "text": text}]}}
    end = json.dumps(last, separators=(",", ":")) + "\n"
    before = {"type": "user", "message": {"role": "user", "content": "x" * 900}}
    line = json.dumps(before, separators=(",", ":")) + "\n"
    with path.open("w") as file:
        for _ in range(max(0, size - len(end)) // len(line)):
            file.write(line)
        file.write(end)
    return path


def prepared(folder: Path) -> HookFixture:
    begin = ("hook", "start", "--session", SESSION, "--max-iterations", "100000", "--dir", str(folder), TASK)
    subprocess.run(
        [sys.executable, "-m", "untildone", *begin], env=environment(folder), check=True, capture_output=True
    )
    (folder / ".bash-loop").mkdir()
    state = {"status": "running", "iteration": 1, "max_iterations": 100_000, "promise": "<promise>COMPLETE</promise>"}
    (folder / ".bash-loop" / f"{SESSION}.json").write_text(json.dumps({**state, "task": TASK}))
    made = {name: transcript(folder / f"{size}.jsonl", size, "Not done yet.") for name, size in SIZES.items()}
    return HookFixture(folder, made)


def environment(folder: Path) -> dict[str, str]:
    """The variables of all processes: the state of untildone is in the folder too."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(folder)}


def event(fixture: HookFixture, size: str, number: int) -> bytes:
    """The hook input, without `last_assistant_message`, so that both hooks read the transcript. Changes its last message."""
    path = fixture.transcripts[size]
    text = f'"Not done yet, {number:6d}."}}]}}}}\n'.encode()
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.seek(file.tell() - 4096 if file.tell() > 4096 else 0)
        start, tail = file.tell(), file.read()
        kept = tail[: tail.rindex(b'"Not done yet')]
        file.seek(start + len(kept))
        file.write(text)
        file.truncate()
    fields = {
        "hook_event_name": "Stop",
        "session_id": SESSION,
        "transcript_path": str(path),
        "cwd": str(fixture.folder),
    }
    return json.dumps({**fields, "stop_hook_active": True}).encode()


@dataclass(frozen=True, slots=True)
class Took:
    """Wall-clock and CPU milliseconds."""

    clock: float
    processor: float


def once(command: list[str], content: bytes, folder: Path, expected: bytes = b'"block"') -> Took:
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, input=content, capture_output=True, env=environment(folder))
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if expected not in ended.stdout:
        sys.exit(f"{command[0]} did not block the stop: {ended.stdout!r} {ended.stderr!r}")
    processor = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return Took(clock * 1000, processor * 1000)


def measured(fixture: HookFixture, rounds: int) -> dict[tuple[str, str], list[Took]]:
    ours = [sys.executable, "-I", "-S", str(PROGRAM), "claude", "stop", "60"]
    theirs = [shutil.which("bash") or "bash", str(BASH)]
    times: dict[tuple[str, str], list[Took]] = {}
    for number, size in enumerate(taking_turns(tuple(SIZES), rounds)):
        content = event(fixture, size, number)
        times.setdefault(("ours", size), []).append(once(ours, content, fixture.folder))
        if size in COMPARED_WITH_BASH:
            times.setdefault(("bash", size), []).append(once(theirs, content, fixture.folder))
    for _ in range(rounds):
        bare = once([sys.executable, "-I", "-S", "-c", ""], b"", fixture.folder, b"")
        times.setdefault(("bare", "1 KB"), []).append(bare)
    return times


def rows(*, quick: bool) -> Iterator[Result]:
    if shutil.which("jq") is None:
        yield Row("the stop hook", error="jq is not installed")
        return
    with tempfile.TemporaryDirectory(prefix="untildone-bench-") as folder:
        measurements = measured(prepared(Path(folder)), 3 if quick else ROUNDS)
    levels: dict[str, tuple[float, ...]] = {}
    for unit, what in (("clock", "a stop"), ("processor", "a stop, CPU time")):
        times = {key: figure([getattr(took, unit) for took in all_of], "ms") for key, all_of in measurements.items()}
        for size, goal in COMPARED_WITH_BASH.items():
            name = f"{what}, with a transcript of {size}"
            yield Row(name, times["ours", size], "a hook in bash and jq", times["bash", size], goal=goal)
        kilobytes = tuple(size / 1024 for size in SIZES.values())
        turns = list(
            zip(*([getattr(took, unit) for took in measurements["ours", size]] for size in SIZES), strict=True)
        )
        yield from growth(f"{what}, by KB of transcript", kilobytes, turns, "ms")
        levels[what] = grown(kilobytes, turns).levels
        yield Row(f"{what}: share of the bare interpreter", times["bare", "1 KB"])
    yield Curve("hook", "Cost of a stop", "kilobytes of transcript", kilobytes, levels)
