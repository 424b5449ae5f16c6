"""The route for the spend of the server's loops."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from untildone.core.values.codec import to_json
from untildone.faces.api.routes.common import WithSpendTotals
from untildone.faces.api.schemas.problems import may_answer
from untildone.operations.showing.money import LARGEST_OFFSET, Spent

router = APIRouter(prefix="/api/v1", tags=["spend"])


class SpentLine(BaseModel):
    """What some loops have spent together."""

    name: str = Field(description="The day (YYYY-MM-DD), the agent or profile, or the served folder; empty: all")
    cost_usd: float
    seconds: float = Field(description="How long agents and checks were at work")
    rounds: int
    tokens: int
    loops: int


class SpendState(BaseModel):
    """What the loops of the server have spent in the last seven days."""

    today: SpentLine
    week: SpentLine = Field(description="The seven days together")
    days: list[SpentLine] = Field(description="One for each day; the last one is today")
    agents: list[SpentLine] = Field(description="By agent, the most expensive first")
    workspaces: list[SpentLine] = Field(description="By served folder, the most expensive first")


@router.get("/spend", response_model=SpendState, responses=may_answer(422, 503))
def show_spend(
    totals: WithSpendTotals,
    offset: Annotated[
        int,
        Query(
            ge=-LARGEST_OFFSET,
            le=LARGEST_OFFSET,
            description="Minutes by which your days begin before those of UTC: 60 in winter in Paris",
        ),
    ] = 0,
) -> SpendState:
    """What was spent today and in the last seven days, by day, agent and workspace. Loops that were deleted do not count."""
    money = totals.look(offset * 60)
    return SpendState(
        today=_line(money.today),
        week=_line(money.week),
        days=[_line(each) for each in money.days],
        agents=[_line(each) for each in money.agents],
        workspaces=[_line(each) for each in money.workspaces],
    )


def _line(spent: Spent) -> SpentLine:
    return SpentLine(**to_json(spent))
