"""What the database says when something is wrong, as sentences with hints; and which of it passes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from untildone.core.errors import StoreError, UntilDoneError

if TYPE_CHECKING:
    import psycopg

_PASSING = frozenset({"57P01", "57P02", "57P03", "53300", "40001", "40P01"})
"""The server stops, starts or is full just now; or two were in each other's way."""
_REFUSED = (
    "password authentication failed",
    "does not exist",
    "no password supplied",
    "no pg_hba.conf entry",
    "not permitted",
)
_MISTRUSTED = ("certificate", "SSL error: tlsv1 alert", "does not support SSL", "private key file")
"""One side does not like the papers of the other. A connection that is cut while it is made has an SSL error as well."""
_LONGEST = 300


def passes(problem: psycopg.Error) -> bool:
    """Whether it is worth trying again: the connection was lost or refused, and not because of who we are."""
    import psycopg

    if problem.sqlstate is not None:
        return problem.sqlstate in _PASSING
    return isinstance(problem, psycopg.OperationalError | psycopg.InterfaceError) and not _is_refusal(problem)


def _is_refusal(problem: psycopg.Error) -> bool:
    return any(words in str(problem) for words in _REFUSED) or _is_mistrust(problem)


def _is_mistrust(problem: psycopg.Error) -> bool:
    return any(words in str(problem) for words in _MISTRUSTED)


def told(problem: psycopg.Error, name: str) -> UntilDoneError:
    match problem.sqlstate:
        case "53100":
            return StoreError(f"The disk of {name} is full.", "free some space there, then resume")
        case "42501":
            return StoreError(
                f"{name} does not allow it: {_first_line(problem)}.",
                "let the user create a schema, or use another user",
            )
        case None if _is_mistrust(problem):
            return StoreError(
                f"{name} and this machine do not trust each other: {_first_line(problem).rpartition('failed: ')[2]}.",
                "look at sslmode, sslrootcert, sslcert and sslkey in its address",
            )
        case None if _is_refusal(problem):
            return StoreError(
                f"{name} refuses the connection: {_first_line(problem)}.", "look at user, password and database"
            )
        case None:
            return StoreError(
                f"{name} does not answer: {_first_line(problem)}.", "is the server running? then try again"
            )
        case _:
            return StoreError(f"{name} cannot do it: {_first_line(problem)}.", "look at the server's log")


def _first_line(problem: psycopg.Error) -> str:
    """Without libpq's own advice, which fills several lines."""
    first = next(iter(str(problem).strip().splitlines()), "") or type(problem).__name__
    return first.rpartition("FATAL:")[2].strip().removeprefix("connection failed: ").rstrip(".")[:_LONGEST]
