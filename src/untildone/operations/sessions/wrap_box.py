"""The box of a wrapped agent: its network, and the way of its stop hook to the loops outside."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from untildone import agents
from untildone.core.model import LoopSettings
from untildone.engine import boxes
from untildone.engine.boxes import Connection, links, network, planning
from untildone.engine.place import Place
from untildone.hosts.hook.entry import BROKER
from untildone.hosts.wrap import reports
from untildone.hosts.wrap.job import Program
from untildone.hosts.wrap.reports import Reports, Run
from untildone.system.box.proxy import launcher
from untildone.system.box.sandbox import Access, Mount


@contextmanager
def boxed(
    program: Program, settings: LoopSettings, own: Path, arguments: tuple[str, ...], report: Callable[[str], None]
) -> Iterator[tuple[Program, Reports | None]]:
    """The program in a box, if there can be one and the settings do not say otherwise. `own` is the folder of the run.

    Raises UsageError if the settings demand a box and there can be none. `report` gets why there is none, and the hosts that were refused:
    nothing else may appear at the person's terminal."""
    held = boxes.containment(settings)
    if not held.boxed:
        if held.reason:
            report(held.sentence)
        yield program, None
        return
    choice = settings.worker
    records = agents.of(choice).needs(program.env, choice.args).writable
    run = Run(choice.agent, str(own), program.cwd, program.env, records, arguments)
    answering = Reports(run)
    plan = planning.plan_for(
        settings, program.cwd, choice, program.env, own.name, connection=_connection(own), at_terminal=True
    )
    try:
        place = Place(program.cwd, boxes.box_of(dataclasses.replace(plan, words=program.argv)))
        with network.connected(place, settings, choice, program.env) as link:
            try:
                yield _inside(program, _with_signals(link.place)), answering
            finally:
                for sentence in links.put_back(link.place.box):
                    report(sentence)
    finally:
        answering.close()
        shutil.rmtree(plan.private, ignore_errors=True)
    for asked in link.asked():
        if not asked.allowed:
            report(asked.sentence)


def _connection(own: Path) -> Connection:
    """The folder of the run is shown, because the agent's settings are in it, but nothing in it can be changed."""
    folder = own.resolve()
    # Boxes hide sockets, except those that are mounted by name.
    mounts = (Mount(Access.READ, str(folder)), Mount(Access.READ, str(folder / reports.NAME)))
    return Connection(mounts, {BROKER: str(folder / reports.NAME)})


def _with_signals(place: Place) -> Place:
    """The place with a launcher in the box. The one of a proxy will do."""
    assert place.box is not None
    return (
        place
        if place.box.launcher
        else dataclasses.replace(place, box=dataclasses.replace(place.box, launcher=launcher()))
    )


def _inside(program: Program, place: Place) -> Program:
    environment = dict(place.environment(program.env))
    return dataclasses.replace(
        program, argv=place.argv(program.argv), env=environment, descriptors=place.descriptors, keeps_box=True
    )
