"""A caller of the server, and the scopes that it has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAIN = "main"
"""The name of the server's own token, from the file or the environment."""


class Scope(StrEnum):
    """What a token allows. Each scope includes those before it."""

    READ = "read"
    """Look at everything, change nothing."""
    CONTROL = "control"
    """Create and steer loops, which run programs."""
    ADMIN = "admin"
    """Settings, tokens and login links as well."""

    def includes(self, other: Scope) -> bool:
        order = tuple(Scope)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: the name and scope of the token, or of the token with which the session was begun."""

    name: str
    scope: Scope
    digest: str
    """The digest of that token."""
    session: str = ""
    """The id of the session, if the request came with a cookie."""

    def may(self, scope: Scope) -> bool:
        return self.scope.includes(scope)
