"""The sections of the forms: which fields are in the open for a new loop, and which under More."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from untildone.faces.web.forms.fields import Kind
from untildone.faces.web.forms.widgets import Widget

OPEN: dict[str, tuple[str, ...]] = {
    "Checks": ("checks",),
    "Budget": ("max_cost", "max_minutes"),
    "Loop Settings": ("loop_enabled", "max_iterations", "promise"),
    "Agent": ("agent", "mode"),
}
"""What the form for a new loop shows at once, by the titles of its sections. All else is under More."""


@dataclass(frozen=True, slots=True)
class Section:
    """Some fields under a title."""

    title: str
    widgets: tuple[Widget, ...]


def in_the_open(widgets: Iterable[Widget]) -> dict[str, Section]:
    """The sections of a new loop that are in the open, by their titles. Options of the mode are beside it."""
    by_place = [(_open_title(each), each) for each in widgets]
    return {
        title: Section(title, tuple(each for place, each in _in_order(by_place, names) if place == title))
        for title, names in OPEN.items()
    }


def under_more(widgets: Iterable[Widget]) -> tuple[Section, ...]:
    """The other sections of a new loop, in the order of declaration."""
    rest = (each for each in widgets if not _open_title(each) and each.field.group.in_new_loop != "absent")
    return tuple(by_group(rest))


def by_group(widgets: Iterable[Widget]) -> Iterator[Section]:
    """The widgets by the groups of their settings. Profiles have a form of their own."""
    shown = [each for each in widgets if each.field.kind is not Kind.PROFILES]
    for group in dict.fromkeys(each.field.group for each in shown):
        yield Section(group.title, tuple(each for each in shown if each.field.group == group))


def _open_title(widget: Widget) -> str:
    """The open section of a field; empty: it is under More."""
    on = widget.field.only_with.partition("=")[0]
    return next((title for title, names in OPEN.items() if {widget.field.name, on} & {*names}), "")


def _in_order(placed: list[tuple[str, Widget]], names: tuple[str, ...]) -> list[tuple[str, Widget]]:
    """The named fields first, in the order of their names."""
    order = {name: index for index, name in enumerate(names)}
    return sorted(placed, key=lambda each: order.get(each[1].field.name, len(order)))
