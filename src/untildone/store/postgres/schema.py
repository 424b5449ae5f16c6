"""The tables as a list of migrations. The statements of a released migration never change: a new one is added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from untildone.core.errors import StoreError

if TYPE_CHECKING:
    import psycopg

LOCKS = 0x756E7469
"""The first half of the key of our advisory locks, so that other programs can share the database."""
MIGRATING, SERVING = 0, -1
"""The second half of the key. For a loop it is the loop's number, which is positive."""

FIRST = """
CREATE TABLE untildone.loops (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    loop_id text COLLATE "C" NOT NULL UNIQUE,
    last_seq bigint NOT NULL,
    token text COLLATE "C",
    engine_token text COLLATE "C",
    archived boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN untildone.loops.token IS 'token of the last lease: a runner with another token may not write';
COMMENT ON COLUMN untildone.loops.engine_token IS 'newest token that an engine issued: a lease with an older one is refused';

CREATE TABLE untildone.entries (
    loop integer NOT NULL REFERENCES untildone.loops ON DELETE CASCADE,
    seq bigint NOT NULL,
    append_key uuid NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (loop, seq)
);
COMMENT ON COLUMN untildone.entries.append_key IS 'one key per append: shows after a lost connection whether the append was written';

CREATE TABLE untildone.checkpoints (
    loop integer PRIMARY KEY REFERENCES untildone.loops ON DELETE CASCADE,
    seq bigint NOT NULL,
    content text NOT NULL
);

CREATE TABLE untildone.output (
    loop integer NOT NULL REFERENCES untildone.loops ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    start bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (loop, name, start)
);

CREATE TABLE untildone.documents (
    loop integer NOT NULL REFERENCES untildone.loops ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (loop, name)
);
"""

GROUPS = """
CREATE TABLE untildone.groups (
    name text COLLATE "C" PRIMARY KEY,
    max_cost double precision,
    at_once integer
);
ALTER TABLE untildone.loops
    ADD COLUMN group_name text COLLATE "C",
    ADD COLUMN cost double precision NOT NULL DEFAULT 0;
COMMENT ON COLUMN untildone.loops.cost IS 'dollars spent, as of last_seq';
CREATE INDEX ON untildone.loops (group_name) WHERE group_name IS NOT NULL;
"""

STATUS = """
ALTER TABLE untildone.loops
    ADD COLUMN status text COLLATE "C",
    ADD COLUMN host text COLLATE "C",
    ADD COLUMN told_seq bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN untildone.loops.told_seq IS 'entry as of which status and host are valid: if it is not the last one, read the journal';
"""

ADDITIONS = """
ALTER TABLE untildone.documents ADD COLUMN addition uuid;
COMMENT ON COLUMN untildone.documents.addition IS 'key of the last addition: shows after a lost connection whether it was written';
"""

MIGRATIONS = (FIRST, GROUPS, STATUS, ADDITIONS)


def migrate(connection: psycopg.Connection[Any], steps: tuple[str, ...] = MIGRATIONS) -> None:
    """Run the missing migrations, in one process at a time, each in a transaction."""
    if _version(connection) == len(steps):
        return
    connection.execute("SELECT pg_advisory_lock(%s, %s)", (LOCKS, MIGRATING))
    try:
        _apply(connection, steps)
    finally:
        if not connection.broken:
            connection.execute("SELECT pg_advisory_unlock(%s, %s)", (LOCKS, MIGRATING))


def _apply(connection: psycopg.Connection[Any], steps: tuple[str, ...]) -> None:
    with connection.transaction():
        connection.execute("CREATE SCHEMA IF NOT EXISTS untildone")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS untildone.migrations (version integer PRIMARY KEY, at timestamptz DEFAULT now())"
        )
    done = _version(connection)
    if done > len(steps):
        raise StoreError(
            f"The database was made by a newer untildone (its tables have version {done}, this one knows {len(steps)}).",
            "install that version here too",
        )
    for version, step in enumerate(steps[done:], done + 1):
        with connection.transaction():
            connection.execute(step.encode())
            connection.execute("INSERT INTO untildone.migrations (version) VALUES (%s)", (version,))


def _version(connection: psycopg.Connection[Any]) -> int:
    """The number of migrations that ran; -1 if the table of migrations does not exist."""
    row = connection.execute("SELECT to_regclass('untildone.migrations') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        return -1
    row = connection.execute("SELECT coalesce(max(version), 0) FROM untildone.migrations").fetchone()
    return int(row[0]) if row else 0
