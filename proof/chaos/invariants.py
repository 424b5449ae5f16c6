"""What must hold for a loop after every fault and once it has ended. Checks of the outcome are in expectations.py."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from pathlib import Path

from proof.chaos import controls, expectations, journal_audit, processes
from proof.chaos.agent_scripts import files, fugitive
from proof.chaos.call_log import Call
from proof.chaos.case import LONGEST, Case
from proof.chaos.journal_audit import JournalAudit
from proof.chaos.stories import Place

from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry, Event, SessionOpened, StateRepaired, StopRequested, TurnEnded, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status
from untildone.core.values.codec import timestamp
from untildone.engine.agent.turns import UNKNOWN_WORD
from untildone.store import layout
from untildone.store.lines import DamagedLine, entry_of, fields_of, without_checksum
from untildone.system import locks, orphans
from untildone.testing.journal_laws import Laws

GONE_WITHIN = 20.0
"""Seconds within which the processes of an ended loop must be gone."""


# --- the journal's bytes ---


def whole_lines(path: Path) -> list[bytes]:
    """The complete lines of a journal, read under its lock: a writer removes a partial line before it releases the lock."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with locks.locked(descriptor):
            content = b""
            while more := os.read(descriptor, 1 << 20):
                content += more
    finally:
        os.close(descriptor)
    return content.split(b"\n")[:-1]


def entries(lines: list[bytes]) -> Iterator[Entry]:
    """The readable entries, without repeated sequence numbers."""
    last = 0
    for line in lines:
        try:
            entry = entry_of(fields_of(without_checksum(line)))
        except DamagedLine:
            continue
        if entry.seq > last:
            last = entry.seq
            yield entry


def journal(case: Case) -> list[bytes]:
    """The complete journal lines of the case."""
    for _ in range(20):
        try:
            return lines_of(case, layout.places(case.sandbox.store.root, case.loop_id).journal)
        except FileNotFoundError:
            # The loop is being archived: the journal moves.
            time.sleep(0.02)
    return []


def lines_of(case: Case, path: Path) -> list[bytes]:
    """The complete lines of a journal without those that were forged: nothing of them may be believed."""
    return [line for line in whole_lines(path) if line not in case.forged]


def excuse(case: Case, before: list[bytes], after: list[bytes], covered: int) -> None:
    """Excuse the loss of entries that the harness destroyed and that no checkpoint contains."""
    kept = set(after)
    for entry in entries([line for line in before if line not in kept]):
        key = controls.key_of(entry.event)
        if key is not None and entry.seq > covered:
            case.control_log.excused.add(key)
        case.rounds_lost += isinstance(entry.event, TurnStarted) and entry.seq > covered
        if isinstance(entry.event, StopRequested) and entry.seq > covered:
            case.stopped_at = None
    case.known_lines = after


# --- queries used by faults ---


def leases(case: Case) -> list[int]:
    """The process ids of the runners that leased the loop, in order."""
    lines = journal_audit.readable(journal(case))
    return [line.fields["pid"] for line in lines if line.event == "runner_claimed"]


def is_writing(case: Case) -> bool:
    """Whether a process is writing to the journal now."""
    return locks.is_locked(layout.places(case.sandbox.store.root, case.loop_id).journal)


def is_off_by(moment: str, seconds: float) -> bool:
    """Whether a journal timestamp differs from the true time by about `seconds`."""
    written = datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    return abs(written - time.time() - seconds) < 300


def is_undriven(case: Case, patience: float) -> bool:
    """Wait until no process drives the loop and no background runner is starting; return False on timeout."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        started = any(case.loop_id in each.argv for each in processes.of_run(case.run) if each.kind == "background")
        if not case.is_driven and not started:
            return True
        time.sleep(0.05)
    return False


def waits_for(loop: Loop) -> str:
    """What the loop waits for by its own state; empty if it waits for nothing."""
    now = time.time()
    limits = [f"limit of {name}" for name, limit in loop.limits.items() if limit.until > now]
    return ", ".join([*limits, *(["retry"] if loop.retry and loop.retry.not_before > now else [])])


def rests(case: Case, patience: float) -> Loop | None:
    """Wait until the loop rests and no process drives it; return None on timeout."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        case.reap()
        with suppress(UntilDoneError):
            loop = case.load()
            if loop is not None and loop.status is not Status.RUNNING and not case.is_driven:
                return loop
        time.sleep(0.03)
    return None


