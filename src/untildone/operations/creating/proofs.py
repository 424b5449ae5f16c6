"""Whether a loop can have the proofs that its settings ask for."""

from __future__ import annotations

import os

from untildone.core.errors import UsageError
from untildone.core.model import LoopSettings, RoomKind
from untildone.core.receipts import proving
from untildone.core.values.value import replace
from untildone.gates.check.failing import can_name


def checked(settings: LoopSettings) -> LoopSettings:
    """The settings, with the held-out tests as they are now. UsageError if a proof is not possible."""
    with_checks = replace(settings, checks=settings.checks or ("true",))
    proofs, ignores = proving.chosen(with_checks), bool(settings.options.get(proving.IGNORE_FAILING))
    wanted = (*proofs, *((proving.IGNORE_FAILING,) if ignores else ()))
    if not wanted:
        return settings
    flag = "--prove" if settings.options.get(proving.PROVE) else f"--{wanted[0].replace('_', '-')}"
    if not settings.checks:
        about = "it proves what a check is worth" if proofs else "it is about the tests of a check"
        raise UsageError(f"{flag} needs a check: {about}.", 'add --check "pytest -q"')
    if ignores and not any(map(can_name, settings.checks)):
        raise UsageError(
            f"--ignore-failing cannot tell which tests fail in `{settings.checks[0]}`.",
            'name the test runner itself, as in --check "pytest -q"',
        )
    if settings.room is RoomKind.PLAIN:
        raise UsageError(f"{flag} needs a room of its own for its runs.", "leave out --room plain")
    if proving.HELD_OUT not in wanted:
        return settings
    return replace(settings, options={**settings.options, **_held_out(settings)})


def _held_out(settings: LoopSettings) -> dict[str, str]:
    """The folder of the held-out tests and the hash of its files."""
    from untildone.engine.verdicts import proving as trials

    folder = os.path.realpath(os.path.expanduser(str(settings.options[proving.HELD_OUT])))
    if not os.path.isdir(folder):
        raise UsageError(f"The folder of held-out tests {folder} does not exist.", "name one outside of the workspace")
    root = os.path.realpath(settings.workspace)
    if os.path.commonpath((folder, root)) in (folder, root):
        raise UsageError(
            f"The held-out tests in {folder} are in the workspace, where the agent sees them.", "move them out"
        )
    return {proving.HELD_OUT: folder, proving.HELD_OUT_DIGEST: trials.digest(folder)}
