"""`untildone mcp`: loops as tools for other agents and editors, by the Model Context Protocol."""

from __future__ import annotations

import importlib.util

import click

from untildone.core.errors import MissingPackage
from untildone.faces.cli import parameters, streams
from untildone.operations.setup import mcp_servers

for_project = click.option(
    "--project", "for_project", is_flag=True, help="In the settings of this project, which a team shares."
)
agent = click.argument("agent", metavar="|".join(mcp_servers.agent_names()))


@click.group(invoke_without_command=True)
@parameters.folder
@click.pass_context
def command(context: click.Context, folder: str) -> int:
    """Serve the loops of a folder as tools, over standard input and output. An agent or editor starts this.

    `untildone mcp install AGENT` adds it to the MCP servers of an agent.
    """
    if context.invoked_subcommand is not None:
        return 0
    if importlib.util.find_spec("mcp") is None:
        raise MissingPackage("The MCP server needs the package mcp, which is not installed.", "mcp")
    from untildone.faces.mcp.server import serve

    serve(parameters.existing_folder(folder))
    return 0


@command.command()
@agent
@for_project
@click.option(
    "--url", default="", metavar="URL", help="Of `untildone serve`, with /mcp; without it, the agent starts a server."
)
@parameters.folder
def install(agent: str, for_project: bool, url: str, folder: str) -> int:
    """Add untildone to the MCP servers of an agent. Everything else in its settings stays as it is.

    With --url, the agent sends the token in its variable UNTILDONE_TOKEN; the token is not written to the file.
    """
    place = parameters.existing_folder(folder)
    sentence = mcp_servers.install(agent, place, parameters.environment(), for_project=for_project, url=url)
    streams.talk().prose(sentence)
    return 0


@command.command()
@agent
@for_project
@parameters.folder
def uninstall(agent: str, for_project: bool, folder: str) -> int:
    """Remove what `install` added."""
    place = parameters.existing_folder(folder)
    streams.talk().prose(mcp_servers.uninstall(agent, place, parameters.environment(), for_project=for_project))
    return 0
