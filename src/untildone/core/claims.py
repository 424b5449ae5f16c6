"""Claims: does an agent's final message say that it is done?

The promise and the marker count only as the agent's own words. They do not count in a code block, in backticks, in a
quotation, in an echo of the prompt, or in a sentence that announces or denies them. Everything here runs in time linear in the
length of the message.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import islice

from untildone.core.mentions import holds_back, is_mention
from untildone.core.value import dataclass

Span = tuple[int, int]
Find = Callable[[str, int], int]

_IN_LIST = r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)*+"
_FENCE_OPENS = r"(?:`{3,}+(?=[^`\n]*+$)|~{3,}+)"
_FENCE = re.compile(rf"^[ \t]*+{_IN_LIST}(?P<sign>{_FENCE_OPENS})", re.MULTILINE)
_FENCE_OR_QUOTE = re.compile(rf"^[ \t]*+{_IN_LIST}(?P<sign>>|{_FENCE_OPENS})", re.MULTILINE)
_FENCE_CLOSES = re.compile(r"^[ \t]*+(?P<sign>`{3,}+|~{3,}+)[ \t]*+$", re.MULTILINE)

_ONE_LINE_BLOCK = re.compile(rf"[ \t]*+(?:$|\||#{{1,6}}+[ \t]|>|{_FENCE_OPENS})", re.MULTILINE)
_STARTS_BLOCK = re.compile(
    rf"[ \t]*+(?:$|\||#{{1,6}}+[ \t]|>|{_FENCE_OPENS}|(?:[-*+]|[0-9]{{1,9}}[.)])[ \t])", re.MULTILINE
)
_BACKTICKS = re.compile(r"`++")

# Scripts without blanks between words have no word boundary to check.
_WORD_CHARACTER = r"[^\W\u2e80-\uffff\U00020000-\U0003ffff]"
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]")
_WORD = re.compile(r"\w+")
_ENOUGH_WORDS = 3
"""So many words beside the promise are enough to recognise a sentence of the prompt."""
_MENTIONS_LOOKED_AT = 64
_WORDS_LOOKED_AT = 6
_CHARACTERS_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class MarkerFound:
    """The text contains the marker."""

    message: str | None = None
    """The text after the colon inside the brackets, if there is one."""


def has_promise(final_message: str, promise: str, prompt: str = "") -> bool:
    """Whether the message makes the promise: the exact string, as the agent's own words."""
    text, promise, prompt = _unix_lines(final_message), _unix_lines(promise), _unix_lines(prompt)
    if not promise.strip() or promise not in text:
        return False
    find = _finder(promise)
    hidden = _merged([*_inner(_blocks(text, _FENCE_OR_QUOTE)), *_echoes(text, promise, prompt)])
    paragraph, code = (0, 0), list[Span]()
    position = find(text, 0)
    while position >= 0:
        end = _end_of_cover(hidden, position)
        if end is None:
            if not paragraph[0] <= position < paragraph[1]:
                paragraph = _paragraph(text, position)
                code = _inner(_code_spans(text, paragraph))
            end = _end_of_cover(code, position)
        if end is None and is_mention(*_sentence_around(text, position, len(promise))):
            end = position + len(promise)
        if end is None:
            return True
        position = find(text, end)
    return False


def has_marker(text: str, marker: str = "[TASK_COMPLETED]", prompt: str = "") -> MarkerFound | None:
    """Find the marker alone on a line, outside code blocks. A marker in brackets may carry a text: `[TASK_COMPLETED: text]`.

    If the prompt contains the line as well, the line is an echo where the same words surround it."""
    text, marker, prompt = _unix_lines(text), marker.strip(), _unix_lines(prompt)
    bracketed = len(marker) > 2 and marker.startswith("[") and marker.endswith("]")
    stem = marker[:-1] if bracketed else marker
    if not stem or stem not in text:
        return None
    dictated = list(islice(_positions(prompt, stem), _MENTIONS_LOOKED_AT))
    hidden = _merged([*_blocks(text, _FENCE), *_echoed_lines(text, stem, prompt, dictated)])
    position = text.find(stem)
    while position >= 0:
        start, end = _line(text, position)
        covered = _end_of_cover(hidden, position)
        if covered is None:
            result = _marker_on(text[start:end].strip(), marker, stem if bracketed else None)
            if result:
                return result
        position = text.find(stem, covered or end)
    return None


