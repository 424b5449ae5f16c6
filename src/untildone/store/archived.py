"""Moves loops that have ended into the history, and back out of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from untildone.core.loop import Loop
from untildone.core.values.codec import timestamp
from untildone.store import (
    checkpoint,
    layout,
)
from untildone.system import disk


def bring_back(root: Path, loop_id: str) -> None:
    """Move an archived loop out of the history, folder first. The caller holds its lock, which moves along, so that no other
    process archives it again. Its receipt is kept under another name."""
    archived, live = layout.archive_of(root, loop_id), layout.live(root, loop_id)
    with disk.as_store_error(live.progress):
        if archived is not None and not live.progress.is_dir():
            os.rename(archived, live.progress)
            disk.sync_folder(root)
        for path in checkpoint.files(live.checkpoint):
            with suppress(FileNotFoundError):
                os.replace(live.progress / path.name, path)
        _keep_receipts(live.progress)


def _keep_receipts(progress: Path) -> None:
    """Keep receipt and report of an earlier end beside those of the next one."""
    if not (progress / "receipt.json").exists():
        return
    number = 1 + len(list(progress.glob("receipt-*.json")))
    for name, ending in (("report", "md"), ("receipt", "json")):
        with suppress(FileNotFoundError):
            os.replace(progress / f"{name}.{ending}", progress / f"{name}-{number}.{ending}")


def move_to_history(root: Path, live: Path, loop: Loop, documents: Mapping[str, str]) -> None:
    """Write the documents of its end into the folder of a loop, and move that."""
    for name, text in documents.items():
        disk.replace_file(live / name, text.encode("utf-8", "replace"))
    history = root / "history"
    day = timestamp(loop.created_at)[:10]
    with disk.as_store_error(history):
        history.mkdir(exist_ok=True)
        os.replace(live, history / f"{day}_{loop.loop_id}")
    disk.sync_folder(history)


def move_checkpoints(root: Path, loop_id: str, archived: Path) -> None:
    """Move the checkpoints of a loop into its folder in the history."""
    for path in checkpoint.files(layout.live(root, loop_id).checkpoint):
        with disk.as_store_error(archived), suppress(FileNotFoundError):
            os.replace(path, archived / path.name)
    disk.sync_folder(root)