def still_paused(case: Case, calls_before: int) -> None:
    """Check that a paused loop called no agent, by the agents' call log."""
    started = case.calls()[calls_before:]
    problems = [f"agent {call.pid} of {call.parent} was called while the loop was paused" for call in started]
    loop = case.load()
    if loop is None or loop.status is not Status.PAUSED:
        problems.append(f"paused, not resumed, and now {loop and loop.status.value}")
    case.tally.invariant(case.story.number, "a paused loop stays paused", problems)


def expect_repair_entry(case: Case, name: str) -> None:
    """Note that the next runner reads the damaged file and must write a `state_repaired` entry."""
    lines = journal_audit.readable(journal(case))
    case.unreported_damage.append((name, lines[-1].seq if lines else 0))


def _check_unreported_damage(case: Case, lines: list[journal_audit.Line]) -> None:
    """Check that the runner that read a damaged file reported it."""
    for name, seq in list(case.unreported_damage):
        later = [line for line in lines if line.seq > seq]
        if any(line.event == "runner_claimed" for line in later):
            repairs = [line.fields["detail"] for line in later if line.event == "state_repaired"]
            reported = any(name in detail for detail in repairs)
            problems = [] if reported else [f"{name} was damaged before entry {seq + 1}, not reported: {repairs}"]
            case.tally.invariant(case.story.number, "a runner reports the damage it reads", problems)
            case.unreported_damage.remove((name, seq))


# --- after every fault ---


def after_fault(case: Case) -> None:
    """Check the invariants that hold at any moment."""
    if not case.find():
        return
    lines = journal(case)
    number, old = case.story.number, case.known_lines
    changed = [] if lines[: len(old)] == old else [f"some of the first {len(old)} lines changed or are gone"]
    case.tally.invariant(number, "written entries stay unchanged", changed)
    if not case.is_damaged:
        case.tally.invariant(number, "the sequence numbers have no gap", _gaps(lines))
        case.tally.invariant(number, "the shown state matches the journal", _state_mismatch(case, len(lines)))
    case.tally.invariant(number, "every entry has a valid seal", _seal_problems(case, lines))
    case.known_lines = lines
    if case.story.boxed and _forked_out(case):
        case.tally.note("times that a process which forked out of everything was seen in its box")
    _check_unreported_damage(case, journal_audit.readable(lines))
    case.tally.invariant(case.story.number, "the loop can always be read", _unreadable(case))
    case.tally.invariant(case.story.number, "a new runner first ends leftover processes", _leftover_processes(case))


def _gaps(lines: list[bytes]) -> list[str]:
    for number, line in enumerate(lines, 1):
        try:
            seq = entry_of(fields_of(without_checksum(line))).seq
        except DamagedLine as problem:
            return [f"line {number}: {problem}"]
        if seq != number:
            return [f"line {number} has the number {seq}"]
    return []


def _seal_problems(case: Case, lines: list[bytes]) -> list[str]:
    key = case.sandbox.store.seals.path.read_bytes()
    whole = [line for line in lines if journal_audit.line_of(line) is not None]
    problems = [problem for line in whole if (problem := journal_audit.seal_problem(line, key, case.loop_id))]
    return problems or ([] if case.is_damaged else journal_audit.chain_problems(whole))


