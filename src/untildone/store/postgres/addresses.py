"""The address of a database: what it needs beside what a person wrote, and how it is shown without its secrets."""

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
    # The server too must notice within a minute that a machine is gone: its locks are another's then.
    "options": "-c tcp_keepalives_idle=20 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3",
}


def checked(address: str) -> str:
    """The parts of a bad address are not repeated: one of them may be a password."""
    try:
        parts = urlsplit(address)
        sound = parts.scheme in SCHEMES and "\0" not in address and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise UsageError("The store's address is not that of a Postgres database.", f"it looks like {EXAMPLE}")
    return address


def shown(address: str) -> str:
    """The place alone: neither user, nor password, nor options."""
    parts = urlsplit(checked(address))
    place = parts.netloc.rpartition("@")[2] or "localhost"
    return f"postgres://{place}{parts.path}"


def without_password(address: str) -> str:
    """What can be typed again, if the password comes from elsewhere."""
    parts = urlsplit(checked(address))
    user = parts.username or ""
    return f"{parts.scheme}://{user}{'@' if user else ''}{parts.netloc.rpartition('@')[2]}{parts.path}"


def password(address: str) -> str | None:
    found = urlsplit(checked(address)).password
    return unquote(found) if found else None


def complete(address: str) -> str:
    """The address with our wishes for the connection, as far as it has none of its own."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    try:
        said = conninfo_to_dict(checked(address))
    except psycopg.ProgrammingError:
        raise UsageError("The store's address cannot be read.", f"it looks like {EXAMPLE}") from None
    return make_conninfo("", **{**DEFAULTS, **said})
