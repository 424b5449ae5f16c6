"""`untildone wrap`: the agent at its own terminal, as if untildone were not there, with a supervisor at every stop."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untildone.core.errors import AgentMissing, UsageError
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.commands import run
from untildone.faces.cli.setting_flags import given, setting_flags
from untildone.hosts.hook import runs
from untildone.settings.setting import Command

if TYPE_CHECKING:
    from untildone.hosts.wrap.job import Program
    from untildone.settings import Settings


@click.command(
    short_help="Your agent at its own terminal, with a supervisor at every stop.",
    context_settings={"allow_interspersed_args": False},
)
@setting_flags(Command.WRAP)
@parameters.folder
@click.argument("words", metavar="[AGENT [ARGUMENTS…]]", nargs=-1, type=click.UNPROCESSED)
def command(words: Sequence[str], folder: str, **flags: Any) -> int:
    """Run your agent's own terminal interface, exactly as if untildone were not there; but when it stops, a supervisor looks.

    Without AGENT, the one in your settings runs. What follows AGENT is passed to it unchanged.

    Options of untildone stand before AGENT. With --no-review, the checks alone decide.
    """
    from untildone.hosts.wrap import session
    from untildone.hosts.wrap.terminal import Terminal

    outer, place = Terminal(), run.existing_folder(folder)
    wishes = {**given(flags), "mode": "supervise"}
    wishes |= {"agent": words[0]} if words else {}
    chosen = _checked(place, wishes)
    with _run_folder(chosen) as own:
        program = _program(chosen, tuple(words[1:]), place, own, wishes)
        try:
            status = session.run(program, outer)
        finally:
            _leave(own)
    streams.close_quietly()
    return session.end_like(status)


@click.command(hidden=True)
@click.option("--run", "own_folder", required=True)
@click.option("--session", required=True)
def begin(own_folder: str, session: str) -> int:
    """Begin a loop in a wrapped session, with what the person said, on standard input, as its task."""
    from untildone.faces.cli.commands.hook import created
    from untildone.hosts.hook import beginnings
    from untildone.operations import stores

    told = json.loads((Path(own_folder) / runs.WISHES).read_text(encoding="utf-8"))
    place, wishes = Path(told["folder"]), {**told["wishes"], "interactive": True}
    reviewed = wishes.pop("review", None)
    store = stores.open_files(place, create=True)
    task = sys.stdin.buffer.read().decode("utf-8", "replace")
    loop_id = created(store, task, place, session, wishes, reviewed=reviewed)
    runs.note_down(own_folder, runs.Belonging(session, loop_id, str(store.root)))
    begun = beginnings.take_up(store, loop_id, session, runs.holder(own_folder))
    streams.data().record({"loop_id": loop_id, "prompt": begun.prompt})
    return 0


@contextmanager
def _run_folder(chosen: Settings) -> Iterator[Path]:
    """For this run, and for nobody else's eyes."""
    from untildone import settings
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


def _checked(place: Path, wishes: dict[str, Any]) -> Settings:
    """Everything that cannot work is said now: an unknown agent, one that is not there, no SUPERVISOR.md."""
    from untildone import settings
    from untildone.operations import loop_settings

    chosen = settings.load(place, wishes)
    reviewed = wishes.get("review")
    if reviewed is False and not (chosen.checks or chosen.require_change):
        raise UsageError("Without a review and without a check, nobody looks.", 'name a check: --check "pytest -q"')
    try:
        loop_settings.loop_settings(chosen, str(place), os.environ, reviewed=reviewed)
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None
    return chosen


def _program(chosen: Settings, arguments: tuple[str, ...], place: Path, own: Path, wishes: dict[str, Any]) -> Program:
    """The agent with the hook of this run; its processes carry a mark, by which the guard finds them."""
    from untildone import agents, settings
    from untildone.engine import programs, turns
    from untildone.hosts.hook import presence
    from untildone.hosts.wrap import injecting
    from untildone.hosts.wrap.job import Program
    from untildone.system import orphans

    profile = settings.profile(chosen, chosen.agent)
    status = "untildone: the checks run" if wishes.get("review") is False else "untildone: the supervisor looks"
    injected = injecting.inject(profile.agent, (*profile.args, *arguments), own, status, os.environ)
    told = {"folder": str(place), "wishes": {**wishes, "agent": chosen.agent}}
    (own / runs.WISHES).write_text(json.dumps(told), encoding="utf-8")
    (own / runs.HOLDER).write_text(presence.of_process(os.getpid()), encoding="utf-8")
    name, value = orphans.mark(own.name)
    inherited = {key: word for key, word in os.environ.items() if key not in (*turns.PRIVATE, "UNTILDONE_LOOP_ID")}
    env = {**inherited, **profile.env, **injected.variables, name: value}
    found = programs.find(agents.find(profile.agent).program or "", env)
    assert found is not None
    return Program((found, *injected.arguments), env, str(place), str(own))


def _leave(own: Path) -> None:
    from untildone.core.secrets import Redactor
    from untildone.hosts.hook.standings import left
    from untildone.hosts.wrap.leaving import leave

    for loop in leave(str(own), Redactor.from_environment(os.environ)):
        streams.talk().line(left(loop))
