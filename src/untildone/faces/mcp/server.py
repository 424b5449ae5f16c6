"""The MCP server of a folder, over standard input and output."""

from __future__ import annotations

from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from untildone.faces.mcp.tools import Tools, with_sentences

INSTRUCTIONS = """\
untildone keeps a coding agent at work on a task until its checks pass, within a budget, in the background.
Hand a job over with `start` if it takes long and commands can check the result; give those commands as `checks`. Then `wait`, again and
again, until the loop rests. `verified` means that the checks passed; anything else is not done. Answer a `blocked` loop with `say`.
Loops go on if this server or you end: `list` finds them again."""


def serve(folder: Path) -> None:
    """Answer a client until it closes standard input."""
    server(folder).run("stdio")


def server(folder: Path) -> MCPServer[None]:
    """The server for the loops of a folder."""
    made: MCPServer[None] = MCPServer("untildone", instructions=INSTRUCTIONS, log_level="ERROR")
    tools = Tools(folder)
    made.add_tool(with_sentences(tools.list_loops), "list", annotations=ToolAnnotations(read_only_hint=True))
    for reads in (tools.show, tools.wait, tools.diff):
        made.add_tool(with_sentences(reads), annotations=ToolAnnotations(read_only_hint=True))
    for steers in (tools.start, tools.say, tools.budget, tools.verify, tools.approve):
        made.add_tool(with_sentences(steers), annotations=ToolAnnotations(destructive_hint=False))
    made.add_tool(with_sentences(tools.stop), annotations=ToolAnnotations(destructive_hint=True))
    made.resource("loop://{loop_id}/receipt", mime_type="application/json")(tools.receipt)
    made.resource("loop://{loop_id}/output/{iteration}", mime_type="text/plain")(tools.output)
    return made
