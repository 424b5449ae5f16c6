"""Rooms: where the commands of gates run.

    rooms = Rooms(shadow, loop_id, workspace, root, environment=…, hidden=…, network=…)
    record = rooms.begin(start_tree)                         before the first turn; the hash belongs into the journal
    rooms.recover()                                          at every start of a runner, before anything else
    with rooms.claim(Claimed(start_tree, claimed_tree, record, is_judge)) as claim:
        with claim.room(kind, tree, environment) as room:    once for each tree that is judged
            Spawn(room.argv("pytest -q"), room.environment, room.folder)
            room.next_command()                              before another command in the same room
            room.holds()                                     after a command, if the room was made `early`: whether it counts

`RoomRefused` means that the claim cannot be judged there: its gate fails. `best` chooses the kind of room.
"""

from untildone.workspace.rooms.claimed import Claimed
from untildone.workspace.rooms.refusal import RoomRefused
from untildone.workspace.rooms.room import InPlace, Room, Trees
from untildone.workspace.rooms.rooms import Claim, Rooms, best

__all__ = ["Claim", "Claimed", "InPlace", "Room", "RoomRefused", "Rooms", "Trees", "best"]
