"""The faults: each function injects one kind into one loop or its environment and returns whether it took effect.

README.md in this folder says when a fault counts as effective.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from proof.chaos import controls, damage, invariants, journal_audit, processes
from proof.chaos.case import LONGEST, Case
from proof.chaos.controls import Control

from untildone.core import moves
from untildone.core.errors import UntilDoneError
from untildone.core.model import Outcome
from untildone.operations.control import leader_of

GUARDED = 15.0
"""Seconds that a guard may take on a busy machine to end the agents of a dead runner. It usually takes hundredths of a second."""
OBEYED = 60.0
"""Seconds that a runner may take on a busy machine to obey a control or a signal."""
SERVER_SHARE = 0.35
"""The share of runner faults that hit the server if it drives the loop. It is small because the server starts slowly."""
NO_ROOM = 6
"""Exit code of a command that cannot write to the disk."""


def kill(case: Case, pid: int, kind: str) -> bool:
    """Send SIGKILL; return and count whether that is what ended the process."""
    was_alive = pid not in case.killed and processes.kill(pid, case.run)
    case.killed.add(pid)
    if was_alive:
        case.tally.kill(kind)
        case.history.append(f"{time.strftime('%H:%M:%S')} kill -9 {kind} {pid}")
    return was_alive


def kill_runner(case: Case, draw: float) -> bool:
    if case.server is not None:
        return _kill_server(case, draw)
    runner = case.await_runner()
    if runner is None:
        return False
    left = case.await_agents(draw * 3)
    guards = processes.guards_of(case.run, runner)
    killed = kill(case, runner, "runner")
    if killed and guards:
        invariants.no_orphans_after_death(case, left, GUARDED)
    return killed


def _kill_server(case: Case, draw: float) -> bool:
    assert case.server is not None
    if draw >= SERVER_SHARE:
        return kill_agent(case, draw)
    case.history.append("kill -9 server")
    left = case.agents()
    killed = case.server.crash()
    if killed:
        invariants.no_orphans_after_death(case, left, GUARDED)
    return killed


def kill_agent(case: Case, draw: float) -> bool:
    """Kill the agent, or what keeps its box, up to three times in a row: fewer times than make the loop give up."""
    times = 0
    for _ in range(1 + int(draw * 3)):
        agents = case.await_agents()
        victims, kind = (case.boxes(), "box") if case.story.boxed and draw * 10 % 1 < 0.5 else (agents, "agent")
        killed = [pid for pid in victims if kill(case, pid, kind)]
        processes.gone(killed, case.run, 2.0)
        times += len(killed)
    return times > 0


def kill_guard(case: Case, draw: float) -> bool:
    runner = case.await_runner()
    case.await_agents(draw)
    guards = processes.guards_of(case.run, runner) if runner is not None else []
    return sum(kill(case, guard.pid, "guard") for guard in guards) > 0


def kill_guard_then_runner(case: Case, draw: float) -> bool:
    """Freeze the agent and kill guard and runner: only the next runner can end the agent, and must do so before it starts one."""
    runner = case.await_runner()
    if case.server is not None or runner is None:
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
    if case.server is not None or runner is None:
        return kill_agent(case, draw)
    guards = [guard.pid for guard in processes.guards_of(case.run, runner)]
    victims = [
        (runner, "runner"),
        *((pid, "guard") for pid in guards),
        *((pid, "agent") for pid in case.agents()),
    ]
    return sum(kill(case, pid, kind) for pid, kind in victims) > 0


def kill_control(case: Case, draw: float) -> bool:
    """Kill a control command while it runs: its event must be written once or not at all."""
    killed = False
    for control in _some_controls(case, draw)[:2]:
        process, output = case.start(control.verb, case.loop_id, *control.arguments)
        time.sleep(draw * draw * 0.3)
        killed |= kill(case, process.pid, "control")
        code = process.wait(LONGEST)
        case.judge(code, output, (control.verb,))
        case.control_log.note(control, acknowledged=code == 0)
    return killed


def kill_starting(case: Case, draw: float) -> bool:
    """Kill a resuming runner at a random moment: before its event is written, before it has the lease, or just after."""
    loop = case.load()
    if case.server is not None or loop is None or loop.status.ended:
        return kill_agent(case, draw)
    starter = case.resume()
    time.sleep(draw * draw * 1.5)
    return starter is not None and kill(case, starter, "starting runner")


def terminate_runner(case: Case, draw: float) -> bool:
    """Send a termination signal to the runner: it must end by itself."""
    number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[int(draw * 3)]
    runner = case.await_runner()
    if case.server is not None:
        return draw < SERVER_SHARE / 2 and case.server.crash(signal.SIGTERM)
    if runner is None or not processes.send(runner, number, case.run):
        return False
    name = signal.Signals(number).name
    case.history.append(f"{name} runner {runner}")
    left = processes.gone([runner], case.run, OBEYED)
    problems = [f"runner {runner} still runs {OBEYED:.0f} s after {name}"] if left else []
    case.tally.invariant(case.story.number, "a runner ends on a termination signal", problems)
    return not left


def _frozen(
    case: Case, pids: list[int], meanwhile: Callable[[], None], busy: Callable[[], bool] = lambda: False
) -> bool:
    """Stop the processes while `meanwhile` runs; return whether at least one stayed stopped.

    Does nothing if `busy` is true: a runner stopped while it writes holds the journal lock that the harness needs.
    """
    frozen = [pid for pid in pids if processes.send(pid, signal.SIGSTOP, case.run) and processes.is_stopped(pid)]
    try:
        if frozen and busy():
            return False
        if frozen:
            meanwhile()
        return any(processes.is_stopped(pid, 0.0) for pid in frozen)
    finally:
        for pid in pids:
            processes.send(pid, signal.SIGCONT, case.run)


def freeze_runner(case: Case, draw: float) -> bool:
    """Freeze the runner while others try to take the loop: it keeps its lease."""
    runner = case.await_runner()
    if runner is None or case.server is not None:
        return False
    before = invariants.leases(case)

    def others_try() -> None:
        case.start_runner("_drive", case.loop_id)
        second_runner(case, draw)
        if processes.is_stopped(runner, 0.0) and before and before[-1] == runner:
            taken_by = invariants.leases(case)[len(before) :]
            problems = [f"runner {runner} is frozen, and {taken_by} leased its loop"] if taken_by else []
            case.tally.invariant(case.story.number, "no two runners at once", problems)

    return _frozen(case, [runner], others_try, busy=lambda: invariants.is_writing(case))


def freeze_agent(case: Case, draw: float) -> bool:
    return _frozen(case, case.agents(), lambda: time.sleep(draw * 2))


def second_runner(case: Case, draw: float) -> bool:
    """Start one or two more runners for a loop."""
    driven = case.is_driven
    for _ in range(1 + int(draw * 2)):
        case.start_runner("resume", case.loop_id, "--json")
        case.control_log.note(controls.resume(), acknowledged=False)
    time.sleep(draw)
    return driven


def send_conflicting_controls(case: Case, draw: float) -> bool:
    """Send pauses, messages and budgets from several processes at the same time."""
    chosen = _some_controls(case, draw)
    case.history.append(f"sent {', '.join(control.key for control in chosen)}")
    with ThreadPoolExecutor(len(chosen)) as together:
        return any(list(together.map(lambda control: case.send(control, by_command=draw < 0.7), chosen)))


def _some_controls(case: Case, draw: float) -> list[Control]:
    now = ("--now",) if draw * 10 % 1 < 0.5 else ()
    number = case.story.number
    choices = [
        controls.say(number),
        controls.pause(*now),
        controls.budget(),
        controls.say(number, "[r+1] "),
        controls.pause(),
    ]
    first = int(draw * len(choices))
    return [*choices[first:], *choices[:first]][:3]


def change_rounds(case: Case, draw: float) -> bool:
    """Raise or lower the number of allowed rounds."""
    loop = case.load()
    if loop is None or loop.status.ended:
        return False
    control = (
        controls.rounds_in_all(loop.spend.iterations + 1 + int(draw * 3)) if draw < 0.6 else controls.more_rounds(1)
    )
    return case.send(control, by_command=draw * 10 % 1 < 0.7)


def stop(case: Case, draw: float) -> bool:
    loop = case.load()
    alive = loop is not None and not loop.status.ended
    return case.send(controls.stop(*(("--now",) if draw < 0.5 else ())), by_command=draw < 0.7) and alive


def pause_and_wait(case: Case, draw: float) -> bool:
    """Pause the loop and do everything but resume it: no agent may be called, not even by a new runner or server."""
    if not case.tend() or not case.settle_starters():
        return False
    if not case.send(controls.pause(*(("--now",) if draw * 10 % 1 < 0.3 else ())), by_command=draw < 0.7):
        return False
    if draw < 0.6 and case.server is None and (runner := case.runner()) is not None:
        # The runner dies before it obeys, so the next one must.
        kill(case, runner, "runner")
    if case.server is None:
        case.start_runner("_drive", case.loop_id)
    elif draw < SERVER_SHARE:
        case.server.crash()
    loop = invariants.rests(case, OBEYED)
    problems = [] if loop else [f"the loop does not rest {OBEYED:.0f} s after a pause"]
    case.tally.invariant(case.story.number, "a pause is obeyed", problems)
    if loop is None or loop.outcome is not Outcome.PAUSED:
        return False
    before = len(case.calls())
    if draw * 100 % 1 < 0.5:
        case.send(controls.say(case.story.number), by_command=True)
    if case.server is None:
        case.start_runner("_drive", case.loop_id)
    time.sleep(0.3 + draw)
    invariants.still_paused(case, before)
    _resume_after_pause(case)
    return True


def _resume_after_pause(case: Case) -> None:
    """Resume the loop: it must call an agent, come to rest, or wait for a limit or retry. One without rounds gets some."""
    before, loop = len(case.calls()), case.load()
    is_out = loop is not None and moves.used_up(loop, leader_of(loop)) is not None
    case.resume("--now", *(("-r", "+2") if is_out else ()))
    deadline = time.monotonic() + OBEYED
    while not (continues := len(case.calls()) > before or _rests_or_waits(case)) and time.monotonic() < deadline:
        case.reap()
        time.sleep(0.05)
    problems = [] if continues else [f"no agent was called within {OBEYED:.0f} s after a resume"]
    case.tally.invariant(case.story.number, "a resumed loop continues", problems)


def _rests_or_waits(case: Case) -> bool:
    """Whether the loop came to rest after the resume, or waits for a limit or retry."""
    with suppress(UntilDoneError):
        loop = case.load()
        return loop is not None and (loop.outcome not in (None, Outcome.PAUSED) or bool(invariants.waits_for(loop)))
    return False


def move_clock(case: Case, draw: float) -> bool:
    """Shift the clock; effective if an entry carries the shifted time."""
    seconds = (-86_400.0, -3_600.0, 3_600.0, 86_400.0)[int(draw * 4)]
    case.history.append(f"clock off by {seconds}")
    case.sandbox.move_clock(seconds)
    acknowledged = case.send(controls.budget(), by_command=case.server is None)
    entries = journal_audit.readable(invariants.journal(case)[-20:]) if acknowledged else []
    return any(invariants.is_off_by(entry.fields["ts"], seconds) for entry in entries)


def fill_disk(case: Case, draw: float) -> bool:
    """Fill the disk for a moment; effective if a command was refused."""
    refused = False
    with case.sandbox.disk, case.sandbox.full():
        case.history.append("disk full")
        for _ in range(3):
            control = controls.say(case.story.number)
            code = case.command(control.verb, case.loop_id, *control.arguments)
            case.control_log.note(control, acknowledged=code == 0)
            refused |= code == NO_ROOM
        time.sleep(0.3 + draw)
    case.history.append("disk free")
    return refused


def read_only(case: Case, draw: float) -> bool:
    """Make the disk read-only. The kernel refuses that while a file is open for writing, so all processes are killed first."""
    with case.sandbox.disk:
        kill_all_at_once(case, draw)
        for process in processes.of_loop(case.run, case.loop_id):
            kill(case, process.pid, process.kind)
        case.reap(patience=5.0)
        with case.sandbox.read_only() as done:
            case.tally.note("disks made read-only" if done else "disks too busy to be made read-only")
            case.history.append(f"read-only: {done}")
            if done:
                invariants.only_readable(case)
    return done


def corrupt_checkpoint(case: Case, draw: float) -> bool:
    return damage.corrupt_checkpoint(case, draw, [f"{case.loop_id}.json", f"{case.loop_id}.json.backup.1"][draw > 0.75])


def corrupt_checksum(case: Case, draw: float) -> bool:
    return damage.corrupt_checkpoint(case, draw, f"{case.loop_id}.json.sha256")


def restore_old_checkpoint(case: Case, draw: float) -> bool:
    return damage.restore_old_checkpoint(case, 0.3 + draw)


def corrupt_live_file(case: Case, draw: float) -> bool:
    paths = list(Path(case.sandbox.cli.workspace, ".claude").glob("ralph-delta*.md"))
    with suppress(UntilDoneError, OSError):
        paths.append(case.sandbox.store.progress(case.loop_id) / "live.md")
    done = [path.name for path in paths if damage.flip(path, draw)]
    case.corrupted += done
    return bool(done)


def flip_journal(case: Case, draw: float) -> bool:
    return damage.corrupt_journal(case, lambda path: damage.flip(path, draw), alone=draw * 10 % 1 < 0.6)


def cut_journal(case: Case, draw: float) -> bool:
    return damage.corrupt_journal(case, lambda path: damage.cut_tail(path, draw), alone=False)


def forge_entries(case: Case, draw: float) -> bool:
    return damage.forge_entries(case, draw)


def forge_checkpoint(case: Case, draw: float) -> bool:
    return damage.forge_checkpoint(case, draw)


KINDS: dict[str, Callable[[Case, float], bool]] = {
    fault.__name__: fault
    for fault in (
        *(kill_runner, kill_agent, kill_guard, kill_guard_then_runner, kill_all_at_once, kill_control, kill_starting),
        *(
            terminate_runner,
            freeze_runner,
            freeze_agent,
            second_runner,
            send_conflicting_controls,
            change_rounds,
            stop,
            pause_and_wait,
        ),
        *(
            move_clock,
            fill_disk,
            read_only,
            corrupt_checkpoint,
            corrupt_checksum,
            restore_old_checkpoint,
            corrupt_live_file,
        ),
        *(flip_journal, cut_journal, forge_entries, forge_checkpoint),
    )
}
