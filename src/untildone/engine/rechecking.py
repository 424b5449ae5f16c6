"""Whether what the gates judged is still there: what they said holds of nothing else."""

from __future__ import annotations

from untildone.core.events import WorkspaceSeen
from untildone.core.loop import Loop
from untildone.workspace.look import Workspace

CHANGED_SINCE = "The workspace has changed since it was checked. hint: `untildone resume` checks it again"


def changed_since(loop: Loop, workspace: Workspace) -> WorkspaceSeen | None:
    """The workspace as it is now, if that is not what the gates of the present claim have judged."""
    if loop.status.ended or not (loop.claimed and loop.gates):
        return None
    changes = workspace.look(loop.changes)
    return None if changes.fingerprint == loop.last_seen else WorkspaceSeen(changes)
