"""Translations for the dashboard: Chinese in either script. The English text, or its template, is the key."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from untildone.core.values.sentence import Sentence
from untildone.faces.web.translations.chinese import CHINESE


class Language(StrEnum):
    """The languages of the dashboard."""

    ENGLISH = "en"
    SIMPLIFIED = "zh-Hans"
    TRADITIONAL = "zh-Hant"


_TRADITIONAL = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")


@dataclass(frozen=True, slots=True)
class Texts:
    """Looks up texts in one language."""

    language: Language = Language.ENGLISH

    def __call__(self, english: str, **values: Any) -> str:
        """The text in this language, with values put in; English where there is no translation."""
        text = self._translated(english)
        return text.format(**values) if values else text

    def sentence(self, english: str) -> str:
        """A sentence of the core in this language. A sentence read from a file has no template and stays English."""
        return self(english.template, **english.values) if isinstance(english, Sentence) else self(english)

    def _translated(self, english: str) -> str:
        translations = CHINESE.get(english)
        match self.language:
            case Language.SIMPLIFIED if translations:
                return translations[0]
            case Language.TRADITIONAL if translations:
                return translations[1]
            case _:
                return english


def texts_for(accept_language: str) -> Texts:
    """The texts in the preferred language of a browser, as far as there is a translation."""
    for language in _by_preference(accept_language):
        if language.startswith(_TRADITIONAL):
            return Texts(Language.TRADITIONAL)
        if language == "zh" or language.startswith("zh-"):
            return Texts(Language.SIMPLIFIED)
        if language == "en" or language.startswith("en-"):
            return Texts(Language.ENGLISH)
    return Texts()


def _by_preference(accept_language: str) -> list[str]:
    languages = [language.strip().lower().partition(";") for language in accept_language.split(",")[:20]]
    return [name.strip() for name, _, weight in sorted(languages, key=lambda language: -_weight(language[2]))]


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
