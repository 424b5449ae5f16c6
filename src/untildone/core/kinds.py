"""Enums whose values are words in journals, checkpoints and the API."""

from __future__ import annotations

from enum import StrEnum


class Host(StrEnum):
    """What drives a loop."""

    NONE = ""
    """No host is chosen yet, or the writer does not drive the loop: it only records what follows from a control."""
    TERMINAL = "terminal"
    SERVER = "server"
    HOOK = "hook"
    """A person's own agent session, through the stop hook."""
    CLUSTER = "cluster"


class Interruption(StrEnum):
    """Why a turn ended before the agent answered."""

    CONTROL = "control"
    """A person paused or stopped the loop."""
    PERSON = "person"
    """A person interrupted the turn to write a message; the loop waits for it."""
    TIMEOUT = "timeout"
    """The turn took longer than one iteration may take."""
    BUDGET = "budget"
    """The minutes of the whole loop are used up."""
    CRASH = "crash"
    """The runner died during the turn."""
