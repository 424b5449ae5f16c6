"""The person at the terminal: answers questions between steps, and can interrupt an agent with Esc."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from untildone.core.actions import AwaitPerson
from untildone.core.answers import rounds
from untildone.core.loop import Loop
from untildone.faces.cli.views import menus
from untildone.faces.cli.views.key_watch import KeyWatch
from untildone.faces.cli.views.plain_view import PlainView
from untildone.faces.text.line import Kind, Line
from untildone.faces.text.plain import one_line

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import Application
    from prompt_toolkit.output import Output

LEAVE = frozenset({"exit", "quit"})
HOW_TO_LEAVE = "(exit or Ctrl-D leaves; everything is saved)"
PROMPT = "> "
LOOK_EVERY = 0.1

MovedOn = Callable[[], bool]


class TerminalPerson:
    """Asks the person between two steps. Calls `interrupt` on Ctrl-C at the prompt, and `speak` on Esc during a turn."""

    def __init__(self, view: PlainView, interrupt: Callable[[], None], speak: Callable[[], None]) -> None:
        self._view = view
        self._interrupt = interrupt
        self._session: PromptSession[str] | None = None
        self._knows_how_to_leave = False
        self.keys = KeyWatch(speak)
        """Entered while an interactive loop is driven, so that Esc works."""

    def ask(self, question: AwaitPerson, loop: Loop, moved_on: MovedOn) -> str | None:
        """The answer; None if the person leaves by `exit`, `quit` or Ctrl-D; empty if the loop moved on without an answer."""
        with self.keys.aside(), self._view.aside():
            title, *facts = question.question.splitlines() or [""]
            lines = menus.box(title, facts, question.choices) if question.choices else (title, *facts)
            for line in lines:
                self._view.line(Line(line, Kind.HEADER))
            if not question.choices and not self._knows_how_to_leave:
                self._view.line(Line(HOW_TO_LEAVE, Kind.QUIET))
                self._knows_how_to_leave = True
            try:
                answer = self._chosen(question.choices, moved_on) if question.choices else self._written(moved_on)
            except _Interrupted:
                self._interrupt()
                return ""
            except EOFError:
                return None
        return None if answer.strip().lower() in LEAVE else answer

    def tell(self, notice: str) -> None:
        self._view.line(Line(notice, Kind.WARNING))

    def _written(self, moved_on: MovedOn, prompt: str = PROMPT) -> str:
        """A line that is not empty, which may have been typed before the question."""
        while (line := self.keys.typed_line()) is not None:
            if line:
                self._view.line(Line(f"{prompt}{line}"))
                return line
        if self._session is None:
            from prompt_toolkit import PromptSession

            self._session = PromptSession(output=_on_stderr())
        answer: str | None = ""
        while answer is not None and not answer.strip():
            prompting = self._session.prompt_async(prompt, default=self.keys.typed_ahead())
            answer = self._answered(self._session.app, prompting, moved_on)
        return answer or ""

    def _chosen(self, choices: tuple[str, ...], moved_on: MovedOn) -> str:
        """One of the choices, given by its word or its number. Asks again for anything else."""
        while answer := self._written(moved_on, f"Choose (1-{len(choices)}): "):
            if (picked := _picked(choices, answer)) is not None:
                return picked
            self.tell(f"'{one_line(answer)}' is none of them: choose by word, or by a number from 1 to {len(choices)}.")
        return ""

    def _answered(
        self, application: Application[Any], asking: Coroutine[Any, Any, Any], moved_on: MovedOn
    ) -> str | None:
        """The answer at the prompt. None if `moved_on` returned True first; then the prompt is removed."""

        async def ask() -> str | None:
            answer, news = asyncio.ensure_future(_caught(asking)), asyncio.ensure_future(self._watch(moved_on))
            await asyncio.wait((answer, news), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                application.exit(result=None)
                await asyncio.wait((answer,))
                news.result()
            news.cancel()
            return answer.result()

        with self._view.holding():
            return asyncio.run(ask())

    async def _watch(self, moved_on: MovedOn) -> None:
        """Return once the loop has moved on. Meanwhile, show new lines above the prompt."""
        from prompt_toolkit.application import run_in_terminal

        while not moved_on():
            if self._view.holds_lines:
                await run_in_terminal(self._view.release)
            await asyncio.sleep(LOOK_EVERY)


def _picked(choices: tuple[str, ...], answer: str) -> str | None:
    """The chosen word, or the whole answer if round controls stand before it or alone; None if it is no choice."""
    rest = rounds.parse(answer, None).rest.strip().lower()
    numbered = {str(number): choice for number, choice in enumerate(choices, 1)}
    if not rest:
        return answer
    word = numbered.get(rest, rest)
    if word not in choices:
        return None
    return word if rest == answer.strip().lower() else answer


class _Interrupted(Exception):
    """Ctrl-C at the prompt."""


async def _caught(asking: Coroutine[Any, Any, str | None]) -> str | None:
    """Turn KeyboardInterrupt into another exception: if it leaves a task, it tears down the whole event loop."""
    try:
        return await asking
    except KeyboardInterrupt:
        raise _Interrupted from None


def _on_stderr() -> Output:
    """Prompts go to standard error: standard output carries data."""
    from prompt_toolkit.output import create_output

    return create_output(stdout=sys.stderr)
