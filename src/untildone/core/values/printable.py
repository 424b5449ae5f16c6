"""Names and lines that an agent chose, for texts that people and models read."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, without characters that a screen or a model would take for something else."""
    return text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode()
