"""The program of the worker between two turns: it stays open, so that the next turn need not start it again.

It is kept only from one turn of the worker to the next. Before gates, reviewers, waits and questions, and at the end of the drive, it is
ended: nothing of a turn runs while the work is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from untildone.core.model import AgentChoice
from untildone.core.plugins.agent_io import Conversation, Invocation, Request
from untildone.core.protection.hosts import Hosts
from untildone.core.protection.sandbox import HostAsked
from untildone.engine.boxes import Plan, covers
from untildone.engine.boxes.network import Connected
from untildone.system.program.process import Ended, Open

MOST_TURNS = 20
"""Turns of one process. The next process resumes the session, so that the memory of the last one is freed."""


@dataclass(frozen=True, slots=True)
class Key:
    """Everything that a process consists of. A turn that differs in any of it needs a new process."""

    choice: AgentChoice
    invocation: Invocation
    """The invocation without the prompt and the session, which only the first turn of a process needs."""
    environment: Mapping[str, str]
    folder: str
    plan: Plan | None
    """What its box is made from; None: there is none."""
    hosts: Hosts | None
    """The hosts that it may reach; None: that is not limited by name."""


@dataclass(frozen=True, slots=True)
class Warm:
    """A program that waits for its next turn, with what it must not lose."""

    key: Key
    program: Open
    talk: Conversation
    """The conversation of its last turn."""
    link: Connected
    context: ExitStack
    """Ends what belongs to the process, such as the proxy of its box."""
    iteration: int
    turns: int = 1
    covers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The files that its box covers, as they were at its start: see `covers.of`."""


@dataclass(frozen=True, slots=True)
class NextTurn:
    """A turn that an open program can take."""

    warm: Warm
    talk: Conversation


class Standby:
    """Holds at most one program."""

    def __init__(self, on_end: Callable[[Warm, Ended, tuple[HostAsked, ...]], None]) -> None:
        """`on_end` is called with how a program ended, and what it asked of the network since its last turn."""
        self.is_on = True
        """Whether programs are kept. No more, once one broke off in a turn that it did not begin with."""
        self._warm: Warm | None = None
        self._on_end = on_end

    @property
    def is_empty(self) -> bool:
        return self._warm is None

    def keep(self, warm: Warm) -> None:
        self.end()
        self._warm = warm

    def session(self, choice: AgentChoice) -> str | None:
        """The session that is open in the program of this agent; None: it has none."""
        warm = self._warm
        return None if warm is None or warm.key.choice != choice else warm.talk.session

    def next_turn(self, key: Key, request: Request) -> NextTurn | None:
        """The turn on the open program, if it can take it. Else the program is ended. Nothing is written to it yet."""
        warm = self._warm
        if warm is not None and warm.key == key and warm.turns < MOST_TURNS and _is_covered(warm):
            late = warm.program.late()
            for line in late or ():
                warm.talk.feed(line)
            if late is not None and (talk := warm.talk.next_turn(request)):
                return NextTurn(warm, talk)
        self.end()
        return None

    def take(self, turn: NextTurn) -> Warm:
        """The program for a turn that begins."""
        self._warm = None
        return replace(turn.warm, talk=turn.talk, turns=turn.warm.turns + 1)

    def end(self, *, broke_off: bool = False) -> None:
        """End the program, if there is one. `broke_off`: it, or the last one, did not come to the end of a turn that it took open."""
        self.is_on = self.is_on and not broke_off
        warm, self._warm = self._warm, None
        if warm is None:
            return
        with warm.context:
            ended = warm.program.end()
        self._on_end(warm, ended, warm.link.asked())


def _is_covered(warm: Warm) -> bool:
    """Whether the box of a program still hides and protects every file that it did at its start."""
    return warm.covers == covers.identities(warm.covers)