def _forgery_problems(case: Case, own: list[journal_audit.Line]) -> list[str]:
    """A runner that writes after a forged line has reported it, once."""
    lines = whole_lines(layout.places(case.sandbox.store.root, case.loop_id).journal)
    forged = [number for number, line in enumerate(lines) if line in case.forged]
    later = journal_audit.readable(line for line in lines[forged[0] :] if line not in case.forged) if forged else []
    reports = [line.fields["detail"] for line in own if line.event == "state_repaired"]
    reports = [each for each in reports if each.startswith(layout.JOURNAL) and "untildone did not write" in each]
    problems = [f"reported {reports.count(each)} times: {each}" for each in set(reports) if reports.count(each) > 1]
    if not reports and any(line.event not in journal_audit.CONTROLS for line in later):
        problems.append(f"{len(forged)} forged lines, and no report")
    return problems


def _state_mismatch(case: Case, least: int) -> list[str]:
    """Compare the loop as untildone loads it with the harness's own reading of the journal up to the same entry."""
    try:
        loop = case.sandbox.store.load(case.loop_id)
    except UntilDoneError as problem:
        return [str(problem)]
    expected = JournalAudit(journal_audit.readable(journal(case))).states.get(loop.seq)
    shown = journal_audit.LoopState(loop.status.value, loop.spend.iterations, loop.budget.iterations)
    late = [f"entry {least} exists, but the loop is shown as of entry {loop.seq}"] if loop.seq < least else []
    return late + ([] if shown == expected else [f"entry {loop.seq}: shown {shown}, expected {expected}"])


def _unreadable(case: Case) -> list[str]:
    try:
        loop = case.sandbox.store.load(case.loop_id)
    except UntilDoneError as problem:
        return [str(problem)]
    if not case.is_damaged:
        case.most_iterations = max(case.most_iterations, loop.spend.iterations)
    return []


def _leftover_processes(case: Case) -> list[str]:
    """Processes of the loop that are older than its runner while that runner has an agent."""
    runner = case.runner()
    process = processes.look(runner, case.run) if runner is not None and case.agents() else None
    if process is None:
        return []
    older = [each for each in processes.of_loop(case.run, case.loop_id) if each.start < process.start]
    return [f"{each.kind} {each.pid} is older than the runner {process.pid}" for each in older]


def no_orphans_after_death(case: Case, agents: list[int], patience: float) -> None:
    """Check that the guard, which was alive when its runner died, ends the agents."""
    left = processes.gone(agents, case.run, patience)
    problems = [f"agents {left} live {patience} s after the death of their runner"] if left else []
    case.tally.invariant(case.story.number, "a guard ends the agents of a dead runner", problems)


def only_readable(case: Case) -> None:
    """Check that on a read-only disk reading works and writing is refused with the right exit code."""
    shown = case.command("show", case.loop_id, "--json")
    resumed = case.command("resume", case.loop_id, "--json", "-r", "+1")
    refused = [resumed, case.command("say", case.loop_id, "never heard")]
    problems = [] if shown == 0 else [f"show exits with {shown}"]
    loop = case.load()
    if loop is not None and not loop.status.ended:
        problems += [f"a command that cannot write exits with {code}" for code in refused if code != 6]
    case.tally.invariant(case.story.number, "a read-only disk is readable and reported", problems)


# --- after the end ---


