"""What the declarations of the settings do not know: the modes and agents there are, and a mode's usual number of rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from untildone import settings
from untildone.faces.web.backend import Backend
from untildone.operations import output
from untildone.settings import Settings


def choices(chosen: Settings) -> dict[str, tuple[str, ...]]:
    who = (*output.agent_names(), *chosen.profiles)
    roles = dict.fromkeys(("agent", "instructor", "supervisor", "fallback_agent"), who)
    return {"mode": output.mode_names(), **roles}


def starting_values(chosen: Settings) -> Mapping[str, Any]:
    """The settings as a form starts with them: secrets stay here."""
    usual = output.usual_rounds(chosen.mode)
    return {**settings.hidden(settings.as_json(chosen)), "usual_rounds": usual}


def read(backend: Backend, workspace: str) -> tuple[Mapping[str, Any], dict[str, tuple[str, ...]]]:
    chosen = backend.settings(workspace)
    return starting_values(chosen), choices(chosen)
