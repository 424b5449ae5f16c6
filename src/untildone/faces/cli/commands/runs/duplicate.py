"""`untildone duplicate`: a new loop with the task and settings of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from untildone.core.errors import AgentMissing, UsageError
from untildone.core.loop import Loop
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.commands.runs.run import EXTRA, RunCommand
from untildone.faces.cli.setting_flags import given, setting_flags
from untildone.operations.stores import Store
from untildone.settings.setting import Command


@click.command(cls=RunCommand)
@parameters.loop_name
@click.argument("task", metavar="[TASK]", nargs=-1)
@setting_flags(Command.RUN)
@parameters.place
@click.option("--detach", is_flag=True, help="Start in the background and print the id.")
@click.option("--plain", is_flag=True, help="Plain lines even at a terminal.")
@parameters.as_json
@click.pass_context
def command(
    ctx: click.Context,
    /,
    name: str,
    task: Sequence[str],
    folder: str,
    detach: bool,
    plain: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Start a new loop with the task, settings and budget of another one. The other one stays as it is.

    Any flag of `run` changes a setting, and TASK the task. The workspace is used as it is now.
    """
    store, extra = parameters.open_store(folder), ctx.meta[EXTRA]
    loop_id, changed = store.find(name), {**given(flags), **({"args": extra} if extra else {})}

    def create() -> Loop:
        return _created(store, loop_id, changed, " ".join(task))

    if store.load(loop_id).settings.remote is not None:
        return _in_cluster(store, create(), detach=detach, plain=plain, as_json=as_json)
    if detach:
        from untildone.faces.cli.commands.runs.background import detached

        return detached(store, create().loop_id, as_json=as_json)
    from untildone import settings
    from untildone.faces.cli.driver import Show, driver
    from untildone.faces.cli.loop_menus import drive_on

    chosen = settings.load(store.home, {}, parameters.environment())
    with driver(store, chosen, Show(as_json=as_json, plain=plain)) as drives:
        loop = create()
        drives.watch(loop.loop_id, from_start=True)
        drives.introduce(loop)
        return drive_on(drives, store, loop)


def _created(store: Store, loop_id: str, changed: dict[str, Any], task: str) -> Loop:
    from untildone.operations.creating import duplicating

    try:
        new = duplicating.duplicate(store, loop_id, changed, task, parameters.environment(), starts=True)
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None
    for notice in new.notices:
        streams.talk().prose(notice)
    return new.loop


def _in_cluster(store: Store, loop: Loop, *, detach: bool, plain: bool, as_json: bool) -> int:
    from untildone.faces.cli import cluster_runs
    from untildone.faces.cli.driver import Show

    if detach:
        return cluster_runs.detached(loop.loop_id, as_json=as_json)
    return cluster_runs.watched(store, loop.loop_id, Show(as_json=as_json, plain=plain), after=0)
