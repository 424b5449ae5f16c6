"""Puts back links of the person that programs in a box have replaced, and takes away files that must not exist: the kernel protects files
and folders, and no links and nothing that is missing."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from untildone.engine.boxes.own_files import text_of
from untildone.system.box.sandbox import Box

REPLACED = "replaced"
"""What stood in its place is kept beside it, under the same name and this."""


def put_back(box: Box | None) -> Iterator[str]:
    """Put back the links that programs in a box have replaced and fields of settings that they have changed, and move aside what they must
    not make. Yields a sentence for each."""
    for path, (before, fields) in (box.parts if box is not None else {}).items():
        with suppress(OSError):
            yield from _put_back_fields(path, before, fields)
    for path, target in (box.links if box is not None else {}).items():
        is_as_it_was = os.readlink(path) == target if os.path.islink(path) else not (target or os.path.lexists(path))
        # A program may have put a link in the place of a folder around it: what is there now is somebody else's.
        if is_as_it_was or os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
            continue
        with suppress(OSError):
            if not target:
                yield f"The sandbox moved {path} aside, which steers programs outside of it: it is {_moved_aside(path)} now."
                continue
            kept = _moved_aside(path) if os.path.lexists(path) else ""
            os.symlink(target, path)
            beside = f"; what stood there is {kept} now" if kept else ""
            yield f"The sandbox put back the link {path}{beside}."


def _put_back_fields(path: str, before: str, fields: tuple[str, ...]) -> Iterator[str]:
    text = None if os.path.islink(path) else text_of(path)
    if not os.path.lexists(path) or text == before or os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
        return
    own, now = _object(before) or {}, _object(text or "")
    steering = {name: own[name] for name in fields if name in own}
    if now is not None and {name: now[name] for name in fields if name in now} == steering:
        return
    kept = _moved_aside(path)
    rest = own if now is None else {name: value for name, value in now.items() if name not in fields}
    _replace(path, json.dumps({**rest, **steering}, indent=2) + "\n")
    yield f"The sandbox put back {', '.join(fields)} in {path}; what stood there is {kept} now."


def _replace(path: str, text: str) -> None:
    """Replace a file by one that only its owner may read. An agent may write to the folder, so the draft is a new file."""
    descriptor, draft = tempfile.mkstemp(prefix=".put-back-", dir=os.path.dirname(path))
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(draft, path)


def _object(text: str) -> dict[str, Any] | None:
    """The object in a JSON text, which may have lines of comments; None: there is none."""
    with suppress(ValueError):
        found = json.loads(re.sub(r"(?m)^\s*//.*$", "", text))
        return found if isinstance(found, dict) else None
    return None


def _moved_aside(path: str) -> str:
    names = (f"{path}.{REPLACED}{number or ''}" for number in range(100))
    free = next(name for name in names if not os.path.lexists(name))
    os.rename(path, free)
    return free