def at_rest(case: Case) -> None:
    """Check all invariants of an ended loop."""
    number, tally = case.story.number, case.tally
    loop, lines = case.load(), journal(case)
    assert loop is not None
    read, own = list(entries(lines)), journal_audit.readable(lines)
    events = [entry.event for entry in read]
    tally.invariant(number, "every loop ends in a legal outcome", _ended(loop))
    tally.invariant(number, "no control is lost or duplicated", _control_problems(case, loop, events))
    tally.invariant(number, "no two agents at once", _concurrent_agents(case))
    tally.invariant(number, "no two runners at once", _interleaved_runners(case))
    tally.invariant(number, "no orphan is left", _orphans(case))
    tally.invariant(number, "no more rounds are worked than allowed", _excess_rounds(case))
    tally.invariant(number, "after a stop no agent is called", _after_stop(case))
    tally.invariant(number, "the outcome is true", expectations.outcome_problems(case, loop))
    tally.invariant(number, "no other file is touched", case.sandbox.touched())
    tally.invariant(number, "no unexpected exception is logged", _defects(case))
    _check_unreported_damage(case, own)
    tally.invariant(number, "what the agent wrote into the state is never believed", _forgery_problems(case, own))
    tally.invariant(number, "damage is reported once and only if there is any", _damage_reports(case, own))
    tally.invariant(number, "read commands print JSON", _json_problems(case, loop))
    tally.note("state_repaired entries", sum(isinstance(event, StateRepaired) for event in events))
    if case.is_damaged:
        tally.invariant(number, "damage refunds no round silently", _refunded_rounds(case, loop, events))
        return
    tally.invariant(number, "the sequence numbers have no gap", _gaps(lines))
    tally.invariant(number, "the journal passes journal_laws", _journal_law_problems(read, loop))
    tally.invariant(number, "agent calls match the journal", _calls(case, read))
    tally.invariant(number, "messages reach an agent", _undelivered_messages(case, loop))
    problems = JournalAudit(own).problems
    for invariant in (journal_audit.BUDGET, journal_audit.OBEYED, journal_audit.ORDER):
        tally.invariant(number, invariant, [problem for broken, problem in problems if broken == invariant])
    tally.invariant(number, "the shown state matches the journal", _state_mismatch(case, len(lines)))


def _ended(loop: Loop) -> list[str]:
    legal = loop.outcome is not None and loop.status.ended and loop.outcome.status is loop.status
    return [] if legal else [f"{loop.status.value}, {loop.outcome}"]


def _control_problems(case: Case, loop: Loop, events: list[Event]) -> list[str]:
    reported = any(isinstance(event, StateRepaired) for event in events)
    problems = case.control_log.problems(events, damage_reported=case.is_damaged and reported)
    # A checkpoint can still contain the effect of an entry whose line was damaged later.
    return [problem for problem in problems if not (case.is_damaged and _is_in_checkpoint(problem, loop))]


def _is_in_checkpoint(problem: str, loop: Loop) -> bool:
    return (
        any(text in problem for text in loop.asked[1:])
        or f"tokens {loop.budget.tokens}" in problem
        or "say" not in problem
    )


def _concurrent_agents(case: Case) -> list[str]:
    concurrent = [call.pid for call in case.calls() if not call.is_alone]
    return [f"agents {concurrent} were started while another agent of the loop was running"] if concurrent else []


def _interleaved_runners(case: Case) -> list[str]:
    """Once a runner has started an agent, an earlier runner must not start another one without a new lease.

    A server can lease a loop again. Agents whose runner died early have init as parent and are left out.
    """
    leased = Counter(pid for pid, _ in groupby(leases(case)))
    if case.is_damaged:
        # Lease entries can be lost.
        leased = Counter({pid: times for pid, times in leased.items() if case.server is None})
    runners = [parent for parent, _ in groupby(call.parent for call in case.calls() if call.parent in leased)]
    again = {parent for parent in runners if runners.count(parent) > leased[parent]}
    return [f"runners {sorted(again)} started agents after another runner had: {runners}"] if again else []


def _excess_rounds(case: Case) -> list[str]:
    """Compare the rounds in the agents' call log with the most that was ever allowed. Does not read the journal."""
    answered = sum(call.role == "worker" and call.answered_at is not None for call in case.calls())
    most = case.control_log.most_rounds(case.story.iterations) + case.rounds_lost
    if case.corrupted and case.story.mode == "phases":
        # The corrupted live state file can change the allowed rounds.
        return []
    return [f"{answered} rounds were worked, {most} allowed"] if answered > most else []


def _after_stop(case: Case) -> list[str]:
    """One call after the stop is legal: its turn may have been written before the stop."""
    late = [call for call in case.calls() if case.stopped_at is not None and call.at > case.stopped_at]
    return [f"{len(late)} agents were called after the stop was acknowledged"] if len(late) > 1 else []


