"""A few tries of each family to get out of a box are held. `make escapes` plays all, as root and as an ordinary user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from proof.escapes.case import Escape, Network, Result, Verdict
from proof.escapes.families import ALL
from proof.escapes.play import play
from proof.escapes.world import World, new_world
from tests.support.boxes import boxes

__all__ = ["boxes"]
EVERY = [(family, escape) for family, escapes in ALL.items() for escape in escapes]
PLAYED = (
    "files: reads the secrets of the home folder",
    "files: writes start-up files of shells and other programs",
    "kernel: keys of the user in the kernel",
    "processes: reads the memory of a process outside",
    "processes: daemon: parents, session, environment and descriptors left",
    "sockets: abstract socket",
    "network: the proxy leads to this machine",
    "network: a redirect of an allowed host",
    "state: reads the state of this loop",
    "afterwards: git hooks, when untildone commits",
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with new_world(None) as made:
        yield made


@pytest.mark.slow
@pytest.mark.usefixtures("boxes")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", PLAYED)
def test_try_is_held(world: World, name: str) -> None:
    number, (family, escape) = next(
        (number, each) for number, each in enumerate(EVERY, 1) if name == f"{each[0]}: {each[1].name}"
    )
    verdict = play(world, family, escape, number)
    assert verdict.result is Result.HELD, verdict.evidence


@pytest.mark.slow
@pytest.mark.usefixtures("boxes")
@pytest.mark.timeout(400)
def test_what_gets_out_is_noticed(world: World) -> None:
    """The judge sees it if nothing holds a try back."""
    escape = Escape(
        "everything",
        'spoil(f"{OUTSIDE}/file")\nshow(f"{HOME}/.ssh")\ndaemonize()',
        Network.ALL,
        flags=("--sandbox", "off"),
    )
    verdict = play(world, "none", escape, 900)
    assert verdict.result is Result.GOT_OUT
    assert "read a secret" in verdict.evidence
    assert "/outside/file" in verdict.evidence


def test_corpus_has_many_tries_of_different_names() -> None:
    assert len(EVERY) >= 60
    assert [
        name for name, count in Counter(f"{family}: {each.name}" for family, each in EVERY).items() if count > 1
    ] == []


@pytest.mark.parametrize(
    ("result", "known", "is_hole"),
    [
        (Result.HELD, "", False),
        (Result.GOT_OUT, "", True),
        (Result.GOT_OUT, "why", False),
        (Result.BROKEN, "why", True),
        (Result.SKIPPED, "", False),
    ],
)
def test_hole_is_what_gets_out_for_no_known_reason_or_does_not_run(result: Result, known: str, is_hole: bool) -> None:
    assert Verdict("files", Escape("a try", "", known=known), result).is_hole is is_hole
