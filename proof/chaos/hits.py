"""The blows: each does one kind of harm to one loop, or to what it stands on, and says whether it did any.

What each takes for a sign that it did something stands in README.md beside this file.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from proof.chaos import accounts, damage, laws, processes, words
from proof.chaos.case import LONGEST, Case
from proof.chaos.words import Word

from untildone.core.errors import UntilDoneError
from untildone.core.model import Outcome

GUARDED = 15.0
"""Seconds in which a guard ends what its runner left behind, on a busy machine. Usually it takes hundredths."""
OBEYED = 60.0
"""Seconds in which an order is obeyed, and a runner that is asked to end has ended, on a busy machine."""
SERVER_SHARE = 0.35
"""Of the blows at the runner of a served loop, how many hit the server: it takes long to start."""
NO_ROOM = 6
"""The exit code of a command that cannot write."""


def kill(case: Case, pid: int, kind: str) -> bool:
    """kill -9, counted if that is what ended it."""
    hit = pid not in case.killed and processes.kill(pid, case.run)
    case.killed.add(pid)
    if hit:
        case.tally.kill(kind)
        case.history.append(f"{time.strftime('%H:%M:%S')} kill -9 {kind} {pid}")
    return hit


def kill_runner(case: Case, draw: float) -> bool:
    if case.desk is not None:
        return _kill_server(case, draw)
    runner = case.await_runner()
    if runner is None:
        return False
    left = case.await_agents(draw * 3)
    guards = processes.guards_of(case.run, runner)
    killed = kill(case, runner, "runner")
    if killed and guards:
        laws.no_orphans_after_death(case, left, GUARDED)
    return killed


def _kill_server(case: Case, draw: float) -> bool:
    assert case.desk is not None
    if draw >= SERVER_SHARE:
        return kill_agent(case, draw)
    case.history.append("kill -9 server")
    left = case.agents()
    killed = case.desk.crash()
    if killed:
        laws.no_orphans_after_death(case, left, GUARDED)
    return killed


def kill_agent(case: Case, draw: float) -> bool:
    """Once, or several times in a row, each time as soon as it is there again: fewer than make the loop give up."""
    times = 0
    for _ in range(1 + int(draw * 3)):
        killed = [pid for pid in case.await_agents() if kill(case, pid, "agent")]
        processes.gone(killed, case.run, 2.0)
        times += len(killed)
    return times > 0


def kill_guard(case: Case, draw: float) -> bool:
    runner = case.await_runner()
    case.await_agents(draw)
    guards = processes.guards_of(case.run, runner) if runner is not None else []
    return sum(kill(case, guard.pid, "guard") for guard in guards) > 0


def kill_guard_then_runner(case: Case, draw: float) -> bool:
    """Nobody is left to end the agent, which stands still and so does not end by itself: the next runner must, before it starts one."""
    runner = case.await_runner()
    if case.desk is not None or runner is None:
        return kill_guard(case, draw)
    left = [pid for pid in case.await_agents(3.0) if processes.send(pid, signal.SIGSTOP, case.run)]
    guards = processes.guards_of(case.run, runner)
    killed = sum(kill(case, guard.pid, "guard") for guard in guards) > 0
    killed = kill(case, runner, "runner") and killed
    for pid in left if not killed else ():
        processes.send(pid, signal.SIGCONT, case.run)
    return killed and bool(left)


def kill_all_at_once(case: Case, draw: float) -> bool:
    runner = case.await_runner()
    case.await_agents(draw)
    if case.desk is not None or runner is None:
        return kill_agent(case, draw)
    guards = [guard.pid for guard in processes.guards_of(case.run, runner)]
    victims = [
        (runner, "runner"),
        *((pid, "guard") for pid in guards),
        *((pid, "agent") for pid in case.agents()),
    ]
    return sum(kill(case, pid, kind) for pid, kind in victims) > 0


def kill_control(case: Case, draw: float) -> bool:
    """Somebody who says something dies while saying it: it is written once, or not at all."""
    killed = False
    for word in _some_words(case, draw)[:2]:
        process, told = case.start(word.verb, case.loop_id, *word.arguments)
        time.sleep(draw * draw * 0.3)
        killed |= kill(case, process.pid, "control")
        code = process.wait(LONGEST)
        case.judge(code, told, (word.verb,))
        case.ledger.note(word, acknowledged=code == 0)
    return killed


def kill_starting(case: Case, draw: float) -> bool:
    """Whoever goes on with the loop dies at any moment of that: before it is heard, before it has the loop, just after."""
    loop = case.load()
    if case.desk is not None or loop is None or loop.status.ended:
        return kill_agent(case, draw)
    starter = case.go_on()
    time.sleep(draw * draw * 1.5)
    return starter is not None and kill(case, starter, "starting runner")


def ask_runner_to_end(case: Case, draw: float) -> bool:
    """It ends, and the loop rests: nobody has to kill it."""
    number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[int(draw * 3)]
    runner = case.await_runner()
    if case.desk is not None:
        return draw < SERVER_SHARE / 2 and case.desk.crash(signal.SIGTERM)
    if runner is None or not processes.send(runner, number, case.run):
        return False
    name = signal.Signals(number).name
    case.history.append(f"{name} runner {runner}")
    left = processes.gone([runner], case.run, OBEYED)
    told = [f"runner {runner} is there {OBEYED:.0f} s after {name}"] if left else []
    case.tally.law(case.story.number, "a runner that is asked to end does", told)
    return not left


def _frozen(
    case: Case, pids: list[int], meanwhile: Callable[[], None], busy: Callable[[], bool] = lambda: False
) -> bool:
    """Whether at least one of them stood still all the while. Not in the midst of a line: this very harness would wait for its end."""
    frozen = [pid for pid in pids if processes.send(pid, signal.SIGSTOP, case.run) and processes.stands_still(pid)]
    try:
        if frozen and busy():
            return False
        if frozen:
            meanwhile()
        return any(processes.stands_still(pid, 0.0) for pid in frozen)
    finally:
        for pid in pids:
            processes.send(pid, signal.SIGCONT, case.run)


def freeze_runner(case: Case, draw: float) -> bool:
    """A runner that stands still still has the loop: nobody else gets it."""
    runner = case.await_runner()
    if runner is None or case.desk is not None:
        return False
    before = laws.leases(case)

    def others_try() -> None:
        case.start_runner("_drive", case.loop_id)
        second_runner(case, draw)
        if processes.stands_still(runner, 0.0) and before and before[-1] == runner:
            news = laws.leases(case)[len(before) :]
            told = [f"runner {runner} stands still, and {news} leased its loop"] if news else []
            case.tally.law(case.story.number, "no two runners at once", told)

    return _frozen(case, [runner], others_try, busy=lambda: laws.is_writing(case))


def freeze_agent(case: Case, draw: float) -> bool:
    return _frozen(case, case.agents(), lambda: time.sleep(draw * 2))


def second_runner(case: Case, draw: float) -> bool:
    """Several want to drive the loop at once."""
    driven = case.is_driven
    for _ in range(1 + int(draw * 2)):
        case.start_runner("resume", case.loop_id, "--json")
        case.ledger.note(words.resume(), acknowledged=False)
    time.sleep(draw)
    return driven


def contradict(case: Case, draw: float) -> bool:
    """Pause, resume, messages and budgets from several processes at the same time."""
    chosen = _some_words(case, draw)
    case.history.append(f"told {', '.join(word.key for word in chosen)}")
    with ThreadPoolExecutor(len(chosen)) as together:
        return any(list(together.map(lambda word: case.tell(word, by_command=draw < 0.7), chosen)))


def _some_words(case: Case, draw: float) -> list[Word]:
    now = ("--now",) if draw * 10 % 1 < 0.5 else ()
    number = case.story.number
    every = [words.say(number), words.pause(*now), words.budget(), words.say(number, "[r+1] "), words.pause()]
    first = int(draw * len(every))
    return [*every[first:], *every[:first]][:3]


def change_rounds(case: Case, draw: float) -> bool:
    """More rounds, or fewer than there were: from then on exactly so many."""
    loop = case.load()
    if loop is None or loop.status.ended:
        return False
    word = words.rounds_in_all(loop.spend.iterations + 1 + int(draw * 3)) if draw < 0.6 else words.more_rounds(1)
    return case.tell(word, by_command=draw * 10 % 1 < 0.7)


def stop(case: Case, draw: float) -> bool:
    loop = case.load()
    alive = loop is not None and not loop.status.ended
    return case.tell(words.stop(*(("--now",) if draw < 0.5 else ())), by_command=draw < 0.7) and alive


def hold(case: Case, draw: float) -> bool:
    """A pause, and then everything but a resume: no agent is called, also by a runner that is started anew, or a new server."""
    if not case.tend() or not case.settle_starters():
        return False
    if not case.tell(words.pause(*(("--now",) if draw * 10 % 1 < 0.3 else ())), by_command=draw < 0.7):
        return False
    if draw < 0.6 and case.desk is None and (runner := case.runner()) is not None:
        # It dies before it has obeyed: whoever comes next must.
        kill(case, runner, "runner")
    if case.desk is None:
        case.start_runner("_drive", case.loop_id)
    elif draw < SERVER_SHARE:
        case.desk.crash()
    loop = laws.rests(case, OBEYED)
    told = [] if loop else [f"the loop does not rest {OBEYED:.0f} s after a pause"]
    case.tally.law(case.story.number, "a pause is obeyed", told)
    if loop is None or loop.outcome is not Outcome.PAUSED:
        return False
    before = len(case.calls())
    if draw * 100 % 1 < 0.5:
        case.tell(words.say(case.story.number), by_command=True)
    if case.desk is None:
        case.start_runner("_drive", case.loop_id)
    time.sleep(0.3 + draw)
    laws.still_paused(case, before)
    _go_on_after(case)
    return True


def _go_on_after(case: Case) -> None:
    """Resumed, it goes on: an agent is called, or the loop comes to rest by itself, or waits for what it tells."""
    before = len(case.calls())
    case.go_on("--now")
    deadline = time.monotonic() + OBEYED
    while not (goes_on := len(case.calls()) > before or _has_reason(case)) and time.monotonic() < deadline:
        case.reap()
        time.sleep(0.05)
    told = [] if goes_on else [f"no agent was called within {OBEYED:.0f} s after a resume"]
    case.tally.law(case.story.number, "after a resume it goes on", told)


def _has_reason(case: Case) -> bool:
    """Not to call anybody: something came of the resume already, or the loop waits for what it tells."""
    with suppress(UntilDoneError):
        loop = case.load()
        return loop is not None and (loop.outcome not in (None, Outcome.PAUSED) or bool(laws.waits_for(loop)))
    return False


def move_clock(case: Case, draw: float) -> bool:
    """Known by an entry that carries the moved time."""
    seconds = (-86_400.0, -3_600.0, 3_600.0, 86_400.0)[int(draw * 4)]
    case.history.append(f"clock off by {seconds}")
    case.ground.move_clock(seconds)
    told = case.tell(words.budget(), by_command=case.desk is None)
    entries = accounts.readable(laws.journal(case)[-20:]) if told else []
    return any(laws.is_off_by(entry.fields["ts"], seconds) for entry in entries)


def fill_disk(case: Case, draw: float) -> bool:
    """Known by somebody whose word did not fit."""
    refused = False
    with case.ground.disk, case.ground.full():
        case.history.append("disk full")
        for _ in range(3):
            word = words.say(case.story.number)
            code = case.command(word.verb, case.loop_id, *word.arguments)
            case.ledger.note(word, acknowledged=code == 0)
            refused |= code == NO_ROOM
        time.sleep(0.3 + draw)
    case.history.append("disk free")
    return refused


def read_only(case: Case, draw: float) -> bool:
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
    return done


def spoil_checkpoint(case: Case, draw: float) -> bool:
    return damage.spoil_checkpoint(case, draw, [f"{case.loop_id}.json", f"{case.loop_id}.json.backup.1"][draw > 0.75])


def spoil_checksum(case: Case, draw: float) -> bool:
    return damage.spoil_checkpoint(case, draw, f"{case.loop_id}.json.sha256")


def put_back_checkpoint(case: Case, draw: float) -> bool:
    return damage.put_back_checkpoint(case, 0.3 + draw)


def spoil_live_file(case: Case, draw: float) -> bool:
    paths = list(Path(case.ground.cli.workspace, ".claude").glob("ralph-delta*.md"))
    with suppress(UntilDoneError, OSError):
        paths.append(case.ground.store.progress(case.loop_id) / "live.md")
    done = [path.name for path in paths if damage.flip(path, draw)]
    case.spoilt += done
    return bool(done)


def flip_journal(case: Case, draw: float) -> bool:
    return damage.spoil_journal(case, lambda path: damage.flip(path, draw), alone=draw * 10 % 1 < 0.6)


def cut_journal(case: Case, draw: float) -> bool:
    return damage.spoil_journal(case, lambda path: damage.cut_tail(path, draw), alone=False)


KINDS: dict[str, Callable[[Case, float], bool]] = {
    hit.__name__: hit
    for hit in (
        *(kill_runner, kill_agent, kill_guard, kill_guard_then_runner, kill_all_at_once, kill_control, kill_starting),
        *(ask_runner_to_end, freeze_runner, freeze_agent, second_runner, contradict, change_rounds, stop, hold),
        *(move_clock, fill_disk, read_only, spoil_checkpoint, spoil_checksum, put_back_checkpoint, spoil_live_file),
        *(flip_journal, cut_journal),
    )
}
