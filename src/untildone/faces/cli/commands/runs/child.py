"""`untildone child`: an agent in a loop starts loops of its own, and looks after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from untildone.core.children import ASKED_AS
from untildone.faces.cli import parameters, streams
from untildone.operations import own_loops

loop = click.argument("loop", metavar="LOOP")


@click.group()
def command() -> None:
    """For an agent inside a loop with --children: loops of its own, each in a git worktree, from the last commit.

    A child gets a share of the loop's budget: half of what is left, unless you say less. It rests when its parent does. Only the agent
    that started it can reach it.
    """


def _share(function: Callable[..., int]) -> Callable[..., int]:
    """An option for each limit of which a child gets a share."""
    for limit, name in reversed(ASKED_AS.items()):
        kind, row = (int if limit.row.whole else float), limit.row
        function = click.option(f"--{name}", type=kind, metavar=row.metavar, help=f"At most this many {row.unit}.")(
            function
        )
    return function


@command.command()
@click.argument("task")
@click.option("--check", "checks", metavar="CMD", multiple=True, help="A command that must exit with 0; repeatable.")
@_share
@click.option("--children", type=int, metavar="N", default=0, help="How many of your loops it may start itself.")
@parameters.as_json
def start(task: str, checks: Sequence[str], as_json: bool, **given: float | None) -> int:
    """Start a loop. Without --check, it has the checks of this loop."""
    return _show(own_loops.ask("start", {"task": task, "checks": list(checks), **given}), as_json=as_json)


@command.command("list")
@parameters.as_json
def list_all(as_json: bool) -> int:
    """The loops that you started."""
    for each in own_loops.ask("list"):
        _show(each, as_json=as_json)
    return 0


@command.command()
@loop
@parameters.as_json
def show(loop: str, as_json: bool) -> int:
    """Where a loop stands."""
    return _show(own_loops.ask("show", {"loop": loop}), as_json=as_json)


@command.command()
@loop
@click.option("--seconds", type=float, default=45.0, metavar="S", help="Seconds to wait at most.")
@parameters.as_json
def wait(loop: str, seconds: float, as_json: bool) -> int:
    """Wait until a loop rests, or until the time is over."""
    return _show(own_loops.ask("wait", {"loop": loop, "seconds": seconds}), as_json=as_json)


@command.command()
@loop
@click.argument("text")
@parameters.as_json
def say(loop: str, text: str, as_json: bool) -> int:
    """Send a message to a loop; it answers one that is blocked."""
    return _show(own_loops.ask("say", {"loop": loop, "text": text}), as_json=as_json)


@command.command()
@loop
@click.option("--now", is_flag=True, help="End its round as well.")
@parameters.as_json
def stop(loop: str, now: bool, as_json: bool) -> int:
    """End a loop. What it has not used of its share is yours again."""
    return _show(own_loops.ask("stop", {"loop": loop, "now": now}), as_json=as_json)


@command.command()
@loop
def diff(loop: str) -> int:
    """What a loop changed, as a patch."""
    streams.data().line(own_loops.ask("diff", {"loop": loop}).rstrip("\n"))
    return 0


@command.command()
@loop
@parameters.as_json
def verify(loop: str, as_json: bool) -> int:
    """Run the checks of an ended loop again."""
    reply = own_loops.ask("verify", {"loop": loop})
    for each in reply:
        text = f"{each['command']}: {'passes' if each['passed_now'] else each['reason']}"
        streams.data().record(each) if as_json else streams.data().line(text)
    return 0 if all(each["passed_now"] for each in reply) else 1


def _show(fields: Mapping[str, Any], *, as_json: bool) -> int:
    if as_json:
        streams.data().record(dict(fields))
    else:
        state = " ".join(str(fields[name]) for name in ("status", "outcome") if fields.get(name))
        reason = f": {fields['reason']}" if fields.get("reason") else ""
        streams.data().line(f"{fields['loop_id']} {state}{reason}")
    return 0
