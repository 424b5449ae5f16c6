"""No orphans: every process that a loop started ends, even when the runner gets SIGKILL."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from untildone.system import orphans
from untildone.system.guard import Guard

AGENT = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)

def child(clean):
    if os.fork() == 0:
        os.setsid()
        note()
        if clean:
            os.execve("/bin/sleep", ["sleep", "60"], {})
        if os.fork():
            os._exit(0)
        note()
        time.sleep(60)

def note():
    with open(sys.argv[1], "a") as notes:
        notes.write(f"{os.getpid()}\\n")

note()
child(clean=True)
child(clean=False)
time.sleep(60)
"""

RUNNER = """
import os, sys, threading
from untildone.system import orphans
from untildone.system.guard import Guard
from untildone.system.program.process import run
from untildone.system.program.spawn import Spawn

def drive(loop_id, notes):
    name, value = orphans.mark(loop_id)
    guard.watch(name)
    argv = (sys.executable, "-I", "-S", "-c", sys.argv[1], notes)
    run(Spawn(argv, {**os.environ, name: value}, "/"), print, lambda: False)

guard = Guard()
for notes in sys.argv[2:]:
    threading.Thread(target=drive, args=(notes, notes)).start()
"""

FORKER = """
import os, time
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
"""


def lives(pid: int) -> bool:
    return pid in orphans.scan()[0]


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def noted(notes: Path) -> list[int]:
    return [int(line) for line in notes.read_text().splitlines()] if notes.exists() else []


@contextmanager
def start_marked(loop_id: str, *argv: str) -> Iterator[subprocess.Popen[bytes]]:
    name, value = orphans.mark(loop_id)
    with subprocess.Popen(argv, env=os.environ | {name: value}, start_new_session=True) as child:
        try:
            yield child
        finally:
            child.kill()


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    yield guard
    guard.close()


def test_marks_of_different_loops_differ() -> None:
    names = {orphans.mark(loop_id)[0] for loop_id in ("a-b", "a_b", "a.b", "ab", "a-2db", "ä")}
    assert len(names) == 6
    assert all(name.replace("_", "").isalnum() and name.isascii() for name in names)


def test_only_processes_with_the_whole_mark_are_found(tmp_path: Path) -> None:
    loop_id = str(tmp_path)
    with start_marked(loop_id + "x", "sleep", "60") as other, start_marked(loop_id, "sleep", "60") as child:
        assert until(lambda: orphans.find(orphans.mark(loop_id)[0]) == [child.pid])
        assert orphans.end_all(orphans.mark(loop_id)[0], spare={child.pid}) == 0
        assert orphans.end_all(orphans.mark(loop_id)[0]) == 1
        assert (child.wait(5), other.poll()) == (-signal.SIGTERM, None)


def test_this_process_and_its_ancestors_are_never_touched(tmp_path: Path) -> None:
    name, value = orphans.mark(str(tmp_path))
    script = f"from untildone.system import orphans; print(orphans.find({name!r}), orphans.end_all({name!r}))"
    shell = f"{sys.executable} -c '{script.replace(chr(39), chr(34))}'; echo alive"
    printed = subprocess.run(
        ["/bin/sh", "-c", shell], env=os.environ | {name: value}, capture_output=True, text=True, timeout=20
    )
    assert printed.stdout.splitlines() == ["[] 0", "alive"]


def test_a_process_that_has_just_started_is_ended(tmp_path: Path) -> None:
    name, _ = orphans.mark(str(tmp_path))
    for _ in range(30):
        with start_marked(str(tmp_path), "sleep", "60") as child:
            assert orphans.end_all(name) == 1
            assert child.wait(5) == -signal.SIGTERM


def test_a_fork_bomb_is_ended(tmp_path: Path) -> None:
    name, _ = orphans.mark(str(tmp_path))
    with start_marked(str(tmp_path), sys.executable, "-I", "-S", "-c", FORKER) as forker:
        assert forker.wait(5) == 0
        assert orphans.end_all(name, grace=0.1) > 0
    assert not until(lambda: bool(orphans.find(name)), seconds=0.3)


def test_no_process_survives_a_killed_runner(tmp_path: Path) -> None:
    notes = [tmp_path / "first", tmp_path / "second"]
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, AGENT, *map(str, notes)])
    try:
        assert until(lambda: all(len(noted(each)) == 4 for each in notes), seconds=20)
    finally:
        runner.kill()
        runner.wait()
    pids = [pid for each in notes for pid in noted(each)]
    assert until(lambda: not any(map(lives, pids)))
    assert [orphans.find(orphans.mark(str(each))[0]) for each in notes] == [[], []]


def test_a_killed_guard_is_replaced_and_gets_every_watched_mark(tmp_path: Path, guard: Guard) -> None:
    first, second = f"{tmp_path} first", f"{tmp_path} second"
    guard.watch(orphans.mark(first)[0])
    with start_marked(first, "sleep", "60") as child, start_marked(second, "sleep", "60") as other:
        killed = guard.pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        assert until(lambda: not guard.alive)
        guard.watch(orphans.mark(second)[0])
        assert guard.alive
        assert guard.pid != killed
        guard.close()
        assert (child.wait(5), other.wait(5)) == (-signal.SIGTERM, -signal.SIGTERM)


