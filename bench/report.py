"""Formats the results as lines for a terminal and as a Markdown page with plots."""

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
from figures import BUMP, FLAT, Curve, Result, Row

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("click", "psutil", "pydantic", "fastapi", "uvicorn", "jinja2")


def line_of(result: Result) -> str:
    """One result as a line of text."""
    match result:
        case Curve(title=title):
            return f"  (plot: {title})"
        case Row(error=error) if error:
            return f"  {result.what}: NOT MEASURED: {error}"
        case Row(figure=None):
            return f"  {result.what}"
    baseline = f", compared with {result.baseline} {result.baseline_figure or ''}".rstrip() if result.baseline else ""
    ratio = f": {result.ratio:.2f} times" if result.ratio is not None else ""
    return f"  {result.what}: {result.figure}{baseline}{ratio}{_goal(result)}{_note(result)}"


def _goal(row: Row) -> str:
    return f"  [goal: {_most(row)}, {'met' if row.met else 'MISSED'}]" if row.met is not None else ""


def _most(row: Row) -> str:
    goals = [] if row.goal is None else [f"at most {row.goal:g}"]
    limits = [] if row.limit is None or row.figure is None else [f"at most {row.limit:g} {row.figure.unit}"]
    return " and ".join((*goals, *limits))


def _note(row: Row) -> str:
    return f"  ({row.note})" if row.note else ""


def write(
    page: Path, before: Sequence[str], results: Mapping[str, Sequence[Result]], *, quick: bool, seconds: float
) -> None:
    """Write the page. `before` holds the facts about the machine at the start of the run."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(_page(page, before, results, quick=quick, seconds=seconds)) + "\n")


def summary(results: Mapping[str, Sequence[Result]], *, quick: bool, seconds: float) -> Iterator[str]:
    """The numbers of met and missed goals, and each missed goal."""
    rows = [(name, row) for name, items in results.items() for row in items if isinstance(row, Row)]
    missed = [(name, row) for name, row in rows if row.met is False]
    errors = sum(bool(row.error) for _, row in rows)
    met = sum(row.met is True for _, row in rows)
    sizes = "Small sizes (--quick), goals not judged" if quick else "All sizes"
    yield f"{sizes}, {seconds / 60:.1f} minutes: {met} goals met, {len(missed)} missed, {errors} not measured"
    yield from (f"Missed: {name.replace('_', ' ')}: {line_of(row).strip()}" for name, row in missed)


def _page(
    page: Path, before: Sequence[str], results: Mapping[str, Sequence[Result]], *, quick: bool, seconds: float
) -> Iterator[str]:
    yield "# Benchmarks\n"
    yield "Every figure is compared with a baseline from the same run on the same machine. Figures are medians, with quartiles in"
    yield "parentheses. Lower is better everywhere.\n"
    yield "Growth has two goals. Sizes take turns. A line is fitted to the cost at all sizes by least squares over the"
    yield f"logarithm of the size: it may rise by at most {FLAT - 1:.0%} from the smallest size to the largest. No size may cost more"
    yield f"than {BUMP:g} times the median size, which a line would hide.\n"
    yield from (f"- {fact}" for fact in before)
    yield from (f"- {line}" for line in summary(results, quick=quick, seconds=seconds))
    yield f"- To repeat: `make bench`, or `.venv/bin/python bench/run.py{' --quick' if quick else ''} --report FILE [NAME …]`\n"
    for name, items in results.items():
        yield from _section(page, name, items)


def _section(page: Path, name: str, items: Sequence[Result]) -> Iterator[str]:
    yield f"## {name.replace('_', ' ')}\n"
    rows = [item for item in items if isinstance(item, Row) and (item.figure or item.error)]
    lines = [item.what for item in items if isinstance(item, Row) and not (item.figure or item.error)]
    if rows:
        yield "| measurement | figure | compared with | ratio | goal |\n| --- | --- | --- | --- | --- |"
        yield from map(_table_row, rows)
        yield ""
    if lines:
        yield from ("```text", *lines, "```\n")
    for curve in (item for item in items if isinstance(item, Curve)):
        drawing = page.with_name(f"{page.stem}-{curve.name}.svg")
        drawing.write_text(plot.svg(curve))
        yield f"![{curve.title}]({drawing.name})\n"


def _table_row(row: Row) -> str:
    baseline = f"{row.baseline}: {row.baseline_figure}" if row.baseline_figure else row.baseline
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    goal = "" if row.met is None else f"{_most(row)}: {'met' if row.met else '**missed**'}"
    what = f"{row.what}<br>{row.note}" if row.note else row.what
    cells = (what, f"**not measured**: {row.error}" if row.error else str(row.figure), baseline, ratio, goal)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def facts() -> Iterator[str]:
    yield f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, untildone {version('untildone')}{_commit()}"
    yield f"{_processor()}, {os.cpu_count()} cores, {_memory()}; {platform.system()} {platform.release()}"
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    yield f"Python {platform.python_version()}, {_first_line('git', '--version')}; {packages}"
    yield f"Load before: {', '.join(f'{load:.2f}' for load in os.getloadavg())}"


def _commit() -> str:
    commit = _first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return f" at {commit}" if commit else ""


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    return lines[0] if lines else ""


def _processor() -> str:
    try:
        model = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        model = None
    return model[1] if model else platform.processor() or platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB of memory"
