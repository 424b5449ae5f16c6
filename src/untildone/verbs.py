"""What can be done with loops: every face (command line, API, dashboard, Python) calls these and nothing below."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from untildone import agents, modes, settings
from untildone.core import budget as budgets
from untildone.core import moves, rounds
from untildone.core.actions import Record
from untildone.core.decide import decide
from untildone.core.errors import AgentMissing, LoopBusy, UntilDoneError, UsageError
from untildone.core.events import (
    BudgetChanged,
    Entry,
    Event,
    LoopCreated,
    LoopRenamed,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StartRequested,
    StopRequested,
    TasksChanged,
)
from untildone.core.loop import HOOK_SESSION, Loop
from untildone.core.model import (
    EMPTY,
    AgentChoice,
    Budget,
    GateResult,
    LoopSettings,
    Outcome,
    Permissions,
    Status,
    TaskChange,
    Urgency,
)
from untildone.core.secrets import Redactor
from untildone.hosts import checks, guidance, notify, workspace
from untildone.hosts.archiving import archive
from untildone.hosts.engine import Engine, Observer, Person, Surroundings
from untildone.hosts.guard import Guard
from untildone.hosts.limits import SharedLimits, default_folder
from untildone.settings import Settings
from untildone.store.files import FileStore, open_store

LOOK_EVERY = 0.05
TITLE_LENGTH = 100


def store_of(folder: Path, environment: Mapping[str, str] = os.environ, *, create: bool = False) -> FileStore:
    """The loops of a folder (or of the nearest one above that has loops)."""
    return open_store(folder, Redactor.from_environment(environment), create=create)


def surroundings(
    environment: Mapping[str, str], chosen: Settings, guard: Guard | None = None, host: str = "terminal"
) -> Surroundings:
    """What runners bring along, for one process."""
    redactor = Redactor.from_environment({**environment, **_profile_variables(chosen)})
    wishes = notifications(chosen)
    return Surroundings(
        environment=environment,
        redactor=redactor,
        guard=guard or Guard(),
        limits=SharedLimits(default_folder()),
        profile_environment=lambda name: chosen.profiles[name].env if name in chosen.profiles else {},
        host=host,
        on_rest=lambda loop: notify.tell(wishes, loop, environment),
    )


def notifications(chosen: Settings) -> notify.Wishes:
    """Whom to tell how a loop came to rest."""
    return notify.Wishes(chosen.notify_command, chosen.notify_webhook, chosen.notify_secret, chosen.notify_desktop)


def _profile_variables(chosen: Settings) -> dict[str, str]:
    return {name: value for profile in chosen.profiles.values() for name, value in profile.env.items()}


def create(
    store: FileStore,
    task: str,
    chosen: Settings,
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    *,
    tidies: bool = True,
    options: Mapping[str, Any] = EMPTY,
) -> Loop:
    """A new loop, not started yet. Everything that cannot work is said now, before anything is written.

    `options` are kept with the loop's own.
    """
    words = opening(task, chosen, folder)
    if not os.access(folder, os.W_OK):
        raise UsageError(f"The folder {folder} cannot be written.", "choose another with --dir")
    if tidies:
        tidy(store)
    loop_id = new_id(time.time())
    wanted = loop_settings(chosen, str(folder), environment, worker_is_here=HOOK_SESSION in options)
    wanted = replace(wanted, options={**wanted.options, **options})
    if wanted.worktree:
        place = workspace.create_worktree(str(folder), loop_id, store.root / "worktrees" / loop_id)
        wanted = replace(wanted, workspace=place)
    title = " ".join(words.rest.split())[:TITLE_LENGTH]
    budget = replace(loop_budget(chosen, folder), iterations=words.remaining)
    return store.create(LoopCreated(loop_id, title, words.rest, wanted, budget))


def opening(task: str, chosen: Settings, folder: Path) -> rounds.Parsed:
    """The task without the round controls at its start, and what these came to."""
    words = rounds.parse(task, loop_budget(chosen, folder).iterations)
    if not words.rest.strip():
        sentence = f"{rounds.NO_INSTRUCTION}." if words.changes else "The task is empty."
        raise UsageError(sentence, "say what is to be done, in quotes")
    return words


def new_id(now: float) -> str:
    at = datetime.fromtimestamp(now, UTC)
    return f"loop-{at:%Y%m%d-%H%M%S}{at.microsecond // 1000:03d}-{secrets.token_hex(3)}"


def loop_settings(
    chosen: Settings, folder: str, environment: Mapping[str, str] = os.environ, *, worker_is_here: bool = False
) -> LoopSettings:
    """What was chosen, as the loop keeps it. A worker that is at work already, in a session, need not be on PATH."""
    worker = _choice(chosen, chosen.agent, environment, own=True, checked=not worker_is_here)
    profile = settings.profile(chosen, chosen.agent)
    reviewed = chosen.review or modes.find(chosen.mode).reviewed
    promise = chosen.promise if profile.completion_promise is None else profile.completion_promise
    return LoopSettings(
        mode=chosen.mode,
        worker=worker,
        workspace=folder,
        instructor=_other(chosen, chosen.instructor, environment),
        supervisor=_other(chosen, chosen.supervisor, environment),
        fallback=_other(chosen, chosen.fallback_agent, environment),
        checks=chosen.checks,
        check_timeout=chosen.check_timeout,
        review=reviewed,
        require_change=chosen.require_change,
        promise=promise or None,
        marker=chosen.marker,
        context=chosen.context,
        interactive=chosen.interactive,
        once=not _loops(chosen),
        worktree=chosen.worktree,
        commit=chosen.commit,
        retry_delay=chosen.retry_delay,
        warn_from=_skillpack(chosen, Path(folder)).get("warning_threshold"),
        options=_options(chosen, Path(folder), environment, reviewed=reviewed),
    )


def _options(chosen: Settings, folder: Path, environment: Mapping[str, str], *, reviewed: bool) -> dict[str, Any]:
    """What only one mode or gate wants to know, read now so that the loop stays what it was created as."""
    options: dict[str, Any] = {"route": chosen.route, "review_threshold": chosen.review_threshold}
    options["actions"] = guidance.action_texts(folder)
    if reviewed:
        options["supervisor_prompt"] = guidance.supervisor_text(folder, environment)
    return {**options, "skillpack": _skillpack(chosen, folder)}


def _skillpack(chosen: Settings, folder: Path) -> dict[str, int]:
    """The `loop` block of `.skillpackrc`, which is for loops in phases."""
    return guidance.skillpack_loop(folder) if chosen.mode == "phases" else {}


def _loops(chosen: Settings) -> bool:
    own = settings.profile(chosen, chosen.agent).loop_enabled
    return chosen.loop_enabled and own is not False


def loop_budget(chosen: Settings, folder: Path) -> Budget:
    """What was said with flags, in settings or in `.skillpackrc`; else what the mode usually takes."""
    minutes = _skillpack(chosen, folder).get("timeout_per_iteration_minutes")
    usual = minutes * 60.0 if minutes else modes.find(chosen.mode).default_iteration_timeout
    return Budget(
        iterations=_iterations(chosen, folder),
        minutes=chosen.max_minutes,
        cost_usd=chosen.max_cost,
        tokens=chosen.max_tokens,
        iteration_timeout=chosen.iteration_timeout or usual,
    )


def _iterations(chosen: Settings, folder: Path) -> int | None:
    if not _loops(chosen):
        return 1
    if chosen.max_iterations == "none":
        return None
    own = chosen.max_iterations or settings.profile(chosen, chosen.agent).max_iterations
    usual = modes.find(chosen.mode).default_iterations
    return own or _skillpack(chosen, folder).get("max_iterations") or usual


def _other(chosen: Settings, name: str | None, environment: Mapping[str, str]) -> AgentChoice | None:
    return None if name is None else _choice(chosen, name, environment, own=False, checked=True)


def _choice(
    chosen: Settings, name: str, environment: Mapping[str, str], *, own: bool, checked: bool
) -> AgentChoice:
    """The agent behind a name. Model, arguments and command of the settings are the worker's."""
    profile = settings.profile(chosen, name)
    agent = agents.find(profile.agent)
    choice = AgentChoice(
        profile=name,
        agent=profile.agent,
        model=(chosen.model if own else None) or profile.model,
        args=(*profile.args, *(chosen.args if own else ())),
        command=(chosen.command if own else None) or profile.command,
        permissions=(chosen.permissions if own else None) or profile.permissions or Permissions.WORK,
        abilities=tuple(name for name in ("resume", "fork", "system_prompt") if getattr(agent.capabilities, name)),
    )
    if checked:
        _check_program(agent, choice, {**environment, **profile.env})
    return choice


