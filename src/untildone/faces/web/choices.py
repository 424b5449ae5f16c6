"""Choices and defaults that are not in the declarations of the settings: modes, agents, and the usual rounds of a mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from untildone import settings
from untildone.faces.web.backend import Backend
from untildone.operations import output
from untildone.settings import Settings


def choices(chosen: Settings) -> dict[str, tuple[str, ...]]:
    """The possible values of the settings that name a mode, an agent or a profile."""
    who = (*output.agent_names(), *chosen.profiles)
    roles = dict.fromkeys(("agent", "instructor", "supervisor", "fallback_agent"), who)
    return {"mode": output.mode_names(), **roles}


def starting_values(chosen: Settings) -> Mapping[str, Any]:
    """The values that a form starts with, without secrets."""
    usual = output.usual_rounds(chosen.mode)
    return {**settings.hidden(settings.as_json(chosen)), "usual_rounds": usual}


def read(backend: Backend, workspace: str) -> tuple[Mapping[str, Any], dict[str, tuple[str, ...]]]:
    """The starting values and the choices for a form of a workspace."""
    chosen = backend.settings(workspace)
    return starting_values(chosen), choices(chosen)
