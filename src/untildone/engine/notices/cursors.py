"""The files that record how far the journal of each loop was turned into notices. The stop hook reads them, so this module imports
nothing slow."""

from __future__ import annotations

import os

from untildone.core.values.digest import sha256
from untildone.system import state_folder

FOLDER, CURSORS = "outbox", "noticed"


def place_of(store_name: str) -> str:
    """The name of the folder of a store's notices."""
    return sha256(store_name.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def cursor(store_name: str, loop_id: str) -> str:
    """The file that says how much of a loop's journal was turned into notices. It exists if notifications are sent about the loop."""
    return os.path.join(state_folder.folder(), FOLDER, place_of(store_name), CURSORS, loop_id)
