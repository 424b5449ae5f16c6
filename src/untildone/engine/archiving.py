"""Archives a loop that has ended: writes its receipt and report and moves it to the history."""

from __future__ import annotations

import json
from functools import partial

from untildone import modes
from untildone.core import live_file
from untildone.core.loop import Loop
from untildone.core.receipts import attestation, receipt
from untildone.core.values.value import replace
from untildone.engine.agent import programs
from untildone.engine.place import forget
from untildone.engine.verdicts import loop_rooms, receipts
from untildone.store import Store
from untildone.workspace.diff import changed_files
from untildone.workspace.person_git import exclude
from untildone.workspace.shadow import Shadow, tidying


def archive(store: Store, loop: Loop, place: str = "") -> None:
    """Write receipt and report, and move the loop to the history. Calling it again changes nothing.

    `leasing.leased` calls this, with the lease. If its process died before that, `recover` does.

    `place` is the folder in which the agents worked, if it is not the workspace of the settings. A loop that is not ours gets no receipt.
    """
    if loop.not_ours:
        return
    place = place or loop.settings.workspace
    files = changed_files(place, loop.start.tree, loop.changes.tree)
    fields = receipt.receipt(loop, files, loop.agent_version or programs.version(loop, place))
    fields = receipts.without_secrets(fields, store.redactor)
    signer = receipts.Signer(store.seals, loop.settings.signing_key)
    signed = json.dumps(attestation.attested(fields, signer), indent=2, ensure_ascii=False)
    store.archive(loop.loop_id, f"{signed}\n", receipt.report(loop, fields, signer.problem))
    changes = replace(loop.changes, tree=None) if files is None else replace(loop.changes, files=len(files))
    live_state = modes.of(loop.settings.mode).live_state(replace(loop, changes=changes))
    if live_state is not None:
        keep = partial(store.put_document, loop.loop_id, live_file.KEPT_AS)
        store.live_file(loop.loop_id, place).retire(keep, live_state)
        exclude.release(place)
    forget(loop.loop_id)
    loop_rooms.shrink(loop, place)
    tidying.loop_ended(Shadow(place, loop_id=loop.loop_id))


def recover(store: Store, *loop_ids: str) -> None:
    """Archive the loops among `loop_ids` whose runner died after the last entry and before the archive was complete.

    A runner archives under its lease. So an ended loop that is not archived and not leased has lost its runner.
    """
    live = frozenset(store.live_ids())
    for listed in store.survey([loop_id for loop_id in loop_ids if loop_id in live]):
        if listed.loop is not None and listed.loop.status.ended and not store.is_driven(listed.loop_id):
            archive(store, listed.loop)
