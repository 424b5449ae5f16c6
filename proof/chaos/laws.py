"""What must hold of a loop after every blow, and once it has come to rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from proof.chaos import processes, words
from proof.chaos.case import LONGEST, Case
from proof.chaos.temperaments import files

from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry, Event, SessionOpened, StateRepaired, TurnEnded, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import Outcome
from untildone.hosts import orphans
from untildone.store import layout, locks
from untildone.store.lines import DamagedLine, entry_of, unsealed
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
    case.told = []


# --- after every blow ---


def after_hit(case: Case) -> None:
    if not case.find():
        return
    lines = journal(case)
    if not case.is_damaged:
        number, old = case.story.number, case.told
        changed = [] if lines[: len(old)] == old else [f"{len(old)} lines were there, and are not all there any more"]
        case.tally.law(number, "what was written stays written", changed)
        case.tally.law(number, "the sequence has no gap", _gaps(lines))
    case.told = lines
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
    read = list(entries(lines))
    events = [entry.event for entry in read]
    tally.law(number, "every loop ends in a legal outcome", _ended(loop))
    tally.law(number, "no control is lost or doubled", _words(case, loop, events))
    tally.law(number, "no two agents at once", _not_alone(case))
    tally.law(number, "no orphan is left", _orphans(case))
    tally.law(number, "nothing is verified that is not so", _false_claims(case, loop))
    tally.law(number, "nothing outside is touched", case.ground.touched())
    tally.law(number, "no defect is written down", _defects(case))
    tally.law(number, "everything can be read by programs", _programs(case, loop))
    tally.note("repairs written down", sum(isinstance(event, StateRepaired) for event in events))
    if case.is_damaged:
        tally.law(number, "damage gives no iteration back unsaid", _given_back(case, loop, events))
        return
    tally.law(number, "the sequence has no gap", _gaps(lines))
    tally.law(number, "the journal obeys its laws", _laws(read, loop))
    tally.law(number, "the agent was called as the journal says", _calls(case, read))
    tally.law(number, "what a person said was heard", _unheard(case, loop, events))


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


def _calls_made(case: Case) -> list[dict[str, object]]:
    log = case.folder / "calls.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _not_alone(case: Case) -> list[str]:
    crowded = [call["pid"] for call in _calls_made(case) if not call["alone"]]
    return [f"agents {crowded} were started while another one of the loop was at work"] if crowded else []


def _orphans(case: Case) -> list[str]:
    mark, _ = orphans.mark(case.loop_id)
    deadline = time.monotonic() + GONE_WITHIN
    while (left := [each for each in processes.of_run(case.run) if mark in each.marks]) and time.monotonic() < deadline:
        time.sleep(0.05)
    children = case.workspace / files(case.story.number)["children"]
    told = [int(pid) for pid in re.findall(r"^\d+$", children.read_text(), re.M)] if children.exists() else []
    alive = processes.gone(told, case.run, 0.0)
    return [f"{each.kind} {each.pid} {each.words[:4]}" for each in left] + [f"child {pid}" for pid in alive]


def _false_claims(case: Case, loop: Loop) -> list[str]:
    if loop.outcome is not Outcome.VERIFIED:
        return []
    codes = {
        check: subprocess.run(check, shell=True, cwd=case.workspace, check=False).returncode
        for check in case.story.checks
    }
    return [f"verified, and {check} ends with {code}" for check, code in codes.items() if code != 0]


def _defects(case: Case) -> list[str]:
    found = [
        path for path in case.ground.store.root.glob("defect-*") if case.loop_id in path.read_text(errors="replace")
    ]
    return [f"{path.name}: {path.read_text(errors='replace')[:1500]}" for path in found]


def _programs(case: Case, loop: Loop) -> list[str]:
    wanted = {"show": 0, "log": 0}
    if loop.outcome is Outcome.VERIFIED:
        wanted["verify"] = 0
    return [problem for verb, code in wanted.items() for problem in _program(case, verb, code)]


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
    prompts = [str(call["prompt"]) for call in _calls_made(case)]
    if _fits(asked, answered, prompts):
        return []
    return [f"{len(prompts)} calls were noted, {len(asked)} turns begun, {sum(answered)} of them answered"]


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


def _unheard(case: Case, loop: Loop, events: list[Event]) -> list[str]:
    if loop.outcome not in (Outcome.VERIFIED, Outcome.CLAIMED):
        return []
    prompts = "\n".join(event.prompt for event in events if isinstance(event, TurnStarted))
    keys = [key for key, times in case.ledger.acknowledged.items() if times and key.startswith("say ")]
    return [f"“{key}” is in no prompt" for key in keys if key.removeprefix("say ") not in prompts]
