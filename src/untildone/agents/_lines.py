"""What the readers share: lines become objects, fields become typed values, an end without an answer becomes a failure."""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from untildone.core.answers.failures import classify, plain
from untildone.core.errors import UsageError
from untildone.core.limits import MOST
from untildone.core.model import EMPTY, Failure, FailureKind, SessionUse
from untildone.core.plugins.agent_io import Notice, Request

LONGEST_ARGUMENT = 100_000
"""Bytes. Linux refuses a single argument of 128 KiB and more."""
LONGEST_CLOSING = 256 * 1024
"""How many characters of the closing text are kept: the last ones."""
_WIDTH = 160
_GLANCE = 500
_MOST_STRAY_LINES = 3
_SUMMARY_FIELDS = (
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
)
_SIGNALLED = 128
_LAST_LINES = 6
_ENDING_SIGNALS = (1, 2, 3, 6, 9, 11, 13, 15)
_ERROR_LINE = re.compile(r"error\b|\bfailed\b|\bfatal\b", re.IGNORECASE)
_STACK_LINE = re.compile(r"\s+at |\s*[{}\])]+;?\s*$")

Object = Mapping[str, Any]


def field(source: Object, name: str, *below: str) -> Any:
    """The value at a path of an object; None if a step is missing."""
    value: Any = source.get(name)
    for step in below:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def text_field(source: Object, name: str, *below: str) -> str:
    value = field(source, name, *below) if below else source.get(name)
    return _clean(value) if isinstance(value, str) else ""


def texts_field(source: Object, name: str, *below: str) -> Sequence[str]:
    """The items of a list, each as text."""
    value = field(source, name, *below)
    return [_clean(str(item)) for item in value] if isinstance(value, list) else []


def number_field(source: Object, name: str, *below: str) -> float | None:
    value = field(source, name, *below)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def status_field(source: Object, name: str, *below: str) -> int | None:
    value = number_field(source, name, *below)
    return int(value) if value is not None else None


def object_field(source: Object, name: str, *below: str) -> Object:
    value = field(source, name, *below)
    return value if isinstance(value, dict) else EMPTY


def objects_field(source: Object, name: str, *below: str) -> Sequence[Object]:
    value = field(source, name, *below)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def spent_field(source: Object, name: str, *below: str) -> float | None:
    """An amount of dollars or tokens; None for an impossible amount: below 0 or above MOST."""
    value = number_field(source, name, *below)
    return value if value is not None and 0 <= value <= MOST else None


def tokens_field(source: Object, name: str, *below: str) -> int | None:
    value = spent_field(source, name, *below)
    return None if value is None else int(value)


def token_sum(source: Object, *names: str) -> int:
    return sum(tokens_field(source, name) or 0 for name in names) if source else 0


def first_line(text: str) -> str:
    """The first line that is not blank, shortened for display."""
    # The result of a tool may be megabytes long, and its beginning nearly always has such a line.
    line = next(_lines_of(text[:_GLANCE], whole=len(text) <= _GLANCE), None) or next(_lines_of(text, whole=True), "")
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _lines_of(text: str, *, whole: bool) -> Iterator[str]:
    """The lines that are not blank. If this is not the whole text, the last line is left out, because it may be cut."""
    lines = plain(text).splitlines()
    return (line.strip() for line in (lines if whole else lines[:-1]) if line.strip())


def tool_summary(arguments: Object) -> str:
    """The main argument of a tool call, in one line: the command, the file, the pattern."""
    named = (text_field(arguments, name) for name in _SUMMARY_FIELDS)
    other = (_clean(value) for value in arguments.values() if isinstance(value, str))
    return first_line(next((text for text in chain(named, other) if text.strip()), ""))


def argument(text: str) -> str:
    """The text in a form that is valid as a command-line argument."""
    return _clean(text.replace("\0", ""))


def with_system_prompt(prompt: str, system_prompt: str | None) -> str:
    """The prompt for a program that takes no system prompt: the system prompt first, in tags, then the prompt."""
    if not system_prompt:
        return prompt
    return f"<instructions>\n{system_prompt.strip()}\n</instructions>\n\n{prompt}"


