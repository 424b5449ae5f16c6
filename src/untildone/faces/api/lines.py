"""A loop in one line, as the API lists it."""

from __future__ import annotations

from collections.abc import Sequence

from untildone.core.loop import Loop
from untildone.faces.api.models import LoopLine, loop_line
from untildone.operations.driving.service import Service
from untildone.operations.loop_table import Row, row_of
from untildone.operations.stores import Store


def line(service: Service, loop: Loop) -> LoopLine:
    """A loop as the API lists it."""
    workspace, store = service.table.find(loop.loop_id)
    return _line(service, row_of(loop, workspace), store)


def lines(service: Service, rows: Sequence[Row]) -> list[LoopLine]:
    """Rows of the loop table as the API lists them."""
    return [_line(service, row, service.stores[row.workspace]) for row in rows]


def _line(service: Service, row: Row, store: Store) -> LoopLine:
    resting = row.status is None or row.status.ended
    return loop_line(
        row,
        driven=not resting and store.is_driven(row.loop_id),
        queued=service.fleet.is_queued(row.loop_id),
        problem=service.fleet.problems.get(row.loop_id, ""),
    )
