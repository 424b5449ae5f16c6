"""Flipped bytes and cut files. One byte at a time, in place: whoever else writes to the file is not written over."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from proof.chaos import accounts, laws, processes
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
        if int(size * draw) < size:
            os.truncate(path, int(size * draw))
            return f"cut to {int(size * draw)} of {size}"
    return ""


def cut_tail(path: Path, draw: float) -> str:
    with suppress(OSError):
        size = path.stat().st_size
        left = max(0, size - 1 - int(draw * FURTHEST_CUT))
        if left < size:
            os.truncate(path, left)
            return f"cut to {left} of {size}"
    return ""


def end_all_of(case: Case) -> bool:
    """Nobody drives the loop any more, and nobody is about to; whether that could be brought about."""
    if case.desk is not None:
        return False
    if (runner := case.runner()) is not None:
        if processes.kill(runner, case.run):
            case.tally.kill("runner")
        case.killed.add(runner)
    return case.settle_starters() and laws.is_let_go(case, 20.0)


def spoil_checkpoint(case: Case, draw: float, name: str) -> bool:
    """While nobody drives the loop, who would write a new one: so the next runner reads what was spoilt."""
    alone = end_all_of(case)
    path = case.ground.store.root / name
    done = flip(path, draw) if draw < 0.6 else cut(path, draw)
    case.history.append(f"spoilt {name}: {done}")
    if not done:
        return False
    case.spoilt.append(name)
    if alone and not name.endswith(".1"):
        laws.must_be_told(case, f"{case.loop_id}.json")
    return True


def put_back_checkpoint(case: Case, patience: float) -> bool:
    """An old checkpoint, sound in itself, in the place of a newer one: the journal knows more, and is believed."""
    path = case.ground.store.root / f"{case.loop_id}.json"
    files = [each for each in checkpoint.files(path) if each.exists()]
    with suppress(OSError):
        old = {each: each.read_bytes() for each in files}
        known, _ = checkpoint.read(path)
        time.sleep(patience)
        if known is None or not end_all_of(case) or not path.exists():
            return False
        for each, content in old.items():
            each.write_bytes(content)
        lines = accounts.readable(laws.journal(case))
        case.history.append(f"put back the checkpoint of entry {known.loop.seq}; the journal has {len(lines)}")
        # A copy of what somebody was just about to replace need not fit together.
        whole, problems = checkpoint.read(path)
        if whole is None or problems:
            case.spoilt.append(path.name)
        return bool(lines) and lines[-1].seq > known.loop.seq
    return False


def spoil_journal(case: Case, how: Callable[[Path], str], *, alone: bool) -> bool:
    """Spoil it, and excuse the loss of what stood there alone: a checkpoint may know it, and nobody else can.

    With `alone`, no runner has it open and no checkpoint is left: whoever is next must read all of it.
    """
    with suppress(UntilDoneError, OSError):
        is_alone = alone and end_all_of(case)
        places = layout.places(case.ground.store.root, case.loop_id)
        before = laws.whole_lines(places.journal)
        known, _ = checkpoint.read(places.checkpoint)
        if is_alone:
            for file in checkpoint.files(places.checkpoint):
                file.unlink(missing_ok=True)
            case.spoilt.append(places.checkpoint.name)
        if before and (done := how(places.journal)):
            after = laws.whole_lines(places.journal)
            seq = known.loop.seq if known and not is_alone else 0
            case.is_damaged = True
            case.untold.clear()
            case.history.append(f"journal: {done}; the checkpoint knew {seq} entries")
            laws.excuse(case, before, after, seq)
            if is_alone and accounts.missing(accounts.readable(after)):
                laws.must_be_told(case, places.journal.name)
            return after != before
    return False
