"""Verifies receipts: the signer, and whether the receipt matches the journal and the workspace. Runs the checks of its loop again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from untildone.core.errors import LoopNotFound, NotOurs, UsageError
from untildone.core.loop import Loop
from untildone.core.model import Changes, GateResult, LoopSettings, RoomKind
from untildone.core.protection.sandbox import Sandbox
from untildone.core.protection.secrets import Redactor
from untildone.core.receipts import attestation
from untildone.core.receipts.attestation import Attested, Envelope
from untildone.core.receipts.receipt import receipt as receipt_of
from untildone.core.values.value import dataclass, replace
from untildone.operations import look, pass_env
from untildone.store import Store
from untildone.store.seals import Seals
from untildone.system import disk, ssh_signing, state_folder

if TYPE_CHECKING:
    from untildone.core.actions import GateStep, RunCommand
    from untildone.core.plugins.gate import Gate
    from untildone.system.guard import Watched
    from untildone.workspace.look import Workspace

LARGEST = 64 << 20
"""Bytes of a receipt that are read."""
NOT_IN_JOURNAL = frozenset({"files_changed", "agent"})
"""Fields of a receipt that the journal does not have: files of snapshots that may be gone, and the version of a program. The signature
covers them."""
ELSEWHERE = "This machine has no record of the loop's start, so that its published work is checked in place."
BY_SEAL = "the key of this home"
_ALTERED = "it was changed after untildone wrote it; nothing in it is trusted"


@dataclass(frozen=True, slots=True)
class Signed:
    """A receipt that was not changed since it was signed."""

    fields: Mapping[str, Any]
    by: str
    """The signer: a name, the fingerprint of a key, or `BY_SEAL`."""

    @property
    def loop_id(self) -> str:
        return str(self.fields["loop_id"])


@dataclass(frozen=True, slots=True)
class Verification:
    """A check as the journal records it, and its result today."""

    before: Mapping[str, Any]
    now: GateResult
    differs: tuple[str, ...] | None = ()
    """The files in which the workspace differs from the one that was judged; None: it is not known whether it does."""

    @property
    def agrees(self) -> bool:
        return bool(self.before["passed"]) == self.now.passed

    @property
    def same_workspace(self) -> bool | None:
        """Whether the workspace is the one that was judged; None: it is not known."""
        return None if self.differs is None else not self.differs

    @property
    def holds(self) -> bool:
        """Whether the check passes as it did then. `same_workspace` says in which workspace."""
        return self.agrees and self.now.passed


def room_named(word: str | None) -> RoomKind | None:
    """The room of this name. Raises UsageError if there is none."""
    try:
        return None if word is None else RoomKind(word)
    except ValueError:
        raise UsageError(f"There is no room `{word}`.", f"it is one of {', '.join(RoomKind)}") from None


def read_file(path: Path, environment: Mapping[str, str], keys: Path | None = None) -> tuple[Signed, str]:
    """The receipt in a file, and its text. See `read`."""
    try:
        text = disk.read_promptly(path, LARGEST).decode(errors="replace")
    except OSError as problem:
        raise UsageError(
            f"Cannot read the receipt {path}: {problem.strerror}.", "give the path of a receipt.json"
        ) from None
    return read(text, f"The receipt {path}", Seals(state_folder.folder(environment)), keys), text


def read(text: str, name: str, seals: Seals, keys: Path | None = None) -> Signed:
    """The receipt in a text, signed with the key of this home or, if given, with one of `keys`: a public key or allowed signers.

    UsageError if it is none; NotOurs if it was altered or has no such signature. `name` begins their sentences.
    """
    attested = _attested(text, name)
    signers = {_signer(envelope, seals, keys) for envelope in attested.envelopes}
    by = signers.pop() if len(signers) == 1 else None
    if by is None:
        raise NotOurs(f"{name} has no valid signature.", _how_to_check(attested, seals, keys))
    return Signed(attested.fields, by)


def _attested(text: str, name: str) -> Attested:
    try:
        attested = attestation.read(text)
    except attestation.NoReceipt as problem:
        raise UsageError(f"{name} cannot be read: {problem}.", "it was damaged or edited") from None
    if attested.altered:
        raise NotOurs(f"{name} was altered: {', '.join(attested.altered[:5])}.", _ALTERED)
    return attested


def _signer(envelope: Envelope, seals: Seals, keys: Path | None) -> str | None:
    """The signer of an envelope; None: no trusted one."""
    if keys is not None:
        names = (ssh_signing.signer(each.content, envelope.signed, keys) for each in envelope.signatures)
        return next((name for name in names if name), None)
    seal = seals.of_receipts
    is_sealed = seal is not None and any(each.content == seal.seal(envelope.signed) for each in envelope.signatures)
    return BY_SEAL if is_sealed else None


def _how_to_check(attested: Attested, seals: Seals, keys: Path | None) -> str:
    signatures = [each for envelope in attested.envelopes for each in envelope.signatures]
    signers = sorted({name for each in signatures if (name := ssh_signing.fingerprint(each.content))})
    seal = seals.of_receipts
    if keys is None and signers and not any(seal and each.key == seal.name for each in signatures):
        return f"it says that {', '.join(signers)} signed it: give that public key with --key"
    if any(seal and each.key == seal.name for each in signatures) or not signatures:
        return _ALTERED
    return "another home or key made it; sign receipts with an SSH key (setting `signing_key`) to check them elsewhere"


def is_known(store: Store, signed: Signed) -> bool:
    """Whether the store has the loop of a receipt, and wrote it."""
    try:
        return not store.load(signed.loop_id).not_ours
    except LoopNotFound:
        return False


def verify(
    store: Store,
    loop_id: str,
    environment: Mapping[str, str],
    text: str | None = None,
    room: RoomKind | None = None,
) -> tuple[Verification, ...]:
    """Check the receipt of an ended loop, then run the loop's checks again. `text` is the receipt to check, if not the loop's own;
    `room` is where they run, if not where the loop had them run.

    NotOurs if the receipt was altered, is that of another loop, or does not fit the journal.
    """
    loop = store.load(loop_id)
    if loop.not_ours:
        raise NotOurs(f"Loop {loop_id} is not ours: {loop.not_ours}.", "nothing in it is trusted")
    text = look.receipt(store, loop_id) if text is None else text
    if text is None:
        raise UsageError(f"Loop {loop_id} has no receipt yet.", "it gets one when it ends")
    loop, fields = store.load(loop_id), _read_of(store, loop_id, text)
    _check_fits(loop, fields)
    if room is not None:
        loop = replace(loop, settings=_in_room(loop.settings, room))
    from untildone.system.guard import guarded

    with look.place_of(loop) as place, guarded(f"verify-{loop_id}") as watched:
        return _run_again(store, loop, fields["gates"], place, environment, watched)


def _in_room(settings: LoopSettings, room: RoomKind) -> LoopSettings:
    """The settings with a room that the person names. The plain one is meant to be no room at all: what holds only in a box fails."""
    return replace(settings, room=room, sandbox=Sandbox.OFF if room is RoomKind.PLAIN else settings.sandbox)


def _read_of(store: Store, loop_id: str, text: str) -> Mapping[str, Any]:
    """The fields of a loop's receipt. In a database, which agents cannot reach, it may be sealed with the key of another machine."""
    name = f"The receipt of loop {loop_id}"
    return _attested(text, name).fields if store.root is None else read(text, name, store.seals).fields


