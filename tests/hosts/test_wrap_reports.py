"""Reports of a stop hook in a box: whatever runs in the box can send them, and they choose nothing."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from untildone.hosts.hook import broker, runs
from untildone.hosts.hook.runs import RunLoop
from untildone.hosts.wrap.reports import NAME, Reports, Run, Typed, opened

WORDS = ("claude", "--model", "opus", "[r=9] make a parser")


class TestTyped:
    @pytest.mark.parametrize(
        ("typed", "prompt", "counts"),
        [
            ([b"fix it\r"], "fix it", True),
            ([b"[r+5] fix it\r"], "[r+5] fix it", True),
            ([b"\x1b[200~[r+5]\x1b[201~", b" go\r"], "[r+5] go", True),
            ([b"fix it\r"], "[r+5] fix it", False),
            ([b"[r+5] fix it\r"], "[r+50] fix it", False),
            ([b"go\r"], '/until-done "other task"', False),
            ([b'/until-done "a task"\r'], '/until-done "a task"', True),
            ([b"fix it"], "fix it", False),
            ([], "fix it", False),
        ],
    )
    def test_a_prompt_counts_only_if_the_person_can_have_given_it(
        self, typed: list[bytes], prompt: str, counts: bool
    ) -> None:
        known = Typed()
        assert known.take("the first, of the command line", ())
        for piece in typed:
            known.add(piece)
        assert known.take(prompt, ()) is counts

    def test_each_enter_is_good_for_one_prompt(self) -> None:
        known = Typed()
        known.add(b"fix it\r")
        assert known.take("fix it", ())
        assert not known.take("and another", ())

    def test_controls_on_the_command_line_count_for_the_first_prompt(self) -> None:
        assert Typed().take("[r=9] make a parser", WORDS)
        assert not Typed().take("[r=99] make a parser", WORDS)


class TestTranscripts:
    def test_a_file_of_the_agents_folder_is_opened(self, tmp_path: Path) -> None:
        (tmp_path / "own" / "deep").mkdir(parents=True)
        (tmp_path / "own" / "deep" / "t.jsonl").write_text("said")
        descriptor = opened(str(tmp_path / "own" / "deep" / "t.jsonl"), (str(tmp_path / "own"),))
        assert descriptor is not None
        assert os.read(descriptor, 9) == b"said"
        os.close(descriptor)

    @pytest.mark.parametrize("name", ["link", "folder/secret", "../secret", "own/../../secret", "fifo", "missing", "."])
    def test_links_pipes_and_other_places_are_not(self, tmp_path: Path, name: str) -> None:
        own = tmp_path / "own"
        own.mkdir()
        (tmp_path / "secret").write_text("secret")
        (own / "link").symlink_to(tmp_path / "secret")
        (own / "folder").symlink_to(tmp_path)
        os.mkfifo(own / "fifo")
        assert opened(os.path.join(own, name), (str(own),)) is None


@pytest.fixture
def reports(tmp_path: Path) -> Iterator[Reports]:
    folder, workspace = tmp_path / "run", tmp_path / "workspace"
    folder.mkdir()
    (workspace / ".loop" / "sessions").mkdir(parents=True)
    made = Reports(Run("claude", str(folder), str(workspace), {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}))
    made.start(lambda: 0)
    yield made
    made.close()


def stop(session: str, **more: str) -> bytes:
    return json.dumps({"hook_event_name": "Stop", "session_id": session, **more}).encode()


class TestSocket:
    def test_a_stop_of_a_session_that_is_not_of_this_run_is_allowed_and_changes_nothing(
        self, reports: Reports, tmp_path: Path
    ) -> None:
        """The loop of another session lies in the same workspace, and one that the agent made up in a folder below."""
        for place in (tmp_path / "workspace", tmp_path / "workspace" / "inner"):
            (place / ".loop" / "sessions").mkdir(parents=True, exist_ok=True)
            (place / ".loop" / "sessions" / "other").write_text("loop-20260101-000000000-abcdef\n0\n")
        for folder in ("workspace", "workspace/inner"):
            assert broker.ask(reports.path, "stop", stop("other", cwd=str(tmp_path / folder))) == b"{}"
        assert not list(tmp_path.glob("workspace/**/*.progress"))

    @pytest.mark.parametrize("kind", ["other", "", "../x"])
    def test_other_kinds_are_answered_with_nothing(self, reports: Reports, kind: str) -> None:
        assert broker.ask(reports.path, kind, stop("s1")) == b"{}"

    def test_a_session_id_that_is_a_path_is_none(self, reports: Reports, tmp_path: Path) -> None:
        runs.add_loop(str(tmp_path / "run"), RunLoop("../../x", "loop-1", str(tmp_path)))
        assert broker.ask(reports.path, "stop", stop("../../x")) == b"{}"

    def test_nonsense_and_too_much_end_the_connection_and_the_next_report_is_answered(self, reports: Reports) -> None:
        for content in (b"\xff" * 8, (broker.LARGEST + 1).to_bytes(8, "big"), b"\x00" * 7 + b"\x09stop\nnope"):
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(30)
                line.connect(reports.path)
                line.sendall(content)
                assert line.recv(9) == b""
        assert broker.ask(reports.path, "stop", stop("s1")) == b"{}"

    def test_the_socket_is_gone_after_the_run(self, reports: Reports, tmp_path: Path) -> None:
        reports.close()
        assert not (tmp_path / "run" / NAME).exists()
