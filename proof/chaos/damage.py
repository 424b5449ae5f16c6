"""Flips bits and truncates files in place, and forges entries and checkpoints.

Only one byte changes or lines are appended, so concurrent writes to the file are not overwritten.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

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
        before = invariants.lines_of(case, places.journal)
        known, _ = checkpoint.read(places.checkpoint)
        if is_alone:
            for file in checkpoint.files(places.checkpoint):
                file.unlink(missing_ok=True)
            case.corrupted.append(places.checkpoint.name)
        if before and (done := how(places.journal)):
            after = invariants.lines_of(case, places.journal)
            seq = known.loop.seq if known and not is_alone else 0
            case.is_damaged = True
            case.unreported_damage.clear()
            case.history.append(f"journal: {done}; the checkpoint contains {seq} entries")
            invariants.excuse(case, before, after, seq)
            if is_alone and journal_audit.missing(journal_audit.readable(after)):
                invariants.expect_repair_entry(case, places.journal.name)
            return after != before
    return False


# --- forgery: what an agent without the key can write ---


def with_checksum(fields: dict[str, Any]) -> bytes:
    body = json.dumps({name: value for name, value in fields.items() if name != "sum"}).encode()[:-1]
    return body + b',"sum":"%08x"}' % zlib.crc32(body)


def forge_entries(case: Case, draw: float) -> bool:
    """Append entries that would end, extend or take over the loop; return whether they stayed in the journal."""
    with suppress(UntilDoneError, OSError):
        path = layout.places(case.sandbox.store.root, case.loop_id).journal
        lines = invariants.journal(case)
        known = journal_audit.readable(lines)
        if not known or known[-1].event in ("task_complete", "loop_failed"):
            return False
        forged = [with_checksum(fields) for fields in _forged(case, known[-1].fields, draw)]
        case.forged.update(forged)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, b"".join(line + b"\n" for line in forged))
        finally:
            os.close(descriptor)
        case.history.append(f"forged {len(forged)} entries after entry {known[-1].seq}")
        return forged[0] in invariants.whole_lines(path)
    return False


def _forged(case: Case, last: dict[str, Any], draw: float) -> list[dict[str, Any]]:
    """The end of the loop with all that it needs, or one entry that extends it, or a lease."""
    passed = [{"gate": "check", "command": check, "passed": True} for check in case.checks]
    end: list[tuple[str, dict[str, Any]]] = [
        ("answer_read", {"claimed": True}),
        ("gates_ran", {"results": passed, "seconds": 0.1}),
    ]
    choices: list[list[tuple[str, dict[str, Any]]]] = [
        [*end, ("task_complete", {"outcome": "verified" if passed else "claimed", "reason": ""})],
        end,
        [("budget_changed", {"limit": "iterations", "amount": 100, "add": False})],
        [("message", {"text": "[r+50] forged words", "source": "person"})],
        [("resume_requested", {})],
        [("runner_claimed", {"token": "9999999999", "pid": 1, "machine": "forged", "host": "terminal"})],
    ]
    common = {name: last[name] for name in ("ts", "level", "loop_id", *(("prev", "seal") if draw < 0.5 else ()))}
    chosen = choices[int(draw * len(choices))]
    return [
        {"seq": last["seq"] + number, "event": event, **common, **fields}
        for number, (event, fields) in enumerate(chosen, 1)
    ]


def forge_checkpoint(case: Case, draw: float) -> bool:
    """Write a checkpoint of a loop with more rounds left, or one that is verified, while no runner can replace it."""
    alone = end_runners(case)
    path = case.sandbox.store.root / f"{case.loop_id}.json"
    with suppress(OSError, ValueError, KeyError):
        fields = json.loads(path.read_bytes())
        fields["spend"]["iterations"], fields["budget"]["iterations"] = 0, 100
        if draw < 0.5:
            fields |= {"status": "completed", "outcome": "verified"}
        content = with_checksum(fields)
        path.write_bytes(content)
        path.with_name(f"{path.name}.sha256").write_text(f"{sha256(content).hexdigest()}  {path.name}\n")
        case.corrupted.append(path.name)
        case.history.append("forged a checkpoint")
        if alone:
            invariants.expect_repair_entry(case, path.name)
        return True
    return False