def _check_fits(loop: Loop, fields: Mapping[str, Any]) -> None:
    """Raise NotOurs if the receipt is not what the journal of the loop says."""
    if fields["loop_id"] != loop.loop_id:
        raise NotOurs(f"The receipt of loop {loop.loop_id} is that of loop {fields['loop_id']}.", _ALTERED)
    expected = receipt_of(loop, None, "")
    differs = [name for name in expected if name not in NOT_IN_JOURNAL and expected[name] != fields.get(name)]
    if differs:
        raise NotOurs(
            f"The receipt of loop {loop.loop_id} does not fit its journal: {', '.join(differs[:5])}.", _ALTERED
        )


def _commands(loop: Loop) -> list[tuple[Gate, GateStep, RunCommand]]:
    """The commands that gates of the loop have judged, as its settings in the journal name them."""
    from untildone.core.actions import RunCommand
    from untildone.gates import gates_of

    judged = {(result.gate, result.command) for result in loop.gates}
    steps = [(gate, step) for gate in gates_of(loop.settings) for step in gate.steps(loop)]
    return [
        (gate, step, step.need)
        for gate, step in steps
        if isinstance(step.need, RunCommand) and (step.gate, step.command) in judged
    ]


def _run_again(
    store: Store,
    loop: Loop,
    gates: list[Mapping[str, Any]],
    place: str,
    environment: Mapping[str, str],
    watched: Watched,
) -> tuple[Verification, ...]:
    """Run the checks as the loop did, in a room of its settings, on the workspace as it is now; kill processes that they leave behind."""
    from untildone.engine import environments
    from untildone.engine.verdicts import gating, judging
    from untildone.system import keeper
    from untildone.workspace.look import Workspace
    from untildone.workspace.shadow import Reading

    workspace, commands = Workspace(place, loop.loop_id), _commands(loop)
    now = workspace.look(loop.changes, reading=Reading.ALL)
    outside = environments.without_database(environment) if store.root is None else environment
    more = pass_env.now(store, environment)
    env = {**environments.for_checks(outside, loop, more), **watched.mark}
    # Code that is right only under our mark is found out where the person would run it: the keeper takes the mark away.
    launcher = keeper.launcher() if loop.settings.room is RoomKind.PLAIN else ()
    redactor = Redactor.from_environment(environment)
    left_out = environments.not_passed(outside, loop, more)
    base = gating.Room(place, env, lambda: False, redactor, watched.groups, launcher=launcher, left_out=left_out)
    differs, loop = _differing(loop, workspace, now), replace(loop, changes=now)
    if loop.settings.remote is not None:
        loop = replace(loop, start_problem=ELSEWHERE)
    judge = judging.Judge(loop, workspace, () if store.root is None else (str(store.root),), base)
    needs = [need for _, _, need in commands]
    findings = (judge.findings(needs, lambda _command: None, lambda: False) if needs else None) or {}
    before = {(each["gate"], each["command"]): each for each in gates}
    return tuple(
        Verification(before[step.gate, step.command], gating.run_step(gate, step, loop, findings), differs)
        for gate, step, _ in commands
    )


def _differing(loop: Loop, workspace: Workspace, now: Changes) -> tuple[str, ...] | None:
    """The files in which the workspace differs from the one that was judged; None: it is not known."""
    if loop.settings.remote is not None:
        return () if now.head == loop.changes.head else None
    if loop.changes.tree is None or now.tree is None:
        return None
    from untildone.workspace.diff import changed_files

    if now.tree == loop.changes.tree:
        return ()
    files = changed_files(workspace.path, loop.changes.tree, now.tree)
    return None if files is None else tuple(change.path for change in files)
