"""The end of a loop: its receipt, its report, its place in the history."""

from __future__ import annotations

import json
from functools import partial

from untildone import modes
from untildone.core import live_file, receipt
from untildone.core.loop import Loop
from untildone.core.value import replace
from untildone.engine import programs
from untildone.store import Store
from untildone.workspace.diff import changed_files


def archive(store: Store, loop: Loop, place: str = "") -> None:
    """Write receipt and report, and move the loop to the history. Doing it again changes nothing.

    `stepper.leased` calls this, with the lease. Where its process died before, `recover` does.

    `place` is where it worked, if not in the folder that its settings name.
    """
    place = place or loop.settings.workspace
    files = changed_files(place, loop.start.tree, loop.changes.tree)
    told = receipt.receipt(loop, files, loop.agent_version or programs.version(loop.settings.worker))
    store.archive(loop.loop_id, json.dumps(told, indent=2, ensure_ascii=False) + "\n", receipt.report(loop, told))
    changes = replace(loop.changes, tree=None) if files is None else replace(loop.changes, files=len(files))
    live_state = modes.find(loop.settings.mode).live_state(replace(loop, changes=changes))
    if live_state is not None:
        keep = partial(store.put_document, loop.loop_id, live_file.KEPT_AS)
        store.live_file(loop.loop_id, place).retire(keep, live_state)


def recover(store: Store, *loop_ids: str) -> None:
    """Archive those of the loops whose runner died between their last entry and the archive.

    A runner archives under its lease: of a loop that has ended and has no receipt, either a runner is just writing it, or none will.
    """
    live = frozenset(store.live_ids())
    for found in store.survey([loop_id for loop_id in loop_ids if loop_id in live]):
        if found.loop is not None and found.loop.status.ended and not store.is_driven(found.loop_id):
            archive(store, found.loop)
