"""Files that the words of a command make judges: what it compares with, plugins, variables from files, and tables of tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from untildone.core.judging import globs
from untildone.core.judging.checks import references
from untildone.core.judging.checks.commands import LOAD_NOTHING, Run, runs_of
from untildone.core.judging.documents import Key, found, loaded_json, loaded_toml
from untildone.core.judging.globs import words
from untildone.core.judging.tables import CHECKERS, RUNNERS
from untildone.core.judging.trees import Tree, resolved
from untildone.core.shell.splitting import CAPTURED
from untildone.core.values.hints import Any
from untildone.core.values.value import replace

_COMPARES = words("diff cmp comm colordiff sdiff icdiff difft wdiff vimdiff dwdiff numdiff")
_PATTERNS = {
    **dict.fromkeys(words("grep egrep fgrep rg ag"), words("-f --file")),
    **dict.fromkeys(words("jq yq gojq jaq"), words("-f --from-file")),
    **dict.fromkeys(words("ajv jsonschema check-jsonschema yajsv"), words("-s -r --schema --schemafile --ref")),
    **dict.fromkeys(words("xmllint"), words("--schema --relaxng --dtdvalid --schematron")),
    **dict.fromkeys(words("sha256sum sha1sum md5sum sha512sum shasum b2sum"), words("-c --check")),
    **dict.fromkeys(words("sed awk gawk mawk"), words("-f --file")),
}
"""Programs, and their options that name what they judge by."""
_TESTS = words("hurl terraform-test newman tavern-ci venom karate k6 artillery dredd schemathesis")
_SCHEMAS = words("jq yq gojq jaq")
_REFERENCE = re.compile(
    r"(?:^|[^a-z])(?:ref|refs|references?|schemas?|answers?|golden\w*|expect\w*|wanted|want|baselines?|oracle|snapshots?|fixtures?|truth|correct"
    r"|solutions?|approved|verified|testcases?|cases?)(?:[^a-z]|$)"
)


def compared_with(runs: Sequence[Run], start: Tree) -> Iterator[str]:
    """The files of the start that the commands compare something with, and do not write themselves."""
    written = {resolved(name, run.folder) for run in runs for name in run.writes}
    compares = any(run.program in ("test", "[", "[[") for run in runs)
    is_made = any(run.program not in _MAKE_NOTHING for run in runs)
    has_sides = len([run for run in runs if run.captured]) > 1
    for run in runs:
        paths = [
            path
            for word in _judging_words(run, compares=compares, has_sides=has_sides)
            if (path := resolved(word, run.folder))
        ]
        every = (each for path in dict.fromkeys(paths) for each in _fitting(path, start))
        here = [path for path in every if path not in written]
        yield from _most_likely(here, is_made=is_made) if run.program in _COMPARES else here


def _fitting(path: str, start: Tree) -> list[str]:
    """The file of this name, all in a folder of references, or the data that a pattern fits: `cases/*.out`."""
    if path in start.folders and is_reference(path):
        return list(start.below(path))
    if not re.search(r"[*?\[]", path):
        return [path] if path in start.files else []
    fits = re.compile(globs.translated(path) + r"\Z", re.DOTALL)
    return [each for each in start.files if fits.match(each) and not references.is_code(each)]


def _judging_words(run: Run, *, compares: bool, has_sides: bool) -> tuple[str, ...]:
    """`compares`: whether the command compares texts; `has_sides`: whether it compares what two programs print, not one with words."""
    inputs = tuple(run.reads) if not run.program.endswith("sh") else ()
    if run.program in _COMPARES or run.program in _TESTS:
        return (*run.operands, *inputs)
    if run.program == "git" and {"diff", "--no-index"} <= set(run.words):
        return run.operands[1:]
    if run.program == "cat" and compares and not run.decides:
        return run.operands if has_sides else tuple(filter(is_reference, run.operands))
    values = tuple(_values(run.words, _PATTERNS.get(run.program, frozenset())))
    named = tuple(word for word in run.operands if run.program in _SCHEMAS and is_reference(word))
    return (*values, *named, *inputs)


def is_reference(path: str) -> bool:
    """Whether the name of a file or of its folders says that something is compared with it."""
    return _REFERENCE.search(path.lower()) is not None


_MAKE_NOTHING = LOAD_NOTHING | CHECKERS | _COMPARES


def _most_likely(paths: list[str], *, is_made: bool) -> list[str]:
    """Of two files that are compared and were both there, the one whose name says that it is right; else both. If no program of the
    command could make one of them, both are the work itself: two documents that must be the same."""
    named = [path for path in paths if is_reference(path)]
    if len(paths) > 1 and not named and not is_made:
        return []
    return named if len(paths) > 1 and named else paths


def _values(line: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    for position, word in enumerate(line):
        name, equals, value = word.partition("=")
        if name in options:
            yield value if equals else line[position + 1] if position + 1 < len(line) else ""


_ARGUMENTS = re.compile(r"(?:^|\s)@([\w./+-]+)|\bdone\s*<\s*[\"']?([\w./@+-]+)")
_NAMED_FILE = re.compile(r"""(?:^|[\s;])(\w+)=["']?([\w./@+-]*[./][\w./@+-]*)["']?(?=[\s;]|\Z)""")
CAPTURED_WORD = f"${CAPTURED}"
_OPTIONS = re.compile(r"\w*(?:OPTS|OPTIONS|FLAGS|ARGS|PLUGINS|PATH)=")
"""Variables from which programs take options or what to load."""
_READ_INTO_VARIABLES = words("read mapfile readarray")
_RUN_WHAT_THEY_READ = words("source . sh bash dash zsh ksh")
_SET_VARIABLES = words("export set declare typeset")
_JUDGES = CHECKERS - words("diff cmp")


def argument_files(command: str, folder: str) -> Iterator[str]:
    """Files from which a command takes words for a judge: which tests to run, or with which options."""
    files = dict(_NAMED_FILE.findall(command))
    filled = re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: files.get(found[1] or found[2], found[0]), command)
    named = (name for groups in _ARGUMENTS.findall(filled) for name in groups if name)
    yield from (path for name in named if (path := resolved(name, folder)))
    plain = re.sub(r"\$\((?:file\s+<|<)", "$(cat ", command.replace("$(shell ", "$("))
    for run in _readers(runs_of(plain, folder)):
        found = (resolved(word, run.folder) for word in _files_read(run))
        yield from (path for path in found if path and not references.is_code(path))