def test_ensure_replaces_a_killed_guard_only_if_something_is_watched(guard: Guard) -> None:
    guard.ensure()
    assert guard.pid is None
    guard.watch("UNTILDONE_MARK_x")
    pid = guard.pid
    assert pid is not None
    guard.ensure()
    assert guard.pid == pid
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: not guard.alive)
    guard.ensure()
    assert guard.alive


def test_processes_of_a_forgotten_mark_keep_running(tmp_path: Path, guard: Guard) -> None:
    name, _ = orphans.mark(str(tmp_path))
    guard.watch(name)
    guard.watch("UNTILDONE_MARK_x")
    guard.forget(name)
    with start_marked(str(tmp_path), "sleep", "60") as child:
        guard.close()
        assert (guard.alive, child.poll()) == (False, None)


def test_signals_of_the_terminal_do_not_reach_the_guard(guard: Guard) -> None:
    guard.watch("UNTILDONE_MARK_x")
    pid = guard.pid
    assert pid is not None
    assert os.getsid(pid) == pid
    ready = Path(f"/proc/{pid}/status")
    if ready.exists():
        assert until(lambda: _ignores(ready.read_text()))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, number)
        assert guard.alive


def _ignores(status: str) -> bool:
    ignored = int(status.split("SigIgn:")[1].split()[0], 16)
    return all(ignored >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


def guards_of_this_process() -> set[int]:
    seen = orphans.scan()[0].values()
    return {each.pid for each in seen if each.parent == os.getpid() and each.session == each.pid}


def test_many_threads_share_one_guard(guard: Guard) -> None:
    marks = [f"UNTILDONE_MARK_{number}" for number in range(16)]
    before = guards_of_this_process()
    threads = [threading.Thread(target=guard.watch, args=(name,)) for name in marks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert guards_of_this_process() - before == {guard.pid}
    for name in marks:
        guard.forget(name)


def test_a_process_that_becomes_a_marked_program_is_found_although_it_was_known_before(tmp_path: Path) -> None:
    name, value = orphans.mark(str(tmp_path))
    script = 'echo ready; read line; exec env "$0=$1" sleep 60'
    words = ["sh", "-c", script, name, value]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        for _ in range(3):
            assert orphans.find(name) == []
        child.stdin.write(b"go on\n")
        child.stdin.flush()
        assert until(lambda: orphans.find(name) == [child.pid])
        assert orphans.end_all(name) == 1


def test_threads_that_scan_at_the_same_time_end_their_own_processes(tmp_path: Path) -> None:
    names = [str(tmp_path / str(number)) for number in range(8)]
    with ExitStack() as stack:
        children = [stack.enter_context(start_marked(name, "sleep", "60")) for name in names]
        assert until(lambda: all(orphans.find(orphans.mark(name)[0]) for name in names))
        with ThreadPoolExecutor(len(names)) as pool:
            ended = list(pool.map(lambda name: orphans.end_all(orphans.mark(name)[0]), names[:-1]))
        assert ended == [1] * (len(names) - 1)
        assert [lives(child.pid) for child in children] == [False] * (len(names) - 1) + [True]


def test_a_scan_contains_every_process_started_before_it(tmp_path: Path) -> None:
    """Even while other threads scan all the time and share their scans."""
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            orphans.scan()

    with ThreadPoolExecutor(4) as pool:
        others = [pool.submit(look) for _ in range(4)]
        try:
            for number in range(20):
                with start_marked(f"{tmp_path} {number}", "sleep", "60") as child:
                    assert child.pid in orphans.scan()[0]
        finally:
            over.set()
        for other in others:
            other.result()


KILLER = """
import os, signal, sys
children = f"/proc/{sys.argv[1]}/task/{sys.argv[1]}/children"
print("ready", flush=True)
while os.getppid() == int(sys.argv[1]):
    with open(children) as file:
        for pid in map(int, file.read().split()):
            if pid != os.getpid():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
"""

WATCHER = """
import os, subprocess, sys
from untildone.system.guard import Guard
killer = subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid())], stdout=subprocess.PIPE)
killer.stdout.readline()
guard = Guard()
for number in range(60):
    guard.watch(f"UNTILDONE_MARK_{number}")
    guard.ensure()
killer.kill()
killer.wait()
guard.ensure()
print("alive" if guard.alive else "dead")
guard.close()
"""


@pytest.mark.skipif(not orphans.HAS_PROC, reason="needs /proc")
def test_a_guard_that_is_killed_before_it_has_read_its_commands_is_replaced() -> None:
    """Otherwise the runner ends with a broken pipe."""
    ended = subprocess.run(
        [sys.executable, "-c", WATCHER, KILLER],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert (ended.stdout, ended.returncode) == ("alive\n", 0), ended.stderr
