"""What must hold of a loop after every blow, and once it has come to rest. What is true of its end: see truth.py."""

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

from proof.chaos import accounts, processes, truth, words
from proof.chaos.accounts import Account
from proof.chaos.case import LONGEST, Case
from proof.chaos.stories import Place
from proof.chaos.temperaments import files

from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry, Event, SessionOpened, StateRepaired, StopRequested, TurnEnded, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status
from untildone.store import layout
from untildone.store.lines import DamagedLine, entry_of, unsealed
from untildone.system import locks, orphans
from untildone.testing.journal_laws import Laws

GONE_WITHIN = 20.0


# --- the journal's bytes ---


def whole_lines(path: Path) -> list[bytes]:
    """Under the lock: a line that does not fit on the disk is taken back before it is let go."""
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
    """Those that can be read, each once."""
    last = 0
    for line in lines:
        try:
            entry = entry_of(unsealed(line))
        except DamagedLine:
            continue
        if entry.seq > last:
            last = entry.seq
            yield entry


def journal(case: Case) -> list[bytes]:
    for _ in range(20):
        try:
            return whole_lines(layout.places(case.ground.store.root, case.loop_id).journal)
        except FileNotFoundError:
            # It was archived this moment.
            time.sleep(0.02)
    return []


def excuse(case: Case, before: list[bytes], after: list[bytes], covered: int) -> None:
    """What the harness itself destroyed, and no checkpoint knew, may be lost."""
    kept = set(after)
    for entry in entries([line for line in before if line not in kept]):
        key = words.key_of(entry.event)
        if key is not None and entry.seq > covered:
            case.ledger.excused.add(key)
        case.rounds_lost += isinstance(entry.event, TurnStarted) and entry.seq > covered
        if isinstance(entry.event, StopRequested) and entry.seq > covered:
            case.stopped_at = None
    case.told = after


# --- what blows ask ---


def leases(case: Case) -> list[int]:
    """The process ids of the runners that leased the loop, in order."""
    lines = accounts.readable(journal(case))
    return [line.fields["pid"] for line in lines if line.event == "runner_claimed"]


def is_writing(case: Case) -> bool:
    """Whether somebody is in the midst of a line of the journal."""
    return locks.is_locked(layout.places(case.ground.store.root, case.loop_id).journal)


def is_off_by(moment: str, seconds: float) -> bool:
    """Whether a time of the journal is about so far from the true one."""
    told = datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()
    return abs(told - time.time() - seconds) < 300


def is_let_go(case: Case, patience: float) -> bool:
    """Whether, within the patience, nobody drives the loop and no process in the background is about to."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        started = any(case.loop_id in each.words for each in processes.of_run(case.run) if each.kind == "background")
        if not case.is_driven and not started:
            return True
        time.sleep(0.05)
    return False


def waits_for(loop: Loop) -> str:
    """What the loop says that it waits for; empty if it has nothing to wait for."""
    now = time.time()
    found = [f"limit of {name}" for name, limit in loop.limits.items() if limit.until > now]
    return ", ".join([*found, *(["retry"] if loop.retry and loop.retry.not_before > now else [])])


def rests(case: Case, patience: float) -> Loop | None:
    """The loop, once it does not run and nobody drives it; None if that takes too long."""
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
    """Nobody has resumed it: no agent was called since, by the agents' own book."""
    started = case.calls()[calls_before:]
    problems = [f"agent {call.pid} of {call.parent} was called while the loop was paused" for call in started]
    loop = case.load()
    if loop is None or loop.status is not Status.PAUSED:
        problems.append(f"it was paused, nobody resumed it, and it is {loop and loop.status.value}")
    case.tally.law(case.story.number, "a paused loop stays paused", problems)


def must_be_told(case: Case, name: str) -> None:
    """The next runner reads what was damaged, and has to write that down."""
    lines = accounts.readable(journal(case))
    case.untold.append((name, lines[-1].seq if lines else 0))


def _untold(case: Case, lines: list[accounts.Line]) -> None:
    for name, seq in list(case.untold):
        later = [line for line in lines if line.seq > seq]
        if any(line.event == "runner_claimed" for line in later):
            repairs = [line.fields["detail"] for line in later if line.event == "state_repaired"]
            told = any(name in detail for detail in repairs)
            problems = [] if told else [f"{name} was damaged before entry {seq + 1}, and no runner told: {repairs}"]
            case.tally.law(case.story.number, "damage is told by whoever reads it", problems)
            case.untold.remove((name, seq))


