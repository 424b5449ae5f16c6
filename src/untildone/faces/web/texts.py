"""The dashboard's words in the reader's language: English, or Chinese in either script. The English text is the key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from untildone.core.limits import Limit
from untildone.core.rounds import NO_ROUNDS
from untildone.faces.web.chinese import CHINESE


class Language(StrEnum):
    ENGLISH = "en"
    SIMPLIFIED = "zh-Hans"
    TRADITIONAL = "zh-Hant"


_TRADITIONAL = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")
_USED_UP = {limit: f"{NO_ROUNDS} " if limit is Limit.ITERATIONS else "" for limit in Limit if limit.row.used}
"""The limits of a whole loop, and what comes before the sentence that they are used up."""
_NOTICES = tuple(
    (re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[0-9][0-9.,]*)", re.escape(template))), template)
    for template in (
        "Added {n} rounds. Remaining: {left}",
        "Set remaining rounds to: {left}",
        "No limit is set, so [r+{n}] changes nothing; [r=n] sets one",
        *(f"{before}{{n}} of {{all}} {limit.row.unit} used." for limit, before in _USED_UP.items()),
    )
)


@dataclass(frozen=True, slots=True)
class Texts:
    language: Language = Language.ENGLISH

    def __call__(self, english: str, **values: Any) -> str:
        """The text in this language, with values put in; English where there is no translation."""
        text = self._found(english)
        return text.format(**values) if values else text

    def notice(self, english: str) -> str:
        """A notice about the budget, which comes with its numbers already in it."""
        for pattern, template in _NOTICES:
            if found := pattern.fullmatch(english):
                return self(template, **found.groupdict())
        return self(english)

    def _found(self, english: str) -> str:
        found = CHINESE.get(english)
        match self.language:
            case Language.SIMPLIFIED if found:
                return found[0]
            case Language.TRADITIONAL if found:
                return found[1]
            case _:
                return english


def texts_for(accept_language: str) -> Texts:
    """The texts in the first language of a browser's wishes that we have."""
    for wish in _by_preference(accept_language):
        if wish.startswith(_TRADITIONAL):
            return Texts(Language.TRADITIONAL)
        if wish == "zh" or wish.startswith("zh-"):
            return Texts(Language.SIMPLIFIED)
        if wish == "en" or wish.startswith("en-"):
            return Texts(Language.ENGLISH)
    return Texts()


def _by_preference(accept_language: str) -> list[str]:
    wishes = [wish.strip().lower().partition(";") for wish in accept_language.split(",")[:20]]
    return [name.strip() for name, _, weight in sorted(wishes, key=lambda wish: -_weight(wish[2]))]


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
