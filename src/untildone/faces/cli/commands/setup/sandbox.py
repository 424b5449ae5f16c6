"""`untildone sandbox`: a command in the box in which agents run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from untildone.faces.cli import parameters
from untildone.faces.cli.setting_flags import given, setting_flags
from untildone.settings.setting import Command


@click.command(
    short_help="Run a command in the box in which agents run.", context_settings={"allow_interspersed_args": False}
)
@setting_flags(Command.SANDBOX)
@click.option("--agent", metavar="NAME", help="Whose box: an agent or a profile (the one of your settings).")
@parameters.folder
@click.argument("words", metavar="-- COMMAND [ARGUMENTS…]", nargs=-1, required=True, type=click.UNPROCESSED)
def command(words: Sequence[str], folder: str, **flags: Any) -> int:
    """Run a command in the same box in which the agents of a loop run, to find out what is missing there.

    It uses your settings; --allow-write, --allow-read and the others try what would help. Exits as the command does.
    """
    from untildone.operations.setup import sandbox

    place = parameters.existing_folder(folder)
    return sandbox.run(
        place, given(flags), tuple(words), parameters.environment(), lambda sentence: click.echo(sentence, err=True)
    )
