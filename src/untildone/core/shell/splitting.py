"""Splits a shell command into its simple commands. What it cannot read it leaves out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from untildone.core.values.value import dataclass

_OPERATORS = r"&&|\|\||\|&|;;|&>>|&>|>>|>\||>&|<<<|<<-?|<&|<>|[;&|<>()\n]"
_PUNCTUATION = "();<>|&\n"
_REDIRECTIONS = frozenset({">", ">>", ">|", ">&", "&>", "&>>", "<", "<<", "<<-", "<<<", "<&", "<>"})
_OPENING = {"if": "if", "case": "case", "for": "loop", "while": "loop", "until": "loop", "select": "loop"}
_CLOSING = {"fi": "if", "esac": "case", "done": "loop"}
_SKIPPED = frozenset({"then", "else", "elif", "do", "{", "}", "time"})
# What a shell replaces before it runs a command, reduced to a word: `$(which pytest)` is pytest.
_REPLACED = (
    (r"\\\n", " "),
    (r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(?:.*\n)*?\s*\2(?=\n|$)", r"\3"),
    (r"(?:\$\(|`)(?:which|command -v|type -p) ([\w./+-]+)(?:\)|`)", r"\1"),
    (r"\$\{\w+:-([^{}]*)\}", r"\1"),
    (r"`([^`]*)`", r"$(\1)"),
)
CAPTURED = "_"
"""Stands for the output of `$(…)`."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its arguments, and how the shell comes to run it."""

    words: tuple[str, ...]
    operator: str = ";"
    """The operator before it: `;`, `&&`, `||`, `|` or `&`."""
    ended_by: str = ";"
    """The operator after it."""
    negated: bool = False
    certain: bool = True
    """False inside `if`, `case` and loops: it may run never, or often."""
    repeated: bool = False
    """True inside a loop."""
    to_file: bool = False
    """Whether its output goes into a file."""
    captured: bool = False
    """Whether its output becomes a part of another command, as in `$(…)`."""
    writes: tuple[str, ...] = ()
    """The files to which its output goes."""
    reads: tuple[str, ...] = ()
    """The files from which its input comes."""
    shell: tuple[int, ...] = ()
    """The parentheses around it, by number: what they enclose runs in a shell of its own."""


def simple_commands(command: str) -> tuple[SimpleCommand, ...]:
    try:
        tokens = _tokens(command)
    except ValueError:
        tokens = _tokens(re.sub(r"['\"\\]", " ", command))
    splitter = _Splitter()
    for token in tokens:
        splitter.take(token)
    splitter.end(";")
    return tuple(splitter.commands)


def _tokens(command: str) -> list[str]:
    for pattern, replacement in _REPLACED:
        command = re.sub(pattern, replacement, command)
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    return list(_split_operators(lexer))


def _split_operators(words: Iterator[str]) -> Iterator[str]:
    """The words, and each run of punctuation as its operators."""
    for word in words:
        if word and not word.strip(_PUNCTUATION):
            yield from re.findall(_OPERATORS, word)
        else:
            yield word


@dataclass(frozen=True, slots=True)
class _Outer:
    """A command that captures the output of others, as far as it was read."""

    words: tuple[str, ...]
    operator: str
    negated: bool
    to_file: bool


class _Splitter:
    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self._words: list[str] = []
        self._operator = ";"
        self._negated = False
        self._to_file = False
        self._redirection = ""
        self._writes: list[str] = []
        self._reads: list[str] = []
        self._comment = False
        self._inside: list[str] = []
        self._outer: list[_Outer] = []
        self._depths: list[int] = []
        """How many parentheses are open in each captured command."""
        self._shell: tuple[int, ...] = ()
        self._shells = 0

    def take(self, token: str) -> None:
        if self._comment and token != "\n":
            return
        self._comment = False
        self._take(token)
        if token == "(":
            self._shells += 1
            self._shell = (*self._shell, self._shells)
        elif token == ")":
            self._shell = self._shell[:-1]

    def _take(self, token: str) -> None:
        if token == "(" and self._words and self._words[-1].endswith("$"):
            self._begin_capture()
        elif token == "(" and self._outer:
            self._depths[-1] += 1
            self.end(token)
        elif token == ")" and self._outer:
            self._end_capture(token)
        elif token in _REDIRECTIONS:
            self._begin_redirection(token)
        elif re.fullmatch(_OPERATORS, token):
            self.end(";" if token == "\n" else token)
        elif self._redirection:
            self._end_redirection(token)
        elif token.startswith("#"):
            self._comment = True
        elif self._words or not self._take_reserved(token):
            self._words.append(token)

    def _begin_capture(self) -> None:
        self._outer.append(_Outer(tuple(self._words), self._operator, self._negated, self._to_file))
        self._depths.append(0)
        self._words, self._operator, self._negated, self._to_file = [], ";", False, False

    def _end_capture(self, token: str) -> None:
        self.end(token)
        if self._depths[-1]:
            self._depths[-1] -= 1
            return
        self._depths.pop()
        outer = self._outer.pop()
        self._words = [*outer.words[:-1], outer.words[-1] + CAPTURED]
        self._operator, self._negated, self._to_file = outer.operator, outer.negated, outer.to_file

    def _begin_redirection(self, operator: str) -> None:
        number = self._words.pop() if self._words and re.fullmatch(r"\d", self._words[-1]) else ""
        self._redirection = number + operator

    def _end_redirection(self, target: str) -> None:
        """`2>&1` and `>&2` leave the output visible, a file does not."""
        operator, self._redirection = self._redirection.lstrip("0123456789"), ""
        to_stream = operator == ">&" and re.fullmatch(r"\d|-", target)
        if operator.lstrip("&").startswith(">") and not to_stream and not re.match(r"/dev/(?!null)", target):
            self._to_file = True
            self._writes.append(target)
        elif operator == "<":
            self._reads.append(target)

    def _take_reserved(self, word: str) -> bool:
        if word == "!":
            self._negated = True
        elif word in _CLOSING:
            kind = _CLOSING[word]
            self._inside = self._inside[:-1] if self._inside[-1:] == [kind] else self._inside
        elif word in _OPENING:
            self._inside.append(_OPENING[word])
            return word in ("if", "while", "until")
        else:
            return word in _SKIPPED
        return True

    def end(self, operator: str) -> None:
        """End the present simple command; `operator` stands before the next."""
        if self._words and self._words[0] not in _OPENING:
            self.commands.append(
                SimpleCommand(
                    words=tuple(self._words),
                    operator=self._operator,
                    negated=self._negated,
                    certain=not self._inside,
                    repeated="loop" in self._inside,
                    to_file=self._to_file,
                    ended_by=operator,
                    captured=bool(self._outer),
                    writes=tuple(self._writes),
                    reads=tuple(self._reads),
                    shell=self._shell,
                )
            )
        if self._words or operator not in ("(", ")", ";"):
            self._operator = {"(": self._operator, ")": ";", "|&": "|", ";;": ";"}.get(operator, operator)
        self._words, self._to_file, self._redirection = [], False, ""
        self._writes, self._reads = [], []
        self._negated = self._negated and operator in ("|", "(")
