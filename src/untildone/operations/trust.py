"""Changes of settings files, SUPERVISOR.md and action texts during loops, which do not count before a person accepts them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from untildone.operations import inside
from untildone.settings import guidance
from untildone.system import trust
from untildone.system.trust import Change

__all__ = ["Change", "accept", "changes", "decline", "diff", "notices"]


def changes(folder: Path, environment: Mapping[str, str] = os.environ) -> tuple[Change, ...]:
    """The changes during loops that no person has accepted, of the files that steer the loops of a folder."""
    trust.settle(environment)
    return trust.changes(guidance.watched(folder, environment), environment)


def accept(change: Change, environment: Mapping[str, str] = os.environ) -> None:
    """Let the file count as it is now. FromInside if this process runs inside a loop."""
    inside.refuse_acceptance(environment)
    trust.accept(change.path, environment)


def decline(change: Change, environment: Mapping[str, str] = os.environ) -> None:
    """Let the file count as it was before the change, and ask no more about it."""
    trust.decline(change, environment)


def notices(folder: Path, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """A sentence for each file that does not count as it is."""
    return tuple(
        f"{change.path} changed while loop {change.loop_id} ran, and no person has accepted that: what counts is the"
        f" {'file as it was before' if change.before is not None else 'folder without it'}. `--accept-settings` accepts it."
        for change in changes(folder, environment)
    )


def diff(change: Change) -> Iterator[str]:
    """The change as lines of a diff, without its header."""
    before, now = (_lines(text) for text in (change.before, change.now))
    for number, line in enumerate(difflib.unified_diff(before, now, n=1, lineterm="")):
        if number > 1:
            yield line


def _lines(text: bytes | None) -> list[str]:
    return [] if text is None else text.decode("utf-8", "replace").splitlines()
