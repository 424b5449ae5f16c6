"""Addresses of databases: connection defaults, and versions without secrets to show."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from untildone.core.errors import UsageError

SCHEMES = ("postgres", "postgresql")
EXAMPLE = "postgres://user@host/database"
DEFAULTS = {
    "application_name": "untildone",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
    # The server too must notice a dead machine within a minute, and release its locks.
    "options": "-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3",
}


def checked(address: str) -> str:
    """The address, if it is that of a Postgres database; else UsageError, without parts of it, which may be a password."""
    try:
        parts = urlsplit(address)
        sound = parts.scheme in SCHEMES and "\0" not in address and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise UsageError("The store's address is not that of a Postgres database.", f"it looks like {EXAMPLE}")
    return address


def shown(address: str) -> str:
    """Host and database name only: no user, password or options."""
    parts = urlsplit(checked(address))
    place = parts.netloc.rpartition("@")[2] or "localhost"
    return f"postgres://{place}{parts.path}"


def without_password(address: str) -> str:
    """The address without password and options, as a person can type it."""
    parts = urlsplit(checked(address))
    user = parts.username or ""
    return f"{parts.scheme}://{user}{'@' if user else ''}{parts.netloc.rpartition('@')[2]}{parts.path}"


def password(address: str) -> str | None:
    """The password in the address, if there is one."""
    quoted = urlsplit(checked(address)).password
    return unquote(quoted) if quoted else None


def complete(address: str) -> str:
    """The connection string: the address with `DEFAULTS` for parameters that it does not set."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        given = conninfo_to_dict(checked(address))
    except psycopg.ProgrammingError:
        raise UsageError("The store's address cannot be read.", f"it looks like {EXAMPLE}") from None
    return make_conninfo("", **{**DEFAULTS, **given})
