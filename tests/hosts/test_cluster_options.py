"""The options of a cluster, from the settings and from flags; and which session a loop that travels can go on in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from untildone.core.errors import UsageError
from untildone.core.loop import Loop, Runner
from untildone.core.model import AgentChoice, Budget, LoopSettings, Role, Session
from untildone.hosts.cluster.options import Options, options


@pytest.mark.parametrize(
    ("table", "flags", "wanted"),
    [
        ({}, {}, {}),
        ({"temporal": "a:1", "slots": "8"}, {}, {"temporal": "a:1", "slots": 8}),
        ({"temporal": "a:1", "slots": "8"}, {"slots": 2, "temporal": None}, {"temporal": "a:1", "slots": 2}),
        ({"heartbeat_timeout": "12.5", "drain": "0"}, {}, {"heartbeat_timeout": 12.5, "drain": 0.0}),
        ({"queue": ""}, {"share": 5.0}, {"share": 5.0}),
    ],
)
def test_flags_win_over_the_settings(table: dict[str, str], flags: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert options(table, flags) == replace(Options(), **wanted)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"slot": "2"}, "There is no setting 'cluster.slot'."),
        ({"slots": "many"}, "Setting 'cluster.slots': 'many' is not a number."),
        ({"slots": "0"}, "Setting 'cluster.slots': 0 is out of range."),
        ({"drain": "-1"}, "Setting 'cluster.drain': -1 is out of range."),
        ({"share": "inf"}, "Setting 'cluster.share': inf is out of range."),
        ({"heartbeat_timeout": "nan"}, "Setting 'cluster.heartbeat_timeout': nan is out of range."),
    ],
)
def test_what_cannot_work_is_one_sentence(table: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError) as problem:
        options(table, {})
    assert problem.value.sentence == sentence


def test_without_an_address_there_is_no_way_to_temporal() -> None:
    with pytest.raises(UsageError, match="The address of Temporal is not set"):
        _ = Options().access


@pytest.mark.parametrize(
    ("remote", "opened_on", "driven_on", "goes_on"),
    [
        ("git@example:it.git", "one", "one", True),
        ("git@example:it.git", "one", "two", False),
        ("git@example:it.git", "", "two", True),
        ("git@example:it.git", "one", None, True),
        # Of a loop that stays where it is, only the machine's name has changed.
        (None, "one", "two", True),
    ],
)
def test_a_session_is_left_behind_by_a_loop_that_travels(
    remote: str | None, opened_on: str, driven_on: str | None, goes_on: bool
) -> None:
    chosen = LoopSettings("ralph", AgentChoice("claude", "claude"), "/work", remote=remote)
    session = Session("s1", machine=opened_on)
    runner = None if driven_on is None else Runner("token", 1, driven_on)
    loop = Loop("loop-1", "", "", chosen, Budget(), 0.0, 0.0, sessions={"worker:claude": session}, runner=runner)
    assert loop.session_of(Role.WORKER, "claude") == (session if goes_on else None)
