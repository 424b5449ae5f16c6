"""Claims: does an agent's final message say that it is done?

The promise and the marker count as the last thing said: alone on the last line, or there after a complete sentence. A line that
is introduced, "I will write:", is a quotation, and so is an echo of the prompt. `last_line` has the rule; it needs no grammar.
"""

from __future__ import annotations

import re

from untildone.core.answers.last_line import LastLine, last_line, normal, unix_lines
from untildone.core.values.value import dataclass

_MENTIONS_LOOKED_AT = 64
_CHARACTERS_LOOKED_AT = 200
_ECHO, _SHORTEST_ECHO = 24, 10
"""How many letters before the promise are compared with the prompt, and how few are too few to recognise it."""


@dataclass(frozen=True, slots=True)
class MarkerFound:
    """The text ends in the marker."""

    message: str | None = None
    """The text after the colon inside the brackets, if there is one."""


def has_promise(final_message: str, promise: str, prompt: str = "") -> bool:
    """Whether the message makes the promise: the exact string, as the last thing said."""
    promise = unix_lines(promise).strip()
    return bool(promise) and _said_last(final_message, promise, "", prompt) is not None


def has_marker(text: str, marker: str = "[TASK_COMPLETED]", prompt: str = "") -> MarkerFound | None:
    """Find the marker as the last thing said. A marker in brackets may carry a text: `[TASK_COMPLETED: text]`."""
    marker = marker.strip()
    bracketed = is_bracketed(marker)
    stem, end = (marker[:-1], r"(?::(?P<message>.*))?\]") if bracketed else (marker, "")
    match = _said_last(text, stem, end, prompt) if stem else None
    if match is None:
        return None
    return MarkerFound((match["message"] or "").strip() or None) if bracketed else MarkerFound()


def is_bracketed(marker: str) -> bool:
    return len(marker) > 2 and marker.startswith("[") and marker.endswith("]")


def _said_last(message: str, words: str, end: str, prompt: str) -> re.Match[str] | None:
    last = last_line(message, words.count("\n") + 1)
    forms = [form for form in dict.fromkeys((words, normal(words))) if last.holds(form)]
    if not forms or last.is_introduced or _is_echo(last, words, unix_lines(prompt)):
        return None
    for form in forms:
        pattern = re.compile(re.escape(form) + end)
        if match := last.alone(pattern) or last.after_sentence(pattern):
            return match
    return None


def _is_echo(last: LastLine, words: str, prompt: str) -> bool:
    """Whether the text before the words is what stands before them in the prompt, letter by letter."""
    in_message, position = _letters(last.before), -1
    for _ in range(_MENTIONS_LOOKED_AT):
        position = prompt.find(words, position + 1)
        if position < 0:
            return False
        in_prompt = _letters(prompt[:position])
        if min(len(in_prompt), len(in_message)) >= _SHORTEST_ECHO and (
            in_message.endswith(in_prompt) or in_prompt.endswith(in_message)
        ):
            return True
    return False


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text[-_CHARACTERS_LOOKED_AT:]).casefold()[-_ECHO:]
