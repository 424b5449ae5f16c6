"""`process.run`: output, input, timeouts, interruptions, process trees and failures to start."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.boxes import boxes

from untildone.core.errors import AgentMissing, StoreError, UntilDoneError, UsageError
from untildone.core.protection.secrets import Redactor
from untildone.store.spool import FileSpool
from untildone.system import orphans
from untildone.system.box import sandbox
from untildone.system.program import ending, listening, process
from untildone.system.program.output import STDERR_TAIL
from untildone.system.program.process import Ended
from untildone.system.program.spawn import Cause, Spawn

__all__ = ["boxes"]

STUBBORN_TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)

def note(kind):
    with open(sys.argv[1], "a") as notes:
        notes.write(f"{kind} {os.getpid()}\\n")

def child(kind, *, session=False, orphan=False, clean=False):
    if os.fork():
        return os.wait() if orphan else None
    if session:
        os.setsid()
    if orphan and os.fork():
        os._exit(0)
    note(kind)
    if clean:
        os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60"], {})
    time.sleep(60)
    os._exit(0)

note("agent")
child("plain")
child("session", session=True)
child("daemon", session=True, orphan=True)
child("clean", clean=True)
child("clean session", session=True, clean=True)
child("clean orphan", orphan=True, clean=True)
while len(open(sys.argv[1]).readlines()) < 7:
    time.sleep(0.01)
print("ready", flush=True)
time.sleep(60)
"""


def run_shell(script: str, **more: Any) -> tuple[list[bytes], Ended]:
    return run_program(("/bin/sh", "-c", script), **more)


def run_program(
    argv: tuple[str, ...], interrupted: Callable[[], bool] = lambda: False, **more: Any
) -> tuple[list[bytes], Ended]:
    lines: list[bytes] = []
    spawn = Spawn(argv, more.pop("env", dict(os.environ)), more.pop("cwd", "/"), **more)
    return lines, process.run(spawn, lines.append, interrupted)


def lives(pid: int) -> bool:
    return pid in orphans.scan()[0]


