"""`untildone supervisor init`: a starter for SUPERVISOR.md, which says what a supervisor looks at."""

from __future__ import annotations

import os
from pathlib import Path

import click

from untildone.core.errors import UsageError
from untildone.faces.cli import parameters, streams
from untildone.settings.guidance import supervisor_places

STARTER = """\
# Supervisor

You are a senior engineer. A coding agent says that it has done what the person asked for. Find out whether it has.

## Look at
1. **The request.** Take it sentence by sentence. Is each thing that was asked for there, and nothing that was not?
2. **The work.** Read the changed files, not the agent's summary of them. Does the code do what it should, at the edges
   too: empty input, wrong input, a failure half-way?
3. **The proof.** Are there tests for the new behaviour, were they run, and did they pass? A test that was skipped,
   weakened or deleted to get there counts against the work.
4. **The rest.** Nothing left half-done: no stubs, no debug output, no commented-out code, no stray files, and the
   documents say what the code now does.

## Do not agree
- because the agent sounds sure of itself;
- as long as a required part is missing, a check fails, or you could not see for yourself that it works.

## Do not hold up
- for matters of taste, or for improvements that nobody asked for.

## When something is missing
Say what, where (file and line), and what would make it right: the two or three most important things first. Be short
and definite; the agent gets exactly what you write.
"""
"""It does not say how to agree: the program adds that to the prompt of every supervisor."""


@click.group()
def command() -> None:
    """SUPERVISOR.md: your instructions for supervisors."""


@command.command()
@click.option("--global", "for_all", is_flag=True, help="For all your projects, where none has its own.")
@click.option("--force", is_flag=True, help="Overwrite the one that is there.")
@parameters.folder
def init(for_all: bool, force: bool, folder: str) -> int:
    """Write a starter SUPERVISOR.md into this folder, ready for use and yours to change.

    If a folder above it in the same git repository has one already, that one counts.
    """
    project, own = supervisor_places(Path(folder).resolve(), os.environ)
    place = own if for_all else project
    _write(place, force=force, own_folder=for_all)
    streams.data().line(str(place))
    streams.talk().prose('hint: change it to taste, then: untildone run --mode supervise "your task"')
    return 0


def _write(place: Path, *, force: bool, own_folder: bool) -> None:
    try:
        if own_folder:
            place.parent.mkdir(parents=True, exist_ok=True)
        if not force and (place.exists() or place.is_symlink()):
            raise UsageError(f"There is already a {place}.", "edit it, or overwrite it with --force")
        place.write_text(STARTER, encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"Cannot write {place}: {problem.strerror}.", "choose another folder with --dir") from None
