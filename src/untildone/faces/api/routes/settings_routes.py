"""Routes for settings: the values in effect, the values of each file, and the schema."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query

from untildone import settings
from untildone.faces.api.routes.common import Serving
from untildone.faces.api.schemas.problems import may_answer
from untildone.settings.schema import SettingsModel, json_schema

router = APIRouter(prefix="/api/v1/settings", tags=["settings"])


class SettingsScope(StrEnum):
    """Which settings to read."""

    EFFECTIVE = "effective"
    PROJECT = "project"
    PERSON = "person"


class FileScope(StrEnum):
    """Which settings file to write."""

    PROJECT = "project"
    PERSON = "person"


Workspace = Annotated[
    str | None, Query(max_length=4096, description="One of the served folders; the first, if not set")
]


@router.get("", response_model=SettingsModel, response_model_exclude_unset=True, responses=may_answer(422, 503))
def read_settings(
    service: Serving,
    scope: Annotated[
        SettingsScope, Query(description="The settings in effect, or those of one file")
    ] = SettingsScope.EFFECTIVE,
    workspace: Workspace = None,
) -> dict[str, Any]:
    """The settings of a workspace. Secrets and the variables of agents are shown as `…`."""
    folder, _ = service.workspace(workspace)
    if scope is SettingsScope.EFFECTIVE:
        return settings.hidden(settings.as_json(settings.load(folder, {}, service.environment)))
    person, project = settings.files(folder, service.environment)
    return settings.hidden(settings.read(project if scope is SettingsScope.PROJECT else person))


@router.put("", response_model=SettingsModel, response_model_exclude_unset=True, responses=may_answer(422, 503))
def write_settings(
    values: SettingsModel,
    service: Serving,
    scope: Annotated[FileScope, Query(description="Which file: the project's or the person's")] = FileScope.PROJECT,
    workspace: Workspace = None,
) -> dict[str, Any]:
    """Make one file hold exactly these values. A secret given as `…` stays as it is."""
    folder, _ = service.workspace(workspace)
    person, project = settings.files(folder, service.environment)
    path = project if scope is FileScope.PROJECT else person
    settings.save(path, values.model_dump(mode="json", exclude_unset=True))
    return settings.hidden(settings.read(path))


@router.get("/schema", responses=may_answer(422))
def settings_schema() -> dict[str, Any]:
    """JSON Schema: titles, descriptions, bounds, defaults."""
    return json_schema()
