"""The tools for an agent inside a loop that may start loops of its own. They speak to the runner of that loop, and reach nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from untildone.faces.mcp.tools import LONGEST_WAIT, with_sentences
from untildone.operations import own_loops

INSTRUCTIONS = """\
You work inside a loop of untildone, and may start loops of your own for parts of your job. Each works in a git worktree, from the last
commit of your branch, within a share of your budget. `start` one with commands that check it, `wait` until it rests, then take its work
over from `diff`. Only `verified` is done. Your loops rest when yours does."""
LoopName = Annotated[str, Field(description="The id of a loop that you started, or a part of it")]


def server() -> MCPServer[None]:
    """The server for the loops of an agent."""
    made: MCPServer[None] = MCPServer("untildone", instructions=INSTRUCTIONS, log_level="ERROR")
    made.add_tool(with_sentences(list_loops), "list", annotations=ToolAnnotations(read_only_hint=True))
    for reads in (show, wait, diff):
        made.add_tool(with_sentences(reads), annotations=ToolAnnotations(read_only_hint=True))
    for steers in (start, say, verify):
        made.add_tool(with_sentences(steers), annotations=ToolAnnotations(destructive_hint=False))
    made.add_tool(with_sentences(stop), annotations=ToolAnnotations(destructive_hint=True))
    return made


async def _ask(verb: str, **given: object) -> Any:
    return await asyncio.to_thread(lambda: own_loops.ask(verb, given))


async def start(
    task: Annotated[str, Field(description="What is to be done, complete: the agent of the loop knows nothing else")],
    checks: Annotated[
        Sequence[str], Field(description="Commands that must exit with 0; none: those of your loop")
    ] = (),
    rounds: Annotated[int | None, Field(ge=1, description="At most this many of your rounds; unset: half")] = None,
    minutes: Annotated[float | None, Field(gt=0, description="At most this many of your minutes; unset: half")] = None,
    cost: Annotated[float | None, Field(gt=0, description="At most this many of your dollars; unset: half")] = None,
    children: Annotated[int, Field(ge=0, description="How many of your loops it may start itself")] = 0,
) -> dict[str, Any]:
    """Start a loop for a part of your job, in a git worktree, from your last commit. Returns at once."""
    given = {"rounds": rounds, "minutes": minutes, "cost": cost, "children": children}
    return dict(await _ask("start", task=task, checks=list(checks), **given))


async def list_loops() -> list[dict[str, Any]]:
    """The loops that you started."""
    return list(await _ask("list"))


async def show(loop: LoopName) -> dict[str, Any]:
    """Where a loop stands."""
    return dict(await _ask("show", loop=loop))


async def wait(
    loop: LoopName,
    seconds: Annotated[float, Field(gt=0, le=LONGEST_WAIT, description="Seconds to wait at most")] = 45.0,
) -> dict[str, Any]:
    """Wait until a loop rests, or until the time is over: call it again then."""
    return dict(await _ask("wait", loop=loop, seconds=seconds))


async def say(loop: LoopName, text: Annotated[str, Field(description="The message")]) -> dict[str, Any]:
    """Send a message to a loop. It answers a loop that is blocked, which then goes on."""
    return dict(await _ask("say", loop=loop, text=text))


async def diff(loop: LoopName) -> str:
    """What a loop changed, as a patch."""
    return str(await _ask("diff", loop=loop))


async def verify(loop: LoopName) -> list[dict[str, Any]]:
    """Run the checks of an ended loop again."""
    return list(await _ask("verify", loop=loop))


async def stop(
    loop: LoopName, now: Annotated[bool, Field(description="True: end its round as well")] = False
) -> dict[str, Any]:
    """End a loop. What it has not used of its share is yours again."""
    return dict(await _ask("stop", loop=loop, now=now))