@pytest.fixture(params=["this system", "without pidfd", "without /proc"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove functions that other operating systems lack, to test the code for them here."""
    match request.param:
        case "without pidfd":
            monkeypatch.delattr(os, "pidfd_open", raising=False)
        case "without /proc":
            monkeypatch.setattr(orphans, "HAS_PROC", False)


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        (r"printf 'one\ntwo\n'", [b"one", b"two"]),
        (r"printf 'one\r\ntwo\r\n'", [b"one", b"two"]),
        (r"printf 'one\n\nlast'", [b"one", b"", b"last"]),
        (r"printf 'bad \377\376 bytes\n'", [b"bad \xff\xfe bytes"]),
        (r"printf 'ha'; sleep 0.1; printf 'lf\r'; sleep 0.1; printf '\nnext'", [b"half", b"next"]),
        (r"printf '\342\202'; sleep 0.1; printf '\254\n'", ["€".encode()]),
        (":", []),
    ],
)
@pytest.mark.usefixtures("system")
def test_output_is_framed_into_lines(script: str, lines: list[bytes]) -> None:
    assert run_shell(script)[0] == lines


@pytest.mark.parametrize("redactor", [None, Redactor({"KEY": "a-long-secret"})])
def test_lines_of_standard_error_that_are_no_errors_are_not_kept(redactor: Redactor | None) -> None:
    heard: list[bytes] = []

    def is_a_note(line: bytes) -> bool:
        heard.append(line)
        return line.startswith(b"note")

    script = "printf 'note 1\\nit broke: ' >&2; sleep 0.1; printf 'a-long-secret\\nnote 2\\nlast' >&2"
    _, ended = run_program(("/bin/sh", "-c", script), on_error_line=is_a_note, redactor=redactor)
    broke = "it broke: a-long-secret" if redactor is None else "it broke: [redacted KEY]"
    assert [line.decode() for line in heard] == ["note 1", broke, "note 2", "last"]
    assert ended.stderr_tail == f"{broke}\nlast\n"


def test_a_line_arrives_while_the_program_still_runs(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    script = f"echo now; while [ ! -e '{heard}' ]; do sleep 0.01; done"
    redactor = Redactor({"KEY": "now-and-then"})
    spawn = Spawn(("/bin/sh", "-c", script), dict(os.environ), "/", timeout=20, redactor=redactor)
    assert process.run(spawn, lambda _: heard.touch(), lambda: False).cause is Cause.EXITED


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9)])
def test_the_exit_code_is_returned(script: str, code: int) -> None:
    _, ended = run_shell(script)
    assert (ended.exit_code, ended.cause, ended.leftover_group) == (code, Cause.EXITED, None)


def test_stderr_is_kept_as_a_tail() -> None:
    lines, ended = run_shell("yes noise | head -c 100000 >&2; echo answer; printf 'the \\377 end' >&2")
    assert lines == [b"answer"]
    assert ended.stderr_tail.endswith("the \ufffd end")
    assert len(ended.stderr_tail) == STDERR_TAIL


def test_stderr_can_be_merged_into_the_output() -> None:
    lines, ended = run_shell("echo out; echo err >&2", merge_stderr=True)
    assert (lines, ended.stderr_tail) == ([b"out", b"err"], "")


def test_standard_input_is_given_or_empty() -> None:
    assert run_shell("cat", stdin=b"the prompt")[0] == [b"the prompt"]
    assert run_shell("cat", stdin=b"")[0] == []
    assert run_shell("cat")[0] == []


@pytest.mark.usefixtures("system")
def test_a_large_input_never_waits_for_the_output() -> None:
    prompt = b"0123456789abcde\n" * 500_000
    lines, _ = run_shell("cat; cat >&2", stdin=prompt)
    assert (len(lines), sum(map(len, lines))) == (500_000, len(prompt) - 500_000)


@pytest.mark.parametrize("script", ["echo done", "echo done; sleep 0.3", "exec <&-; echo done; sleep 0.3"])
@pytest.mark.usefixtures("system")
def test_a_program_that_never_reads_its_large_input_ends_as_usual(script: str) -> None:
    lines, ended = run_shell(script, stdin=bytes(50_000_000))
    assert (lines, ended.exit_code, ended.cause) == ([b"done"], 0, Cause.EXITED)


MEASURED = """
import os, sys
from untildone.system.program.process import run
from untildone.system.program.spawn import Spawn

def peak_megabytes():
    status = open("/proc/self/status").read()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

longest = count = 0
def on_line(line):
    global longest, count
    longest, count = max(longest, len(line)), count + 1

class Counting:
    size = 0
    def write(self, content):
        self.size += len(content)
    def close(self):
        pass

spool, before = Counting(), peak_megabytes()
run(Spawn(("/bin/sh", "-c", sys.argv[1]), dict(os.environ), "/", spool=spool), on_line, lambda: False)
print(spool.size, count, longest, peak_megabytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measures memory through /proc")
@pytest.mark.parametrize(
    ("script", "size", "lines", "longest"),
    [
        (f"yes {0:01999d} | head -c 1000000000", 1_000_000_000, 500_000, 1999),
        ("head -c 200000000 /dev/zero; echo; echo end", 200_000_005, 2, 64 * 1024 + 40),
    ],
    ids=["a gigabyte", "one line of 200 megabytes"],
)
def test_memory_does_not_grow_with_the_output(script: str, size: int, lines: int, longest: int) -> None:
    printed = subprocess.run(
        [sys.executable, "-c", MEASURED, script], capture_output=True, text=True, check=True
    ).stdout
    output_bytes, count, longest_seen, growth = map(float, printed.split())
    assert (output_bytes, count) == (size, lines)
    assert longest_seen <= longest
    assert growth < 20


def test_a_line_that_is_too_long_is_cut_and_gets_a_marker() -> None:
    lines, _ = run_shell("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo next")
    assert lines[0] == b"x" * 65536 + b" [line cut: it had 5000000 bytes]"
    assert lines[1] == b"next"


def test_a_timeout_ends_the_program() -> None:
    lines, ended = run_shell("echo begun; sleep 60", timeout=0.3)
    assert (lines, ended.cause, ended.exit_code) == ([b"begun"], Cause.TIMED_OUT, -15)
    assert 0.3 <= ended.seconds < 10


def test_a_timeout_that_changes_during_the_run_holds() -> None:
    def less() -> float | None:
        return 0.0 if lines else 600.0

    lines: list[bytes] = []
    spawn = Spawn(("/bin/sh", "-c", "echo begun; sleep 60"), dict(os.environ), "/", timeout=600.0, timeout_now=less)
    assert process.run(spawn, lines.append, lambda: False).cause is Cause.TIMED_OUT
    lines, ended = run_shell("sleep 1; echo done", timeout=0.1, timeout_now=lambda: None)
    assert (lines, ended.cause) == ([b"done"], Cause.EXITED)


@pytest.mark.usefixtures("system")
def test_an_interrupt_is_noticed_while_nothing_is_printed() -> None:
    started = time.monotonic()
    _, ended = run_shell("exec sleep 60", interrupted=lambda: time.monotonic() > started + 0.2)
    assert (ended.cause, ended.exit_code) == (Cause.INTERRUPTED, -15)
    assert ended.seconds < 10


def test_an_interrupt_is_noticed_while_output_floods() -> None:
    started = time.monotonic()
    _, ended = run_shell("exec cat /dev/zero", interrupted=lambda: time.monotonic() > started + 0.2)
    assert ended.cause is Cause.INTERRUPTED


def test_the_last_output_of_an_interrupted_program_is_read() -> None:
    lines: list[bytes] = []
    script = "trap 'seq 1 100000; echo saved; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    spawn = Spawn(("/bin/sh", "-c", script), dict(os.environ), "/")
    ended = process.run(spawn, lines.append, lambda: bool(lines))
    assert (lines[-1], ended.exit_code, ended.cause) == (b"saved", 9, Cause.INTERRUPTED)


ASKED = "trap 'echo asked; exit 3' INT; echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("cause", [Cause.TIMED_OUT, Cause.USED_UP])
def test_a_program_that_ends_on_sigint_is_asked_at_its_limit(cause: Cause) -> None:
    def at_limit() -> bool:
        return cause is Cause.USED_UP and bool(lines)

    def allowed() -> float | None:
        return 0.0 if cause is Cause.TIMED_OUT and lines else None

    lines: list[bytes] = []
    command = ("/bin/sh", "-c", ASKED)
    spawn = Spawn(command, dict(os.environ), "/", timeout_now=allowed, used_up=at_limit, ends_on_sigint=True)
    ended = process.run(spawn, lines.append, lambda: False)
    assert (lines, ended.exit_code, ended.cause) == ([b"ready", b"asked"], 3, cause)


def test_a_program_is_not_asked_when_a_person_ends_it() -> None:
    lines: list[bytes] = []
    spawn = Spawn(("/bin/sh", "-c", ASKED), dict(os.environ), "/", ends_on_sigint=True)
    ended = process.run(spawn, lines.append, lambda: bool(lines))
    assert (lines, ended.cause) == ([b"ready"], Cause.INTERRUPTED)


def test_a_program_that_goes_on_when_it_is_asked_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "ASK_GRACE", 0.3)
    lines: list[bytes] = []
    script = "trap 'echo asked' INT; echo ready; while :; do sleep 0.05; done"
    spawn = Spawn(("/bin/sh", "-c", script), dict(os.environ), "/", ends_on_sigint=True, used_up=lambda: bool(lines))
    ended = process.run(spawn, lines.append, lambda: False)
    assert (lines, ended.cause, ended.exit_code) == ([b"ready", b"asked"], Cause.USED_UP, -15)


@pytest.mark.usefixtures("boxes")
def test_a_program_in_a_box_is_asked_and_not_the_box() -> None:
    lines: list[bytes] = []
    box = sandbox.Box("/", sandbox.system_read_only())
    spawn = Spawn(
        box.argv(("/bin/sh", "-c", ASKED)),
        dict(os.environ),
        "/",
        boxed="/bin/sh",
        ends_on_sigint=True,
        used_up=lambda: bool(lines),
    )
    ended = process.run(spawn, lines.append, lambda: False)
    assert (lines, ended.exit_code, ended.cause) == ([b"ready", b"asked"], 3, Cause.USED_UP)


@pytest.mark.usefixtures("system")
def test_a_stubborn_tree_is_ended_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "TERM_GRACE", 0.3)
    notes = tmp_path / "notes"
    name, value = orphans.mark(str(tmp_path))
    lines: list[bytes] = []
    argv = (sys.executable, "-I", "-S", "-c", STUBBORN_TREE, str(notes))
    ended = process.run(Spawn(argv, os.environ | {name: value}, "/"), lines.append, lambda: bool(lines))
    pids = [int(line.split()[-1]) for line in notes.read_text().splitlines()]
    assert (lines, ended.cause, ended.exit_code, len(pids)) == ([b"ready"], Cause.INTERRUPTED, -9, 7)
    assert [pid for pid in pids if lives(pid)] == []
    assert orphans.find(name) == []
    assert ended.leftover_group is None


@pytest.mark.usefixtures("system")
def test_a_child_that_holds_the_pipe_does_not_delay_the_end() -> None:
    lines, ended = run_shell("echo answer; sleep 60 & exit 4")
    assert (lines, ended.exit_code, ended.cause) == ([b"answer"], 4, Cause.EXITED)
    assert ended.seconds < 10
    assert ended.leftover_group is not None
    assert orphans.end_marked(set(), groups={ended.leftover_group}) == 1


def test_a_child_that_floods_the_pipe_does_not_delay_the_end() -> None:
    _, ended = run_shell("yes & exit 0")
    assert (ended.exit_code, ended.cause) == (0, Cause.EXITED)
    assert ended.seconds < 10


def test_an_error_of_the_listener_ends_the_program() -> None:
    def refuse(line: bytes) -> None:
        pids.append(int(line))
        raise RuntimeError("no more")

    pids: list[int] = []
    with pytest.raises(RuntimeError, match="no more"):
        process.run(Spawn(("/bin/sh", "-c", "echo $$; sleep 60"), dict(os.environ), "/"), refuse, lambda: False)
    assert not lives(pids[0])


def test_the_output_is_spooled_and_redacted(tmp_path: Path) -> None:
    spool = tmp_path / "0001.jsonl"
    spool.write_text("earlier\n")
    redactor = Redactor.from_environment({"API_KEY": "secret-0123456789"})
    script = "printf 'it is secret-01'; sleep 0.2; printf '23456789.\\nend'; printf 'secret-0123456789' >&2"
    lines, ended = run_shell(script, spool=FileSpool(lambda: spool), redactor=redactor)
    assert lines == [b"it is [redacted API_KEY].", b"end"]
    assert spool.read_text() == "earlier\nit is [redacted API_KEY].\nend"
    assert ended.stderr_tail == "[redacted API_KEY]"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk_ends_the_program_and_is_reported() -> None:
    name, value = orphans.mark(f"full disk {os.getpid()}")
    with pytest.raises(StoreError, match=r"The disk is full: .* cannot be written to /dev/full\.") as raised:
        run_shell("echo begun; sleep 60", spool=FileSpool(lambda: Path("/dev/full")), env=os.environ | {name: value})
    assert raised.value.hint
    assert orphans.find(name) == []


def test_a_spool_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"):
        run_shell("true", spool=FileSpool(lambda: tmp_path / "missing" / "spool"))


@pytest.mark.parametrize(
    ("argv", "cwd", "kind", "sentence"),
    [
        (("no-such-agent",), "/", AgentMissing, "'no-such-agent' was not found"),
        (("{plain}",), "/", AgentMissing, "is not executable"),
        (("{binary}",), "/", AgentMissing, "is not a program for this machine"),
        (("{shebang}",), "/", AgentMissing, "names an interpreter that does not exist"),
        (("/bin/echo", "x" * 20_000_000), "/", AgentMissing, "is too long"),
        (("/bin/echo", "nul\0"), "/", UsageError, "NUL"),
        (("/bin/echo",), "{missing}", UsageError, "The folder .* does not exist"),
    ],
)
def test_a_program_that_cannot_be_started_is_reported_in_a_sentence(
    tmp_path: Path, argv: tuple[str, ...], cwd: str, kind: type[UntilDoneError], sentence: str
) -> None:
    for name, content, mode in (("plain", "", 0o644), ("binary", "\x01", 0o755), ("shebang", "#!/no/such\n", 0o755)):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(mode)
    places = {name: str(tmp_path / name) for name in ("plain", "binary", "shebang", "missing")}
    first = argv[0].format_map(places)
    with pytest.raises(kind, match=sentence) as raised:
        run_program((first, *argv[1:]), cwd=cwd.format_map(places))
    assert raised.value.hint
