"""Whether a loop can have the proofs that its settings ask for."""

from __future__ import annotations

import os

from untildone.core.errors import UsageError
from untildone.core.judging.project_tests.keeping_back import share_of
from untildone.core.model import LoopSettings, RoomKind
from untildone.core.protection.sandbox import Sandbox
from untildone.core.receipts import proving
from untildone.core.values.value import replace
from untildone.gates.check.failing import can_name


def checked(settings: LoopSettings, *, in_session: bool = False, in_cluster: bool = False) -> LoopSettings:
    """The settings, with the held-out tests as they are now. UsageError if a proof is not possible.

    `in_session`: the worker is an agent that a person started, in no box of ours."""
    with_checks = replace(settings, checks=settings.checks or ("true",))
    proofs, ignores = proving.chosen(with_checks), bool(settings.options.get(proving.IGNORE_FAILING))
    chosen = (*proofs, *((proving.IGNORE_FAILING,) if ignores else ()))
    if not chosen:
        return settings
    _refuse_impossible(settings, chosen)
    if proving.HELD_OUT not in chosen:
        return settings
    return _with_held_out(settings, in_session=in_session, in_cluster=in_cluster)


def _refuse_impossible(settings: LoopSettings, chosen: tuple[str, ...]) -> None:
    """Raise UsageError if the checks and the room of the settings do not permit the chosen proofs."""
    flag = "--prove" if settings.options.get(proving.PROVE) else f"--{chosen[0].replace('_', '-')}"
    if not settings.checks:
        about = (
            "it proves what a check is worth"
            if chosen != (proving.IGNORE_FAILING,)
            else "it is about the tests of a check"
        )
        raise UsageError(f"{flag} needs a check: {about}.", 'add --check "pytest -q"')
    if proving.IGNORE_FAILING in chosen and not any(map(can_name, settings.checks)):
        raise UsageError(
            f"--ignore-failing cannot tell which tests fail in `{settings.checks[0]}`.",
            'name the test runner itself, as in --check "pytest -q"',
        )
    if settings.room is RoomKind.PLAIN:
        raise UsageError(f"{flag} needs a room of its own for its runs.", "leave out --room plain")


def _with_held_out(settings: LoopSettings, *, in_session: bool, in_cluster: bool) -> LoopSettings:
    """The settings with the tests of the folder that `--held-out` names; for a share of the tests, with the room that hides them."""
    is_share = _is_share(settings, in_cluster=in_cluster)
    if in_session and is_share:
        raise UsageError(
            "A share of the tests cannot be kept back from an agent in your own session.",
            "use `untildone run` on this machine, or name a folder of other tests with --held-out",
        )
    if settings.children and is_share:
        raise UsageError(
            "A share of the tests cannot be kept back from an agent that starts loops: each of them would choose its own.",
            "leave out --children, or name a folder of other tests with --held-out",
        )
    if is_share:
        # A machine of a cluster that cannot hide the tests leaves the loop to another one.
        return replace(settings, room=RoomKind.SEALED) if in_cluster else settings
    return replace(settings, options={**settings.options, **_held_out(settings)})


def notices(settings: LoopSettings, *, in_session: bool = False) -> tuple[str, ...]:
    """What every proof together does not find, unless there are tests that the agent never sees."""
    proofs = proving.chosen(settings)
    has_unseen = proving.HELD_OUT in proofs or proving.ACCEPTANCE in proofs
    if not proofs or has_unseen or not settings.options.get(proving.PROVE):
        return ()
    flags = f"{'' if in_session else '--held-out 20%, '}--held-out FOLDER or --acceptance AGENT"
    return (f"The agent sees every test, so --prove cannot tell work that fits only these. hint: add {flags}",)


def _is_share(settings: LoopSettings, *, in_cluster: bool) -> bool:
    """Whether a share of the project's own tests is kept back. UsageError if that is not possible with these settings, or not here, unless
    other machines do the work."""
    value = settings.options[proving.HELD_OUT]
    try:
        if share_of(value) is None:
            return False
    except ValueError as problem:
        raise UsageError(f"--held-out {value}: {problem}.", "as in --held-out 20%") from problem
    is_boxed = _is_boxed(settings, in_cluster=in_cluster)
    if not is_boxed or settings.room is RoomKind.RESTORED:
        why = "a room of its own" if is_boxed else "a sandbox"
        raise UsageError(
            f"--held-out {value} needs {why}, in which the agent does not find the tests that are kept back.",
            "leave out --room restored" if is_boxed else _SANDBOX_HINT[in_cluster],
        )
    return True


_SANDBOX_HINT = {
    True: "leave out --sandbox off, or name a folder of other tests",
    False: "install bubblewrap, or name a folder of other tests",
}


def _is_boxed(settings: LoopSettings, *, in_cluster: bool) -> bool:
    from untildone.engine import boxes

    return settings.sandbox is not Sandbox.OFF if in_cluster else boxes.containment(settings).boxed


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