def _marker_on(line: str, marker: str, stem: str | None) -> MarkerFound | None:
    if line == marker:
        return MarkerFound()
    if stem and line.startswith(f"{stem}:") and line.endswith("]"):
        return MarkerFound(line[len(stem) + 1 : -1].strip() or None)
    return None


def _sentence_around(text: str, position: int, length: int) -> tuple[str, str]:
    """The text before and after the promise in its sentence. If the promise is alone on its line: the line that announces it."""
    end = position + length
    before = text[max(0, position - _CHARACTERS_LOOKED_AT) : position].rpartition("\n")[2]
    after = text[end : end + _CHARACTERS_LOOKED_AT].partition("\n")[0]
    if not _WORD.search(before + after):
        start = position - len(before)
        above = text[max(0, start - _CHARACTERS_LOOKED_AT) : start].rstrip()
        announces = above.rpartition("\n")[2] if above.endswith((":", "：")) else ""
        return (announces if holds_back(announces) else "", "")
    ends = [stop.end() for stop in _SENTENCE_END.finditer(before)]
    stop_after = _SENTENCE_END.search(after)
    return before[ends[-1] if ends else 0 :], after[: stop_after.end()] if stop_after else after


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _finder(promise: str) -> Find:
    """A function that finds the next promise from a position on. A single word matches as a word: DONE is not in UNDONE."""
    if not re.fullmatch(r"\w+", promise):
        return lambda text, start: text.find(promise, start)
    first = rf"(?<!{_WORD_CHARACTER})" if re.match(_WORD_CHARACTER, promise[0]) else ""
    last = rf"(?!{_WORD_CHARACTER})" if re.match(_WORD_CHARACTER, promise[-1]) else ""
    word = re.compile(first + re.escape(promise) + last)
    return lambda text, start: match.start() if (match := word.search(text, start)) else -1


def _blocks(text: str, opening: re.Pattern[str]) -> list[Span]:
    """The fenced code blocks and, if `opening` matches them, the lines of quotations."""
    spans: list[Span] = []
    position = 0
    while match := opening.search(text, position):
        sign = match["sign"]
        position = _line(text, match.end())[1] if sign == ">" else _fence_end(text, match.end(), sign)
        spans.append((match.start("sign"), position))
    return spans


def _fence_end(text: str, start: int, opened: str) -> int:
    """Where the block ends: at the same sign, at least as long; a block that is not closed runs to the end of the text."""
    for closing in _FENCE_CLOSES.finditer(text, start):
        if closing["sign"].startswith(opened):
            return closing.end()
    return len(text)


def _paragraph(text: str, position: int) -> Span:
    """The lines that a code span around the position can cover. Blank lines and other blocks bound them."""
    start, end = _line(text, position)
    alone = _ONE_LINE_BLOCK.match(text, start)
    while start > 0 and not _STARTS_BLOCK.match(text, start):
        above = _line(text, start - 1)[0]
        if _ONE_LINE_BLOCK.match(text, above):
            break
        start = above
    while not alone and end < len(text) and not _STARTS_BLOCK.match(text, end + 1):
        end = _line(text, end + 1)[1]
    return start, end + 1


def _code_spans(text: str, paragraph: Span) -> list[Span]:
    """The code spans of a paragraph, as in CommonMark: a run of backticks opens, the next run of the same length closes."""
    runs = [match.span() for match in _BACKTICKS.finditer(text, *paragraph)]
    closing = _closing_runs(text, runs)
    spans: list[Span] = []
    index = 0
    while index < len(runs):
        partner = closing[index]
        if partner is not None:
            spans.append((runs[index][0], runs[partner][1]))
        index = (index if partner is None else partner) + 1
    return spans


def _closing_runs(text: str, runs: list[Span]) -> list[int | None]:
    closing: list[int | None] = [None] * len(runs)
    nearest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        start, end = runs[index]
        closing[index] = nearest.get(end - start - _escaped(text, start))
        nearest[end - start] = index
    return closing


def _escaped(text: str, position: int) -> int:
    """1 if an odd number of backslashes comes before the position (then the first backtick is escaped), else 0."""
    before = position
    while before > 0 and text[before - 1] == "\\":
        before -= 1
    return (position - before) % 2


