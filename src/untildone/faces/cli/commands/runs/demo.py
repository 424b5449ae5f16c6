"""`untildone demo`: a real loop on a small real repository, with an agent that follows a script, and lies once."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from untildone.core.errors import UsageError


@click.command()
@click.option("--dir", "folder", metavar="D", help="Where to make the project; else in the temporary folder.")
@click.option("--plain", is_flag=True, help="Plain lines even at a terminal.")
def command(folder: str | None, plain: bool) -> int:
    """Watch a loop catch an agent that lies: no account, no network, under a minute."""
    from untildone import settings
    from untildone.faces.cli import streams
    from untildone.faces.cli.driver import Show, driver
    from untildone.operations import look, stores
    from untildone.operations.creating import creation
    from untildone.testing import demo_project

    place = _empty(folder)
    script = demo_project.make(place)
    project = place / "cart"
    talk = streams.talk()
    check = f'"{sys.executable}" -m unittest -q'
    talk.prose(
        "A git repository with failing tests, an agent that will lie once, and a check that does not take its word:"
    )
    talk.line(f"  cd {project}")
    talk.line(
        f'  untildone run "{demo_project.TASK}" --agent scripted --check "python -m unittest -q" -- --script {script}'
    )
    flags = {"agent": "scripted", "args": ("--script", str(script)), "checks": (check,)}
    chosen = settings.load(project, flags, {**os.environ, "UNTILDONE_CONFIG": str(place / "none.toml")})
    store = stores.open_files(project, create=True)
    with driver(store, chosen, Show(plain=plain, ask=False)) as drives:
        loop = creation.create(store, demo_project.TASK, chosen, project, starts=True).loop
        exit_code = drives.drive(loop)
    talk.line("")
    kept = store.progress(loop.loop_id)
    # A loop that rests has no receipt yet.
    if (kept / "report.md").exists():
        talk.line(f"The receipt ({kept / 'receipt.json'}):")
        talk.line((kept / "report.md").read_text())
    talk.line(look.diff(store, loop.loop_id, colour=talk.is_terminal and "NO_COLOR" not in os.environ))
    talk.line(f"hint: cd {project} && untildone list --all && untildone verify last && untildone log last")
    return exit_code


def _empty(folder: str | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="untildone-demo-"))
    place = Path(folder)
    if place.exists() and any(place.iterdir()):
        raise UsageError(f"The folder {folder} is not empty.", "name a new one with --dir")
    return place.resolve()
