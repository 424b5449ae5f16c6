"""Marks for characters that a reader cannot see: bidirectional controls, invisible format characters, control characters."""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

_BIDIRECTIONAL = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Not the joiners U+200C and U+200D: Persian words and emoji need them.
_INVISIBLE = (
    "\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f"
)
_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_HIDDEN = re.compile(f"[{_BIDIRECTIONAL}{_INVISIBLE}{_CONTROL}]|\r(?!\n)")


def marked(text: str) -> Markup:
    """The escaped text, with a visible mark in place of each hidden character."""
    if _HIDDEN.search(text) is None:
        return escape(text)
    parts, end = [], 0
    for hidden in _HIDDEN.finditer(text):
        parts += [escape(text[end : hidden.start()]), mark(hidden[0])]
        end = hidden.end()
    return Markup("").join([*parts, escape(text[end:])])


def plain(text: str) -> str:
    """The text with `⟨U+202E⟩` in place of each hidden character, where no markup can be: in attributes and titles."""
    return _HIDDEN.sub(lambda match: f"⟨{_code(match[0])}⟩", text)


def mark(character: str) -> Markup:
    """The mark of one hidden character, with its name as a tooltip."""
    code = _code(character)
    return Markup('<span class="hidden-char" title="{}">{}</span>').format(f"{_name(character)} ({code})", code)


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def _name(character: str) -> str:
    return unicodedata.name(character, "control character").lower()
