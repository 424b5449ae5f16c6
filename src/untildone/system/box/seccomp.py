"""A filter of system calls for boxes: what namespaces do not separate. As a program for the kernel, which bubblewrap loads.

Refused are the keys that the kernel keeps for a user, typing into a terminal, and new namespaces of control groups: in one of its own a
program could mount the control groups of the loop, and freeze the runner. Everything else is left to namespaces and mounts.
"""

from __future__ import annotations

import errno
import hashlib
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from untildone.system import disk, state_folder
from untildone.system.box.sandbox import NEW_CONTROL_GROUPS

_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
"""Where the kernel shows the number of a call, the kind of machine, and the lower halves of the first two arguments."""
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_NO_SUCH_CALL = 0x00050000 | errno.ENOSYS
_OTHER_NUMBERS = 0x40000000
"""Set in the numbers of a second set of calls on x86_64."""
_TYPE, _PASTE = 0x5412, 0x541C
"""Requests of `ioctl` by which a program types into a terminal, or pastes."""
_CLONE3 = 435
"""A `clone` whose flags lie in memory, where no filter sees them. Programs use the other one if the kernel does not have it."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The numbers of calls on a kind of machine, as the kernel names it."""

    machine: int
    keys: tuple[int, int, int]
    ioctl: int
    namespaces: tuple[int, int]
    """`clone` and `unshare`."""


_CALLS = {
    "x86_64": (Calls(0xC000003E, (248, 249, 250), 16, (56, 272)), Calls(0x40000003, (286, 287, 288), 54, (120, 310))),
    "aarch64": (Calls(0xC00000B7, (217, 218, 219), 29, (220, 97)), Calls(0x40000028, (309, 310, 311), 54, (120, 337))),
}
"""Of the machine itself, and of programs for its older kind."""


def program(machine: str = "") -> bytes:
    """The filter; empty: there is none for this kind of machine."""
    kinds = _CALLS.get(machine or os.uname().machine, ())
    return b"".join(part for calls in kinds for part in _for(calls)) + _step(_RETURN, _ALLOW) if kinds else b""


def file(environment: Mapping[str, str] = os.environ) -> str:
    """The path of a file with the filter, in the state folder; empty: there is none for this kind of machine."""
    content = program()
    if not content:
        return ""
    path = os.path.join(
        state_folder.made("filters", environment=environment), f"{hashlib.sha256(content).hexdigest()[:16]}.bpf"
    )
    if not os.path.exists(path):
        disk.replace_file(Path(path), content, sync=False)
    return path


def _for(calls: Calls) -> list[bytes]:
    """The steps for one kind of machine. Each kind begins with a jump over its own steps."""
    inner = [
        _step(_LOAD, _NUMBER),
        _step(_SET, _OTHER_NUMBERS, no=1),
        _step(_RETURN, _NO_SUCH_CALL),
        *(step for number in calls.keys for step in (_step(_EQUAL, number, no=1), _step(_RETURN, _REFUSE))),
        *(_step(_EQUAL, _CLONE3, no=1), _step(_RETURN, _NO_SUCH_CALL)),
        *(step for number in calls.namespaces for step in _without_control_groups(number)),
        _step(_EQUAL, calls.ioctl, no=5),
        _step(_LOAD, _SECOND_ARGUMENT),
        _step(_EQUAL, _TYPE, yes=1),
        _step(_EQUAL, _PASTE, no=1),
        _step(_RETURN, _REFUSE),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _ALLOW),
    ]
    return [_step(_LOAD, _MACHINE), _step(_EQUAL, calls.machine, no=len(inner)), *inner]


def _without_control_groups(number: int) -> tuple[bytes, ...]:
    """The steps for a call that makes namespaces."""
    return (
        _step(_EQUAL, number, no=4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_SET, NEW_CONTROL_GROUPS, no=1),
        _step(_RETURN, _REFUSE),
        _step(_RETURN, _ALLOW),
    )


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
