"""`untildone doctor`: checks that this machine has what untildone needs, and says how to fix the rest."""

from __future__ import annotations

import click

from untildone.core.model import Outcome
from untildone.core.values.codec import to_json
from untildone.faces.cli import parameters, streams
from untildone.operations.setup import doctor
from untildone.operations.setup.doctor import Finding, State

_SIGNS = {State.OK: "✓", State.WARNING: "!", State.PROBLEM: "✗"}


@click.command()
@parameters.folder
@parameters.as_json
def command(folder: str, as_json: bool) -> int:
    """Look at agents and logins, sandbox, git, terminal, server and store; say how to fix what is missing.

    The exit code is 0 unless something does not work at all.
    """
    worst = 0
    for finding in doctor.examine(parameters.existing_folder(folder), parameters.environment()):
        if finding.state is State.PROBLEM:
            worst = Outcome.FAILED.exit_code
        if as_json:
            streams.data().record(to_json(finding))
        else:
            _show(finding)
    return worst


def _show(finding: Finding) -> None:
    streams.data().prose(f"{_SIGNS[finding.state]} {finding.area:<9} {finding.sentence}")
    if finding.fix:
        streams.data().prose(f"  {'':<9} fix: {finding.fix}")
