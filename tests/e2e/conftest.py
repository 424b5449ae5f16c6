"""What the tests of the command line and of clusters share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cluster import Parts, TestCluster
from tests.support.command_line import CommandLine
from tests.support.temporal import Temporal, temporal

__all__ = ["temporal"]


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture
def cluster(
    tmp_path: Path, temporal: Temporal, database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestCluster]:
    """A cluster without machines; the operations of this process know of it."""
    with TestCluster(Parts(temporal.address, database, tmp_path)) as made:
        told = {"temporal": temporal.address, "queue": made.parts.queue}
        monkeypatch.setenv("UNTILDONE_CLUSTER", json.dumps(told))
        yield made
