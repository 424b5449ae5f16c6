"""Collects a person's prompts from the transcript of a session, without texts of tools and hooks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from untildone.core.answers import rounds
from untildone.core.plugins.transcript import HookReason, PersonText, Transcript
from untildone.hosts.hook import prompts

LONGEST = 20_000
"""Characters of one prompt that are kept: its beginning."""
MOST = 40_000
"""Characters that are kept of the first prompts together, and of the last ones."""
CUT = " …"
LEFT_OUT = "(Here, {count} of the person's messages are left out.)"


def merged(in_transcript: Iterable[str], in_loop: Iterable[str]) -> tuple[str, ...]:
    """The prompts of the transcript and of the loop, each once. One that only the loop knows comes before the loop's next one."""
    both = list(in_transcript)
    before = len(both)
    for text in reversed(tuple(in_loop)):
        place = next((place for place in reversed(range(before)) if _are_same(both[place], text)), None)
        if place is None:
            both.insert(before, text)
        else:
            both[place], before = text, place
    return tuple(both)


def _are_same(in_transcript: str, in_loop: str) -> bool:
    """Whether both are the same prompt. That of the transcript may be cut."""
    in_loop = in_loop.strip()
    cut = in_transcript.endswith(CUT) and in_loop.startswith(in_transcript.removesuffix(CUT))
    return in_transcript == in_loop or cut


class PromptCollector:
    """Collects the person's prompts from a transcript, line by line."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._first: list[str] = []
        self._last: deque[str] = deque()
        self._left_out = 0
        self._room = [MOST, MOST]
        self._known: set[str] = set()
        self._hook_reason: str | None = None

    @property
    def asked(self) -> tuple[str, ...]:
        """The first and the last prompts, with a note about prompts in between that are left out."""
        gap = (LEFT_OUT.format(count=self._left_out),) if self._left_out else ()
        return (*self._first, *gap, *self._last)

    def feed(self, line: bytes, before: int | None = None) -> None:
        """Take one line. `before`: skips prompts without a smaller ordinal; they were written after a fork of this session was made."""
        for item in self._transcript.person_line(line):
            match item:
                case HookReason(text=text):
                    self._hook_reason = text
                case PersonText(ordinal=ordinal) if before is None or (ordinal is not None and ordinal < before):
                    self._take(item)

    def _take(self, prompt: PersonText) -> None:
        if prompt.message_id is not None:
            if prompt.message_id in self._known:
                return
            self._known.add(prompt.message_id)
        if prompt.text == self._hook_reason:
            self._hook_reason = None
            return
        words = rounds.parse(prompt.text, None).rest.strip()
        if words and prompts.parse(words) is None:
            self._keep(words if len(words) <= LONGEST else words[:LONGEST] + CUT)

    def _keep(self, text: str) -> None:
        if not self._last and len(text) <= self._room[0]:
            self._first.append(text)
            self._room[0] -= len(text)
            return
        self._last.append(text)
        self._room[1] -= len(text)
        while self._room[1] < 0:
            self._room[1] += len(self._last.popleft())
            self._left_out += 1
