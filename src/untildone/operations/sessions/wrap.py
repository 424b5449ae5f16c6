"""A wrapped agent: its own interface at the person's terminal, with the stop hook of this one run."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from untildone import settings
from untildone.core.errors import AgentMissing, UsageError
from untildone.hosts.hook import runs
from untildone.hosts.hook.beginnings import Begun
from untildone.operations import stores
from untildone.settings import Settings
from untildone.system import running

if TYPE_CHECKING:
    from untildone.core.model import LoopSettings
    from untildone.hosts.wrap.job import Program


def run(folder: Path, flags: dict[str, Any], arguments: tuple[str, ...], report: Callable[[str], None]) -> int:
    """Run the agent at this terminal until it ends. Returns its wait status.

    `report` gets a sentence for each loop of the run, after the agent has left the terminal.
    """
    from untildone.hosts.wrap import session
    from untildone.hosts.wrap.terminal import Terminal
    from untildone.operations.sessions import wrap_box

    outer = Terminal()
    chosen, kept = _checked_settings(folder, flags)
    with _run_folder(chosen) as own:
        program = _program(chosen, arguments, folder, own, flags)
        _register(own.name, folder)
        try:
            with wrap_box.boxed(program, kept, own, arguments, report) as (inner, reports):
                return session.run(inner, outer, reports)
        finally:
            _rest_loops(own, report)
            running.forget(own.name)


def _register(name: str, folder: Path) -> None:
    """List the wrapped agent, so that what it starts is known to run inside it: it may not steer the loops of its folder."""
    root = stores.open_files(folder, create=True).root
    place = str(folder)
    running.put(running.this_process(name, host=running.WRAP, workspace=place, home=place, root=str(root)))


def end_like(status: int) -> int:
    """The exit code for a wait status. If a signal ended the agent, this process ends by the same signal."""
    from untildone.hosts.wrap import session

    return session.end_like(status)


def begin(run_folder: str, session: str, task: str) -> Begun:
    """Begin a loop in a session of the wrapped agent. `run_folder` is the private folder of the run."""
    from untildone.hosts.hook import beginnings
    from untildone.operations.sessions import hook

    request = json.loads((Path(run_folder) / runs.SETTINGS).read_text(encoding="utf-8"))
    folder, flags = Path(request["folder"]), {**request["flags"], "interactive": True}
    reviewed = flags.pop("review", None)
    store = stores.open_files(folder, create=True)
    loop_id = hook.create(store, task, folder, session, flags, reviewed=reviewed).loop_id
    runs.add_loop(run_folder, runs.RunLoop(session, loop_id, str(store.root)))
    holder = runs.holder(run_folder)
    hook.expect_notices(store, loop_id, holder)
    return beginnings.take_up(store, loop_id, session, holder)


def _checked_settings(folder: Path, flags: dict[str, Any]) -> tuple[Settings, LoopSettings]:
    """The settings of the run and of its loops. Raises UsageError for what cannot work, such as a missing agent or SUPERVISOR.md."""
    from untildone.hosts.wrap import injecting
    from untildone.operations.creating import loop_settings

    chosen = settings.load(folder, flags)
    injecting.check(settings.profile(chosen, chosen.agent).agent)
    reviewed = flags.get("review")
    if reviewed is False and not (chosen.checks or chosen.require_change):
        raise UsageError(
            "Without a review and without a check, nothing is verified.", 'name a check: --check "pytest -q"'
        )
    try:
        return chosen, loop_settings.loop_settings(chosen, str(folder), os.environ, reviewed=reviewed)
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None


@contextmanager
def _run_folder(chosen: Settings) -> Iterator[Path]:
    """A private folder for this run, removed at its end."""
    from untildone.hosts.wrap.injecting import place_for_runs

    try:
        parent = place_for_runs(settings.profile(chosen, chosen.agent).agent, os.environ)
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="untildone-wrap-", dir=parent))
    except OSError as problem:
        raise UsageError(f"No folder can be made for this run: {problem.strerror}.", "make TMPDIR writable") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _program(chosen: Settings, arguments: tuple[str, ...], folder: Path, own: Path, flags: dict[str, Any]) -> Program:
    """The agent with the hook of this run. Its processes carry a mark by which the guard finds them."""
    from untildone import agents
    from untildone.core.protection import passing
    from untildone.engine.agent import programs
    from untildone.hosts.hook import presence
    from untildone.hosts.wrap import injecting
    from untildone.hosts.wrap.job import Program
    from untildone.system import orphans

    profile = settings.profile(chosen, chosen.agent)
    status = "untildone: the checks run" if flags.get("review") is False else "untildone: the supervisor reviews"
    injected = injecting.inject(profile.agent, (*profile.args, *arguments), own, status, os.environ)
    request = {"folder": str(folder), "flags": {**flags, "agent": chosen.agent}}
    (own / runs.SETTINGS).write_text(json.dumps(request), encoding="utf-8")
    (own / runs.HOLDER).write_text(presence.of_process(os.getpid()), encoding="utf-8")
    name, value = orphans.mark(own.name)
    # The person starts this agent at their own terminal, so it gets their environment; checks and reviewers do not.
    inherited = {key: word for key, word in os.environ.items() if key not in (*passing.PRIVATE, "UNTILDONE_LOOP_ID")}
    env = {**inherited, **profile.env, **injected.variables, name: value}
    path = programs.find(agents.find_with(profile.agent, profile.program or "").program, env)
    assert path is not None
    return Program((path, *injected.arguments), env, str(folder), str(own))


def _rest_loops(own: Path, report: Callable[[str], None]) -> None:
    from untildone.core.protection.secrets import Redactor
    from untildone.hosts.hook import notifying
    from untildone.hosts.hook.status_lines import left
    from untildone.hosts.wrap.leaving import leave

    for loop in leave(str(own), Redactor.from_environment(os.environ)):
        report(left(loop))
    for ran in runs.loops(str(own)):
        notifying.tell(ran.root, ran.loop_id, runs.holder(str(own)))
