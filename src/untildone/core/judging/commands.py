"""What a shell command runs, as far as it can be told without running it.

This is no shell: it finds programs, their arguments and folders in the commands that people write as checks. What it cannot read
it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from untildone.core.judging.globs import words
from untildone.core.judging.trees import resolved
from untildone.core.shell.splitting import simple_commands
from untildone.core.shell.wrappers import script_for_shell, without_wrappers
from untildone.core.values.value import dataclass, replace

_SHOWS = words("tee tail head cat less more ts sed awk sort")
"""Programs that only show what comes through a pipe: the program before them is still the one that judges."""


@dataclass(frozen=True, slots=True)
class Run:
    """One program that a command runs."""

    words: tuple[str, ...]
    folder: str = ""
    decides: bool = True
    """Whether its exit code decides; not if its output goes to another program that judges it."""
    before: tuple[str, ...] = ()
    """The words before the program: variables, and programs such as `uv run` with their options."""
    writes: tuple[str, ...] = ()
    """The files to which its output goes."""
    reads: tuple[str, ...] = ()
    """The files from which its input comes."""

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2]

    @property
    def operands(self) -> tuple[str, ...]:
        """The words after the program that are no options."""
        return tuple(word for word in self.words[1:] if not word.startswith("-"))


def runs_of(command: str, folder: str = "") -> tuple[Run, ...]:
    """The programs that the command runs, each with the folder in which it runs, relative to the root of the tree."""
    found: list[Run] = []
    command = _HERE.sub("./", command)
    for line in _SUBSTITUTED.findall(command):
        found += _captured(line, folder)
    for simple in simple_commands(_SUBSTITUTED.sub(" - ", command)):
        inner = without_wrappers(simple.words)
        if not inner:
            # A container or a task that names no program: only the words around it are known.
            found += [Run(simple.words, folder)] if simple.words and "=" not in simple.words[0] else []
            continue
        decides = not simple.captured and simple.ended_by not in ("|", "|&")
        before = simple.words[: max(0, len(simple.words) - len(inner))]
        run = Run(inner, folder, decides, before, simple.writes, simple.reads)
        if run.program in ("cd", "pushd"):
            moved = resolved(run.words[1], folder) if len(run.words) > 1 else None
            folder = folder if moved is None else moved
            continue
        if script_for_shell(run.words) is None:
            found += [
                each for word in run.words for line in _CAPTURED.findall(word) for each in _captured(line, folder)
            ]
        found += _inner(run)
    return tuple(_judged_through_pipes(found))


def in_tree(command: str, roots: Iterable[str], folder: str) -> str:
    """The command with paths relative to `folder` in the place of absolute ones below the root of the tree, which has these names."""
    up = "../" * (folder.count("/") + 1) if folder else "./"
    for root in sorted(filter(None, {root.rstrip("/") for root in roots}), key=len, reverse=True):
        command = re.sub(rf"(?<![\w./-]){re.escape(root)}(?:/|(?![\w./-]))", up, command)
    return _TOP.sub(up, command)


_HERE = re.compile(r"""(?:"(?:\$\{?PWD\}?|\$\(pwd\))"|\$\{?PWD\}?|\$\(pwd\)|`pwd`)/""")
_TOP = re.compile(
    r"""(?:"\$\(git rev-parse --show-toplevel\)"|\$\(git rev-parse --show-toplevel\)|`git rev-parse --show-toplevel`)/"""
)
"""How people write the folder in which a command runs, and the root of its repository."""
_SUBSTITUTED = re.compile(r"<\(([^()]*)\)")
_CAPTURED = re.compile(r"\$\(([^()]*)\)")
"""Commands inside of quotes, whose output becomes a part of a word."""


def _captured(line: str, folder: str) -> list[Run]:
    return [replace(run, decides=False) for run in runs_of(line, folder)]


def programs_by_path(command: str) -> tuple[str, ...]:
    """The programs that a command names by an absolute path, or by one in the home folder (`~/…`), as they are written."""
    named = (word for run in runs_of(command) for word in (*run.before, run.words[0]))
    return tuple(dict.fromkeys(word for word in named if word.startswith(("/", "~/"))))


_LOAD_NOTHING = words(
    "true false test [ : echo printf cat grep egrep fgrep ls sleep exit head tail wc cmp diff sort mkdir touch rm cp mv kill pwd date "
    "sed awk tr cut uniq tee stat basename dirname expr seq chmod ln find set export umask wait read shift return"
)


def loads_libraries(command: str) -> bool:
    """Whether a command may run something that loads modules: an interpreter, a test runner, a script, anything unknown."""
    return "$(" in command or "`" in command or any(map(_may_load, runs_of(command)))


_STARTS_OTHERS = {"find": re.compile(r"-(exec|ok)(dir)?$"), "awk": re.compile(r"system|\|")}
"""In the arguments of programs that else load nothing: they start other programs."""


def _may_load(run: Run) -> bool:
    starts = _STARTS_OTHERS.get(run.words[0])
    return run.words[0] not in _LOAD_NOTHING or (starts is not None and any(map(starts.search, run.words[1:])))


def _inner(run: Run) -> tuple[Run, ...]:
    """The commands of `sh -c '…'`; the run itself for other programs."""
    script = script_for_shell(run.words)
    if script is None:
        return (run,)
    return tuple(
        replace(inner, decides=inner.decides and run.decides, before=(*run.before, *inner.before))
        for inner in runs_of(script, run.folder)
    )


def _judged_through_pipes(runs: Iterable[Run]) -> Iterable[Run]:
    """`check | tee log` is judged by `check`: a program that only shows its input leaves the judging to the one before it."""
    before: Run | None = None
    for run in runs:
        if before is not None:
            shown = not before.decides and run.decides and run.program in _SHOWS
            yield replace(before, decides=True) if shown else before
        before = run
    if before is not None:
        yield before
