"""Flipped bytes and cut files. One byte at a time, in place: whoever else writes to the file is not written over."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from proof.chaos import laws
from proof.chaos.case import Case

from untildone.core.errors import UntilDoneError
from untildone.store import checkpoint, layout

FURTHEST_CUT = 400
"""Bytes of the journal's tail that a crash of the disk may take."""


def flip(path: Path, draw: float) -> str:
    """Change one bit of a byte; what was done."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDWR)
        try:
            size = os.fstat(descriptor).st_size
            at = int(draw * 977 % 1 * size)
            if byte := os.pread(descriptor, 1, at):
                os.pwrite(descriptor, bytes([byte[0] ^ 1 << int(draw * 8)]), at)
                return f"bit {int(draw * 8)} of byte {at} of {size}"
        finally:
            os.close(descriptor)
    return ""


def cut(path: Path, draw: float) -> str:
    with suppress(OSError):
        size = path.stat().st_size
        os.truncate(path, int(size * draw))
        return f"cut to {int(size * draw)} of {size}"
    return ""


def cut_tail(path: Path, draw: float) -> str:
    with suppress(OSError):
        size = path.stat().st_size
        left = max(0, size - 1 - int(draw * FURTHEST_CUT))
        os.truncate(path, left)
        return f"cut to {left} of {size}"
    return ""


def spoil_journal(case: Case, how: Callable[[Path], str]) -> None:
    """Spoil it, and excuse the loss of what stood there alone: a checkpoint may know it, and nobody else can."""
    with suppress(UntilDoneError, OSError):
        places = layout.places(case.ground.store.root, case.loop_id)
        before = laws.whole_lines(places.journal)
        known, _ = checkpoint.read(places.checkpoint)
        if before and (done := how(places.journal)):
            case.is_damaged = True
            case.history.append(f"journal: {done}; the checkpoint knew {known.loop.seq if known else 0} entries")
            laws.excuse(case, before, laws.whole_lines(places.journal), known.loop.seq if known else 0)
