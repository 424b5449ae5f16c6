"""Any input, and any content on disk: it answers in a valid form, with exit code 0, in its time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.command_line import CommandLine
from tests.support.seals import copied

from untildone.hosts.hook import program

SESSION = "fuzzed-session"
WITHIN = 30.0
"""Seconds that a hook may take on a machine with much else to do; alone, it takes a twentieth of one."""
bounded = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


BARE: dict[str, str] = {}
"""The environment of a hook: nothing but the home folder, once there is one."""


def run(content: bytes, *arguments: str, cwd: Path, environment: dict[str, str] | None = None) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", program.__file__, *(arguments or ("claude", "stop", "20"))]
    began = time.monotonic()
    ended = subprocess.run(
        command, input=content, cwd=cwd, env=environment or BARE, capture_output=True, timeout=WITHIN
    )
    assert time.monotonic() - began < WITHIN
    assert (ended.returncode, ended.stderr) == (0, b"")
    answer = json.loads(ended.stdout)
    assert isinstance(answer, dict)
    assert set(answer) <= {"decision", "reason", "systemMessage", "hookSpecificOutput", "additionalContext"}
    return answer


@pytest.fixture(scope="module")
def begun() -> Iterator[CommandLine]:
    """A workspace with a loop in a session, to be copied and spoilt."""
    with tempfile.TemporaryDirectory() as folder:
        cli = CommandLine(Path(folder))
        BARE["HOME"] = str(cli.home)
        ended = cli.run("hook", "start", "--session", SESSION, "--max-iterations", "1000", "--deep", "do it")
        assert ended.code == 0, ended.errors
        yield cli


def copy_of(begun: CommandLine, workspace: Path) -> Path:
    """A copy of the workspace, as if its loop had begun there."""
    shutil.copytree(begun.workspace, workspace, ignore=shutil.ignore_patterns(".loop"))
    copied(begun.store(), workspace / ".loop")
    return workspace


def stop(workspace: Path, **fields: Any) -> bytes:
    payload = {"hook_event_name": "Stop", "session_id": SESSION, "cwd": str(workspace), "last_assistant_message": "no"}
    return json.dumps({**payload, **fields}).encode()


@bounded
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
@example(content=b"")
@example(content=b"[" * 100_000)
@example(content=b'{"session_id": "' + b"x" * 1_000_000 + b'"}')
@example(content=b'{"session_id": "..", "cwd": "/"}')
@example(content=b'{"a": 1e999, "b": NaN, "c": -Infinity}')
@example(content=b'\xef\xbb\xbf{"session_id": "s"}')
def test_any_bytes(content: bytes, tmp_path: Path) -> None:
    assert "decision" not in run(content, cwd=tmp_path)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = (
    "hook_event_name",
    "session_id",
    "cwd",
    "transcript_path",
    "last_assistant_message",
    "stop_hook_active",
    "prompt",
)


@bounded
@given(fields=st.dictionaries(st.sampled_from(FIELDS), anything), kind=st.sampled_from(["stop", "prompt", "other", ""]))
@example(fields={"session_id": SESSION, "last_assistant_message": "\ud800 \x00"}, kind="stop")
@example(fields={"session_id": "a/../b", "cwd": "\x00"}, kind="stop")
@example(
    fields={"session_id": SESSION, "prompt": "/until-done \x00 x", "hook_event_name": "UserPromptSubmit"}, kind="prompt"
)
def test_any_fields(fields: dict[str, Any], kind: str, begun: CommandLine, tmp_path: Path) -> None:
    workspace = tmp_path / "copy"
    if not workspace.exists():
        copy_of(begun, workspace)
    payload = {"hook_event_name": "Stop", "session_id": "nobody", "cwd": str(workspace), **fields}
    run(json.dumps(payload).encode(), "claude", kind, "20", cwd=workspace)


FILES = ("journal", "checkpoint", "checksum", "note", "live")
DAMAGES = ("gone", "empty", "half", "rubbish", "folder", "version", "flipped", "unreadable")


def place_of(workspace: Path, file: str) -> Path:
    (progress,) = (workspace / ".loop").glob("*.progress")
    loop_id = progress.name.removesuffix(".progress")
    return {
        "journal": progress / "execution.log.jsonl",
        "checkpoint": workspace / ".loop" / f"{loop_id}.json",
        "checksum": workspace / ".loop" / f"{loop_id}.json.sha256",
        "note": workspace / ".loop" / "sessions" / SESSION,
        "live": workspace / ".claude" / "ralph-delta.local.md",
    }[file]


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    match how:
        case "half":
            path.write_bytes(content[: len(content) // 2])
        case "rubbish":
            path.write_bytes(os.urandom(200))
        case "flipped":
            middle = len(content) // 2
            path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        case "version":
            path.write_bytes(content.replace(b'"event":"', b'"event":"new_').replace(b'"status"', b'"state"'))
        case "unreadable":
            path.chmod(0)
        case _:
            path.unlink()
            if how == "folder":
                path.mkdir()
            elif how == "empty":
                path.touch()


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("file", FILES)
def test_any_damage(file: str, how: str, begun: CommandLine, tmp_path: Path) -> None:
    workspace = copy_of(begun, tmp_path / "copy")
    spoil(place_of(workspace, file), how)
    answer = run(stop(workspace), cwd=workspace)
    if file in ("checkpoint", "checksum") and how != "folder":
        assert answer["decision"] == "block", "the journal is the truth"


@pytest.mark.parametrize("gone", ["everything", "loop"])
def test_a_loop_that_is_gone(gone: str, begun: CommandLine, tmp_path: Path) -> None:
    workspace = copy_of(begun, tmp_path / "copy")
    note = place_of(workspace, "note")
    kept = note.read_bytes()
    shutil.rmtree(workspace / ".loop")
    if gone == "loop":
        note.parent.mkdir(parents=True)
        note.write_bytes(kept)
    answer = run(stop(workspace), cwd=workspace)
    assert ("systemMessage" in answer) == (gone == "loop")


def test_a_lock_that_cannot_be_taken(begun: CommandLine, tmp_path: Path) -> None:
    workspace = copy_of(begun, tmp_path / "copy")
    lock = place_of(workspace, "journal").with_name("runner.lock")
    lock.unlink()
    lock.mkdir()
    answer = run(stop(workspace), cwd=workspace)
    assert "may stop" in answer["systemMessage"]


def test_huge_and_strange_transcripts(begun: CommandLine, tmp_path: Path) -> None:
    huge, pipe, workspace = tmp_path / "huge.jsonl", tmp_path / "pipe", copy_of(begun, tmp_path / "copy")
    with huge.open("wb") as file:
        file.truncate(5 << 30)
    os.mkfifo(pipe)
    for transcript in (huge, pipe, tmp_path, Path("/dev/zero"), tmp_path / "none", Path("x" * 5000)):
        run(stop(workspace, last_assistant_message=None, transcript_path=str(transcript)), cwd=workspace)


def test_a_message_as_long_as_a_book(begun: CommandLine, tmp_path: Path) -> None:
    workspace = copy_of(begun, tmp_path / "copy")
    answer = run(stop(workspace, last_assistant_message="so " * 3_000_000), cwd=workspace)
    assert answer["decision"] == "block"


def test_time_that_is_used_up_lets_the_agent_go(begun: CommandLine, tmp_path: Path) -> None:
    """Somebody holds the journal's lock for ever: the hook gives up in its own time."""
    import fcntl

    workspace = copy_of(begun, tmp_path / "copy")
    with place_of(workspace, "journal").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = run(stop(workspace), "claude", "stop", "2", cwd=workspace)
    assert "time was used up" in answer["systemMessage"]
    assert "decision" not in answer


def test_nobody_reads_the_answer(begun: CommandLine, tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", program.__file__, "claude", "stop", "20"]
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(command, input=b"{}", stdout=writer, stderr=subprocess.PIPE, timeout=WITHIN)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")