def _check_program(agent: agents.Agent, choice: AgentChoice, environment: Mapping[str, str]) -> None:
    program = agent.invocation(agents.Request(prompt="", command=choice.command)).argv[0]
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise AgentMissing(f"The program '{program}' for agent '{choice.profile}' is not on PATH.", agent.install)


def drive(
    store: FileStore, loop_id: str, around: Surroundings, observer: Observer | None = None, person: Person | None = None
) -> Loop:
    """Drive a loop until it rests; an ended one is archived with its receipt."""
    return Engine(store, around, observer, person).drive(loop_id)


def tidy(store: FileStore) -> None:
    """Archive what ended while its runner died."""
    for loop_id in store.live_ids():
        loop = store.load(loop_id)
        if loop.status.ended and not store.is_driven(loop_id):
            archive(store, loop)


def start(store: FileStore, loop_id: str, host: str = "") -> Loop:
    """`host` is the kind of host that will drive it, if that is known already."""
    return _request(store, loop_id, "start", StartRequested(host))


def pause(store: FileStore, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION) -> Loop:
    return _request(store, loop_id, "pause", PauseRequested(urgency))


def resume(store: FileStore, loop_id: str, *, skip_wait: bool = False, host: str = "terminal") -> Loop:
    """`host` is the kind of host that will go on with it. With `skip_wait`, a usage limit is put to the test at once."""
    if skip_wait:
        _forget_limits(store.load(loop_id).settings)
    return _request(store, loop_id, "resume", ResumeRequested(skip_wait, host))


