"""Reads and replaces settings files of other programs."""

from __future__ import annotations

import os
from pathlib import Path

from untildone.core.errors import UsageError


def read(file: Path) -> str | None:
    """The text of the file; None if there is none."""
    try:
        return file.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not UTF-8 text.", "fix it first; it was left as it is") from None
    except OSError as problem:
        raise UsageError(f"Cannot read {file}: {problem.strerror}.", "make it readable") from None


def write(file: Path, text: str) -> None:
    """Replace the file atomically. Follow symbolic links and keep the permissions."""
    target = Path(os.path.realpath(file))
    draft = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(text.encode("utf-8"))
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        os.replace(draft, target)
    except OSError as problem:
        draft.unlink(missing_ok=True)
        raise UsageError(f"Cannot write {file}: {problem.strerror}.", "make it writable") from None