def _damage_reports(case: Case, own: list[journal_audit.Line]) -> list[str]:
    repairs = [line.fields["detail"] for line in own if line.event == "state_repaired"]
    problems = (
        []
        if repairs == [] or case.corrupted or case.is_damaged or case.forged
        else [f"nothing was damaged, but reported: {repairs}"]
    )
    name = layout.JOURNAL
    twice = {each for each in repairs if each.startswith(name) and repairs.count(each) > 1}
    problems += [f"reported {repairs.count(each)} times: {each}" for each in twice]
    process, output = case.start("log", case.loop_id, "--json")
    process.wait(LONGEST)
    errors, gaps = Path(f"{output}.err").read_text(errors="replace"), journal_audit.missing(own)
    if gaps and "cannot be read" not in errors:
        problems.append(f"entries {gaps} cannot be read, but log does not say so: {errors[-300:]}")
    if not gaps and "cannot be read" in errors:
        problems.append(f"every entry can be read, but log says: {errors[-300:]}")
    return problems


def _orphans(case: Case) -> list[str]:
    mark, _ = orphans.mark(case.loop_id)
    deadline = time.monotonic() + GONE_WITHIN
    while (left := [each for each in processes.of_run(case.run) if mark in each.marks]) and time.monotonic() < deadline:
        time.sleep(0.05)
    children = case.workspace / files(case.story.number)["children"]
    pids = [int(pid) for pid in re.findall(r"^\d+$", children.read_text(), re.M)] if children.exists() else []
    alive = processes.gone(pids, case.run, 0.0)
    fugitives = [f"process {pid}, which forked out of everything" for pid in _fugitives(case)]
    return [
        *fugitives,
        *(f"{each.kind} {each.pid} {each.argv[:4]}" for each in left),
        *(f"child {pid}" for pid in alive),
    ]


