"""The file store passes the conformance suite."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.support.store_conformance import StoreConformance, StoreFactory
from tests.support.store_records import RecordsConformance

from untildone.store.files import FileStore


class TestFileStore(StoreConformance):
    @pytest.fixture
    def factory(self, tmp_path: Path) -> StoreFactory:
        return partial(FileStore, tmp_path / ".loop")


class TestRecordsInFiles(RecordsConformance):
    @pytest.fixture
    def factory(self, tmp_path: Path) -> StoreFactory:
        return partial(FileStore, tmp_path / ".loop")
