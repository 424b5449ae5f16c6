"""The Postgres store is held to what every store must do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from untildone.store.postgres import PostgresStore
from untildone.testing.store_conformance import StoreConformance, StoreFactory
from untildone.testing.store_records import RecordsConformance

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def factory(self, database: str, tmp_path: Path) -> StoreFactory:
        return partial(PostgresStore, database, folder=tmp_path)


class TestRecordsInPostgres(RecordsConformance):
    @pytest.fixture
    def factory(self, database: str, tmp_path: Path) -> StoreFactory:
        return partial(PostgresStore, database, folder=tmp_path)
