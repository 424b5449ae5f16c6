"""Groups of loops with limits across all machines: total cost, and loops at work at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from untildone.core.errors import GroupFull
from untildone.core.model import Status
from untildone.store import Group
from untildone.store.postgres.connections import Database
from untildone.store.postgres.locks import HELD

if TYPE_CHECKING:
    from untildone.store.postgres.connections import Connection

# The row of the group stays locked until the end of the transaction, so two machines cannot both take the last place.
_LIMIT = b"SELECT at_once FROM untildone.groups WHERE name = %s FOR UPDATE"
_OTHERS = f"SELECT count(*) FROM untildone.loops WHERE group_name = %s AND number <> %s AND number IN ({HELD})".encode()
_WAITING = f"""
    SELECT loop_id FROM untildone.loops
    WHERE group_name = %s AND NOT archived AND status = %s AND number NOT IN ({HELD}) ORDER BY number
"""
_CHANGE = """
    INSERT INTO untildone.groups (name, max_cost, at_once) VALUES (%s, %s, %s)
    ON CONFLICT (name) DO UPDATE SET max_cost = excluded.max_cost, at_once = excluded.at_once
"""
_READ = f"""
    SELECT name, max_cost, at_once, coalesce(sum(cost), 0), count(number), count(number) FILTER (WHERE number IN ({HELD}))
    FROM (SELECT name FROM untildone.groups UNION SELECT group_name FROM untildone.loops WHERE group_name IS NOT NULL) AS known
        LEFT JOIN untildone.groups USING (name) LEFT JOIN untildone.loops ON group_name = name
    WHERE %s::text IS NULL OR name = %s GROUP BY name, max_cost, at_once ORDER BY name
"""


def enter(database: Database, group: str, number: int, take: Callable[[], bool]) -> bool:
    """Take the lock of a loop with `take` if its group has a free place; GroupFull if not. Returns the result of `take`."""
    taken = False

    def work(connection: Connection) -> bool:
        nonlocal taken
        with connection.transaction():
            limit = connection.execute(_LIMIT, (group,)).fetchone()
            if not taken and limit and limit[0] is not None:
                _check(connection, group, number, limit[0])
            taken = taken or take()
            return taken

    return database.run(work)


def _check(connection: Connection, group: str, number: int, at_once: int) -> None:
    others = connection.execute(_OTHERS, (group, number)).fetchone()
    if others is not None and others[0] >= at_once:
        raise GroupFull(
            f"The group '{group}' has as many loops at work as it may have at once ({at_once}).",
            f"the loop goes on when one of them rests; `untildone group {group} --at-once N` allows more",
        )


def waiting(database: Database, name: str) -> tuple[str, ...]:
    """The running loops of a group that no runner drives, the oldest first."""
    return tuple(loop_id for (loop_id,) in database.rows(_WAITING, (name, Status.RUNNING.value)))


def change(database: Database, name: str, max_cost: float | None, at_once: int | None) -> None:
    """Set the limits of a group."""
    database.rows(_CHANGE, (name, max_cost, at_once))


def read(database: Database, name: str | None = None) -> tuple[Group, ...]:
    """All groups with their usage, or the one with this name."""
    return tuple(Group(*row) for row in database.rows(_READ, (name, name)))
