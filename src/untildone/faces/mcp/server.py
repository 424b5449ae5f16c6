"""The MCP server: over standard input and output for one folder; `served.py` has the one of `untildone serve`."""

from __future__ import annotations

from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from untildone.faces.mcp.loops import Loops, LoopsOfFolder
from untildone.faces.mcp.own_loops import server as own_loops_server
from untildone.faces.mcp.tasks import LoopTasks
from untildone.faces.mcp.tools import Guard, Tools, allow, with_sentences
from untildone.operations import own_loops
from untildone.operations.serving import standard_input

INSTRUCTIONS = """\
untildone keeps a coding agent at work on a task until its checks pass, within a budget, in the background.
Hand a job over with `start` if it takes long and commands can check the result; give those commands as `checks`. Then `wait`, again and
again, until the loop rests. `verified` means that the checks passed; anything else is not done. Answer a `blocked` loop with `say`.
Loops go on if this server or you end: `list` finds them again."""

LEAVE_WITHIN = 5.0
"""Seconds for the last answers, once the client has closed its side. Loops have processes of their own."""


def serve(folder: Path) -> None:
    """Answer a client until it closes standard input. The agent of a loop that may start loops gets the tools for these."""
    standard_input.bound(LEAVE_WITHIN)
    made = own_loops_server() if own_loops.are_allowed() else server(LoopsOfFolder(folder))
    made.run("stdio")


def server(loops: Loops, steers: Guard = allow) -> MCPServer[None]:
    """The server for some loops. `steers` is called before each tool that changes something or runs a program; it may refuse."""
    made: MCPServer[None] = MCPServer(
        "untildone", instructions=INSTRUCTIONS, log_level="ERROR", extensions=[LoopTasks(loops, steers)]
    )
    tools = Tools(loops)
    made.add_tool(with_sentences(tools.list_loops), "list", annotations=ToolAnnotations(read_only_hint=True))
    for reads in (tools.show, tools.wait, tools.diff):
        made.add_tool(with_sentences(reads), annotations=ToolAnnotations(read_only_hint=True))
    for changes in (tools.start, tools.say, tools.budget, tools.verify, tools.approve):
        made.add_tool(with_sentences(changes, steers), annotations=ToolAnnotations(destructive_hint=False))
    made.add_tool(with_sentences(tools.stop, steers), annotations=ToolAnnotations(destructive_hint=True))
    made.resource("loop://{loop_id}/receipt", mime_type="application/json")(tools.receipt)
    made.resource("loop://{loop_id}/output/{iteration}", mime_type="text/plain")(tools.output)
    return made
