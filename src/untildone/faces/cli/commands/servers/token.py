"""`untildone token`: named tokens for the user's servers, each with a scope."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from untildone.core.values.codec import timestamp
from untildone.faces.cli import parameters, streams

if TYPE_CHECKING:
    from untildone.operations.access.tokens import Tokens

SCOPES = ("read", "control", "admin")


@click.group()
def command() -> None:
    """Named tokens for the servers of this user, for people and programs.

    A running server knows a new token at once. The journal names the token with which a loop was steered.
    """


@command.command()
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="read",
    show_default=True,
    help="read: look; control: create and steer loops; admin: everything.",
)
@parameters.as_json
def add(name: str, scope: str, as_json: bool) -> int:
    """Add a token and print it. It is shown this once, and kept as a digest."""
    from untildone.operations.access.scopes import Scope

    secret = _tokens().add(name, Scope(scope))
    if as_json:
        streams.data().record({"name": name, "scope": scope, "token": secret})
    else:
        streams.data().line(secret)
    return 0


@command.command("list")
@parameters.as_json
def list_(as_json: bool) -> int:
    """The tokens, oldest first. The server's own token is not among them."""
    data = streams.data()
    tokens = _tokens().all()
    for token in tokens:
        made = timestamp(token.created_at)
        if as_json:
            data.record({"name": token.name, "scope": token.scope.value, "created_at": made})
        else:
            data.line(f"{token.name}: {token.scope.value}, since {made[:10]}")
    if not tokens and not as_json:
        streams.talk().prose("There are no named tokens; `untildone token add NAME` adds one.")
    return 0


@command.command()
@click.argument("name")
def revoke(name: str) -> int:
    """Revoke a token. Requests with it are refused at once, and sessions that it began end; open streams go on."""
    _tokens().revoke(name)
    return 0


def _tokens() -> Tokens:
    from untildone.operations import inside
    from untildone.operations.access.tokens import Tokens

    inside.refuse_token(os.environ)
    return Tokens(os.environ)
