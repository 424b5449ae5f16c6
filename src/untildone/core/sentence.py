"""Sentences for people that remember how they were made."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Sentence(str):
    """An English sentence, with the template and the values that it was made of: a face translates these."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, **values: object) -> Sentence:
        sentence = super().__new__(cls, template.format(**values))
        sentence.template, sentence.values = template, values
        return sentence