# --- after every blow ---


def after_hit(case: Case) -> None:
    if not case.find():
        return
    lines = journal(case)
    number, old = case.story.number, case.told
    changed = [] if lines[: len(old)] == old else [f"{len(old)} lines were there, and are not all there any more"]
    case.tally.law(number, "what was written stays written", changed)
    if not case.is_damaged:
        case.tally.law(number, "the sequence has no gap", _gaps(lines))
        case.tally.law(number, "what is shown is what is written", _shown_wrongly(case, len(lines)))
    case.told = lines
    _untold(case, accounts.readable(lines))
    case.tally.law(case.story.number, "the loop can be read at any moment", _unreadable(case))
    case.tally.law(case.story.number, "a new runner first ends what the old one left", _left_by_others(case))


def _gaps(lines: list[bytes]) -> list[str]:
    for number, line in enumerate(lines, 1):
        try:
            seq = entry_of(unsealed(line)).seq
        except DamagedLine as problem:
            return [f"line {number}: {problem}"]
        if seq != number:
            return [f"line {number} has the number {seq}"]
    return []


def _shown_wrongly(case: Case, least: int) -> list[str]:
    """The loop as anybody reads it now, against the harness's own reading up to the same entry."""
    try:
        loop = case.ground.store.load(case.loop_id)
    except UntilDoneError as problem:
        return [str(problem)]
    standing = Account(accounts.readable(journal(case))).standings.get(loop.seq)
    shown = accounts.Standing(loop.status.value, loop.spend.iterations, loop.budget.iterations)
    late = [f"entry {least} is there, and the loop as of entry {loop.seq} is shown"] if loop.seq < least else []
    return late + ([] if shown == standing else [f"entry {loop.seq}: {shown} is shown, {standing} is written"])


def _unreadable(case: Case) -> list[str]:
    try:
        loop = case.ground.store.load(case.loop_id)
    except UntilDoneError as problem:
        return [str(problem)]
    if not case.is_damaged:
        case.most_iterations = max(case.most_iterations, loop.spend.iterations)
    return []


def _left_by_others(case: Case) -> list[str]:
    """Processes of the loop that are older than its runner, while an agent of that runner is at work."""
    runner = case.runner()
    found = processes.look(runner, case.run) if runner is not None and case.agents() else None
    if found is None:
        return []
    older = [each for each in processes.of_loop(case.run, case.loop_id) if each.start < found.start]
    return [f"{each.kind} {each.pid} is older than the runner {found.pid}" for each in older]


def no_orphans_after_death(case: Case, agents: list[int], patience: float) -> None:
    """A guard was alive when its runner died."""
    left = processes.gone(agents, case.run, patience)
    problems = [f"agents {left} live {patience} s after the death of their runner"] if left else []
    case.tally.law(case.story.number, "a guard ends what a dead runner left", problems)


def only_readable(case: Case) -> None:
    """On a disk that cannot be written: reading works, writing is refused with a sentence."""
    shown = case.command("show", case.loop_id, "--json")
    refused = [case.command("resume", case.loop_id, "--json"), case.command("say", case.loop_id, "never heard")]
    problems = [] if shown == 0 else [f"show ends with {shown}"]
    loop = case.load()
    if loop is not None and not loop.status.ended:
        problems += [f"a command that cannot write ends with {code}" for code in refused if code != 6]
    case.tally.law(case.story.number, "a read-only disk is read and said to be so", problems)


# --- at rest ---


