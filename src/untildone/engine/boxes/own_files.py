"""Files and folders that a box has of its own: copies of settings without logins, and temporary folders."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile

from untildone.core.plugins.agent import OwnFile

LARGEST_SETTINGS = 1 << 20


def copied(file: OwnFile, text: str | None, private: str) -> str:
    """A new copy of a file of the person with this content, in a new folder: an agent could have put links into the last one."""
    name = os.path.basename(file.path)
    for folder in glob.glob(os.path.join(glob.escape(private), f"own-{glob.escape(name)}-*")):
        shutil.rmtree(folder, ignore_errors=True)
    folder = os.path.basename(tempfile.mkdtemp(prefix=f"own-{name}-", dir=_made_folder(private, "")))
    return written_file(private, folder, name, file.content or "" if text is None else text)


def text_of(path: str) -> str | None:
    """The beginning of a file; None if it cannot be read. A pipe holds nobody up."""
    try:
        with open(
            os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), encoding="utf-8", errors="surrogateescape"
        ) as file:
            return file.read(LARGEST_SETTINGS * 16)
    except OSError:
        return None


def written_file(private: str, folder: str, name: str, text: str) -> str:
    """The path of a new file with this text, in a folder of the box's own files."""
    path = os.path.join(_made_folder(private, folder), name)
    with open(path, "w", encoding="utf-8", errors="surrogateescape", opener=private_opener) as file:
        file.write(text)
    return path


def private_opener(path: str, flags: int) -> int:
    """Opens a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def _made_folder(private: str, name: str) -> str:
    path = os.path.join(private, name)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def made_temporary(private: str, name: str) -> str:
    """A folder that every user of the box may write to, as `/tmp`."""
    path = _made_folder(private, name)
    os.chmod(path, 0o1777)
    return path