def _echoes(text: str, promise: str, prompt: str) -> list[Span]:
    """The spans of the message that repeat sentences of the prompt about the promise."""
    sentences = {prompt.strip()} if _words_beside(prompt, promise) else set[str]()
    dictated: list[int] = []
    for position in islice(_positions(prompt, promise), _MENTIONS_LOOKED_AT):
        sentence = _sentence(prompt, (position, position + len(promise)))
        if _is_dictated(prompt, position, sentence, promise):
            dictated.append(position)
        else:
            sentences.add(sentence)
    spans = [
        (start, start + len(copied)) for copied in sentences for start in _positions(text, copied) if promise in copied
    ]
    return spans + list(_echoed_lines(text, promise, prompt, dictated))


def _echoed_lines(text: str, promise: str, prompt: str, dictated: list[int]) -> Iterator[Span]:
    """The dictated lines that are echoes: the words above or below them are the same as in the prompt."""
    lines = {prompt[slice(*_line(prompt, position))].strip() for position in dictated}
    above = {_words_above(prompt, position, promise) for position in dictated}
    below = {_words_below(prompt, position, promise) for position in dictated}
    above, below = ({words for words in group if len(words) >= _ENOUGH_WORDS} for group in (above, below))
    position = text.find(promise) if above or below else -1
    while position >= 0:
        start, end = _line(text, position)
        if text[start:end].strip() in lines and (
            any(_words_above(text, position, promise)[-len(words) :] == words for words in above)
            or any(_words_below(text, position, promise)[: len(words)] == words for words in below)
        ):
            yield start, end
        position = text.find(promise, max(end, position + 1))


def _sentence(prompt: str, promise_at: Span) -> str:
    """The sentence of the prompt that contains the promise; it does not extend beyond its line."""
    start, _ = _line(prompt, promise_at[0])
    _, end = _line(prompt, promise_at[1] - 1)
    for stop in _SENTENCE_END.finditer(prompt, start, promise_at[0]):
        start = stop.end()
    stop_after = _SENTENCE_END.search(prompt, promise_at[1], end)
    return prompt[start : stop_after.end() if stop_after else end].strip()


def _is_dictated(prompt: str, position: int, sentence: str, promise: str) -> bool:
    """Whether the prompt dictates a line to write: the promise on a line of its own, with few other words or after a colon."""
    start, end = _line(prompt, position)
    introduced = prompt[max(0, start - 4096) : start].rstrip().endswith((":", "："))
    few = _words_beside(sentence, promise) < _ENOUGH_WORDS
    return prompt[start:end].strip() == sentence and (introduced or few)


def _words_beside(passage: str, promise: str) -> int:
    return len(_WORD.findall(passage.replace(promise, " ")))


def _words_above(text: str, position: int, promise: str) -> tuple[str, ...]:
    """The last few words before the line, from any number of lines, but not from before another promise."""
    start, _ = _line(text, position)
    nearest = text[max(0, start - _CHARACTERS_LOOKED_AT) : start].rpartition(promise)[2]
    return tuple(_WORD.findall(nearest))[-_WORDS_LOOKED_AT:]


def _words_below(text: str, position: int, promise: str) -> tuple[str, ...]:
    _, end = _line(text, position)
    nearest = text[end : end + _CHARACTERS_LOOKED_AT].partition(promise)[0]
    return tuple(_WORD.findall(nearest))[:_WORDS_LOOKED_AT]


def _positions(text: str, part: str) -> Iterator[int]:
    position = text.find(part)
    while position >= 0:
        yield position
        position = text.find(part, position + len(part))


def _line(text: str, position: int) -> Span:
    """Start and end of the line that contains the position. A newline belongs to the line that it ends."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return start, len(text) if end < 0 else end


def _inner(spans: list[Span]) -> list[Span]:
    """The spans without their first position, so that a promise that itself begins with a backtick or a fence counts."""
    return [(start + 1, end) for start, end in spans]


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _end_of_cover(spans: list[Span], position: int) -> int | None:
    """The end of the span that covers the position; None if no span does. Spans are sorted and do not overlap."""
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    return spans[index][1] if index >= 0 and position < spans[index][1] else None
