"""Mentions of the promise: sentences that announce, quote or deny the promise do not count as making it.

English, and the shortest Chinese negations. A promise alone on its line is no mention, unless the line above makes it
conditional or denies it.
"""

from __future__ import annotations

import re
from functools import cache

_NOT_NOW = (
    r"will|shall|would|should|could|cannot|not|never|when|once|if|until|unless|before|after|\w+n['’]t|\w+['’](?:ll|d)|"
    r"(?:told|asked|supposed|going|want|need|expected|wait(?:ing)?)(?: me)? to"
)
_SAY = r"say|saying|print|output|write|emit|answer|reply|respond|send|give|claim|declare|promise|promising|end|finish"
_SAID_LATER = rf"\b(?:{_NOT_NOW})\b(?:\W+\w+){{0,8}}?\W+(?:{_SAY})\b(?:\W+\w+){{0,5}}\W*$"
_DENIED = r"(?:\bnot|\bnever|\bno|\bwithout|\binstead of|n['’]t)(?: (?:yet|quite|really|fully|a|the|at|be))*\W*$|[未没沒不非]有?$"
_CONDITION = r"\W*(?:once|if|unless|until|as soon as)\b"
_BE = r"is|was|will be|would be|can be"
_TAKEN_BACK = (
    r"\W{0,6}(?:not yet|yet|later|once|until|unless|when|as soon as|only (?:when|once|if|after))\b|"
    rf"\W{{0,6}}(?:(?:{_BE})\W+(?:\w+\W+)?(?:not|later|premature|wrong)\b|\w+n['’]t\b|(?:comes|follows)\b)"
)
_HELD_BACK = (
    r"\b(?:when|once|if|until|unless|as soon as)\b|"
    rf"(?:\b(?:cannot|not|never)\b|n['’]t\b)(?:\W+\w+){{0,2}}?\W+(?:{_SAY})\b"
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "「": "」", "『": "』"}


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern when it is first needed: the stop hook imports this module and seldom needs one."""
    return re.compile(text, re.IGNORECASE)


def is_mention(before: str, after: str) -> bool:
    """Whether a sentence with these words before and after the promise only mentions it."""
    if not _pattern(r"\w").search(before + after):
        return after.lstrip().startswith("?")
    if before and after and _QUOTES.get(before[-1]) == after[0]:
        return True
    says_it_now = _pattern(r"\b(?:now|hereby|herewith)\b").search(before)
    return bool(
        (_pattern(_SAID_LATER).search(before) and not says_it_now)
        or _pattern(_DENIED).search(before)
        or _pattern(_CONDITION).match(before)
        or _pattern(_TAKEN_BACK).match(after)
        or after.lstrip().startswith("?")
    )


def holds_back(above: str) -> bool:
    """Whether a line above the promise makes it conditional or denies it. "I will print:" alone does not: the promise follows."""
    return bool(_pattern(_HELD_BACK).search(above))