def session_to_use(request: Request) -> tuple[SessionUse, str]:
    """The use of a session and its id; NEW if the session to resume or fork has no id."""
    if request.session is SessionUse.NEW or not request.session_id:
        return SessionUse.NEW, request.fresh_id
    return request.session, request.session_id


def resumable_session(request: Request, program: str) -> tuple[SessionUse, str]:
    """`session_to_use` for a program that cannot fork. Raises UsageError for a fork: resuming instead would change the original."""
    if request.session is SessionUse.FORK:
        raise UsageError(f"{program} cannot fork a session.", "use an agent that can (untildone agents)")
    return session_to_use(request)


def without_flags(
    arguments: Sequence[str], flags: Collection[str], with_value: Collection[str] = ()
) -> tuple[str, ...]:
    """The arguments without some flags: those of `with_value` go with the value that follows them, or that they contain."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        name, is_whole, _ = word.partition("=")
        if name in with_value and not is_whole:
            next(words, None)
        elif name not in with_value and name not in flags:
            kept.append(word)
    return tuple(kept)


class ObjectLines:
    """Parses lines as JSON objects. The first few lines that are none give a Notice; further ones are only counted."""

    def __init__(self, program: str) -> None:
        self._program = program
        self.stray = 0

    def read(self, line: bytes) -> Object | Notice | None:
        """The object of a line; a Notice for a line that is no object; None for a line to ignore."""
        text = line.decode("utf-8", "replace").strip().lstrip("\ufeff\x00")
        if not text:
            return None
        value = _parsed(text)
        return value if isinstance(value, dict) else self._stray(text)

    def _stray(self, text: str) -> Notice | None:
        self.stray += 1
        if self.stray > _MOST_STRAY_LINES:
            return None
        what = "a broken line" if text.startswith("{") else "a line that is not an event"
        more = "; further ones are not shown" if self.stray == _MOST_STRAY_LINES else ""
        return Notice(f"{self._program} printed {what}{more}: {first_line(text)}")


def ended_without_answer(program: str, exit_code: int, stderr_tail: str, now: float, *, stray: int = 0) -> Failure:
    """The failure of a program that ended without a result, from its exit code and the end of its standard error."""
    failure = classify(_last_words(stderr_tail), status=None, now=now)
    kind = failure.kind
    if exit_code in (126, 127):
        kind = FailureKind.UNAVAILABLE
    elif kind is FailureKind.CRASHED and exit_code == 0 and stray:
        kind = FailureKind.MALFORMED
    reset_at = failure.reset_at if kind is FailureKind.LIMIT else None
    return Failure(kind, _end_sentence(program, exit_code, failure.message), reset_at)


def _last_words(stderr_tail: str) -> str:
    """The text from the last line that names an error, else the last few lines. Earlier lines are mostly warnings."""
    lines = [line for line in stderr_tail.splitlines() if line.strip() and not _STACK_LINE.match(line)]
    named = [place for place, line in enumerate(lines) if _ERROR_LINE.search(line)]
    return "\n".join(lines[named[-1] :] if named else lines[-_LAST_LINES:])


def _end_sentence(program: str, exit_code: int, message: str) -> str:
    signal = -exit_code if exit_code < 0 else exit_code - _SIGNALLED
    if exit_code < 0 and signal in _ENDING_SIGNALS:
        # Standard error says why a program ends by itself; here it is only what was said before.
        return f"{program} was ended by signal {signal}"
    how = f"was ended by signal {signal}" if signal in _ENDING_SIGNALS else f"ended with exit code {exit_code}"
    return f"{program} {how}" + (f": {message}" if message else " and printed no result")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _clean(text: str) -> str:
    """The text without lone surrogates, which JSON can contain and UTF-8 cannot."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


class ClosingText:
    """The text that the agent wrote since its last tool call; of a long text, its end."""

    def __init__(self) -> None:
        self._parts: deque[str] = deque()
        self._size = 0

    def add(self, part: str) -> None:
        self._parts.append(part[-LONGEST_CLOSING:])
        self._size += len(self._parts[-1])
        while self._size - len(self._parts[0]) >= LONGEST_CLOSING:
            self._size -= len(self._parts.popleft())

    def clear(self) -> None:
        self._parts.clear()
        self._size = 0

    def joined(self, between: str) -> str:
        return between.join(self._parts)
