"""The stop hook beside one of bash and jq: milliseconds for one stop, with transcripts from 1 KB to 100 MB.

The sizes take turns; where both are run, they are so in turn, stop by stop: whatever else the machine does meets all alike. Each
stop is one that sends the agent back to work.
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

from figures import Curve, Found, Row, figure, grown, growth, taking_turns

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
BESIDE_BASH = {"1 KB": 0.5, "10 MB": 1.0, "100 MB": 1.0}
"""The sizes that bash reads as well, each with its goal."""
ROUNDS = 40
SESSION = "00000000-0000-4000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Stage:
    folder: Path
    transcripts: dict[str, Path]


def transcript(path: Path, size: int, text: str) -> Path:
    """As many lines as the size takes, and at its end what the agent said."""
    last = {"type": "assistant", "message": {"id": "last", "content": [{"type": "text", "text": text}]}}
    end = json.dumps(last, separators=(",", ":")) + "\n"
    before = {"type": "user", "message": {"role": "user", "content": "x" * 900}}
    line = json.dumps(before, separators=(",", ":")) + "\n"
    with path.open("w") as file:
        for _ in range(max(0, size - len(end)) // len(line)):
            file.write(line)
        file.write(end)
    return path


def prepared(folder: Path) -> Stage:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(folder)}
    begin = ("hook", "start", "--session", SESSION, "--max-iterations", "100000", "--dir", str(folder), TASK)
    subprocess.run([sys.executable, "-m", "untildone", *begin], env=environment, check=True, capture_output=True)
    (folder / ".bash-loop").mkdir()
    state = {"status": "running", "iteration": 1, "max_iterations": 100_000, "promise": "<promise>COMPLETE</promise>"}
    (folder / ".bash-loop" / f"{SESSION}.json").write_text(json.dumps({**state, "task": TASK}))
    made = {name: transcript(folder / f"{size}.jsonl", size, "Not done yet.") for name, size in SIZES.items()}
    return Stage(folder, made)


def event(stage: Stage, size: str, number: int) -> bytes:
    """Without `last_assistant_message`, so that both must look into the transcript; its end differs every time."""
    path = stage.transcripts[size]
    text = f'"Not done yet, {number:6d}."}}]}}}}\n'.encode()
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.seek(file.tell() - 4096 if file.tell() > 4096 else 0)
        start, tail = file.tell(), file.read()
        kept = tail[: tail.rindex(b'"Not done yet')]
        file.seek(start + len(kept))
        file.write(text)
        file.truncate()
    fields = {"hook_event_name": "Stop", "session_id": SESSION, "transcript_path": str(path), "cwd": str(stage.folder)}
    return json.dumps({**fields, "stop_hook_active": True}).encode()


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds: by the clock, and of the processor, which depends less on what else runs."""

    clock: float
    processor: float


def once(command: list[str], content: bytes, wanted: bytes = b'"block"') -> Took:
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, input=content, capture_output=True)
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if wanted not in ended.stdout:
        sys.exit(f"{command[0]} did not hold the agent: {ended.stdout!r} {ended.stderr!r}")
    processor = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return Took(clock * 1000, processor * 1000)


def measured(stage: Stage, rounds: int) -> dict[tuple[str, str], list[Took]]:
    ours = [sys.executable, "-I", "-S", str(PROGRAM), "claude", "stop", "60"]
    theirs = [shutil.which("bash") or "bash", str(BASH)]
    found: dict[tuple[str, str], list[Took]] = {}
    for number, size in enumerate(taking_turns(tuple(SIZES), rounds)):
        content = event(stage, size, number)
        found.setdefault(("ours", size), []).append(once(ours, content))
        if size in BESIDE_BASH:
            found.setdefault(("bash", size), []).append(once(theirs, content))
    for _ in range(rounds):
        found.setdefault(("bare", "1 KB"), []).append(once([sys.executable, "-I", "-S", "-c", ""], b"", b""))
    return found


def rows(*, quick: bool) -> Iterator[Found]:
    if shutil.which("jq") is None:
        yield Row("the stop hook", error="jq is not installed")
        return
    with tempfile.TemporaryDirectory(prefix="untildone-bench-") as folder:
        found = measured(prepared(Path(folder)), 3 if quick else ROUNDS)
    levels: dict[str, tuple[float, ...]] = {}
    for unit, what in (("clock", "a stop"), ("processor", "a stop, time of the processor")):
        times = {key: figure([getattr(took, unit) for took in all_of], "ms") for key, all_of in found.items()}
        for size, goal in BESIDE_BASH.items():
            name = f"{what}, with a transcript of {size}"
            yield Row(name, times["ours", size], "a hook of bash and jq", times["bash", size], goal=goal)
        kilobytes = tuple(size / 1024 for size in SIZES.values())
        turns = list(zip(*([getattr(took, unit) for took in found["ours", size]] for size in SIZES), strict=True))
        yield from growth(f"{what}, by KB of transcript", kilobytes, turns, "ms")
        levels[what] = grown(kilobytes, turns).levels
        yield Row(f"{what}: of it, the interpreter alone", times["bare", "1 KB"])
    yield Curve("hook", "What a stop costs", "kilobytes of transcript", kilobytes, levels)
