"""Claims on a corpus of final messages in eight languages (`final_messages.jsonl`): how many are missed, how many are false.

A message of the kind `made` claims. Two forms of it are missed by the rule, on purpose: what a colon introduces cannot be told from
an announcement without knowing the language, nor a closing remark from a retraction. The next prompt tells the agent why it did not
count. `python -m pytest -s` shows the table.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from untildone.core.answers.claims import has_marker, has_promise

LANGUAGES = ("en", "zh-CN", "zh-TW", "ja", "ko", "es", "de", "fr")
MOST_MISSED = 0.02
PROMISE = "<promise>COMPLETE</promise>"


@dataclass(frozen=True)
class Message:
    language: str
    kind: str
    form: str
    claims: bool
    words: str
    text: str

    @property
    def counts(self) -> bool:
        return has_promise(self.text, PROMISE) if self.words == "promise" else has_marker(self.text) is not None


@cache
def messages() -> tuple[Message, ...]:
    lines = Path(__file__).with_name("final_messages.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Message(**json.loads(line)) for line in lines)


def table() -> str:
    rows = [f"{'language':<10}{'claims':>8}{'missed':>8}{'others':>8}{'false':>8}"]
    for language in (*LANGUAGES, "all"):
        own = [message for message in messages() if language in (message.language, "all")]
        made, others = [m for m in own if m.claims], [m for m in own if not m.claims]
        missed, false = sum(not m.counts for m in made), sum(m.counts for m in others)
        rows.append(f"{language:<10}{len(made):>8}{missed:>8}{len(others):>8}{false:>8}")
    return "\n".join(rows)


def test_the_corpus_has_every_kind_in_every_language() -> None:
    assert len(messages()) >= 400
    kinds = Counter((message.language, message.kind) for message in messages())
    assert {language for language, _ in kinds} == set(LANGUAGES)
    assert len({kind for _, kind in kinds}) * len(LANGUAGES) == len(kinds), "a kind is missing in a language"
    assert len({message.text for message in messages()}) > len(messages()) * 0.9, (
        "few messages are the same in two languages"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_announcement_condition_denial_or_quotation_is_a_claim(language: str) -> None:
    own = [message for message in messages() if message.language == language and not message.claims]
    assert [message for message in own if message.counts] == []


def test_at_most_two_percent_of_the_claims_are_missed() -> None:
    made = [message for message in messages() if message.claims]
    missed = [message for message in made if not message.counts]
    print(f"\n{table()}\n" + "\n".join(f"missed: {message.language}: {message.form}" for message in missed))
    assert len(missed) <= len(made) * MOST_MISSED
    assert {message.form for message in missed} <= {"introduced by a colon", "before a closing remark"}