def _fugitives(case: Case) -> list[int]:
    """Processes of this case's agents that carry no mark any more. The kernel ends them with their box."""
    if not case.story.boxed:
        return []
    deadline = time.monotonic() + GONE_WITHIN
    while (found := _forked_out(case)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _forked_out(case: Case) -> list[int]:
    word = f"{fugitive(case.story.number)}{case.workspace}\0".encode()
    return [pid for pid in processes.every() if word in processes.command_line(pid)]


def _defects(case: Case) -> list[str]:
    reports = [
        path for path in case.sandbox.store.root.glob("defect-*") if case.loop_id in path.read_text(errors="replace")
    ]
    return [f"{path.name}: {path.read_text(errors='replace')[:1500]}" for path in reports]


_UNFIT = "does not fit its journal"
_ELSEWHERE = "Every check passes now. The receipt is about another workspace than this one"


def _json_problems(case: Case, loop: Loop) -> list[str]:
    expected = {"show": 0, "log": 0}
    if loop.outcome is Outcome.VERIFIED:
        expected["verify"] = 0
    problems = [problem for verb, code in expected.items() for problem in _command_problems(case, loop, verb, code)]
    if case.story.place is Place.OWN and (code := case.command("diff", case.loop_id)) != 0:
        problems.append(f"diff exits with {code}")
    return problems


def _is_of_last_end(case: Case, loop: Loop) -> bool:
    """Whether the receipt is that of the end of the loop, and not of an earlier one whose entry was damaged."""
    receipt = json.loads(case.sandbox.store.receipt(case.loop_id) or "{}")
    return bool(receipt.get("ended") == timestamp(loop.updated_at))


def _command_problems(case: Case, loop: Loop, verb: str, expected: int) -> list[str]:
    if verb == "verify" and not case.story.checks:
        return []
    process, output = case.start(verb, case.loop_id, "--json")
    code = process.wait(LONGEST)
    case.judge(code, output, (verb,))
    try:
        records = [json.loads(line) for line in Path(f"{output}.out").read_text().splitlines()]
    except ValueError as problem:
        return [f"{verb} prints invalid JSON: {problem}"]
    errors = Path(f"{output}.err").read_text()[-300:]
    if verb == "verify" and case.story.place is not Place.OWN and _ELSEWHERE in errors:
        # Another loop of the same folder has worked since, and that is what it must say.
        expected = Outcome.FAILED.exit_code
    if verb == "verify" and case.is_damaged and _UNFIT in errors and _is_of_last_end(case, loop):
        # The harness changed the journal after the receipt was made from it, and that is what it must say.
        return [] if code == Outcome.FAILED.exit_code else [f"{verb} exits with {code}: {errors}"]
    return [] if code == expected and records else [f"{verb} exits with {code} and {len(records)} records: {errors}"]


def _journal_law_problems(read: list[Entry], loop: Loop) -> list[str]:
    try:
        folded = Laws().read(read)
    except AssertionError as problem:
        return [str(problem)]
    return [] if folded == loop else ["the loop differs from its folded journal"]


def _refunded_rounds(case: Case, loop: Loop, events: list[Event]) -> list[str]:
    reported = any(isinstance(event, StateRepaired) for event in events)
    fewer = loop.spend.iterations < case.most_iterations - _limits(events)
    return [f"{loop.spend.iterations} rounds used, before {case.most_iterations}"] if fewer and not reported else []


def _limits(events: list[Event]) -> int:
    return sum(type(event).__name__ == "LimitReached" for event in events)


# --- the agents' call log against the journal ---


def _calls(case: Case, read: list[Entry]) -> list[str]:
    """Every call in the agents' log is a started turn of the journal, in the same order, and no turn ended without a call."""
    asked, answered = _turns(read)
    calls = case.calls()
    prompts = [_kept(call) for call in calls if call.request is not None]
    if _fits(asked, answered, prompts) and len(calls) <= len(asked):
        return []
    return [f"{len(calls)} agent calls, {len(asked)} started turns, {sum(answered)} of them answered"]


def _kept(call: Call) -> str:
    """The prompt of a call as the journal keeps it: that of a reviewer without the word that was drawn for it."""
    prompt = str(call.request["prompt"]) if call.request else ""
    return _without_word(prompt) if call.role == "supervisor" else prompt


def _without_word(prompt: str) -> str:
    drawn = re.search(r"The word of this question is ([A-Z0-9]{10})\.", prompt)
    return prompt if drawn is None else prompt.replace(drawn[1], UNKNOWN_WORD)


def _turns(read: list[Entry]) -> tuple[list[str], list[bool]]:
    asked: list[str] = []
    answered: list[bool] = []
    for entry in read:
        match entry.event:
            case TurnStarted(prompt=prompt):
                asked.append(prompt)
                answered.append(False)
            case TurnEnded(answer=answer) if answer.session_id is not None and asked:
                answered[-1] = True
            case SessionOpened() if asked:
                answered[-1] = True
            case _:
                pass
    return asked, answered


def _fits(asked: list[str], answered: list[bool], prompts: list[str]) -> bool:
    """Whether the calls are the turns in order, where unanswered turns may have no call.

    `reached` holds the possible numbers of matched calls. If a runner dies while it writes a prompt, the agent reads only
    the first part of it.
    """
    reached = {0}
    for prompt, is_answered in zip(asked, answered, strict=True):
        matches = [each == prompt or (not is_answered and prompt.startswith(each)) for each in prompts]
        taken = {count + 1 for count in reached if count < len(prompts) and matches[count]}
        reached = taken if is_answered else reached | taken
    return len(prompts) in reached


def _undelivered_messages(case: Case, loop: Loop) -> list[str]:
    """Messages of a completed loop that are in no prompt of an answered call, by the agents' call log."""
    if loop.outcome not in (Outcome.VERIFIED, Outcome.CLAIMED):
        return []
    prompts = "\n".join(
        call.request["prompt"] for call in case.calls() if call.request and call.answered_at is not None
    )
    keys = [key for key, times in case.control_log.acknowledged.items() if times and key.startswith("say ")]
    return [f"“{key}” reached no agent" for key in keys if key.removeprefix("say ") not in prompts]
