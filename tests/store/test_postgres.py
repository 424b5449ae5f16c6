"""The Postgres store passes the conformance suite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.store_conformance import StoreConformance, StoreFactory
from tests.support.store_records import RecordsConformance

from untildone.store.postgres import PostgresStore

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)


class Opening:
    """Opens stores, here and in other processes. Those of this one are closed in the end, or they would ask for a database that is gone."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder
        self.opened: list[PostgresStore] = []

    def __call__(self) -> PostgresStore:
        self.opened.append(PostgresStore(self.address, folder=self.folder))
        return self.opened[-1]

    def __reduce__(self) -> tuple[type[Opening], tuple[str, Path]]:
        return Opening, (self.address, self.folder)


@pytest.fixture
def opening(database: str, tmp_path: Path) -> Iterator[Opening]:
    opening = Opening(database, tmp_path)
    yield opening
    for store in opening.opened:
        store.close()


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def factory(self, opening: Opening) -> StoreFactory:
        return opening


class TestRecordsInPostgres(RecordsConformance):
    @pytest.fixture
    def factory(self, opening: Opening) -> StoreFactory:
        return opening
