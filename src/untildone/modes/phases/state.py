"""The state of a loop in phases: its route, the phases that are done, its subtasks and its review."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from untildone.core.loop import Loop
from untildone.core.model import EMPTY, Subtask, SubtaskStatus
from untildone.core.values.codec import from_json, to_json
from untildone.core.values.value import dataclass, field
from untildone.modes.phases.options import PhasesOptions, options_of


class Phase(StrEnum):
    EXECUTION = "execution"
    DESIGN = "design"
    ARCHITECTURE = "architecture"
    ANALYSIS = "analysis"
    PLAN = "plan"
    IMPLEMENTATION = "implementation"
    SUBTASKS = "subtasks"
    REVIEW = "review"
    PREVIEW = "preview"


WORK = (Phase.EXECUTION, Phase.IMPLEMENTATION, Phase.SUBTASKS)
"""The phases in which subtasks are done; a route has one of them."""


@dataclass(frozen=True, slots=True)
class Route:
    name: str
    phases: tuple[Phase, ...]
    loops: bool = False
    """Whether it loops until the review passes; else its phases follow each other once."""

    @property
    def work(self) -> int:
        """The number of the phase in which subtasks are done."""
        return next(number for number, phase in enumerate(self.phases, 1) if phase in WORK)


ROUTES = {
    route.name: route
    for route in (
        Route("direct", (Phase.EXECUTION,)),
        Route("planned", (Phase.PLAN, Phase.IMPLEMENTATION, Phase.REVIEW)),
        Route("ui_flow", (Phase.DESIGN, Phase.IMPLEMENTATION, Phase.PREVIEW)),
        Route("ralph", (Phase.ANALYSIS, Phase.PLAN, Phase.SUBTASKS, Phase.REVIEW), loops=True),
        Route("architect", (Phase.ARCHITECTURE, Phase.ANALYSIS, Phase.PLAN, Phase.SUBTASKS, Phase.REVIEW), loops=True),
    )
}


@dataclass(frozen=True, slots=True)
class State:
    """The mode's own part of a loop."""

    route: str = ""
    """Empty: not chosen yet."""
    completed: tuple[int, ...] = ()
    summaries: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """What was done in a phase, by its number."""
    score: float | None = None
    """Of the last review."""
    problems: tuple[str, ...] = ()
    """The parts of the last answer that were refused; the next prompt lists them."""

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = to_json(self)
        return fields


def options(loop: Loop) -> PhasesOptions:
    return options_of(loop.settings.options)


def state_of(loop: Loop) -> State:
    return from_json(State, dict(loop.skill_state or EMPTY))


def route_of(loop: Loop) -> Route | None:
    """The route; None where the first turn still has to choose one."""
    return ROUTES.get(state_of(loop).route or options(loop).route)


def is_done(task: Subtask) -> bool:
    return task.status is SubtaskStatus.COMPLETED


def done_phases(loop: Loop) -> tuple[int, ...]:
    """While a subtask is not done, neither is the phase that it belongs to, nor any after that."""
    route, completed = route_of(loop), state_of(loop).completed
    if route is None:
        return ()
    end = len(route.phases) if all(map(is_done, loop.tasks)) else route.work - 1
    return tuple(number for number in range(1, end + 1) if number in completed)


def current_phase(loop: Loop) -> int | None:
    """The number of the first phase that is not done; None: all are, or there is not a route yet."""
    route, done = route_of(loop), done_phases(loop)
    numbers = range(1, len(route.phases) + 1) if route else ()
    return next((number for number in numbers if number not in done), None)


def phase_of(loop: Loop) -> Phase | None:
    route, number = route_of(loop), current_phase(loop)
    return route.phases[number - 1] if route and number else None


def is_finished(loop: Loop) -> bool:
    return route_of(loop) is not None and current_phase(loop) is None
