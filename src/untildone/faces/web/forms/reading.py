"""Reads what the forms start from: the settings of a workspace, its agents and modes, and suggestions for its checks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from untildone import settings
from untildone.core.kinds import Host
from untildone.faces.web.forms.fields import Field, fields
from untildone.faces.web.forms.widgets import AGENTS, Values, Widget, for_file, for_new, sourced
from untildone.operations import output
from untildone.operations.creating import duplicating, suggestions
from untildone.operations.creating.suggestions import Suggestion
from untildone.operations.driving.service import Service
from untildone.operations.setup import agents
from untildone.settings import Settings
from untildone.settings.loading import validated

LAST_LOOPS = 5
"""How many loops are asked for the checks that they had."""
MOST_SUGGESTIONS = 6


def new_loop(service: Service, workspace: str) -> tuple[Widget, ...]:
    """The fields for a new loop in a workspace."""
    chosen = _load(service, Path(workspace))
    return tuple(for_new(_fields(chosen), _values(service, chosen)))


def again(service: Service, loop_id: str) -> tuple[str, str, tuple[Widget, ...]]:
    """The task, the workspace and the fields for a loop like another one. LoopNotFound if there is none."""
    workspace, store = service.table.find(loop_id)
    loop = store.load(loop_id)
    folder = duplicating.folder_of(store, loop)
    chosen = duplicating.chosen_for(loop, folder, {}, service.environment)
    return loop.description, workspace, tuple(for_new(_fields(chosen), _values(service, chosen)))


def checks_for(service: Service, workspace: str) -> tuple[Suggestion, ...]:
    """Checks that fit a workspace: those of its last loops, then those that its files suggest."""
    folder, store = service.workspace(workspace)
    own = (row.loop_id for row in service.table.rows() if row.workspace == workspace and not row.problem)
    used = suggestions.used(store, islice(own, LAST_LOOPS))
    fitting = {each.command: each for each in (*suggestions.checks(folder), *used)}
    return tuple(fitting.values())[:MOST_SUGGESTIONS]


class ProjectFile:
    """The settings file of a workspace, with what holds without it."""

    def __init__(self, service: Service, workspace: str) -> None:
        folder, environment = Path(workspace), service.environment
        person, self.path = settings.files(folder, environment)
        self._own = settings.hidden(settings.read(self.path))
        self._person = settings.hidden(settings.read(person))
        self._below = settings.hidden(settings.as_json(validated(settings.read(person), "")))
        self._chosen = _load(service, folder)
        self._values = _values(service, self._chosen)

    def widgets(self) -> tuple[Widget, ...]:
        """The fields of all settings but profiles."""
        shown = for_file(_fields(self._chosen), self._own, self._below, self._values)
        return tuple(sourced(shown, self._person, self._chosen.overriding))

    def profiles(self) -> dict[str, tuple[Widget, ...]]:
        """The fields of each profile of the file, by its name."""
        own: Mapping[str, Mapping[str, Any]] = self._own.get("profiles", {})
        return {name: self.profile(values, f"p{place}-") for place, (name, values) in enumerate(own.items())}

    def profile(self, values: Mapping[str, Any], place: str) -> tuple[Widget, ...]:
        """The fields of a profile with these values."""
        inner = fields(settings.PROFILE_SETTINGS, {"agent": output.agent_names()})
        below = dict.fromkeys(settings.PROFILE_SETTINGS) | {"permissions": "work"}
        return tuple(for_file(inner, values, below, self._values, place))


def _load(service: Service, folder: Path) -> Settings:
    return settings.load(folder, {}, service.environment)


def _fields(chosen: Settings) -> tuple[Field, ...]:
    agent_names = tuple(dict.fromkeys((*output.agent_names(), *chosen.profiles)))
    return fields(settings.every(), {"mode": output.mode_names(), **dict.fromkeys(AGENTS, agent_names)})


def _values(service: Service, chosen: Settings) -> Values:
    """The values of the form. For a cluster no agent is marked as missing: agents run on other machines."""
    return Values(
        effective=settings.hidden(settings.as_json(chosen)),
        explicit=chosen.explicit,
        usual_rounds={mode: output.usual_rounds(mode) for mode in output.mode_names()},
        missing={} if service.host is Host.CLUSTER else agents.missing(chosen, service.environment),
    )
