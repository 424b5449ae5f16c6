"""`untildone acp`: an agent for editors, by the Agent Client Protocol."""

from __future__ import annotations

import asyncio
import importlib.util

import click

from untildone.core.errors import MissingPackage


@click.command()
def command() -> int:
    """Be an agent for an editor (Zed, JetBrains, Neovim, …), over standard input and output. The editor starts this.

    A prompt there is a loop here: it does not stop before its checks pass.
    """
    if importlib.util.find_spec("acp") is None:
        raise MissingPackage("The agent for editors needs the package acp, which is not installed.", "acp")
    from untildone.faces.acp.serving import serve

    asyncio.run(serve())
    return 0