def _readers(runs: Iterable[Run]) -> Iterator[Run]:
    """The programs whose output becomes words of a judge: `pytest $(cut -f1 suites)`, `grep -v '^#' suites | xargs pytest`."""
    before: list[Run] = []
    captured: list[Run] = []
    in_variables: list[Run] = []
    for run in runs:
        if not run.decides:
            before.append(run)
            continue
        line = (*run.before, *run.words[1:])
        # `<(…)` is written as a dash, and what it runs stands before the whole command.
        substituted = captured if "-" in (*run.words, *run.reads) else []
        if _takes_words(run):
            yield run if run.program == "parallel" else replace(run, words=run.words[:1])
            yield from before
            yield from captured if any(map(_is_captured, (*line, run.words[0]))) else substituted
            yield from in_variables if any("$" in word for word in line) else ()
        elif run.program in _READ_INTO_VARIABLES:
            in_variables += [*before, *substituted]
        else:
            captured += [each for each in before if each.captured]
        before = []


def _is_captured(word: str) -> bool:
    return CAPTURED_WORD in word or "$(" in word


def _takes_words(run: Run) -> bool:
    """Whether a judge takes words that other programs print, or a shell runs them."""
    line = (*run.before, *run.words[1:])
    if run.words[0].startswith(CAPTURED_WORD) or any(map(_is_options, line)):
        return True
    if run.program in _RUN_WHAT_THEY_READ:
        return "-" in (*run.words, *run.reads)
    if run.program in _SET_VARIABLES:
        return CAPTURED_WORD in line
    if not _JUDGES & {run.program, *(run.words[1:] if run.program == "parallel" else run.words[1:3])}:
        return False
    return bool({"xargs", "parallel"} & {run.program, *run.before}) or any(
        "$" in word and "=" not in word for word in line
    )


def _is_options(word: str) -> bool:
    return _OPTIONS.match(word) is not None and _is_captured(word)


def _files_read(run: Run) -> Iterator[str]:
    """The files that a program may print: those that it is given, and those that a text names which it runs."""
    yield from run.reads
    if "xargs" in run.before or run.program == "parallel":
        yield from _values((*run.before, *run.words), words("-a --arg-file"))
    yield from (word for word in run.words[1:] if not word.startswith("-"))
    if any(re.fullmatch(r"-[a-z]*[cep]|--eval|--print", word) for word in run.words[1:]):
        yield from re.findall(r"[\w./@+-]+", " ".join(run.words[1:]))


def printing_words(runs: Sequence[Run]) -> Iterator[Run]:
    """The programs whose output becomes words of a test runner: `pytest $(sh flags.sh)`, `sh names.sh | xargs pytest`."""
    waiting: list[Run] = []
    for run in runs:
        if not run.decides and run.program not in RUNNERS:
            waiting.append(run)
            continue
        takes = "xargs" in run.before or CAPTURED_WORD in run.words
        if takes and RUNNERS.keys() & {run.program, *run.words[1:3]}:
            yield from waiting
        waiting = []


_READ_VARIABLES = words("dotenv dotenvx env-cmd godotenv shdotenv honcho foreman")


def environment_files(run: Run) -> tuple[str, ...]:
    """Files from which the command takes variables."""
    options = words("--env-file --env-file-if-exists --dotenv --envfile")
    named = [*_values(run.words, options), *_values(run.before, options)]
    if _READ_VARIABLES & {run.program, *run.before}:
        named += _values((*run.before, *run.words), words("-f --file -e --env"))
        named.append(".env")
    return tuple(path for name in named if name and (path := resolved(name, run.folder)))


