"""`untildone list`: the loops of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

import click

from untildone.core.attention import NeedKind, need_of
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.receipts import proof
from untildone.core.values.value import dataclass
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.views import summaries
from untildone.faces.text.plain import one_line
from untildone.operations.driving import presence
from untildone.operations.reach import Reach
from untildone.operations.stores import Store

ENDED_SHOWN = 10
NARROW = 100
"""On a terminal with fewer columns, a loop takes several lines."""
NEEDS_SHOWN = (NeedKind.BLOCKED, NeedKind.ASKS, NeedKind.LOGIN)
"""Kinds of needs that the outcome of a loop does not show."""
COLUMNS = ("LOOP", "STATUS", "MODE", "ROUND", "OUTCOME", "AGE", "TITLE")


@dataclass(frozen=True, slots=True)
class Row:
    """A loop of the list. A loop whose state cannot be read has a problem instead."""

    loop_id: str
    loop: Loop | None = None
    driven: bool = False
    problem: str = ""
    status: str = "damaged"
    """The status to show without a loop."""

    def cells(self) -> tuple[str, ...]:
        if self.loop is None:
            return (self.loop_id, self.status, "", "", "", "", one_line(self.problem))
        loop = self.loop
        return (
            loop.loop_id,
            summaries.status(loop, driven=self.driven),
            loop.settings.mode,
            summaries.rounds(loop),
            " ".join(filter(None, (loop.outcome.word if loop.outcome else "", _proved(loop)))),
            summaries.age(loop.created_at),
            one_line(_titled(loop)),
        )


def _titled(loop: Loop) -> str:
    need = need_of(loop)
    return f"{loop.title} · needs: {need.text}" if need is not None and need.kind in NEEDS_SHOWN else loop.title


def _proved(loop: Loop) -> str:
    level = proof.level(loop)
    return f"({level.value})" if level is not proof.Proof.NONE else ""


@click.command()
@click.option("--status", type=click.Choice([each.value for each in Status]), help="Only loops with this status.")
@click.option("--all", "everything", is_flag=True, help=f"All ended loops, not only the last {ENDED_SHOWN}.")
@parameters.place
@parameters.as_json
def command(status: str | None, everything: bool, folder: str, as_json: bool) -> int:
    """The loops of this folder, newest first: those that can go on, and the last that ended."""
    reach = parameters.reach(folder)
    store, everything = reach.store, everything or status is not None
    known = () if store is None else _rows(store, _ids(store, everything=everything))
    rows = [row for row in (*_unlisted(reach), *known) if _fits(row, status)]
    data = streams.data()
    if as_json:
        for row in rows:
            data.record(_fields(row))
    elif data.is_terminal:
        _table(rows)
    else:
        for row in rows:
            data.line("\t".join(row.cells()))
    if not rows:
        where = folder if store is None else store.name
        streams.talk().prose(f"There are no loops in {where}{' with that status' if status else ''}.")
    return 0


def _ids(store: Store, *, everything: bool) -> list[str]:
    """Ids, newest first. Without `everything`, only the last ended loops, so that the others are not read."""
    known, live = store.ids(), set(store.live_ids())
    ended = [name for name in known if name not in live]
    shown = live | set(ended if everything else ended[-ENDED_SHOWN:])
    return [name for name in reversed(known) if name in shown]


def _fits(row: Row, status: str | None) -> bool:
    return status is None or status == (row.status if row.loop is None else row.loop.status.value)


def _unlisted(reach: Reach) -> Iterator[Row]:
    """The running loops that the store of the folder does not have: their files were moved, or the settings name another store."""
    for reached in reach.elsewhere:
        if reached.store is not None:
            yield from _rows(reached.store, [reached.loop_id])
        else:
            fields = summaries.of_unread(reached)
            yield Row(reached.loop_id, problem=fields["problem"], status=fields["status"])


def _rows(store: Store, loop_ids: list[str]) -> Iterator[Row]:
    for each in store.survey(loop_ids):
        loop = None if each.loop is None else presence.without_closed_session(store, each.loop)
        yield Row(each.loop_id, loop, each.driven, each.problem)


def _fields(row: Row) -> dict[str, object]:
    if row.loop is None:
        return {"loop_id": row.loop_id, "status": row.status, "problem": row.problem}
    return summaries.fields(row.loop, driven=row.driven)


def _table(rows: list[Row]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if console.width < NARROW:
        for row in rows:
            for line in _record(row, console.width):
                console.print(Text(line, no_wrap=True, overflow="ellipsis"))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in COLUMNS:
        table.add_column(column, no_wrap=column == "LOOP", overflow="ellipsis" if column == "TITLE" else "fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row.cells()))
    if rows:
        console.print(table)


def _record(row: Row, width: int) -> Iterator[str]:
    """A loop on a narrow terminal: its id, then what the table has in columns, then its title."""
    name, *facts, title = row.cells()
    yield name
    yield from (f"  {line}" for line in wrap(" · ".join(filter(None, facts)), width - 2))
    yield f"  {title}"
