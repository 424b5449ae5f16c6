"""The route for the output of an agent as it is read for people: what it said, thought and called."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from untildone.core.values.codec import timestamp, to_json
from untildone.faces.api.routes.common import LoopId, Serving, WithOutputs, WithViews
from untildone.faces.api.schemas.forms import OUTPUT_NAME, Time
from untildone.faces.api.schemas.problems import may_answer
from untildone.operations.showing.output_window import Block, Kind, Window
from untildone.operations.showing.outputs import going

router = APIRouter(prefix="/api/v1/loops/{loop_id}/output/{name}", tags=["records"])


class CallLine(BaseModel):
    """A tool that the agent called."""

    tool: str
    summary: str
    ok: bool | None = Field(description="Whether it worked; null: its result is not there yet")
    result: str


class BlockLine(BaseModel):
    """A text, a thought or a prompt of the agent, or consecutive tool calls."""

    kind: Kind
    at: int = Field(description="The byte of the output at which it begins")
    text: str
    calls: list[CallLine]


class OutputWindow(BaseModel):
    """A part of an output."""

    blocks: list[BlockLine]
    start: int = Field(description="Where it begins: `before` of the part before it; 0: this is the first")
    size: int = Field(description="The size of the whole output in bytes")
    going: bool = Field(description="Whether the output may still grow")
    written_at: Time | None = Field(description="When the agent printed last; null: that is not known")


@router.get("/blocks", response_model=OutputWindow, responses=may_answer(404, 422, 503))
def read_blocks(
    loop_id: LoopId,
    service: Serving,
    views: WithViews,
    outputs: WithOutputs,
    name: Annotated[str, Path(pattern=OUTPUT_NAME, description="The `output` of a turn: 0003, 0003-supervisor")],
    before: Annotated[int | None, Query(ge=1, le=10**15, description="`start` of the part that you have")] = None,
) -> OutputWindow:
    """The end of what an agent printed, read as its program writes it; with `before`, the part that ends there."""
    store = service.store_of(loop_id)
    view, spool = views.look(store, loop_id), store.spool(loop_id, name)
    if spool.size() is None:
        raise HTTPException(404, f"Loop {loop_id} has no output {name}")
    followed, is_going = outputs.follow(store, view, name), name in going(view)
    if before is None:
        window = followed.look(is_complete=not is_going)
    else:
        window = followed.output.before(Window(start=min(before, spool.size() or 0)))
    at = spool.written_at()
    return OutputWindow(
        blocks=[_block(each) for each in window.blocks],
        start=window.start,
        size=window.size,
        going=is_going,
        written_at=None if at is None else timestamp(at),
    )


def _block(block: Block) -> BlockLine:
    return BlockLine(**to_json(block))
