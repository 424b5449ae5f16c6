"""A person at a terminal who wraps a program that stands in for the agent."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.command_line import CommandLine
from tests.support.terminal import Terminal
from tests.support.terminal_agent import write_program, write_terminal_agent

PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Person:
    cli: CommandLine

    @property
    def programs(self) -> Path:
        return self.cli.home / "bin"

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.cli.environment, "PATH": f"{self.programs}:{self.cli.environment['PATH']}"}

    def has_agent(self) -> None:
        """The agent that reads lines and asks its hooks."""
        write_terminal_agent(self.programs)

    def has_program(self, python_lines: str) -> None:
        """Some lines of Python are the agent."""
        file = self.programs / "program.py"
        write_program(self.programs, f'exec "{sys.executable}" -I -S "{file}" "$@"')
        file.write_text(python_lines)

    def has_supervisor(self, *answers: str) -> None:
        """One that gives these answers in turn, the last of them for ever, and keeps what it was asked."""
        places = [self.cli.home / f"verdict-{number}" for number in range(len(answers))]
        for place, answer in zip(places, answers, strict=True):
            place.write_text(answer)
        self._asked.mkdir(parents=True)
        write_program(
            self.programs,
            f'count=$(ls "{self._asked}" | wc -l); cat > "{self._asked}/$count"; last={len(answers) - 1}\n'
            f"word=$(sed -n 's/.*The word of this question is \\([A-Z0-9]*\\)\\..*/\\1/p' \"{self._asked}/$count\" | tail -n 1)\n"
            f'[ $count -lt $last ] && last=$count; sed "s/{{word}}/$word/" "{self.cli.home}/verdict-$last"',
            "judge",
        )
        (self.cli.workspace / "untildone.toml").write_text('[profiles.judge]\nagent = "command"\ncommand = "judge"\n')

    @property
    def _asked(self) -> Path:
        """Where the supervisor keeps what it was asked: its box lets it write to caches."""
        return self.cli.home / ".cache" / "asked"

    @property
    def supervisor_was_asked(self) -> list[str]:
        places = sorted(self._asked.iterdir(), key=lambda place: int(place.name))
        return [place.read_text() for place in places]

    def wraps(self, *words: str) -> Terminal:
        return self.at_terminal(sys.executable, "-m", "untildone", "wrap", *words)

    def at_terminal(self, *argv: str) -> Terminal:
        supervisor = self.cli.workspace / "SUPERVISOR.md"
        if not supervisor.exists():
            supervisor.write_text("Look closely.\n")
        return Terminal(argv, self.cli.workspace, self.environment)

    @property
    def shell_words(self) -> str:
        """What a person types in a shell."""
        return f"{sys.executable} -m untildone wrap"

    @property
    def folders_of_runs(self) -> list[Path]:
        return list(self.cli.home.glob("untildone-wrap-*"))
