"""The first page: the loops that need a person, those at work, and those that are done."""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from untildone.core.errors import UntilDoneError
from untildone.core.model import Outcome, Status
from untildone.operations.driving.service import Service
from untildone.operations.loop_table import Row
from untildone.operations.showing import last_output, waiting
from untildone.operations.showing.waiting import Waiting

MOST_NEEDS, MOST_WORKING, MOST_DONE = 20, 20, 10
RECENT = 7 * 86_400.0
"""Seconds for which a loop that ended without success is shown as one that needs a person."""
MOST_FACTS = 500
SETTLED_AFTER = 60.0
"""Seconds after its end from which a loop without a receipt is not expected to get one."""
COUNTED_FOR = 5.0
"""Seconds after which loops that have not changed are counted again, because a usage limit may be over."""


@dataclass(frozen=True, slots=True)
class AtWork:
    """A running loop."""

    row: Row
    waiting: Waiting | None
    """Why it is not being driven; None: it is."""
    last: str = ""
    """The last line of its output."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that passed, with what a test runner reported."""

    name: str
    tests: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A verified loop, and what its receipt says."""

    row: Row
    gates: tuple[Gate, ...] = ()
    files: int = 0
    insertions: int = 0
    deletions: int = 0
    settled: bool = True
    """Whether its receipt is written: that takes a moment after its end."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """Loops that need a person, are at work, or are done: the newest first."""

    needs: tuple[Row, ...]
    working: tuple[Row, ...]
    done: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Inbox:
    """What the first page shows. The totals count what is not shown as well."""

    needs: tuple[Row, ...]
    needs_total: int
    working: tuple[AtWork, ...]
    working_total: int
    done: tuple[Finished, ...]
    done_total: int
    loops: int
    """How many loops there are."""


class Inboxes:
    """Makes the inbox of a server. What receipts say is read once."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lines = last_output.LastOutput()
        self._facts: dict[tuple[str, int], Finished] = {}
        self._counted: tuple[tuple[Row, ...], float, int] = ((), 0.0, 0)

    def look(self) -> Inbox:
        """The inbox as it is now."""
        rows = self._service.table.rows()
        sorted_rows = sort(rows, time.time())
        return Inbox(
            sorted_rows.needs[:MOST_NEEDS],
            len(sorted_rows.needs),
            tuple(self._at_work(row) for row in sorted_rows.working[:MOST_WORKING]),
            len(sorted_rows.working),
            tuple(self._finished(row) for row in sorted_rows.done),
            sum(row.outcome is Outcome.VERIFIED for row in rows),
            len(rows),
        )

    def needs(self) -> int:
        """How many loops need a person."""
        rows, now = self._service.table.rows(), time.time()
        counted, at, number = self._counted
        if counted is not rows or now - at > COUNTED_FOR:
            number = sum(needs_person(row, now) for row in rows)
            self._counted = rows, now, number
        return number

    def _at_work(self, row: Row) -> AtWork:
        why = waiting.of_row(self._service, row)
        last = "" if why is not None else self._lines.of_row(self._service.stores[row.workspace], row)
        return AtWork(row, why, last)

    def _finished(self, row: Row) -> Finished:
        key = (row.loop_id, row.seq)
        if key in self._facts:
            return self._facts[key]
        text = self._receipt(row)
        if not text:
            return Finished(row, settled=time.time() - row.updated_at > SETTLED_AFTER)
        if len(self._facts) >= MOST_FACTS:
            self._facts.clear()
        self._facts[key] = finished(row, _read(text))
        return self._facts[key]

    def _receipt(self, row: Row) -> str:
        try:
            return self._service.stores[row.workspace].receipt(row.loop_id) or ""
        except (UntilDoneError, OSError):
            return ""


def _read(text: str) -> Mapping[str, Any]:
    try:
        receipt = json.loads(text)
    except ValueError:
        return {}
    return receipt if isinstance(receipt, dict) else {}


def sort(rows: Iterable[Row], now: float) -> Sorted:
    """Which loops need a person now, which are at work, and which were verified last."""
    needs, working, done = list[Row](), list[Row](), list[Row]()
    for row in rows:
        if needs_person(row, now):
            needs.append(row)
        elif row.status is Status.RUNNING:
            working.append(row)
        elif row.outcome is Outcome.VERIFIED:
            done.append(row)
    needs.sort(key=lambda row: -row.updated_at)
    working.sort(key=lambda row: -row.created_at)
    return Sorted(tuple(needs), tuple(working), tuple(heapq.nlargest(MOST_DONE, done, key=lambda row: row.updated_at)))


def needs_person(row: Row, now: float) -> bool:
    """Whether the loop belongs among those that need a person: a limit that is over and an end long ago do not."""
    if row.need is None:
        return False
    if row.need.until:
        return row.need.until > now
    return row.status is None or not row.status.ended or now - row.updated_at < RECENT


def finished(row: Row, receipt: Mapping[str, Any]) -> Finished:
    """A verified loop with what its receipt says. A receipt that is damaged says nothing."""
    gates = [each for each in _dicts(receipt.get("gates")) if each.get("passed") is True]
    files = _dicts(receipt.get("files_changed"))
    return Finished(
        row,
        tuple(Gate(str(each.get("command") or each.get("gate")), str(each.get("tests") or "")) for each in gates),
        len(files),
        sum(_number(each.get("insertions")) for each in files),
        sum(_number(each.get("deletions")) for each in files),
    )


def _dicts(values: object) -> list[dict[str, Any]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
