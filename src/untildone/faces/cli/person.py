"""The person at the terminal, who can be asked."""

from __future__ import annotations

import sys
from typing import Any

from untildone.core import budget as budgets
from untildone.core import rounds
from untildone.core.actions import AwaitPerson
from untildone.core.loop import Loop
from untildone.faces.cli.telling import Kind, Line
from untildone.faces.cli.watching import PlainView

LEAVE = frozenset({"exit", "quit"})


class TerminalPerson:
    def __init__(self, view: PlainView) -> None:
        self._view = view

    def ask(self, question: AwaitPerson, loop: Loop) -> str | None:
        """Their answer, or None if they want to leave: `exit`, Ctrl-C, Ctrl-D."""
        with self._view.aside():
            self._view.line(Line(question.question, Kind.HEADER))
            answer = chosen_of(question.choices) if question.choices else written()
        if answer is None or answer.strip().lower() in LEAVE:
            return None
        for notice in rounds.parse(answer, budgets.rounds_left(loop.budget, loop.spend)).notices:
            self._view.line(Line(notice, Kind.WARNING))
        return answer


def chosen_of(choices: tuple[str, ...], question: str = "") -> str | None:
    import questionary

    picked: str | None = questionary.select(question or "Which?", choices=list(choices), **_on_stderr()).ask(kbi_msg="")
    return picked


def written() -> str | None:
    """A line of theirs; an empty one is asked for again."""
    import questionary

    while True:
        text: str | None = questionary.text("", qmark="›", **_on_stderr()).ask(kbi_msg="")
        if text is None or text.strip():
            return text


def _on_stderr() -> dict[str, Any]:
    """Standard output is data."""
    from prompt_toolkit.output import create_output

    return {"output": create_output(stdout=sys.stderr)}
