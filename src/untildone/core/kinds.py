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


class Source(StrEnum):
    """Where a person wrote a message. A journal entry with any other source is damaged: only people send messages to a loop."""

    PERSON = "person"
    """A command, outside of every loop."""
    TERMINAL = "terminal"
    """The terminal at which the loop runs."""
    API = "api"
    """A request with the token."""
    DASHBOARD = "dashboard"
    SESSION = "session"
    """The person's own session of a wrapped agent."""


class Interruption(StrEnum):
    """Why a turn ended before the agent answered."""

    CONTROL = "control"
    """A person paused or stopped the loop."""
    PERSON = "person"
    """A person interrupted the turn to write a message; the loop waits for it."""
    TIMEOUT = "timeout"
    """The turn took longer than one turn may take (`--iteration-timeout`)."""
    BUDGET = "budget"
    """The minutes, dollars or tokens of the whole loop are used up."""
    CRASH = "crash"
    """The runner died during the turn."""
    NO_PROGRAM = "no program"
    """The agent program could not be started, and a person does the work by hand."""
