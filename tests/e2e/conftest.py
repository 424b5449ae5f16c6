"""What the tests of the command line and of clusters share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cluster import Parts, TestCluster, git
from tests.support.command_line import CommandLine
from tests.support.serving import Server
from tests.support.temporal import Temporal, temporal

__all__ = ["temporal"]

QUICK = frozenset(
    {"test_foundations", "test_cli", "test_control", "test_api", "test_sandbox", "test_supervise", "test_blocked"}
)
"""The files of this folder that `make test-fast` runs: one for each thing that a person does every day."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the other files as slow: each of their tests starts programs, browsers, databases or servers."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and item.path.stem not in QUICK:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.fixture(scope="module")
def with_dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with its dashboard, for the tests of a file that look at their own loops only."""
    with Server(CommandLine(tmp_path_factory.mktemp("with-dashboard")), dashboard=True) as server:
        yield server


@pytest.fixture(params=["server", "with_dashboard"], ids=["bare", "dashboard"])
def either(request: pytest.FixtureRequest) -> Server:
    """The bare server of the test's file, then one with its dashboard: what must not differ is tried on both."""
    chosen: Server = request.getfixturevalue(request.param)
    return chosen


@pytest.fixture
def cluster(
    tmp_path: Path, temporal: Temporal, database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestCluster]:
    """A cluster without machines; the operations of this process know of it."""
    with TestCluster(Parts(temporal.address, database, tmp_path)) as made:
        told = {"temporal": temporal.address, "queue": made.parts.queue}
        monkeypatch.setenv("UNTILDONE_CLUSTER", json.dumps(told))
        yield made


@pytest.fixture
def laptop(cluster: TestCluster, tmp_path: Path) -> CommandLine:
    """A clone of the remote, and settings that name the cluster."""
    cli = CommandLine(tmp_path / "laptop")
    git(cli.workspace, "clone", "--quiet", str(cluster.remote), ".")
    told = {"temporal": cluster.parts.temporal, "queue": cluster.parts.queue}
    cli.environment |= {"UNTILDONE_STORE": cluster.parts.database, "UNTILDONE_CLUSTER": json.dumps(told)}
    return cli