def at_rest(case: Case) -> None:
    number, tally = case.story.number, case.tally
    loop, lines = case.load(), journal(case)
    assert loop is not None
    read, own = list(entries(lines)), accounts.readable(lines)
    events = [entry.event for entry in read]
    tally.law(number, "every loop ends in a legal outcome", _ended(loop))
    tally.law(number, "no control is lost or doubled", _words(case, loop, events))
    tally.law(number, "no two agents at once", _not_alone(case))
    tally.law(number, "no two runners at once", _by_turns(case))
    tally.law(number, "no orphan is left", _orphans(case))
    tally.law(number, "the agent is called no more often than was allowed", _too_often(case))
    tally.law(number, "after a stop no agent is called", _after_stop(case))
    tally.law(number, "nothing is verified that is not so", truth.false_claims(case, loop))
    tally.law(number, "nothing outside is touched", case.ground.touched())
    tally.law(number, "no defect is written down", _defects(case))
    _untold(case, own)
    tally.law(number, "damage is told, once, and only where there is some", _told_of_damage(case, own))
    tally.law(number, "everything can be read by programs", _programs(case, loop))
    tally.note("repairs written down", sum(isinstance(event, StateRepaired) for event in events))
    if case.is_damaged:
        tally.law(number, "damage gives no iteration back unsaid", _given_back(case, loop, events))
        return
    tally.law(number, "the sequence has no gap", _gaps(lines))
    tally.law(number, "the journal obeys its laws", _laws(read, loop))
    tally.law(number, "the agent was called as the journal says", _calls(case, read))
    tally.law(number, "what a person said was heard", _unheard(case, loop))
    problems = Account(own).problems
    for law in (accounts.BUDGET, accounts.OBEYED, accounts.ORDER):
        tally.law(number, law, [problem for broken, problem in problems if broken == law])
    tally.law(number, "what is shown is what is written", _shown_wrongly(case, len(lines)))


def _ended(loop: Loop) -> list[str]:
    legal = loop.outcome is not None and loop.status.ended and loop.outcome.status is loop.status
    return [] if legal else [f"{loop.status.value}, {loop.outcome}"]


def _words(case: Case, loop: Loop, events: list[Event]) -> list[str]:
    told = any(isinstance(event, StateRepaired) for event in events)
    problems = case.ledger.problems(events, told_of_damage=case.is_damaged and told)
    # A line that was damaged after a checkpoint knew it is gone, and what it said is not.
    return [problem for problem in problems if not (case.is_damaged and _is_known(problem, loop))]


def _is_known(problem: str, loop: Loop) -> bool:
    return (
        any(text in problem for text in loop.asked[1:])
        or f"tokens {loop.budget.tokens}" in problem
        or "say" not in problem
    )


def _not_alone(case: Case) -> list[str]:
    crowded = [call.pid for call in case.calls() if not call.is_alone]
    return [f"agents {crowded} were started while another one of the loop was at work"] if crowded else []


def _by_turns(case: Case) -> list[str]:
    """Once an agent of another runner was started, none of the runner before is, unless it leased the loop once more, as a server
    may. (Of one that died meanwhile, init is the parent.)"""
    leased = Counter(pid for pid, _ in groupby(leases(case)))
    if case.is_damaged:
        # The entries of leases may be lost.
        leased = Counter({pid: times for pid, times in leased.items() if case.desk is None})
    runners = [parent for parent, _ in groupby(call.parent for call in case.calls() if call.parent in leased)]
    again = {parent for parent in runners if runners.count(parent) > leased[parent]}
    return [f"runners {sorted(again)} started agents after others had: {runners}"] if again else []


def _too_often(case: Case) -> list[str]:
    """By the agents' own book, against what the person said: whatever stands in the journal."""
    answered = sum(call.role == "worker" and call.answered_at is not None for call in case.calls())
    most = case.ledger.most_rounds(case.story.iterations) + case.rounds_lost
    if case.spoilt and case.story.mode == "phases":
        # Its live state file, in which a person may set the rounds, was written to.
        return []
    return [f"{answered} rounds were worked through, and {most} allowed"] if answered > most else []


def _after_stop(case: Case) -> list[str]:
    """One may have been on its way: its turn was written down before the stop was."""
    late = [call for call in case.calls() if case.stopped_at is not None and call.at > case.stopped_at]
    return [f"{len(late)} agents were called after the stop was acknowledged"] if len(late) > 1 else []


def _told_of_damage(case: Case, own: list[accounts.Line]) -> list[str]:
    repairs = [line.fields["detail"] for line in own if line.event == "state_repaired"]
    problems = [] if repairs == [] or case.spoilt or case.is_damaged else [f"nothing was damaged, and told: {repairs}"]
    name = layout.JOURNAL
    twice = {each for each in repairs if each.startswith(name) and repairs.count(each) > 1}
    problems += [f"told {repairs.count(each)} times: {each}" for each in twice]
    process, told = case.start("log", case.loop_id, "--json")
    process.wait(LONGEST)
    said, gaps = Path(f"{told}.err").read_text(errors="replace"), accounts.missing(own)
    if gaps and "cannot be read" not in said:
        problems.append(f"entries {gaps} cannot be read, and log does not say so: {said[-300:]}")
    if not gaps and "cannot be read" in said:
        problems.append(f"every entry is there, and log says: {said[-300:]}")
    return problems