def _forget_limits(chosen: LoopSettings) -> None:
    """What other loops heard of a limit does not hold this one back either."""
    for agent in (chosen.worker, chosen.instructor, chosen.supervisor, chosen.fallback):
        if agent is not None:
            SharedLimits(default_folder()).forget(agent.profile)


def stop(
    store: FileStore, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION, outcome: Outcome = Outcome.STOPPED
) -> Loop:
    return _request(store, loop_id, "stop", StopRequested(urgency, outcome))


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of a message."""

    loop: Loop
    notices: tuple[str, ...]
    goes_on: bool
    """The loop was out of rounds and has some again: it wants a runner."""
    cared_for: bool = False
    """It has one, or a server that sees to it."""


def say(store: FileStore, loop_id: str, text: str, source: str = "person", host: str = "") -> Heard:
    """A message, with round control at its start. A loop that was out of rounds and gets some goes on."""
    before = store.load(loop_id)
    notices = rounds.parse(text, budgets.rounds_left(before.budget, before.spend)).notices
    loop = _request(store, loop_id, "say", MessageSent(text, source))
    out_of_rounds = before.status is Status.PAUSED and before.outcome is Outcome.BUDGET
    if not out_of_rounds or budgets.used_up(loop.budget, loop.spend, before_worker_turn=True):
        return Heard(loop, notices, goes_on=False)
    loop = _request(store, loop_id, "resume", ResumeRequested(host=host))
    return Heard(loop, notices, goes_on=True, cared_for=_is_cared_for(store, loop))


def _is_cared_for(store: FileStore, loop: Loop) -> bool:
    return store.is_driven(loop.loop_id) or (loop.host == "server" and store.is_served())


def budget(store: FileStore, loop_id: str, *changes: BudgetChanged) -> Loop:
    for change in changes:
        if change.amount is not None and not -budgets.MOST <= change.amount <= budgets.MOST:
            raise UsageError(
                f"A budget of {change.amount} makes no sense.", "give a smaller number, or none for no limit"
            )
    return _request(store, loop_id, "budget", *changes)


def rename(store: FileStore, loop_id: str, title: str) -> Loop:
    return _request(store, loop_id, "rename", LoopRenamed(title))


def change_tasks(store: FileStore, loop_id: str, *changes: TaskChange) -> Loop:
    return _request(store, loop_id, "tasks", TasksChanged(changes))


def delete(store: FileStore, loop_id: str) -> None:
    """All of an ended loop: journal, output, receipt. What it did in the workspace stays."""
    moves.check(store.load(loop_id), "delete")
    if store.is_driven(loop_id):
        raise LoopBusy(f"Loop {loop_id} is just being put away.", "try again in a moment")
    store.delete(loop_id)


def _request(store: FileStore, loop_id: str, verb: str, *events: Event) -> Loop:
    """Append what a person wants. Whoever drives the loop sees it; if nobody does, it is obeyed here."""
    journal = store.open(loop_id)
    try:
        moves.check(journal.loop, verb)
        if not journal.loop.status.ended:
            journal.append(*events)
        loop = journal.loop
    finally:
        journal.close()
    waits = loop.works_in_session and not loop.interrupts_now
    return _settle(store, loop_id) if (loop.pause or loop.stop) and not waits and not store.is_driven(loop_id) else loop


def _settle(store: FileStore, loop_id: str) -> Loop:
    """Nobody drives the loop: write down what follows from what was said, without asking an agent anything."""
    try:
        with store.claim(loop_id, host="") as journal:
            mode = modes.find(journal.loop.settings.mode)
            while isinstance(action := decide(journal.loop, time.time(), mode), Record):
                journal.append(*action.events)
            loop = journal.loop
    except LoopBusy:
        return store.load(loop_id)
    if loop.status.ended:
        archive(store, loop)
    return loop


def load_all(store: FileStore) -> Iterator[Loop]:
    """Every loop that can be read, oldest first."""
    for loop_id in store.ids():
        try:
            yield store.load(loop_id)
        except UntilDoneError:
            continue


def follow(store: FileStore, loop_id: str, *, to_rest: bool) -> Iterator[Entry]:
    """Every entry of the journal; then, with `to_rest`, each new one until the loop rests."""
    journal = store.open(loop_id)
    try:
        yield from journal.entries()
        while to_rest and (store.is_driven(loop_id) or not _rests(journal.loop)):
            fresh = journal.catch_up()
            yield from fresh
            if not fresh:
                time.sleep(LOOK_EVERY)
        yield from journal.catch_up() if to_rest else ()
    finally:
        journal.close()


def _rests(loop: Loop) -> bool:
    return loop.status in (Status.PAUSED, Status.COMPLETED, Status.FAILED)


def wait(store: FileStore, loop_id: str, timeout: float | None = None) -> Loop:
    """Until the loop rests; UsageError when the time is up."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while not _rests(loop := store.load(loop_id)) or store.is_driven(loop_id):
        if deadline is not None and time.monotonic() > deadline:
            raise UsageError(
                f"Loop {loop_id} is still {loop.status.value} after {timeout:g} s.", "wait longer with --timeout"
            )
        time.sleep(LOOK_EVERY)
    return loop


