"""Routes that help to choose: the agents of this machine, modes, and checks that fit a project."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice

from fastapi import APIRouter
from pydantic import BaseModel, Field

from untildone.faces.api.routes.common import Serving
from untildone.faces.api.routes.settings_routes import Workspace
from untildone.faces.api.schemas.problems import may_answer
from untildone.operations import output
from untildone.operations.creating import suggestions
from untildone.operations.setup import agents
from untildone.operations.setup.agents import AgentInfo

RECENT_LOOPS = 5
"""How many of the last loops of a folder are searched for checks."""
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


class ModeLine(BaseModel):
    """A mode: the rule by which the next prompt is chosen and an answer is understood."""

    name: str
    max_iterations: int | None = Field(description="Its limit of rounds if none is set; null: none")


class ModeList(BaseModel):
    """The modes, those of plugins included."""

    modes: list[ModeLine]


class CheckSource(StrEnum):
    """Where a suggestion comes from."""

    PROJECT = "project"
    LOOPS = "loops"


class CheckLine(BaseModel):
    """A check that fits a project."""

    command: str
    source: CheckSource = Field(description="The files of the project, or the last loops in the folder")
    reason: str = Field(description="The file that it follows from, or `used by a loop`")


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


@router.get("/modes", response_model=ModeList, responses=may_answer(422))
def list_modes() -> ModeList:
    """The modes that loops can have."""
    return ModeList(
        modes=[ModeLine(name=name, max_iterations=output.usual_rounds(name)) for name in output.mode_names()]
    )


@router.get("/suggestions", response_model=Suggested, responses=may_answer(422, 503))
def suggest(service: Serving, workspace: Workspace = None) -> Suggested:
    """Checks for a new loop: those that follow from the files of the folder, then those of its last loops."""
    folder, store = service.workspace(workspace)
    own = (row.loop_id for row in service.table.rows() if row.workspace == str(folder) and not row.problem)
    used = suggestions.used(store, islice(own, RECENT_LOOPS))
    by_command = {each.command: (each, CheckSource.LOOPS) for each in used}
    by_command |= {each.command: (each, CheckSource.PROJECT) for each in suggestions.checks(folder)}
    ordered = sorted(by_command.values(), key=lambda each: each[1] is CheckSource.LOOPS)
    return Suggested(
        checks=[CheckLine(command=each.command, source=source, reason=each.reason) for each, source in ordered]
    )
