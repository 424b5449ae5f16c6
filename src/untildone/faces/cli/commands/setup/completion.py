"""`untildone completion`: the script that lets a shell complete commands, options and loop ids."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from untildone.faces.cli import streams
from untildone.faces.cli.table import program


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of a shell. For bash: eval "$(untildone completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None
    streams.data().line(kind(program, {}, "untildone", "_UNTILDONE_COMPLETE").source())
    return 0
