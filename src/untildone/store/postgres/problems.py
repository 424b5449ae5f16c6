"""Errors of the database as `StoreError` with a hint, and which of them are temporary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from untildone.core.errors import StoreError, UntilDoneError

if TYPE_CHECKING:
    import psycopg

_TEMPORARY = frozenset({"57P01", "57P02", "57P03", "53300", "40001", "40P01"})
"""SQLSTATEs: the server is stopping, starting or out of connections; or two transactions conflicted."""
_REFUSED = (
    "password authentication failed",
    "does not exist",
    "no password supplied",
    "no pg_hba.conf entry",
    "not permitted",
)
_TLS = ("certificate", "SSL error: tlsv1 alert", "does not support SSL", "private key file")
"""Messages about certificates and TLS settings. Other SSL errors may just be a connection that was cut while it was made."""
_LONGEST = 300


def is_temporary(problem: psycopg.Error) -> bool:
    """Whether trying again may help: the connection was lost or refused, and not because of credentials or certificates."""
    import psycopg

    if problem.sqlstate is not None:
        return problem.sqlstate in _TEMPORARY
    return isinstance(problem, psycopg.OperationalError | psycopg.InterfaceError) and not _is_refusal(problem)


def _is_refusal(problem: psycopg.Error) -> bool:
    return any(words in str(problem) for words in _REFUSED) or _is_tls_problem(problem)


def _is_tls_problem(problem: psycopg.Error) -> bool:
    return any(words in str(problem) for words in _TLS)


def store_error(problem: psycopg.Error, name: str) -> UntilDoneError:
    """The exception for a problem of the database called `name`."""
    match problem.sqlstate:
        case "53100":
            return StoreError(f"The disk of {name} is full.", "free some space there, then resume")
        case "42501":
            return StoreError(
                f"{name} refuses: {_first_line(problem)}.",
                "allow this database user to create a schema, or use another one",
            )
        case None if _is_tls_problem(problem):
            return StoreError(
                f"TLS with {name} failed: {_first_line(problem).rpartition('failed: ')[2]}.",
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
            return StoreError(f"{name} reports an error: {_first_line(problem)}.", "look at the server's log")


def _first_line(problem: psycopg.Error) -> str:
    """The first line of the message, without the advice of libpq that follows."""
    first = next(iter(str(problem).strip().splitlines()), "") or type(problem).__name__
    return first.rpartition("FATAL:")[2].strip().removeprefix("connection failed: ").rstrip(".")[:_LONGEST]
