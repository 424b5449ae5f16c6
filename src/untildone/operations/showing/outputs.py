"""The outputs of a loop's turns, each followed as it grows. All readers of an output share what was read of it."""

from __future__ import annotations

import threading
from collections import OrderedDict

from untildone.core.loop import Loop, output_name
from untildone.core.model import AgentChoice, Role, Status
from untildone.operations.showing.output_window import Output, Window
from untildone.operations.showing.timeline import Timeline
from untildone.operations.showing.values import LoopView
from untildone.operations.stores import Store

MOST_OUTPUTS = 32


class FollowedOutput:
    """The end of one output."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._window: Window | None = None
        self._lock = threading.Lock()

    def look(self, *, is_complete: bool) -> Window:
        """The last window, with what was printed since the last look."""
        with self._lock:
            self.output.is_complete = is_complete
            self._window = self.output.tail() if self._window is None else self.output.followed(self._window)
            return self._window


class Outputs:
    """A cache of the outputs that were shown last."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, int], FollowedOutput] = OrderedDict()
        self._lock = threading.Lock()

    def follow(self, store: Store, view: LoopView, name: str) -> FollowedOutput:
        """The output of a turn, by its name: `0003`, `0003-supervisor`."""
        choice = agent_of(view.loop, view.timeline, name)
        key = (view.loop.loop_id, name, hash((choice.agent, choice.command, name in going(view))))
        with self._lock:
            if key not in self._known:
                self._known[key] = FollowedOutput(Output(store.spool(view.loop.loop_id, name), choice))
            self._known.move_to_end(key)
            while len(self._known) > MOST_OUTPUTS:
                self._known.popitem(last=False)
            return self._known[key]


def going(view: LoopView) -> tuple[str, ...]:
    """The names of the outputs that may still grow. A turn without a runner counts: its next runner may be on the way."""
    turn = view.loop.turn if view.loop.status is Status.RUNNING else None
    return () if turn is None else (output_name(turn.role, turn.iteration),)


def agent_of(loop: Loop, timeline: Timeline, name: str) -> AgentChoice:
    """The agent that printed an output, as far as the settings name it."""
    number, _, role = name.partition("-")
    worked = timeline.round(int(number)) if number.isdigit() else None
    if role or worked is None:
        return loop.settings.agent_for(Role(role) if role else Role.WORKER)
    return loop.settings.agent_of(Role.WORKER, worked.profile)