def plugins(run: Run) -> tuple[str, ...]:
    """Modules that pytest loads because the command says so."""
    inline = [word.partition("=")[2] for word in run.before if word.startswith("PYTEST_PLUGINS=")]
    added = [word.partition("=")[2].split() for word in run.before if word.startswith("PYTEST_ADDOPTS=")]
    lines = [run.words, *map(tuple, added)]
    given = [name for line in lines for name in _values(line, frozenset(("-p",)))]
    joined = [word[2:] for line in lines for word in line if word.startswith("-p") and len(word) > 2]
    names = [name for entry in inline for name in entry.split(",")]
    is_pytest = "pytest" in run.words or run.program in ("pytest", "py.test") or inline or added
    return tuple(name for name in (*names, *given, *joined) if name and not name.startswith("no:")) if is_pytest else ()


_ADDED = re.compile(r"(?:^|[\s;&|(])PYTEST_ADDOPTS=('[^']*'|\"[^\"]*\"|[^\s;&|]*)")


def added_options(command: str, folder: str) -> tuple[Run, ...]:
    """The options that a command gives to pytest by a variable, as a run of pytest."""
    values = (value.strip("'\"").split() for value in _ADDED.findall(command))
    return tuple(Run(("pytest", *value), folder) for value in values if value)


def modules_of_tests(run: Run, tree: Tree) -> tuple[str, ...]:
    """The files in which unittest finds what the command names: `package.module.Class.test`."""
    if "unittest" not in run.words[1:3] or "discover" in run.words:
        return ()
    names = [word for word in run.operands if "/" not in word and word != "unittest"]
    heads = [name.rsplit(".", number)[0] for name in names for number in range(min(3, name.count(".") + 1))]
    return tuple(path for head in heads for path in references.module_files(head, (run.folder,), tree))


def runs_sphinx_doctests(run: Run) -> bool:
    return "sphinx-build" in (run.program, *run.words[1:3]) and "doctest" in run.words


def runs_doctests(run: Run) -> bool:
    """Whether the command runs the examples in documentation."""
    line = (*run.words, *run.before)
    if runs_sphinx_doctests(run):
        return True
    return any(word.startswith(("--doctest", "--xdoctest")) or "--doctest-" in word for word in line) or (
        "-m" in line and "doctest" in line
    )


_TASKS: dict[str, tuple[tuple[str, Key], ...]] = {
    "pdm": (("pyproject.toml", ("tool", "pdm", "scripts", "*")),),
    "rye": (("pyproject.toml", ("tool", "rye", "scripts", "*")),),
    "hatch": (
        ("pyproject.toml", ("tool", "hatch", "envs", "*", "scripts", "*")),
        ("hatch.toml", ("envs", "*", "scripts", "*")),
    ),
    "pixi": (("pixi.toml", ("tasks", "*")), ("pyproject.toml", ("tool", "pixi", "tasks", "*"))),
    "pipenv": (("Pipfile", ("scripts", "*")),),
    "poe": (("pyproject.toml", ("tool", "poe", "tasks", "*")),),
    "task": (("pyproject.toml", ("tool", "taskipy", "tasks", "*")),),
    "mise": (("mise.toml", ("tasks", "*")), (".mise.toml", ("tasks", "*"))),
}
"""Programs that run tasks, and the tables in which these are defined."""


def tasks(run: Run, tree: Tree) -> Iterator[tuple[str, str]]:
    """The command lines of tasks that a command runs, each with the file that defines it."""
    line = (*run.before, *run.words)
    for name in _TASKS.keys() & {word.rpartition("/")[2] for word in line}:
        for file, pattern in _TASKS[name]:
            path = f"{run.folder}/{file}" if run.folder else file
            yield from ((path, command) for command in _commands(tree, path, pattern, line))


def _commands(tree: Tree, path: str, pattern: Key, line: Iterable[str]) -> Iterator[str]:
    try:
        table = found(loaded_toml(tree.content(path)), (pattern,))
    except ValueError:
        return
    wanted = {word.rpartition(":")[2] for word in line}
    for key, value in table.items():
        if key[-1] in wanted:
            yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            for name in ("cmd", "shell", "run", "script", "composite", "sequence", "depends", "depends-on"):
                yield from _texts(value.get(name))
        case _:
            return


_ENTRY_POINTS = (("project", "scripts", "*"), ("tool", "poetry", "scripts", "*"))


def entry_points(runs: Iterable[Run], tree: Tree) -> Iterator[str]:
    """The modules and files of the tree behind programs that its own packages install, for those that a command runs."""
    names = {run.program for run in runs}
    for path in ("pyproject.toml", "package.json"):
        try:
            document = loaded_toml(tree.content(path)) if path.endswith("toml") else loaded_json(tree.content(path))
        except ValueError:
            continue
        table = found(document, (*_ENTRY_POINTS, ("bin", "*")))
        yield from (str(value).partition(":")[0] for key, value in table.items() if key[-1] in names)


def wrappers(run: Run) -> frozenset[str]:
    """The programs that run the program, such as `pdm` in `pdm run test`."""
    return frozenset(word.rpartition("/")[2] for word in run.before if not word.startswith("-") and "=" not in word)
