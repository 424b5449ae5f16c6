"""Routes that help to choose: the agents of this machine, and checks that fit a project."""

from __future__ import annotations

from enum import StrEnum

from fastapi import APIRouter
from pydantic import BaseModel, Field

from untildone.faces.api.common import Serving
from untildone.faces.api.problems import may_answer
from untildone.faces.api.settings_routes import Workspace
from untildone.operations import agents
from untildone.operations.agents import AgentInfo
from untildone.operations.creating import suggestions
from untildone.operations.driving.service import Service

RECENT_LOOPS = 20
"""So many of the last loops of a folder are looked at for their checks."""
router = APIRouter(prefix="/api/v1", tags=["choices"])


class AgentLine(BaseModel):
    """An agent, or a profile of one, as it is installed on the machine of the server."""

    name: str
    agent: str = Field(description="The agent behind a profile; else the same as `name`")
    installed: bool
    program: str = Field(description="The program to start; empty: only the settings can name one")
    path: str | None
    version: str
    can: list[str] = Field(description="What it can do: resume, fork, …")
    install: str = Field(description="How to install it")
    problem: str = Field(description="What is wrong with this version; empty: nothing")


class AgentList(BaseModel):
    """The agents, then the profiles of the settings."""

    agents: list[AgentLine]


class Found(StrEnum):
    """Where a suggestion comes from."""

    PROJECT = "project"
    LOOPS = "loops"


class CheckLine(BaseModel):
    """A check that fits a project."""

    command: str
    source: Found = Field(description="The files of the project, or the last loops in the folder")
    reason: str = Field(description="The file that it follows from, or the loop that used it last")


class Suggested(BaseModel):
    """Suggestions for a new loop, best first."""

    checks: list[CheckLine]


@router.get("/agents", response_model=AgentList, responses=may_answer(422, 503))
def list_agents(service: Serving, workspace: Workspace = None) -> AgentList:
    """The agents that loops can use, and which of them are installed. Starts their programs to learn the versions."""
    folder, _ = service.workspace(workspace)
    return AgentList(agents=[_agent(info) for info in agents.look_at_all(folder)])


def _agent(info: AgentInfo) -> AgentLine:
    return AgentLine(
        name=info.name,
        agent=info.agent,
        installed=info.path is not None or not info.program,
        program=info.program,
        path=info.path,
        version=info.version,
        can=list(info.capabilities),
        install=info.install,
        problem=info.problem,
    )


@router.get("/suggestions", response_model=Suggested, responses=may_answer(422, 503))
def suggest(service: Serving, workspace: Workspace = None) -> Suggested:
    """Checks for a new loop: those of the last loops in the folder, and those that follow from its files."""
    folder, _ = service.workspace(workspace)
    of_files = [
        CheckLine(command=each.command, source=Found.PROJECT, reason=each.reason) for each in suggestions.checks(folder)
    ]
    found = {each.command: each for each in reversed([*_used(service, str(folder)), *of_files])}
    return Suggested(checks=[*reversed(found.values())])


def _used(service: Service, workspace: str) -> list[CheckLine]:
    """The checks of the last loops, the last first."""
    rows = [row for row in service.table.rows() if row.workspace == workspace and row.status is not None]
    return [
        CheckLine(command=check, source=Found.LOOPS, reason=row.loop_id)
        for row in rows[:RECENT_LOOPS]
        for check in service.stores[workspace].load(row.loop_id).settings.checks
    ]
