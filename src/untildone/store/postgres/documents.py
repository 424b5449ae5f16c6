"""Documents beside the journal: progress, receipt, report, copies of checkpoints. Each is a row with a name."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from untildone.store.postgres.connections import Database

if TYPE_CHECKING:
    from untildone.store.postgres.connections import Connection

RECEIPT, REPORT = "receipt.json", "report.md"
_PUT = """
    INSERT INTO untildone.documents (loop, name, content)
    SELECT number, %s, %s FROM untildone.loops WHERE loop_id = %s
    ON CONFLICT (loop, name) DO UPDATE SET content = excluded.content
"""
_ADD = """
    INSERT INTO untildone.documents AS kept (loop, name, content, addition)
    SELECT number, %s, %s, %s FROM untildone.loops WHERE loop_id = %s
    ON CONFLICT (loop, name) DO UPDATE SET content = kept.content || excluded.content, addition = excluded.addition
    WHERE kept.addition IS DISTINCT FROM excluded.addition
"""
_OF = "loop = (SELECT number FROM untildone.loops WHERE loop_id = %s)"
_READ = f"SELECT content FROM untildone.documents WHERE {_OF} AND name = %s"
_READ_ALL = f"SELECT name, content FROM untildone.documents WHERE {_OF} AND name LIKE '%%.md' AND name NOT LIKE '%%/%%' ORDER BY name"
_DROP_OLD = f"""
    DELETE FROM untildone.documents WHERE {_OF} AND name LIKE %s AND split_part(name, '/', 2) NOT IN (
        SELECT DISTINCT split_part(name, '/', 2) FROM untildone.documents WHERE {_OF} AND name LIKE %s ORDER BY 1 DESC LIMIT %s
    )
"""
_KEEP_OLD = f"""
    UPDATE untildone.documents SET name = regexp_replace(name, '[.]([a-z]+)$', '-' || (
        SELECT count(*) + 1 FROM untildone.documents WHERE {_OF} AND name LIKE 'receipt-%%'
    ) || '.\\1') WHERE {_OF} AND name = %s
"""


def add(database: Database, loop_id: str, name: str, text: str) -> None:
    """Append to a document, once even if the query runs twice because the connection was lost."""
    database.rows(_ADD, (name, storable(text), uuid.uuid4(), loop_id))


def put(database: Database, loop_id: str, name: str, text: str) -> None:
    """Write or replace a document."""
    database.rows(_PUT, (name, storable(text), loop_id))


def read(database: Database, loop_id: str, name: str) -> str | None:
    """The text of a document; None if there is none."""
    row = database.row(_READ, (loop_id, name))
    return None if row is None else str(row[0])


def read_all(database: Database, loop_id: str) -> Mapping[str, str]:
    """The Markdown documents by name, without those in folders."""
    return dict(database.rows(_READ_ALL, (loop_id,)))


def keep_newest(database: Database, loop_id: str, folder: str, most: int) -> None:
    """Delete all but the last `most` numbered folders in a folder."""
    database.rows(_DROP_OLD, (loop_id, f"{folder}/%", loop_id, f"{folder}/%", most))


def archive(database: Database, loop_id: str, documents: Mapping[str, str]) -> None:
    """Mark a loop as archived and write its documents, in one transaction. Does nothing for an archived loop."""

    def work(connection: Connection) -> None:
        with connection.transaction():
            mark = b"UPDATE untildone.loops SET archived = true WHERE loop_id = %s AND NOT archived"
            if connection.execute(mark, (loop_id,)).rowcount:
                for name, text in documents.items():
                    connection.execute(_PUT.encode(), (name, storable(text), loop_id))

    database.run(work)


def bring_back(database: Database, loop_id: str) -> None:
    """Mark an archived loop as live again, and keep its receipt and report under other names, in one transaction."""

    def work(connection: Connection) -> None:
        with connection.transaction():
            mark = b"UPDATE untildone.loops SET archived = false WHERE loop_id = %s AND archived"
            if connection.execute(mark, (loop_id,)).rowcount:
                for name in (REPORT, RECEIPT):
                    connection.execute(_KEEP_OLD.encode(), (loop_id, loop_id, name))

    database.run(work)


def storable(text: str) -> str:
    """The text without characters that Postgres cannot store: NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
