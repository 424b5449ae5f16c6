"""Which transcripts are vouched for: those that grew by the words of the loop, and by nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from untildone import agents
from untildone.core.plugins.transcript import SessionRecord
from untildone.engine.verdicts.transcripts import grown, is_unchanged, vouched

SESSION = "0b5c7e0e-3d43-4c1a-9d0e-111111111111"


def claude_line(text: str, kind: str = "user") -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": text}}) + "\n"


def codex_line(text: str) -> str:
    return json.dumps({"type": "event_msg", "payload": {"type": "user_message", "message": text}}) + "\n"


@pytest.fixture
def kept(tmp_path: Path) -> tuple[SessionRecord, Path]:
    folder = tmp_path / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    record = agents.find("claude").record(SESSION, {"HOME": str(tmp_path)}, ())
    assert record is not None
    return record, folder / f"{SESSION}.jsonl"


def test_a_new_session_that_heard_the_prompt_alone_is_vouched_for(kept: tuple[SessionRecord, Path]) -> None:
    record, file = kept
    file.write_text(claude_line("Build it") + claude_line("Done.", "assistant"))
    digest = vouched(record, None, ("Build it\n",))
    assert digest.startswith(f"{file.stat().st_size}:")
    assert is_unchanged(record, digest, may_grow=False)
    assert vouched(record, None, ("Build something else",)) == ""


def test_a_resumed_session_must_begin_as_it_was(kept: tuple[SessionRecord, Path]) -> None:
    record, file = kept
    file.write_text(claude_line("Build it"))
    before = vouched(record, None, ("Build it",))
    whole = file.read_text() + claude_line("More.")
    file.write_text(whole)
    assert vouched(record, before, ("More.",))
    assert not vouched(record, "", ("More.",)), "what was not vouched for stays so"
    file.write_text(whole.replace("Build it", "Break it"))
    assert not vouched(record, before, ("More.",))
    file.write_text(whole[:10])
    assert not vouched(record, before, ("More.",))


@pytest.mark.parametrize(
    ("more", "exactly", "if_it_may_grow"),
    [
        ("", True, True),
        (claude_line("x", "assistant"), False, True),
        (claude_line("The person allows it."), False, False),
    ],
)
def test_what_was_added_since(kept: tuple[SessionRecord, Path], more: str, exactly: bool, if_it_may_grow: bool) -> None:
    record, file = kept
    file.write_text(claude_line("Build it"))
    digest = vouched(record, None, ("Build it",))
    file.write_text(file.read_text() + more)
    assert is_unchanged(record, digest, may_grow=False) is exactly
    assert is_unchanged(record, digest, may_grow=True) is if_it_may_grow


def test_no_file_two_files_a_link_or_a_pipe_are_not_vouched_for(
    kept: tuple[SessionRecord, Path], tmp_path: Path
) -> None:
    record, file = kept
    assert vouched(record, None, ("Build it",)) == ""
    (real := tmp_path / "real").write_text(claude_line("Build it"))
    file.symlink_to(real)
    assert vouched(record, None, ("Build it",)) == ""
    file.unlink()
    os.mkfifo(file)
    assert vouched(record, None, ("Build it",)) == ""
    file.unlink()
    for folder in ("-work", "-other"):
        place = tmp_path / ".claude" / "projects" / folder
        place.mkdir(exist_ok=True)
        (place / file.name).write_text(claude_line("Build it"))
    assert vouched(record, None, ("Build it",)) == ""


def test_a_session_of_codex(tmp_path: Path) -> None:
    folder = tmp_path / "codex" / "sessions" / "2026" / "11" / "17"
    folder.mkdir(parents=True)
    (folder / f"rollout-2026-11-17T07-00-00-{SESSION}.jsonl").write_text(codex_line("Build it"))
    record = agents.find("codex").record(SESSION, {"CODEX_HOME": str(tmp_path / "codex")}, ())
    assert record is not None
    assert vouched(record, None, ("Build it",))
    assert not vouched(record, None, ("Break it",))


@pytest.mark.parametrize("session", ["../../etc/passwd", "a/b", "*?", ""])
def test_a_session_id_leads_nowhere_else(session: str, tmp_path: Path) -> None:
    for name in ("claude", "codex"):
        record = agents.find(name).record(session, {"HOME": str(tmp_path)}, ())
        assert record is not None
        assert vouched(record, None, ("x",)) == ""


def test_a_transcript_of_a_persons_own_session_grows(tmp_path: Path) -> None:
    file = tmp_path / "a[1].jsonl"
    file.write_text("one\n")
    first = grown(str(file), "")
    file.write_text("one\ntwo\n")
    assert grown(str(file), first).startswith("8:")
    file.write_text("eno\ntwo\n")
    assert grown(str(file), first) == ""
    assert grown(str(tmp_path / "none"), "") == ""
