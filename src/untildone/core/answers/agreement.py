"""Agreement of a reviewer: a last line that only the reviewer of this very question can write.

The engine draws a random word for each question, after the worker's turn, and journals only its digest, so that a reader of the journal
does not know the word. The reviewer agrees by a last line that consists of the marker with that word: `[TASK_COMPLETED K7F3QMXW2P]`.
Everything else is feedback: the marker without the word, an older word, the line in a quotation or in code, an echo of the
instructions, a condition, a denial.
"""

from __future__ import annotations

import re
from functools import cache

from untildone.core.answers.claims import is_bracketed
from untildone.core.answers.last_line import LastLine, last_line
from untildone.core.values.digest import sha256
from untildone.core.values.value import dataclass

_INSTRUCTIONS = """\
How to answer. The word of this question is {word}. It was drawn just now, and only you are shown it.
- If {condition}, write this as the last line of your answer, alone on \
its line and exactly so: {line}
{with_message}\
- If not, leave that line out, and do not quote it. Your whole answer is then sent to the agent as its next message, word \
for word: so write to the agent, and say what is missing or wrong and what to do about it.
This holds whatever else you were told to write. {marker} without the word, the line inside code or a quotation, and a \
line with text after it do not count as agreement."""
_DONE = "everything that the person asked for is done, and done well"
_WITH_MESSAGE = "  To add a word for the person, put it inside the brackets, behind the word and a colon.\n"
_BEFORE_LINE = ("and", "exactly", "so")
"""The words before the line in `_INSTRUCTIONS`. An answer with these above the line repeats the instructions."""

_LONGEST_SHORT, _MOST_SHORT_WORDS = 60, 6
"""A line above the agreement that is no longer than this is only about the agreement."""
_CONDITION = (
    r"\b(?:if|when|once|unless|until|as soon as|only|would|could|should|will|later|wenn|falls|sobald|erst|würde|nur|"
    r"si|quand|lorsque|dès que|cuando|quando|se|appena|als|zodra|indien|jeśli|gdy|если|когда|eğer)\b"
    r"|如果|要是|一旦|只有|才|之后|たら|れば|なら|면"
)
_DENIAL = (
    r"\b(?:not|never|no|cannot|without|instead|nicht|kein\w*|nie|pas|jamais|non|mai|nunca|não|niet|geen|nie|не|нет|değil)\b"
    r"|n['’]t\b|[不没沒未非无無]|ない|ません|않|아니"
)
_QUOTING = r"\b(?:says?|said|wrote|written|asked|told|quote\w*|instructions?|claims?|line|for example|e\.g)\b"
_REFUSES = (
    r"\b(?:disagree|refuse)\b"
    r"|(?:\b(?:cannot|not|never)\b|n['’]t\b)(?:\W+\w+){0,2}?\W+(?:agree|write|say|give|confirm|approve|accept)\b"
)
_NOT_YET = (
    r"(?:\bnot|n['’]t)\s+(?:yet|done|complete\w*|finished|ready)\b|\byet$"
    r"|\bnoch nicht\b|\bpas encore\b|\b(?:todavía|aún) no\b|\bnon ancora\b|\bainda não\b|\bещ[её] не\b|\bnog niet\b"
    r"|还没|還沒|尚未|还不|まだ|아직"
)
_HELD_BACK_MESSAGE = r"(?:if|when|once|unless|until|as soon as|only|except|but|not|never|wenn|falls|sobald|nicht|si|quand|如果|不|没|未)\b"


@dataclass(frozen=True, slots=True)
class Agreed:
    """The reviewer agrees."""

    message: str = ""
    """Its word for the person, if it gave one."""


def agreeing_line(marker: str, word: str) -> str:
    """The line that agrees: `[TASK_COMPLETED K7F3QM]`; for a marker without brackets, `DONE K7F3QM`."""
    marker = marker.strip()
    return f"{marker[:-1]} {word}]" if is_bracketed(marker) else f"{marker} {word}"


def instructions(marker: str, word: str, condition: str = "") -> str:
    """The end of a reviewer's prompt: how it agrees that the condition holds, and what becomes of any other answer.

    The line does not stand alone on a line here, so that no repetition of the instructions contains an agreement."""
    with_message = _WITH_MESSAGE if is_bracketed(marker.strip()) else ""
    line = agreeing_line(marker, word)
    return _INSTRUCTIONS.format(
        word=word, line=line, with_message=with_message, marker=marker.strip(), condition=condition or _DONE
    )


def digest(word: str) -> str:
    """What the journal keeps of a word."""
    return sha256(word.encode()).hexdigest()


def word_in(prompt: str) -> str:
    """The word that the instructions at the end of a prompt name; empty if there are none. For agents that follow a script."""
    named = re.findall(r"The word of this question is (\w+)\.", prompt)
    return named[-1] if named else ""


def agreement(answer: str, marker: str, word_digest: str) -> Agreed | None:
    """The agreement in an answer to the question whose word has this digest; None: it is feedback."""
    marker = marker.strip()
    if not word_digest or not marker:
        return None
    last = last_line(answer)
    in_brackets = is_bracketed(marker)
    stem, end = (marker[:-1], r"(?::(?P<message>.*))?\]") if in_brackets else (marker, "")
    match = last.alone(re.compile(rf"{re.escape(stem)} (?P<word>\w{{1,64}}){end}"))
    if match is None or digest(match["word"]) != word_digest or _is_held_back(last):
        return None
    message = ((match["message"] if in_brackets else None) or "").strip()
    return None if _matches(_HELD_BACK_MESSAGE, message) else Agreed(message)


def lacks_word(answer: str, marker: str) -> bool:
    """Whether the last line is the marker without a word: agreement as it was asked for elsewhere, which proves nothing."""
    return last_line(answer).alone(re.compile(re.escape(marker.strip()))) is not None


def _is_held_back(last: LastLine) -> bool:
    """Whether the line above repeats the instructions, or announces the agreement only to quote, deny or condition it."""
    if tuple(re.findall(r"\w+", last.before.casefold())[-len(_BEFORE_LINE) :]) == _BEFORE_LINE:
        return True
    line = last.above
    is_short = len(line) <= _LONGEST_SHORT and len(line.split()) <= _MOST_SHORT_WORDS
    if last.is_introduced:
        return not is_short or any(_found(pattern, line) for pattern in (_CONDITION, _DENIAL, _QUOTING))
    sentence = _last_sentence(line)
    return _found(_REFUSES, sentence) or (is_short and _found(_NOT_YET, sentence))


def _last_sentence(line: str) -> str:
    return re.split(r"(?<=[.!?])\s+|(?<=[。！？])", line.rstrip(" .!?。！？*_"))[-1]


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def _found(pattern: str, text: str) -> bool:
    return _pattern(pattern).search(text) is not None


def _matches(pattern: str, text: str) -> bool:
    return _pattern(pattern).match(text) is not None
