"""What a shell command runs, as far as it can be told without running it.

This is no shell: it finds programs, their arguments and folders in the commands that people write as checks. What it cannot read
it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

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
    captured: bool = False
    """Whether its output becomes a part of another command, as in `$(…)`."""

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
    places, values = _Places(folder), dict(_LOOP.findall(command))
    for simple in simple_commands(_SUBSTITUTED.sub(" - ", command)):
        words, here = tuple(_filled(word, values) for word in simple.words), places.of(simple.shell)
        reads = tuple(_filled(word, values) for word in simple.reads)
        inner = without_wrappers(words)
        values |= _assigned(words)
        decides = not simple.captured and simple.ended_by not in ("|", "|&")
        if not inner:
            # A container or a task that names no program: only the words around it are known.
            found += (
                [Run(words, here, decides, (), (), reads, simple.captured)] if words and "=" not in words[0] else []
            )
            continue
        before = (*_search_path(values), *words[: max(0, len(words) - len(inner))])
        run = _in_its_folder(Run(inner, here, decides, before, simple.writes, reads, simple.captured))
        if run.program in ("cd", "pushd", "popd"):
            places.move(simple.shell, run)
            continue
        if script_for_shell(run.words) is None:
            line = (*run.before, *run.words)
            found += [each for word in line for inside in _CAPTURED.findall(word) for each in _captured(inside, here)]
        found += _inner(run)
    return tuple(_judged_through_pipes(found))


class _Places:
    """The folder in which each of the shells of a command is. What is not known, such as `cd "$DIR"`, is no move."""

    def __init__(self, folder: str) -> None:
        self._now: dict[tuple[int, ...], str] = {(): folder}
        self._before: dict[tuple[int, ...], str] = {}

    def of(self, shell: tuple[int, ...]) -> str:
        if shell not in self._now:
            self._now[shell] = self.of(shell[:-1])
        return self._now[shell]

    def move(self, shell: tuple[int, ...], run: Run) -> None:
        here = self.of(shell)
        goes_back = run.program == "popd" or "-" in run.words
        target = next(iter(run.operands), ".")
        moved = self._before.get(shell, here) if goes_back else None if "$" in target else resolved(target, here)
        self._before[shell], self._now[shell] = here, here if moved is None else moved


_LOOP = re.compile(r"""\bfor\s+(\w+)\s+in\s+["']?([^\s;"'`]+)""")
"""A loop, with the first of its words: it stands for all."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


_CUT = re.compile(r"\$\{(\w+)(%{1,2}|/)([^{}$/*?]+)(?:/([^{}$]*))?\}")
"""`${each%.in}` and `${each/.in/.out}`."""


def _filled(word: str, values: Mapping[str, str]) -> str:
    """The word with the values of variables that the command itself sets."""
    word = _CUT.sub(lambda found: _cut(found, values), word)
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), word)


def _cut(found: re.Match[str], values: Mapping[str, str]) -> str:
    value = values.get(found[1])
    if value is None:
        return found[0]
    return value.replace(found[3], found[4] or "", 1) if found[2] == "/" else value.removesuffix(found[3])


def _assigned(line: tuple[str, ...]) -> dict[str, str]:
    """The variables that a command sets for what comes after it."""
    rest = line[1:] if line[:1] and line[0] in ("export", "declare", "local", "readonly", "typeset") else line
    pairs = [_ASSIGNMENT.fullmatch(word) for word in rest]
    return {pair[1]: pair[2] for pair in pairs if pair} if all(pairs) or rest is not line else {}


def _search_path(values: Mapping[str, str]) -> tuple[str, ...]:
    return (f"PATH={values['PATH']}",) if "PATH" in values else ()


def _in_its_folder(run: Run) -> Run:
    """The run of `env -C FOLDER …` and of `env -S 'PROGRAM …'`."""
    around = run.before
    if not any(word.rpartition("/")[2] == "env" for word in around):
        return run
    given = [value for name, value in pairwise(around) if name in ("-C", "--chdir")]
    given += [word.partition("=")[2] for word in around if word.startswith("--chdir=")]
    moved = resolved(given[-1], run.folder) if given else None
    line = (*run.words[0].split(), *run.words[1:]) if "-S" in around else run.words
    return replace(run, words=line or run.words, folder=run.folder if moved is None else moved)


def in_tree(command: str, roots: Iterable[str], folder: str) -> str:
    """The command with paths relative to `folder` in the place of absolute ones below the root of the tree, which has these names."""
    up = "../" * (folder.count("/") + 1) if folder else "./"
    for root in sorted(filter(None, {root.rstrip("/") for root in roots}), key=len, reverse=True):
        command = re.sub(rf"(?<![\w./-]){re.escape(root)}(?:/|(?![\w./-]))", up, command)
    return _TOP.sub(up, command)


def with_words(command: str, others: Mapping[str, str]) -> str:
    """The command with other words in the place of some. A word counts only as a whole: a path may begin as another one does."""
    if not others:
        return command
    known = "|".join(map(re.escape, sorted(others, key=len, reverse=True)))
    return re.sub(rf"(?<![\w./~}}-])(?:{known})(?![\w./-])", lambda found: others[found[0]], command)


_HERE = re.compile(r"""(?:"(?:\$\{?PWD\}?|\$\(pwd\))"|\$\{?PWD\}?|\$\(pwd\)|`pwd`)(?:/|(?=[\s;&|)]|\Z))""")
_TOP = re.compile(
    r"""(?:"\$\(git rev-parse --show-toplevel\)"|\$\(git rev-parse --show-toplevel\)|`git rev-parse --show-toplevel`)"""
    r"(?:/|(?=[\s;&|)]|\Z))"
)
"""How people write the folder in which a command runs, and the root of its repository."""
_SUBSTITUTED = re.compile(r"<\(([^()]*)\)")
_CAPTURED = re.compile(r"\$\(([^()]*)\)")
"""Commands inside of quotes, whose output becomes a part of a word."""


def _captured(line: str, folder: str) -> list[Run]:
    return [replace(run, decides=False, captured=True) for run in runs_of(line, folder)]


_OUTSIDE = ("/", "~/", "../", "./../", "$HOME/", "${HOME}/")
"""How a path begins that leads out of the folder of a check."""
_GONE_TO = re.compile(r"""\b(?:cd|pushd)\s+(?:--\s+|-P\s+)?["']?([^\s;&|)"']+)""")
_READS_PROFILE = re.compile(
    r"\b(?:[bdk]?a?|fi|z)sh\s+(?:-\S+\s+)*?(?:--login|-[a-zA-Z]*[li][a-zA-Z]*)\s|\b(?:zsh|fish)\s|\bsu\s+-"
)
PROFILES = words(
    "~/.bash_profile ~/.bash_login ~/.profile ~/.bashrc ~/.bash_aliases ~/.zshenv ~/.zprofile ~/.zshrc ~/.zlogin ~/.config/fish/config.fish"
)
"""What a login shell, or an interactive one, runs before anything else."""


def programs_by_path(command: str) -> tuple[str, ...]:
    """The programs that a command names by a path that leads out of its folder, as they are written."""
    named = (word for run in runs_of(command) for word in (*run.before, run.words[0]))
    return tuple(dict.fromkeys(word for word in named if word.startswith(_OUTSIDE)))


def files_by_path(command: str) -> tuple[str, ...]:
    """All words of a command that may name a file outside of its folder: programs, scripts that it gives to others, profiles of a shell."""
    line = [word for run in runs_of(command) for word in (*run.before, *run.words, *run.reads)]
    moves = [target.rstrip("/") for target in _GONE_TO.findall(command) if f"{target}/".startswith(_OUTSIDE)]
    moved = [f"{target}/{word}" for target in moves for word in line if not word.startswith(("-", *_OUTSIDE))]
    profiles = sorted(PROFILES) if _READS_PROFILE.search(f"{command} ") else []
    return tuple(dict.fromkeys((*moves, *(word for word in line if word.startswith(_OUTSIDE)), *moved, *profiles)))


LOAD_NOTHING = words(
    "true false test [ : echo printf cat grep egrep fgrep ls sleep exit head tail wc cmp diff sort mkdir touch rm cp mv kill pwd date "
    "sed awk tr cut uniq tee stat basename dirname expr seq chmod ln find set export umask wait read shift return"
)
"""Programs that load no module and start no other program, but for what `_STARTS_OTHERS` says."""


def loads_libraries(command: str) -> bool:
    """Whether a command may run something that loads modules: an interpreter, a test runner, a script, anything unknown."""
    return "$(" in command or "`" in command or any(map(_may_load, runs_of(command)))


_STARTS_OTHERS = {"find": re.compile(r"-(exec|ok)(dir)?$"), "awk": re.compile(r"system|\|")}
"""In the arguments of programs that else load nothing: they start other programs."""


def _may_load(run: Run) -> bool:
    starts = _STARTS_OTHERS.get(run.words[0])
    return run.words[0] not in LOAD_NOTHING or (starts is not None and any(map(starts.search, run.words[1:])))


_EXECUTES = re.compile(r"-(?:exec|ok)(?:dir)?")


def _inner(run: Run) -> tuple[Run, ...]:
    """The commands of `sh -c '…'`; the run itself for other programs, with what `find -exec` runs."""
    at = (
        [place for place, word in enumerate(run.words[:-1]) if _EXECUTES.fullmatch(word)]
        if run.program == "find"
        else []
    )
    if at:
        executed = (run.words[place + 1 : end] for place, end in pairwise((*at, len(run.words))))
        return (run, *(each for words in executed for each in _inner(replace(run, words=words))))
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
