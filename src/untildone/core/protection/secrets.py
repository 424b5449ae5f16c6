"""Keeps the secrets of the environment out of everything that is written to disk or shown."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

from untildone.core.protection.secret_values import secrets_in, written_forms

WIDE, NARROW = 8, 4
"""Bytes of a sample, for long needles and for short ones."""
LONGEST_LINE = 64 * 1024
"""A longer line with escape sequences is not held back whole."""
_ALONE = rb"\x1b|\\+u001[bB]|\x00|\\+u0000|\xc2\x9b|\\+u009[bB]"
"""What begins an escape sequence, or is not shown by itself."""
_ESCAPES = (
    rb"(?:\x1b|\\+u001[bB])(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\\]*(?:\x07|\x1b\\|\\+u0007|\\+u001[bB]\\+)|[ -/]+[0-~]|[@-Z\\^_])?"
    rb"|\x00|\\+u0000|(?:\xc2\x9b|\\+u009[bB])[0-?]*[ -/]*[@-~]"
)
_ESCAPE_SIGNS = (b"\x1b", b"\\u001b", b"\\u001B", b"\x00", b"\\u0000", b"\xc2\x9b", b"\\u009b", b"\\u009B")
_ESCAPE_BEGINNINGS = (b"\xc2", *(sign[:length] for sign in (b"\\u000", b"\\u001", b"\\u009") for length in range(1, 6)))


class Redactor:
    """Replaces every known secret by `[redacted NAME]`."""

    def __init__(self, secrets: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        """`secrets` has the name of each secret and its value."""
        pairs = list(secrets.items() if isinstance(secrets, Mapping) else secrets)
        self._names = {form: name for name, value in pairs for form in written_forms(value)}
        self._needles = tuple(sorted(self._names, key=len, reverse=True))
        self._samplers = tuple(sampler for width in (WIDE, NARROW) if (sampler := _Sampler.of(self._needles, width)))
        self._containing: dict[int, tuple[bytes, ...]] = {}
        self._compiled: re.Pattern[bytes] | None = None

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Redactor:
        return cls(secrets_in(env))

    @property
    def longest(self) -> int:
        """The length of the longest secret as it may be written, in bytes; 0: no secret is known."""
        return len(self._needles[0]) if self._needles else 0

    def text(self, text: str) -> str:
        if not self._needles:
            return text
        content = text.encode(errors="surrogatepass")
        redacted = self.bytes(content)
        return text if redacted is content else redacted.decode(errors="surrogatepass")

    def found_in(self, content: bytes) -> str:
        """The name of a secret that `content` holds; empty: it holds none."""
        if not self._may_hold_one(content):
            return ""
        found = self._pattern.search(content)
        return self._names[found[0]] if found else ""

    def stream(self) -> RedactingStream:
        return RedactingStream(self)

    def settled(self, content: bytes) -> int:
        """How many bytes from the start of `content` cannot be part of a secret, no matter which bytes follow."""
        if not content:
            return 0
        cut = min((_start_of_partial(needle, content) for needle in self._ending_in(content[-1])), default=len(content))
        cut = min(cut, self._before_escapes(content))
        if cut == len(content) or not self._may_hold_one(content):
            return cut
        spanning = (match.end() for match in self._pattern.finditer(content) if match.start() < cut)
        return max(cut, *spanning, 0)

    def _ending_in(self, last: int) -> tuple[bytes, ...]:
        """The needles of which a beginning can end in the byte `last`. For the end of a line that is mostly none."""
        if last not in self._containing:
            self._containing[last] = tuple(needle for needle in self._needles if last in needle)
        return self._containing[last]

    def _before_escapes(self, content: bytes) -> int:
        """Where the last line begins if it is incomplete and has an escape sequence, which may stand inside a secret."""
        line = content.rfind(b"\n") + 1
        if not self._needles or line == len(content) or len(content) - line > LONGEST_LINE:
            return len(content)
        has_one = content.endswith(_ESCAPE_BEGINNINGS) or _has_escape(content[line:])
        return line if has_one else len(content)

    def _may_hold_one(self, content: bytes) -> bool:
        """A quick test: nearly all output contains no secret, and there can be gigabytes of it."""
        return any(sampler.hits(content) for sampler in self._samplers) and any(
            needle in content for needle in self._needles
        )

    def _replaced(self, content: bytes) -> bytes:
        """`content` itself if it holds no secret."""
        if not self._may_hold_one(content):
            return content
        redacted = self._pattern.sub(lambda match: f"[redacted {self._names[match[0]]}]".encode(), content)
        return content if redacted == content else redacted

    @property
    def _pattern(self) -> re.Pattern[bytes]:
        """All written forms, the longest first. Compiled at first use: most runs print no secret."""
        if self._compiled is None:
            self._compiled = re.compile(b"|".join(map(re.escape, self._needles)))
        return self._compiled

    def bytes(self, content: bytes) -> bytes:
        content = self._replaced(content)
        if self._needles and _has_escape(content):
            # An escape sequence inside a secret hides it from a search, not from a reader. It is unknown whether a letter belongs to the
            # sequence or to the secret.
            for hidden in (_ESCAPES, _ALONE):
                plain = re.sub(hidden, b"", content)
                redacted = self._replaced(plain)
                if redacted is not plain:
                    return redacted
        return content


class RedactingStream:
    """Redacts content that arrives in chunks. Holds back only bytes that may be the start of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        content = self._held + chunk if self._held else chunk
        settled = self._redactor.settled(content)
        if settled == len(content):
            self._held = b""
            return self._redactor.bytes(content)
        self._held = content[settled:]
        return self._redactor.bytes(content[:settled])

    def flush(self) -> bytes:
        held, self._held = self._held, b""
        return self._redactor.bytes(held)


def _start_of_partial(needle: bytes, content: bytes) -> int:
    """Where a proper prefix of `needle` at the end of `content` starts; the length of `content` if there is none."""
    first, end = needle[:1], len(content)
    start = content.find(first, max(0, end - len(needle) + 1))
    while start >= 0:
        if needle.startswith(content[start:]):
            return start
        start = content.find(first, start + 1)
    return end


def _has_escape(content: bytes) -> bool:
    return any(sign in content for sign in _ESCAPE_SIGNS)


class _Sampler:
    """Tells quickly that content holds none of many needles: it looks at every so many bytes only.

    Each needle that stands in the content covers a sample, a word of `width` bytes. All words that it can cover are known.
    """

    def __init__(self, needles: list[bytes], width: int) -> None:
        self._width = width
        self._step = (min(map(len, needles)) - width + 1) // width
        offsets = range(self._step * width)
        self._words = frozenset(_word(needle[offset : offset + width]) for needle in needles for offset in offsets)

    @classmethod
    def of(cls, needles: tuple[bytes, ...], width: int) -> _Sampler | None:
        """The sampler of those needles for which `width` is best: long words, as far as the needle always covers one."""
        chosen = [needle for needle in needles if (len(needle) >= 2 * WIDE - 1) == (width == WIDE)]
        return cls(chosen, width) if chosen else None

    def hits(self, content: bytes) -> bool:
        end = len(content) - len(content) % self._width
        whole = memoryview(content)[:end]
        samples = (whole.cast("Q") if self._width == WIDE else whole.cast("I"))[:: self._step]
        return not self._words.isdisjoint(samples)


def _word(content: bytes) -> int:
    return int.from_bytes(content, sys.byteorder)
