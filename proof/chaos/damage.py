"""Flips bits and truncates files in place. Only one byte changes, so concurrent writes to the file are not overwritten."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from proof.chaos import invariants, journal_audit, processes
from proof.chaos.case import Case

from untildone.core.errors import UntilDoneError
from untildone.store import checkpoint, layout

FURTHEST_CUT = 400
"""The most bytes that are cut off the end of the journal."""


def flip(path: Path, draw: float) -> str:
    """Flip one bit of the file; return what was done, or an empty string."""
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
    """Truncate the file to a share of its size; return what was done, or an empty string."""
    with suppress(OSError):
        size = path.stat().st_size
        if int(size * draw) < size:
            os.truncate(path, int(size * draw))
            return f"cut to {int(size * draw)} of {size}"
    return ""


def cut_tail(path: Path, draw: float) -> str:
    """Cut up to FURTHEST_CUT bytes off the end; return what was done, or an empty string."""
    with suppress(OSError):
        size = path.stat().st_size
        left = max(0, size - 1 - int(draw * FURTHEST_CUT))
        if left < size:
            os.truncate(path, left)
            return f"cut to {left} of {size}"
    return ""


def end_runners(case: Case) -> bool:
    """Kill the runner and wait until no other one starts; return whether the loop is undriven now."""
    if case.server is not None:
        return False
    if (runner := case.runner()) is not None:
        if processes.kill(runner, case.run):
            case.tally.kill("runner")
        case.killed.add(runner)
    return case.settle_starters() and invariants.is_undriven(case, 20.0)


def corrupt_checkpoint(case: Case, draw: float, name: str) -> bool:
    """Corrupt a checkpoint file while no runner can replace it, so that the next runner reads it.

    Returns whether the file changed.
    """
    alone = end_runners(case)
    path = case.sandbox.store.root / name
    done = flip(path, draw) if draw < 0.6 else cut(path, draw)
    case.history.append(f"corrupted {name}: {done}")
    if not done:
        return False
    case.corrupted.append(name)
    if alone and not name.endswith(".1"):
        invariants.expect_repair_entry(case, f"{case.loop_id}.json")
    return True


def restore_old_checkpoint(case: Case, patience: float) -> bool:
    """Replace the checkpoint with an older valid one; return whether the journal has newer entries, which must win."""
    path = case.sandbox.store.root / f"{case.loop_id}.json"
    files = [each for each in checkpoint.files(path) if each.exists()]
    with suppress(OSError):
        old = {each: each.read_bytes() for each in files}
        known, _ = checkpoint.read(path)
        time.sleep(patience)
        if known is None or not end_runners(case) or not path.exists():
            return False
        for each, content in old.items():
            each.write_bytes(content)
        lines = journal_audit.readable(invariants.journal(case))
        case.history.append(f"restored the checkpoint of entry {known.loop.seq}; the journal has {len(lines)}")
        # The copied files can be inconsistent if a runner was replacing them.
        whole, problems = checkpoint.read(path)
        if whole is None or problems:
            case.corrupted.append(path.name)
        return bool(lines) and lines[-1].seq > known.loop.seq
    return False


def corrupt_journal(case: Case, how: Callable[[Path], str], *, alone: bool) -> bool:
    """Corrupt the journal and excuse the loss of entries that no checkpoint contains; return whether a line changed.

    With `alone`, first end all runners and delete the checkpoints, so that the next runner must read the whole journal.
    """
    with suppress(UntilDoneError, OSError):
        is_alone = alone and end_runners(case)
        places = layout.places(case.sandbox.store.root, case.loop_id)
        before = invariants.whole_lines(places.journal)
        known, _ = checkpoint.read(places.checkpoint)
        if is_alone:
            for file in checkpoint.files(places.checkpoint):
                file.unlink(missing_ok=True)
            case.corrupted.append(places.checkpoint.name)
        if before and (done := how(places.journal)):
            after = invariants.whole_lines(places.journal)
            seq = known.loop.seq if known and not is_alone else 0
            case.is_damaged = True
            case.unreported_damage.clear()
            case.history.append(f"journal: {done}; the checkpoint contains {seq} entries")
            invariants.excuse(case, before, after, seq)
            if is_alone and journal_audit.missing(journal_audit.readable(after)):
                invariants.expect_repair_entry(case, places.journal.name)
            return after != before
    return False