def _orphans(case: Case) -> list[str]:
    mark, _ = orphans.mark(case.loop_id)
    deadline = time.monotonic() + GONE_WITHIN
    while (left := [each for each in processes.of_run(case.run) if mark in each.marks]) and time.monotonic() < deadline:
        time.sleep(0.05)
    children = case.workspace / files(case.story.number)["children"]
    told = [int(pid) for pid in re.findall(r"^\d+$", children.read_text(), re.M)] if children.exists() else []
    alive = processes.gone(told, case.run, 0.0)
    return [f"{each.kind} {each.pid} {each.words[:4]}" for each in left] + [f"child {pid}" for pid in alive]


def _defects(case: Case) -> list[str]:
    found = [
        path for path in case.ground.store.root.glob("defect-*") if case.loop_id in path.read_text(errors="replace")
    ]
    return [f"{path.name}: {path.read_text(errors='replace')[:1500]}" for path in found]


def _programs(case: Case, loop: Loop) -> list[str]:
    wanted = {"show": 0, "log": 0}
    if loop.outcome is Outcome.VERIFIED:
        wanted["verify"] = 0
    problems = [problem for verb, code in wanted.items() for problem in _program(case, verb, code)]
    if case.story.place is Place.OWN and (code := case.command("diff", case.loop_id)) != 0:
        problems.append(f"diff ends with {code}")
    return problems


def _program(case: Case, verb: str, wanted: int) -> list[str]:
    if verb == "verify" and not case.story.checks:
        return []
    process, told = case.start(verb, case.loop_id, "--json")
    code = process.wait(LONGEST)
    case.judge(code, told, (verb,))
    try:
        records = [json.loads(line) for line in Path(f"{told}.out").read_text().splitlines()]
    except ValueError as problem:
        return [f"{verb} prints what is not JSON: {problem}"]
    errors = Path(f"{told}.err").read_text()[-300:]
    return [] if code == wanted and records else [f"{verb} ends with {code} and {len(records)} records: {errors}"]


def _laws(read: list[Entry], loop: Loop) -> list[str]:
    try:
        folded = Laws().read(read)
    except AssertionError as problem:
        return [str(problem)]
    return [] if folded == loop else ["the loop is not what its journal says"]


def _given_back(case: Case, loop: Loop, events: list[Event]) -> list[str]:
    told = any(isinstance(event, StateRepaired) for event in events)
    fewer = loop.spend.iterations < case.most_iterations - _limits(events)
    return [f"{loop.spend.iterations} iterations, and there were {case.most_iterations}"] if fewer and not told else []


def _limits(events: list[Event]) -> int:
    return sum(type(event).__name__ == "LimitReached" for event in events)


# --- the agent's own book against the journal ---


def _calls(case: Case, read: list[Entry]) -> list[str]:
    """Every call that the agent noted is a turn that the journal began before, in the same order; and no turn ended without a call."""
    asked, answered = _turns(read)
    calls = case.calls()
    prompts = [str(call.heard["prompt"]) for call in calls if call.heard is not None]
    if _fits(asked, answered, prompts) and len(calls) <= len(asked):
        return []
    return [f"{len(calls)} agents were called, {len(asked)} turns begun, {sum(answered)} of them answered"]


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
    """Whether the calls are the turns, some left out that were never answered. `reached`: how many calls may be accounted for.

    A runner that died while it wrote the prompt leaves an agent that has read only its beginning.
    """
    reached = {0}
    for prompt, must in zip(asked, answered, strict=True):
        heard = [each == prompt or (not must and prompt.startswith(each)) for each in prompts]
        taken = {count + 1 for count in reached if count < len(prompts) and heard[count]}
        reached = taken if must else reached | taken
    return len(prompts) in reached


def _unheard(case: Case, loop: Loop) -> list[str]:
    """By the agents' own book: of a loop that is done, every word was heard by an agent that answered."""
    if loop.outcome not in (Outcome.VERIFIED, Outcome.CLAIMED):
        return []
    prompts = "\n".join(call.heard["prompt"] for call in case.calls() if call.heard and call.answered_at is not None)
    keys = [key for key, times in case.ledger.acknowledged.items() if times and key.startswith("say ")]
    return [f"“{key}” was heard by nobody" for key in keys if key.removeprefix("say ") not in prompts]
