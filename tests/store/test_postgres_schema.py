"""Migrations: the first process creates the tables, and each migration is complete or absent."""

from __future__ import annotations

from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest
from tests.support.store_conformance import heard, loop_created, process

from untildone.core.errors import StoreError
from untildone.store.postgres import PostgresStore, schema

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)

BROKEN = "CREATE TABLE untildone.half (x integer); SELECT 1 / 0;"


def versions(connection: psycopg.Connection[tuple[int]]) -> list[int]:
    return [version for (version,) in connection.execute("SELECT version FROM untildone.migrations ORDER BY version")]


def tables(connection: psycopg.Connection[tuple[str]]) -> set[str]:
    found = connection.execute(
        "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'untildone'"
    )
    return {name for (name,) in found}


def first_use(pipe: Connection, address: str, loop_id: str, folder: Path) -> None:
    store = PostgresStore(address, folder=folder)
    pipe.send("ready")
    pipe.recv()
    store.create(loop_created(loop_id))
    pipe.send(loop_id)


def test_the_first_process_creates_the_tables(database: str, tmp_path: Path) -> None:
    with (
        process(first_use, database, "loop-1", tmp_path) as (_, one),
        process(first_use, database, "loop-2", tmp_path) as (_, two),
        process(first_use, database, "loop-3", tmp_path) as (_, three),
    ):
        pipes = (one, two, three)
        assert [heard(pipe) for pipe in pipes] == ["ready"] * 3
        for pipe in pipes:
            pipe.send("go")
        names = tuple(heard(pipe) for pipe in pipes)
    assert PostgresStore(database).ids() == names


def test_missing_migrations_are_run(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        schema.migrate(connection, schema.MIGRATIONS[:1])
        assert versions(connection) == [1]
        schema.migrate(connection)
        assert versions(connection) == list(range(1, len(schema.MIGRATIONS) + 1))
        schema.migrate(connection)
    with closing(PostgresStore(database)) as store:
        assert store.create(loop_created("loop-1")).seq == 1


def test_a_migration_that_fails_changes_nothing(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            schema.migrate(connection, (*schema.MIGRATIONS, BROKEN))
        assert versions(connection) == list(range(1, len(schema.MIGRATIONS) + 1))
        assert "half" not in tables(connection)


def test_a_database_with_an_empty_table_of_migrations_is_migrated(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        schema.migrate(connection, ())
        assert tables(connection) == {"migrations"}
    with closing(PostgresStore(database)) as store:
        assert store.ids() == ()


def test_tables_of_a_newer_version_are_not_changed(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        schema.migrate(connection, (*schema.MIGRATIONS, "SELECT 1"))
    with (
        closing(PostgresStore(database)) as store,
        pytest.raises(StoreError, match="made by a newer untildone") as caught,
    ):
        store.ids()
    assert caught.value.hint


def test_other_tables_of_the_database_are_not_changed(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.loops (x integer); CREATE TABLE public.migrations (x integer)")
        with closing(PostgresStore(database)) as store:
            store.create(loop_created("loop-1"))
        assert connection.execute("SELECT count(*) FROM public.loops").fetchone() == (0,)


def test_missing_permission_to_create_is_reported(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS visitor; CREATE ROLE visitor LOGIN PASSWORD 'visitor-12345'")
    place = database.partition("@")[2]
    try:
        store = PostgresStore(f"postgresql://visitor:visitor-12345@{place}")
        with closing(store), pytest.raises(StoreError, match="refuses: permission denied") as caught:
            store.ids()
        assert "another one" in caught.value.hint
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("DROP ROLE visitor")