@dataclass(frozen=True, slots=True)
class Verification:
    """A gate of the receipt, and what it says today."""

    before: Mapping[str, Any]
    now: GateResult

    @property
    def agrees(self) -> bool:
        return bool(self.before["passed"]) == self.now.passed


def verify(store: FileStore, loop_id: str, environment: Mapping[str, str]) -> tuple[Verification, ...]:
    """Run the checks of an ended loop again."""
    path = store.receipt(loop_id)
    try:
        told = json.loads(path.read_text())
        gates = [gate for gate in told["gates"] if gate["gate"] == "check"]
    except FileNotFoundError:
        raise UsageError(f"Loop {loop_id} has no receipt yet.", "it gets one when it ends") from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise UsageError(f"The receipt {path} cannot be read: {problem}.", "it was damaged or edited") from None
    loop = store.load(loop_id)
    return tuple(Verification(gate, _check_again(loop, gate["command"], environment)) for gate in gates)


def _check_again(loop: Loop, command: str, environment: Mapping[str, str]) -> GateResult:
    return checks.run_check(
        command,
        cwd=loop.settings.workspace,
        env=environment,
        timeout=loop.settings.check_timeout,
        interrupted=lambda: False,
        redactor=Redactor.from_environment(environment),
    )


def diff(store: FileStore, loop_id: str, *, stat: bool = False, colour: bool = False) -> str:
    """What the loop changed: up to its end if it has ended, up to now if not."""
    loop = store.load(loop_id)
    end = loop.changes.tree if loop.status.ended else None
    return workspace.diff(loop.settings.workspace, loop.start.tree or "", end, stat=stat, colour=colour)
