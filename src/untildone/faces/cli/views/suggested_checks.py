"""Suggests a check to a person who begins a loop without one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from untildone.core.values.value import replace
from untildone.faces.cli import streams
from untildone.operations.creating import suggestions
from untildone.settings import Settings

WITHOUT = "go on without a check"


def resolve(chosen: Settings, folder: Path, *, asking: bool) -> Settings:
    """The settings, with the check that the person chooses at a terminal. Elsewhere a hint names one.

    A person who has said that there is no check, such as by `checks = []`, is not asked."""
    if chosen.checks or chosen.review or chosen.gates or not chosen.loop_enabled or "checks" in chosen.explicit:
        return chosen
    suggested = suggestions.checks(folder)
    if not suggested:
        return chosen
    if not asking or not (sys.stdin and sys.stdin.isatty()) or not streams.talk().is_terminal:
        streams.talk().prose(
            f'hint: no check is set, so nothing verifies the work; this project has one: --check "{suggested[0].command}"'
        )
        return chosen
    return _asked(chosen, suggested)


def _asked(chosen: Settings, suggested: tuple[suggestions.Suggestion, ...]) -> Settings:
    from untildone.faces.cli.views import menus

    choices = {f"check with: {each.command}": each.command for each in suggested}
    facts = (
        f"Found here: {', '.join(dict.fromkeys(each.reason for each in suggested))}",
        "`untildone init` keeps the answer.",
    )
    answer = menus.pick("No check is set, so nothing would verify the work", facts, (*choices, WITHOUT))
    if answer is None:
        raise click.Abort
    return replace(chosen, checks=(choices[answer],)) if answer in choices else chosen
