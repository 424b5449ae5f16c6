"""The blows: each does one kind of harm to one loop, or to what it stands on."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from proof.chaos import damage, laws, processes, words
from proof.chaos.case import LONGEST, Case
from proof.chaos.words import Word

from untildone.core.errors import UntilDoneError

GUARDED = 15.0
"""Seconds in which a guard ends what its runner left behind, on a busy machine. Usually it takes hundredths."""
SERVER_SHARE = 0.35
"""Of the blows at the runner of a served loop, how many hit the server: it takes long to start."""


def kill(case: Case, pid: int, kind: str) -> bool:
    """kill -9, counted if it was there, and not dying already."""
    hit = processes.send(pid, signal.SIGKILL, case.run) and pid not in case.killed
    case.killed.add(pid)
    if hit:
        case.tally.kill(kind)
        case.history.append(f"{time.strftime('%H:%M:%S')} kill -9 {kind} {pid}")
    return hit


def kill_runner(case: Case, draw: float) -> None:
    if case.desk is not None:
        _kill_server(case, draw)
        return
    runner = case.await_runner()
    if runner is None:
        return
    left = case.await_agents(draw * 3)
    guards = processes.guards_of(case.run, runner)
    if kill(case, runner, "runner") and guards:
        laws.no_orphans_after_death(case, left, GUARDED)


def _kill_server(case: Case, draw: float) -> None:
    assert case.desk is not None
    if draw >= SERVER_SHARE:
        kill_agent(case, draw)
        return
    case.history.append("kill -9 server")
    left = case.agents()
    if case.desk.crash():
        laws.no_orphans_after_death(case, left, GUARDED)


def kill_agent(case: Case, draw: float) -> None:
    """Once, or several times in a row, each time as soon as it is there again: fewer than make the loop give up."""
    for _ in range(1 + int(draw * 3)):
        killed = [pid for pid in case.await_agents() if kill(case, pid, "agent")]
        processes.gone(killed, case.run, 2.0)


def kill_guard(case: Case, draw: float) -> None:
    runner = case.await_runner()
    case.await_agents(draw)
    for guard in processes.guards_of(case.run, runner) if runner is not None else ():
        kill(case, guard.pid, "guard")


def kill_guard_then_runner(case: Case, draw: float) -> None:
    """Nobody is left to end the agent: the next runner must, before it starts one."""
    kill_guard(case, draw)
    runner = case.runner()
    if runner is not None and case.desk is None:
        kill(case, runner, "runner")


def kill_all_at_once(case: Case, draw: float) -> None:
    runner = case.await_runner()
    case.await_agents(draw)
    if case.desk is not None or runner is None:
        kill_agent(case, draw)
        return
    guards = [guard.pid for guard in processes.guards_of(case.run, runner)]
    for pid, kind in [
        (runner, "runner"),
        *((pid, "guard") for pid in guards),
        *((pid, "agent") for pid in case.agents()),
    ]:
        kill(case, pid, kind)


def kill_control(case: Case, draw: float) -> None:
    """Somebody who says something dies while saying it: it is written once, or not at all."""
    for word in _some_words(case, draw)[:2]:
        process, told = case.start(word.verb, case.loop_id, *word.arguments)
        time.sleep(draw * draw * 0.3)
        kill(case, process.pid, "control")
        code = process.wait(LONGEST)
        case.judge(code, told, (word.verb,))
        case.ledger.note(word, acknowledged=code == 0)


def kill_starting(case: Case, draw: float) -> None:
    """Whoever goes on with the loop dies at any moment of that: before it is heard, before it has the loop, just after."""
    loop = case.load()
    if case.desk is not None or loop is None or loop.status.ended:
        kill_agent(case, draw)
        return
    starter = case.go_on()
    time.sleep(draw * draw * 1.5)
    if starter is not None:
        kill(case, starter, "starting runner")


def ask_runner_to_end(case: Case, draw: float) -> None:
    number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[int(draw * 3)]
    runner = case.await_runner()
    if case.desk is not None:
        if draw < SERVER_SHARE / 2:
            case.desk.crash(signal.SIGTERM)
    elif runner is not None and processes.send(runner, number, case.run):
        case.history.append(f"{signal.Signals(number).name} runner {runner}")


def _frozen(case: Case, pids: list[int], meanwhile: Callable[[], None]) -> None:
    frozen = [pid for pid in pids if processes.send(pid, signal.SIGSTOP, case.run)]
    try:
        meanwhile()
    finally:
        for pid in frozen:
            processes.send(pid, signal.SIGCONT, case.run)


def freeze_runner(case: Case, draw: float) -> None:
    """A runner that stands still still has the loop: nobody else gets it."""
    runner = case.await_runner()
    if runner is not None and case.desk is None:
        _frozen(case, [runner], lambda: second_runner(case, draw))


def freeze_agent(case: Case, draw: float) -> None:
    _frozen(case, case.agents(), lambda: time.sleep(draw * 2))


def second_runner(case: Case, draw: float) -> None:
    """Several want to drive the loop at once."""
    for _ in range(1 + int(draw * 2)):
        case.start_runner("resume", case.loop_id, "--json")
        case.ledger.note(words.resume(), acknowledged=False)
    time.sleep(draw)


def contradict(case: Case, draw: float) -> None:
    """Pause, resume, messages and budgets from several processes at the same time."""
    chosen = _some_words(case, draw)
    case.history.append(f"told {', '.join(word.key for word in chosen)}")
    with ThreadPoolExecutor(len(chosen)) as together:
        list(together.map(lambda word: case.tell(word, by_command=draw < 0.7), chosen))


def _some_words(case: Case, draw: float) -> list[Word]:
    now = ("--now",) if draw * 10 % 1 < 0.5 else ()
    number = case.story.number
    every = [words.say(number), words.pause(*now), words.budget(), words.say(number, "[r+1] "), words.pause()]
    first = int(draw * len(every))
    return [*every[first:], *every[:first]][:3]


def stop(case: Case, draw: float) -> None:
    case.tell(words.stop(*(("--now",) if draw < 0.5 else ())), by_command=draw < 0.7)


def move_clock(case: Case, draw: float) -> None:
    seconds = (-86_400.0, -3_600.0, 0.0, 0.0, 3_600.0, 86_400.0)[int(draw * 6)]
    case.history.append(f"clock off by {seconds}")
    case.ground.move_clock(seconds)


def fill_disk(case: Case, draw: float) -> None:
    with case.ground.disk, case.ground.full():
        case.history.append("disk full")
        if draw < 0.4:
            case.tell(words.say(case.story.number))
        time.sleep(0.3 + draw)
    case.history.append("disk free")


def read_only(case: Case, draw: float) -> None:
    """Nobody may have a file open to write: so everybody is killed first. Then all can be read, and nothing written."""
    with case.ground.disk:
        kill_all_at_once(case, draw)
        for process in processes.of_loop(case.run, case.loop_id):
            kill(case, process.pid, process.kind)
        case.reap(patience=5.0)
        with case.ground.read_only() as done:
            case.tally.note("disks made read-only" if done else "disks that were busy, and so not made read-only")
            case.history.append(f"read-only: {done}")
            if done:
                laws.only_readable(case)


def spoil_checkpoint(case: Case, draw: float) -> None:
    _spoil(case, [f"{case.loop_id}.json", f"{case.loop_id}.json.backup.1"][int(draw * 2)], draw)


def spoil_checksum(case: Case, draw: float) -> None:
    _spoil(case, f"{case.loop_id}.json.sha256", draw)


def _spoil(case: Case, name: str, draw: float) -> None:
    path = case.ground.store.root / name
    done = damage.flip(path, draw) if draw < 0.6 else damage.cut(path, draw)
    case.history.append(f"spoilt {name}: {done}")


def spoil_live_file(case: Case, draw: float) -> None:
    for path in Path(case.ground.cli.workspace, ".claude").glob("ralph-delta*.md"):
        damage.flip(path, draw)
    with suppress(UntilDoneError, OSError):
        damage.flip(case.ground.store.progress(case.loop_id) / "live.md", draw)


def flip_journal(case: Case, draw: float) -> None:
    damage.spoil_journal(case, lambda path: damage.flip(path, draw))


def cut_journal(case: Case, draw: float) -> None:
    damage.spoil_journal(case, lambda path: damage.cut_tail(path, draw))


KINDS: dict[str, Callable[[Case, float], None]] = {
    hit.__name__: hit
    for hit in (
        *(kill_runner, kill_agent, kill_guard, kill_guard_then_runner, kill_all_at_once, kill_control, kill_starting),
        *(ask_runner_to_end, freeze_runner, freeze_agent, second_runner, contradict, stop, move_clock),
        *(fill_disk, read_only, spoil_checkpoint, spoil_checksum, spoil_live_file, flip_journal, cut_journal),
    )
}
