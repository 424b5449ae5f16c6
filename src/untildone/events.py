"""The events of the journal, each under its name there in CamelCase: `iteration_complete` is `IterationComplete`.

    match entry.event:
        case events.IterationComplete(iteration=number, answer=answer): ...
        case events.GatesRan(results=results): ...
        case events.TaskComplete(outcome=outcome): ...

A name that the journal has for a part of a class matches that part only: `IterationComplete` is the end of a turn of the worker,
`ConsultationComplete` of any other role.
"""

from __future__ import annotations

from typing import Any

from untildone.core import events as _events
from untildone.core.events import (
    AcceptanceRan,
    AnswerRead,
    BaselineRan,
    BudgetChanged,
    ChangesApproved,
    ChildReserved,
    ChildSpent,
    Entry,
    Escalated,
    Event,
    FailuresExplained,
    GatesRan,
    HostsAsked,
    LimitReached,
    LiveStateSeen,
    LoopCreated,
    LoopRenamed,
    MachineLacked,
    PauseRequested,
    PromptReinjected,
    ResumeRequested,
    RetryRequested,
    Rewound,
    SandboxSeen,
    SessionDistrusted,
    SessionOpened,
    SessionRead,
    SettingsChanged,
    StartKept,
    StartRequested,
    StateRepaired,
    StopRequested,
    SupervisorSeen,
    UsageSeen,
    WorkspaceRestored,
    WorkspaceSeen,
    name_of,
)

RunnerClaimed = _events.RunnerLeased
Message = _events.MessageSent
GateStart = _events.GateStarted
BudgetWarning = _events.BudgetWarned
TasksChanged = _events.SubtasksChanged
StopHookTrigger = _events.HookTriggered


class _Named(type):
    """The type of a class that stands for the events of one name in the journal."""

    def __new__(mcs, title: str, bases: tuple[type, ...], body: dict[str, Any], name: str) -> _Named:
        made = super().__new__(mcs, title, bases, {"__slots__": (), **body})
        made._name = name
        return made

    def __init__(cls, title: str, bases: tuple[type, ...], body: dict[str, Any], name: str) -> None:
        super().__init__(title, bases, body)

    def __instancecheck__(cls, event: object) -> bool:
        return isinstance(event, cls.__bases__) and name_of(event) == cls._name  # type: ignore[arg-type]

    _name: str


class IterationStart(_events.TurnStarted, metaclass=_Named, name="iteration_start"):
    """The worker is about to be asked."""


class IterationComplete(_events.TurnEnded, metaclass=_Named, name="iteration_complete"):
    """The worker has answered or failed."""


class IterationInterrupted(_events.TurnInterrupted, metaclass=_Named, name="iteration_interrupted"):
    """The turn of the worker was ended from outside. Its round still counts."""


class IterationRetry(_events.TurnRetried, metaclass=_Named, name="iteration_retry"):
    """The turn of the worker failed for a temporary reason and is tried again in the same round."""


class ConsultationStart(_events.TurnStarted, metaclass=_Named, name="consultation_start"):
    """A supervisor or instructor is about to be asked."""


class ConsultationComplete(_events.TurnEnded, metaclass=_Named, name="consultation_complete"):
    """A supervisor or instructor has answered or failed."""


class ConsultationInterrupted(_events.TurnInterrupted, metaclass=_Named, name="consultation_interrupted"):
    """The turn of a supervisor or instructor was ended from outside."""


class ConsultationRetry(_events.TurnRetried, metaclass=_Named, name="consultation_retry"):
    """The turn of a supervisor or instructor failed for a temporary reason and is tried again."""


class TaskComplete(_events.Rested, metaclass=_Named, name="task_complete"):
    """The loop ended: verified or claimed."""


class LoopPaused(_events.Rested, metaclass=_Named, name="loop_paused"):
    """The loop rests and can go on: `outcome` and `reason` say why."""


class LoopFailed(_events.Rested, metaclass=_Named, name="loop_failed"):
    """The loop failed or was stopped."""


__all__ = [
    "AcceptanceRan",
    "AnswerRead",
    "BaselineRan",
    "BudgetChanged",
    "BudgetWarning",
    "ChangesApproved",
    "ChildReserved",
    "ChildSpent",
    "ConsultationComplete",
    "ConsultationInterrupted",
    "ConsultationRetry",
    "ConsultationStart",
    "Entry",
    "Escalated",
    "Event",
    "FailuresExplained",
    "GateStart",
    "GatesRan",
    "HostsAsked",
    "IterationComplete",
    "IterationInterrupted",
    "IterationRetry",
    "IterationStart",
    "LimitReached",
    "LiveStateSeen",
    "LoopCreated",
    "LoopFailed",
    "LoopPaused",
    "LoopRenamed",
    "MachineLacked",
    "Message",
    "PauseRequested",
    "PromptReinjected",
    "ResumeRequested",
    "RetryRequested",
    "Rewound",
    "RunnerClaimed",
    "SandboxSeen",
    "SessionDistrusted",
    "SessionOpened",
    "SessionRead",
    "SettingsChanged",
    "StartKept",
    "StartRequested",
    "StateRepaired",
    "StopHookTrigger",
    "StopRequested",
    "SupervisorSeen",
    "TaskComplete",
    "TasksChanged",
    "UsageSeen",
    "WorkspaceRestored",
    "WorkspaceSeen",
    "name_of",
]
