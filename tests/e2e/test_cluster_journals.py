"""One loop, one agent, three hosts: the terminal, the server and the cluster write the same journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.cluster import TestCluster, git
from tests.support.command_line import CommandLine
from tests.support.serving import Server

from untildone.core.events import Entry, StartKept, UsageSeen, name_of
from untildone.core.values.codec import to_json

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

TURNS = (
    [{"think": "Where to begin?", "append": {"work.txt": "one\n"}, "say": "The first half."}],
    [{"say": "Done already.", "claim": True, "usage": {"tokens": 120, "cost_usd": 0.02}}],
    [{"append": {"work.txt": "two\n"}, "say": "The second half.", "claim": True}],
)
CHECK = "test $(wc -l < work.txt) -eq 2"
DIFFERENT = frozenset(
    (
        "loop_id",
        "token",
        "pid",
        "machine",
        "host",
        "workspace",
        "allow_write",
        "remote",
        "branch",
        "commit",
        "session_id",
        "seconds",
        "head",
    )
)
"""What tells when, where and by whom, and what follows from it: a commit's name depends on its time."""


def told(entries: list[Entry]) -> list[tuple[str, Any]]:
    """All entries but those of machines that keep the start of a loop, because elsewhere there is only one machine, and but the notes of
    what a turn has used so far, which depend on the time."""
    told = [entry.event for entry in entries if not isinstance(entry.event, StartKept | UsageSeen)]
    return [(name_of(event), without_circumstances(to_json(event))) for event in told]


def without_circumstances(value: Any) -> Any:
    if isinstance(value, list):
        return [without_circumstances(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: without_circumstances(item) for name, item in value.items() if name not in DIFFERENT}
    for name in {"fingerprint", "seen"} & kept.keys():
        kept[name] = kept[name].partition(":")[2]
    return kept


def a_command_line(folder: Path, remote: Path) -> CommandLine:
    """In a workspace that starts from what the remote has."""
    cli = CommandLine(folder)
    git(folder, "clone", "--quiet", str(remote), str(cli.workspace))
    return cli


def test_three_hosts_write_the_same_journal(tmp_path: Path, cluster: TestCluster) -> None:
    chosen = {**cluster.script(*TURNS), "checks": (CHECK,), "room": "plain"}
    cluster.machine("one")
    loop_id = cluster.run("loop-a", iterations=5, **chosen)
    cluster.until_rest([loop_id])

    terminal = a_command_line(tmp_path / "terminal", cluster.remote)
    ran = terminal.run(
        "run", "A job", "--commit", "-r5", "--check", CHECK, "--agent", "scripted", "--", *chosen["args"]
    )
    assert ran.code == 0, ran.errors

    served = a_command_line(tmp_path / "server", cluster.remote)
    with Server(served) as server:
        wanted: dict[str, Any] = {"checks": [CHECK], "args": list(chosen["args"]), "max_iterations": 5, "commit": True}
        server.until_status(server.create("A job", **wanted), "completed")

    in_files = [each.store() for each in (terminal, served)]
    journals = [told(list(store.open(store.ids()[0]).entries())) for store in in_files]
    in_cluster = told(cluster.entries(loop_id))
    assert [name for name, _ in in_cluster].count("iteration_complete") == 3
    assert journals[0] == in_cluster
    assert journals[1] == in_cluster
