"""Plays recorded streams of the real programs to their readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from untildone.agents import find
from untildone.core.model import Answer
from untildone.core.plugins.agent_io import AgentEvent, Request

STREAMS = Path(__file__).parent / "streams"
NOW = 1794765000.0


@dataclass(frozen=True, slots=True)
class Played:
    events: tuple[AgentEvent, ...]
    answer: Answer

    def of(self, kind: type[AgentEvent]) -> list[AgentEvent]:
        return [event for event in self.events if isinstance(event, kind)]


Play = Callable[..., Played]


@pytest.fixture
def play() -> Play:
    """`play(agent, stream, exit_code=0, stderr="")`: what a recorded stream comes to."""

    def played(
        agent: str, stream: str, *, exit_code: int = 0, stderr: str = "", request: Request | None = None
    ) -> Played:
        reader = find(agent).reader(request or Request("go"))
        lines = (STREAMS / agent.replace(":", "-") / f"{stream}.jsonl").read_bytes().splitlines()
        events = tuple(event for line in lines for event in reader.feed(line))
        return Played(events, reader.finish(exit_code, stderr, NOW))

    return played
