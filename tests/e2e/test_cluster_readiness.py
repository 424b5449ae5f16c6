"""A server on a cluster: it says when Postgres or Temporal is away, and its metrics are those of all machines."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping

import pytest
from tests.support.cluster import PATIENCE, TestCluster
from tests.support.command_line import CommandLine, until
from tests.support.postgres import Cluster as Postgres
from tests.support.serving import Server
from tests.support.temporal import Temporal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def figures(server: Server) -> Mapping[str, str]:
    """The metrics without labels, by name."""
    text = server.client.get("/api/v1/metrics").text
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#") and "{" not in line)


def unready(server: Server) -> tuple[int, list[str]]:
    """The status of the answer, and the kinds of the parts that are not usable."""
    began = time.monotonic()
    answer = server.client.get("/api/v1/ready")
    print(f"ready answered {answer.status_code} after {time.monotonic() - began:.1f} s")
    parts = [part["name"].split()[0] for part in answer.json()["parts"] if not part["ready"]]
    return answer.status_code, parts


def test_a_server_on_a_cluster_tells_what_is_away_and_counts_what_machines_do(
    cluster: TestCluster, laptop: CommandLine, temporal: Temporal, postgres: Postgres
) -> None:
    cluster.machine("one", "--slots", "1")
    with Server(laptop, "--cluster") as server:
        until(lambda: unready(server) == (200, []), PATIENCE)
        at_work = cluster.run("loop-a", **cluster.stepping_agent(1, 600))
        until(lambda: cluster.agents(at_work), PATIENCE)
        cluster.run("loop-b", **cluster.stepping_agent(1, 600))
        until(lambda: figures(server)["untildone_loops_queued"] == "1", PATIENCE)
        shown = figures(server)
        assert (shown["untildone_slots"], shown["untildone_loops_driven"]) == ("0", "1"), "not those of the server"

        os.kill(temporal.pid, signal.SIGSTOP)
        try:
            until(lambda: unready(server) == (503, ["temporal"]), PATIENCE)
        finally:
            os.kill(temporal.pid, signal.SIGCONT)
        until(lambda: unready(server) == (200, []), PATIENCE)

        postgres.crash()
        try:
            until(lambda: unready(server) == (503, ["store"]), PATIENCE)
            for path in ("metrics", "loops"):
                assert server.client.get(f"/api/v1/{path}").status_code == 503
            assert server.is_well(), "alive it is"
        finally:
            postgres.start()
        until(lambda: unready(server) == (200, []), PATIENCE)
        until(lambda: figures(server)["untildone_loops_driven"] == "1", PATIENCE)
