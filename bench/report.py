"""What the benchmarks found, as lines for a terminal and as a page of Markdown with plots beside it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import plot
from figures import BUMP, FLAT, Curve, Found, Row

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("click", "psutil", "pydantic", "fastapi", "uvicorn", "nicegui")


def line_of(found: Found) -> str:
    match found:
        case Curve(title=title):
            return f"  (plot: {title})"
        case Row(error=error) if error:
            return f"  {found.what}: NOT MEASURED: {error}"
        case Row(figure=None):
            return f"  {found.what}"
    beside = f", beside {found.beside} {found.other or ''}".rstrip() if found.beside else ""
    ratio = f": {found.ratio:.2f} times" if found.ratio is not None else ""
    return f"  {found.what}: {found.figure}{beside}{ratio}{_goal(found)}{_note(found)}"


def _goal(row: Row) -> str:
    return f"  [goal: {_most(row)}, {'met' if row.met else 'MISSED'}]" if row.met is not None else ""


def _most(row: Row) -> str:
    goals = [] if row.goal is None else [f"at most {row.goal:g}"]
    limits = [] if row.limit is None or row.figure is None else [f"at most {row.limit:g} {row.figure.unit}"]
    return " and ".join((*goals, *limits))


def _note(row: Row) -> str:
    return f"  ({row.note})" if row.note else ""


def write(
    page: Path, before: Sequence[str], found: Mapping[str, Sequence[Found]], *, quick: bool, seconds: float
) -> None:
    """`before`: the facts as they were when the run began."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(_page(page, before, found, quick=quick, seconds=seconds)) + "\n")


def summary(found: Mapping[str, Sequence[Found]], *, quick: bool, seconds: float) -> Iterator[str]:
    """How many goals were met, and every one that was not."""
    rows = [(name, row) for name, items in found.items() for row in items if isinstance(row, Row)]
    missed = [(name, row) for name, row in rows if row.met is False]
    errors = sum(bool(row.error) for _, row in rows)
    met = sum(row.met is True for _, row in rows)
    sizes = "A quick try with small sizes, which judges nothing" if quick else "All sizes"
    yield f"{sizes}, {seconds / 60:.1f} minutes: {met} goals met, {len(missed)} missed, {errors} not measured"
    yield from (f"Missed: {name.replace('_', ' ')}: {line_of(row).strip()}" for name, row in missed)


def _page(
    page: Path, before: Sequence[str], found: Mapping[str, Sequence[Found]], *, quick: bool, seconds: float
) -> Iterator[str]:
    yield "# Benchmarks\n"
    yield "Every figure stands beside its alternative, measured in the same run on the same machine. A figure is the median; in"
    yield "parentheses, the quartiles. Less is better everywhere.\n"
    yield "Growth is judged twice, over sizes that took turns. A line is fitted to the cost at all sizes, by least squares over the"
    yield f"logarithm of the size: it may rise by {FLAT - 1:.0%} at most from the smallest size to the largest. And no size may cost more"
    yield f"than {BUMP:g} times what the middle one costs, which a line would hide.\n"
    yield from (f"- {fact}" for fact in before)
    yield from (f"- {line}" for line in summary(found, quick=quick, seconds=seconds))
    yield f"- Again: `make bench`, or `.venv/bin/python bench/run.py{' --quick' if quick else ''} --report FILE [NAME …]`\n"
    for name, items in found.items():
        yield from _section(page, name, items)


def _section(page: Path, name: str, items: Sequence[Found]) -> Iterator[str]:
    yield f"## {name.replace('_', ' ')}\n"
    rows = [item for item in items if isinstance(item, Row) and (item.figure or item.error)]
    words = [item.what for item in items if isinstance(item, Row) and not (item.figure or item.error)]
    if rows:
        yield "| what | figure | beside | ratio | goal |\n| --- | --- | --- | --- | --- |"
        yield from map(_table_row, rows)
        yield ""
    if words:
        yield from ("```text", *words, "```\n")
    for curve in (item for item in items if isinstance(item, Curve)):
        drawing = page.with_name(f"{page.stem}-{curve.name}.svg")
        drawing.write_text(plot.svg(curve))
        yield f"![{curve.title}]({drawing.name})\n"


def _table_row(row: Row) -> str:
    beside = f"{row.beside}: {row.other}" if row.other else row.beside
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    goal = "" if row.met is None else f"{_most(row)}: {'met' if row.met else '**missed**'}"
    what = f"{row.what}<br>{row.note}" if row.note else row.what
    cells = (what, f"**not measured**: {row.error}" if row.error else str(row.figure), beside, ratio, goal)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def facts() -> Iterator[str]:
    yield f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, untildone {version('untildone')}{_commit()}"
    yield f"{_processor()}, {os.cpu_count()} cores, {_memory()}; {platform.system()} {platform.release()}"
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    yield f"Python {platform.python_version()}, {_first_line('git', '--version')}; {packages}"
    yield f"Load before: {', '.join(f'{load:.2f}' for load in os.getloadavg())}"


def _commit() -> str:
    known = _first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return f" at {known}" if known else ""


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    told = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return told[0] if told else ""


def _processor() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB of memory"
