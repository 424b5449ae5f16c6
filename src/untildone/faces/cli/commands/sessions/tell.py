"""`untildone _tell`: sends the notifications about a loop in a session; its hook starts this and does not wait for it."""

from __future__ import annotations

import click

from untildone.faces.cli import parameters
from untildone.operations.driving import telling


@click.command(hidden=True)
@click.argument("name", metavar="LOOP")
@parameters.place
def command(name: str, folder: str) -> int:
    """Send the notifications about a loop that have not been sent yet."""
    store = parameters.open_store(folder)
    telling.tell(store, store.find(name), parameters.environment())
    return 0
