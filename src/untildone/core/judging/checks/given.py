"""What a program does with the words that it is given: a wrapper runs them as a command, a product takes them as its own."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from untildone.core.judging.checks.run_words import INTERPRETERS, PYTHONS, SHELLS
from untildone.core.judging.checks.script_texts import STARTS, lines_of
from untildone.core.judging.globs import words
from untildone.core.shell.wrappers import without_wrappers

GIVEN = re.compile(r"\"?\$(?:[@*]|\{[@*][^}]*\})\"?")
"""How a shell script writes all that it is given."""
_ONLY_SHOWN = re.compile(r"\b(?:echo|printf|for\s+\w+\s+in|case|set|shift|test|local|return)\b[^;&|\n]*")
_REST = (
    r"(?:\bargv\[\d?:|\bargv\.slice\(|\bARGV\b|\*\$\*|\bos\.Args\[\d:|\$argv\b|\bargv\._"
    r"|\bnargs\s*=\s*(?:-1|['\"](?:\.\.\.|\*|\+)['\"]|argparse\.REMAINDER)|\bREMAINDER\b|\.\.\.\s*\w+\s*\]\s*=\s*(?:process\.)?argv\b)"
)
"""How a program takes all words that it is given, or all from one on."""
_TAKES_REST = re.compile(_REST)
_HANDS_REST = re.compile(
    rf"\b(?:call|run|Popen|check_call|check_output|exec\w*|spawn\w*|system|passthru)\b[\s(\[*@]*(?:(?:sys\.|process\.)?argv\[\d\]\s*,\s*)?"
    rf"(?:sys\.|process\.)?{_REST}"
)
"""The same, right after the word that starts another program."""
_NAMES_INTERPRETER = re.compile(
    r"\bsys\.executable\b|\bexecPath\b|['\"`](?:python[\d.]*|node|ruby|perl|php|bun|deno)\b"
)
_KEPT_GIVEN = re.compile(
    r"""^[ \t]*(?:local\s+|declare\s+(?:-a\s+)?)?(\w+)=(?:\(\s*"?\$[@*]"?\s*\)|"?\$[@*]"?)[ \t]*$""", re.MULTILINE
)
_FUNCTIONS = re.compile(r"^[ \t]*(?:function[ \t]+([\w:-]+)|([\w:-]+)[ \t]*\([ \t]*\))", re.MULTILINE)
_FIRST_GIVEN = re.compile(r"""(?<!\S)"?\$\{?1\}?"?(?!\S)""")
_BEFORE_COMMANDS = words("if while until then do else ! time { eval exec command builtin")


class Given(Enum):
    """What a script does with the words that it is given."""

    KEPT = "kept"
    """It runs none of them, as far as can be told."""
    HANDED_ON = "handed on"
    """It gives them to a program."""
    INTERPRETED = "interpreted"
    """It gives them to an interpreter."""
    RUN = "run"
    """It runs them as a command."""


def use_of_given(text: str, first: str, *, is_shell: bool) -> Given:
    """What a script does with its words, of which `first` is the first."""
    if is_shell:
        return _use_in_shell(text, first)
    if not (_TAKES_REST.search(text) and STARTS.search(text)):
        return Given.KEPT
    if _HANDS_REST.search(text):
        return Given.RUN
    return Given.INTERPRETED if _NAMES_INTERPRETER.search(text) else Given.HANDED_ON


def _use_in_shell(text: str, first: str) -> Given:
    functions = {name for names in _FUNCTIONS.findall(text) for name in names if name}
    if first in functions:
        return Given.KEPT
    for name in _KEPT_GIVEN.findall(text):
        text = re.sub(rf'"?\$\{{?{name}(?:\[[@*]\])?\}}?"?', '"$@"', _KEPT_GIVEN.sub("", text))
    found = {Given.KEPT}
    for line in (_ONLY_SHOWN.sub("", line) for line in lines_of(text)):
        found |= {_use_at(line[: match.start()], functions) for match in GIVEN.finditer(line)}
        firsts = {_use_at(line[: match.start()], functions) for match in _FIRST_GIVEN.finditer(line)}
        found |= firsts & {Given.RUN}
    return next(use for use in (Given.RUN, Given.INTERPRETED, Given.HANDED_ON, Given.KEPT) if use in found)


def _use_at(before: str, functions: Collection[str]) -> Given:
    """What becomes of the words that stand after a part of a line."""
    line = tuple(re.split(r"&&|\|\||[;&|()]", before)[-1].replace('"', " ").replace("'", " ").split())
    while line and line[0] in _BEFORE_COMMANDS:
        line = line[1:]
    inner = without_wrappers((*line, "."))
    program = inner[0]
    if program == "." or inner[:-1] in (("sh", "-c"), ("bash", "-c")):
        return Given.RUN
    # `cmd_$1 "$@"` calls one of the script's own functions.
    if program in functions or re.match(r"\w[^/]*\$", program):
        return Given.KEPT
    name = program.rpartition("/")[2]
    is_interpreter = name in SHELLS | INTERPRETERS or PYTHONS.match(name) or program.startswith("$")
    has_script = any(not word.startswith("-") for word in inner[1:-1]) and "-m" not in inner
    return Given.INTERPRETED if is_interpreter and not has_script else Given.HANDED_ON
