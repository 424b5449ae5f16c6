"""Files as one text, which the store of a cluster carries to other machines."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterable

from untildone.core.errors import UsageError

MOST_PACKED = 16 << 20
"""Characters of the files of one name that go through the store of a cluster."""


def digest(contents: Iterable[tuple[str, bytes]]) -> str:
    """The hash of files with their paths."""
    hasher = hashlib.sha256()
    for path, content in sorted(contents):
        hasher.update(b"%d %s %d " % (len(path), os.fsencode(path), len(content)) + content)
    return hasher.hexdigest()


def packed(contents: Iterable[tuple[str, bytes]], what: str) -> str:
    """Files by path as one text. UsageError, about `what`, if they are too large for that."""
    as_hex = {os.fsencode(path).hex(): content.hex() for path, content in contents}
    text = base64.b64encode(zlib.compress(json.dumps(as_hex).encode())).decode()
    if len(text) > MOST_PACKED:
        raise UsageError(f"{what} are too large for a cluster: more than {MOST_PACKED >> 20} MB.", "use only tests")
    return text


def unpacked(text: str | None, sha256: object) -> dict[str, bytes]:
    """The files of a text. ValueError if it is none that `packed` made of files with this hash."""
    try:
        contents = json.loads(zlib.decompress(base64.b64decode(text or "", validate=True)))
        files = {os.fsdecode(bytes.fromhex(path)): bytes.fromhex(content) for path, content in contents.items()}
    except (zlib.error, AttributeError, TypeError) as problem:
        raise ValueError(str(problem)) from problem
    if digest(files.items()) != sha256:
        raise ValueError("the files are not those of this hash")
    return files
