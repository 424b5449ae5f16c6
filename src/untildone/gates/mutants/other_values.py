"""Another value of the same type, in the place of one that a function returns: nothing of the old one is left in it, so that tests notice
which look only at a part of it. Tests that look only at its type, or whether there is something, do not."""

from __future__ import annotations

_HELPER = """

def _other_{word}(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + {number}
    if isinstance(value, str):
        return "{word}"
    if isinstance(value, bytes):
        return b"{word}"
    if isinstance(value, dict):
        return {{"{word}": "{word}"}}
    for kind in (list, tuple, set, frozenset):
        if type(value) is kind:
            return kind(["{word}"])
    return (value, "{word}")
"""


def other(part: bytes, word: str) -> bytes:
    """The source of an expression whose value is another one than that of `part`."""
    return b"_other_%s(%s)" % (word.encode(), part)


def helper(word: str) -> bytes:
    """The source of a function that `other` needs. The word is one that nobody can know."""
    return f"\n{_HELPER.format(word=word, number=1 + sum(word.encode()) * 31)}".encode()
