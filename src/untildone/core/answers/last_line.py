"""The last line of a message: the one place where the promise, the marker and a reviewer's agreement count.

They count alone on the last line, outside code and quotations. The rule looks at lines and signs, never at the meaning of
words, so it is the same in every language. Bold or italic type, a heading, a check mark and a final full stop around the words
do not matter; nor do invisible characters and full-width forms. Everything here runs in time linear in the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from untildone.core.values.value import dataclass

_INVISIBLE = {
    code: None
    for codes in (
        (0xAD,),
        range(0x200B, 0x2010),
        range(0x202A, 0x202F),
        range(0x2060, 0x206A),
        range(0xFE00, 0xFE10),
        (0xFEFF,),
    )
    for code in codes
}
_BLANK = " \t\n\x0b\x0c\x85\xa0\u2028\u2029\u202f\u3000" + "".join(map(chr, _INVISIBLE))
_CHECK_MARKS = "✅✔✓☑🎉🎊🏁🚀✨🙌👍💯🏆🟢⭐🌟"
"""Signs of success. Others may deny or postpone: a cross, an empty box, an hourglass."""
_DECORATION = " *_#" + _CHECK_MARKS
_LONGEST = 4_000
"""How many characters of the last line, and of the text before it, are read at most."""

# Compiled at first use: a message without the words that are looked for needs none of them.
_IN_LIST = r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)*+"
_FENCE = rf"(?m)^[ \t]*+{_IN_LIST}(?P<sign>`{{3,}}+(?=[^`\n]*+$)|~{{3,}}+)"
_FENCE_CLOSES = r"(?m)^[ \t]*+(?P<sign>`{3,}+|~{3,}+)[ \t]*+$"
_INDENTED = r" {4}| *\t"
_OTHER_BLOCK = r" *(?:[-*+]\s|[0-9]{1,9}[.)]\s|>|\|)"
"""The start of a list item, a quotation or a row of a table."""
_HORIZONTAL_RULE = r"[-*_=\s]*"
_LEFT_OPEN = (":", ",", ";", "、", "-", "–", "—", "→", "⇒", "(")
"""A line that ends in one of these introduces the next line: an example, a quotation, the rest of its sentence."""
_SENTENCE_END = rf"(?:(?<!\.)\.(?!\.)|[!。{_CHECK_MARKS}])[)\]\"'”’»」』*_`]*"
_ABBREVIATED = r"(?<!\w)(?![A-Z]{2}\.)[A-Za-z0-9\u00c0-\u024f]{1,2}\.$"
"""A full stop after one or two letters or digits ends an abbreviation or numbers a list: `e.g.`, `z. B.`, `2.`."""


@dataclass(frozen=True, slots=True)
class LastLine:
    """The end of a message."""

    text: str
    """The last line; several lines if so many were asked for."""
    all_before: str
    """The text before it."""
    longest: int = _LONGEST
    """How many characters of the last line are read at most."""

    @property
    def before(self) -> str:
        """The end of the text before it."""
        return self.all_before[-_LONGEST:]

    @property
    def hidden(self) -> bool:
        """Whether it is code, or too long to be read."""
        return len(self.text) > self.longest or bool(re.match(_INDENTED, self.text)) or _fence_is_open(self.all_before)

    def holds(self, words: str) -> bool:
        """Whether the words stand anywhere in it: a quick test that most messages fail."""
        return any(words in reading for reading in _readings(self.text[: self.longest]))

    @property
    def above(self) -> str:
        """The nearest line above that is neither blank nor a horizontal rule."""
        lines = (
            line for line in reversed(self.before.split("\n")) if not re.fullmatch(_HORIZONTAL_RULE, _visible(line))
        )
        return next(lines, "").strip(_BLANK)

    @property
    def is_introduced(self) -> bool:
        """Whether the line above is not complete without this one."""
        return normal(self.above).rstrip(_DECORATION).endswith(_LEFT_OPEN)

    def alone(self, words: re.Pattern[str]) -> re.Match[str] | None:
        """The match, if the line consists of the words. Decoration around them does not count."""
        return None if self.hidden else _first_match(words, self._whole())

    def after_sentence(self, words: re.Pattern[str]) -> re.Match[str] | None:
        """The match, if the line consists of complete sentences and then the words."""
        if self.hidden or re.match(_OTHER_BLOCK, self.text):
            return None
        return _first_match(words, (tail for reading in _readings(self.text) for tail in _after_sentences(reading)))

    def _whole(self) -> Iterator[str]:
        for reading in _readings(self.text):
            yield reading.strip()
            if not re.match(_OTHER_BLOCK, reading):
                yield _bare(reading)


def last_line(message: str, lines: int = 1) -> LastLine:
    """The last line, or so many last lines, of a message."""
    text = unix_lines(message).rstrip(_BLANK)
    start = len(text)
    for _ in range(lines):
        start = text.rfind("\n", 0, max(start, 0))
    start += 1
    return LastLine(text[start:], text[:start], _LONGEST * lines)


def unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def normal(text: str) -> str:
    """The text without invisible characters and full-width forms."""
    if text.isascii():
        return text
    from unicodedata import normalize  # needed for few messages, and the stop hook loads this module

    return normalize("NFKC", _visible(text))


def _visible(text: str) -> str:
    return text.translate(_INVISIBLE)


def _readings(line: str) -> Iterator[str]:
    """The line as it is and, if that differs, in its normal form."""
    yield line
    if (plain := normal(line)) != line:
        yield plain


def _bare(line: str) -> str:
    return line.rstrip(_DECORATION + ".!。").strip(_DECORATION)


def _after_sentences(line: str) -> Iterator[str]:
    for end in re.finditer(_SENTENCE_END, line):
        if not re.compile(_ABBREVIATED).search(line, max(0, end.start() - 4), end.start() + 1):
            yield _bare(line[end.end() :])


def _first_match(words: re.Pattern[str], readings: Iterator[str]) -> re.Match[str] | None:
    return next((match for reading in readings if (match := words.fullmatch(reading))), None)


@lru_cache(maxsize=1)
def _fence_is_open(text: str) -> bool:
    """Whether the end of the text is inside a fenced code block. A block ends at its own sign, at least as long.

    The last result is kept, because each rule about the last line asks for it anew."""
    position, fence, closes = 0, re.compile(_FENCE), re.compile(_FENCE_CLOSES)
    while opening := fence.search(text, position):
        closings = closes.finditer(text, opening.end())
        closing = next((each for each in closings if each["sign"].startswith(opening["sign"])), None)
        if closing is None:
            return True
        position = closing.end()
    return False
