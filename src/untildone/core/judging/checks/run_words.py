"""What the words of a run say: its script and folder, its options, the targets and scripts that it names."""

from __future__ import annotations

import re

from untildone.core.judging.checks.commands import Run
from untildone.core.judging.globs import words
from untildone.core.judging.trees import Tree, parent, resolved
from untildone.core.values.value import replace

INTERPRETERS = words("node nodejs deno bun tsx ts-node ruby perl php lua Rscript swift")
PYTHONS = re.compile(r"(?:python|pypy)[\d.]*\Z|py\Z")

SHELLS = words("sh bash dash zsh ksh ash source .")

_VALUES = {
    "sh": words("-o +o -O +O --rcfile --init-file"),
    "python": words("-W -X --check-hash-based-pycs"),
    "node": words("-r --require --import --loader --experimental-loader -C --conditions --env-file --input-type"),
    "ruby": words("-I -r -C -E"),
    "perl": words("-I"),
    "php": words("-d -c -z"),
}
"""Options of interpreters that take the next word."""

_BUILD_FILES = {
    "just": ("-f", "--justfile"),
    "task": ("-t", "--taskfile"),
    "ninja": ("-f",),
    "ant": ("-f", "-file", "-buildfile"),
    "gradle": ("-b", "--build-file", "-c", "--settings-file", "-I", "--init-script"),
    "gradlew": ("-b", "--build-file", "-c", "--settings-file", "-I", "--init-script"),
    "mvn": ("-f", "--file", "-s", "--settings"),
    "mvnw": ("-f", "--file", "-s", "--settings"),
}
"""Options that name the file from which a program reads what to run."""

_OWN_VERBS = words("install ci add remove exec dlx run-script init publish pack link x i update upgrade create audit")


def folder_of(run: Run) -> str:
    """The folder in which the program works, `-C` and `--prefix` included."""
    moved = option_of(run, "-C", "--directory", "--prefix", "--cwd", "--dir")
    folder = resolved(moved, run.folder) if moved else None
    return run.folder if folder is None else folder


def option_of(run: Run, *names: str) -> str:
    return next(iter(options_of(run, *names)), "")


def options_of(run: Run, *names: str) -> list[str]:
    """The values of options, in their order."""
    return [value for position, word in enumerate(run.words) for value in _value(run, position, word, names)]


def _value(run: Run, position: int, word: str, names: tuple[str, ...]) -> tuple[str, ...]:
    name, equals, value = word.partition("=")
    if name in names:
        return (value if equals else "".join(run.words[position + 1 : position + 2]),)
    short = any(len(name) == 2 and word.startswith(name) and len(word) > 2 for name in names)
    return (word[2:],) if short and not word.startswith("--") else ()


def with_single_options(run: Run) -> Run:
    """The run with `-s -f` in the place of `-sf`, as make reads it."""
    parted = (re.fullmatch(r"-([bBdeikLnpqrRsStvw]+)([CfI].*)", word) for word in run.words)
    line = [
        [f"-{found[1]}", f"-{found[2]}"] if found else [word] for found, word in zip(parted, run.words, strict=True)
    ]
    return replace(run, words=tuple(word for words in line for word in words))


def script_of(run: Run) -> str:
    """The file that an interpreter is given: the first word that is neither an option nor the value of one, or its input."""
    kind = "sh" if run.program in SHELLS else "python" if PYTHONS.match(run.program) else run.program
    values, skips = _VALUES.get(kind, _VALUES["node"]), False
    for word in run.words[1:]:
        is_option = len(word) > 1 and word.startswith(("-", "+"))
        if not is_option and not skips and word not in ("run", "test", "-"):
            return word
        skips = is_option and (
            word in values or (kind == "sh" and re.fullmatch(r"[-+][a-zA-Z]*[oO]", word) is not None)
        )
    return "".join(run.reads[:1])


def module_of(run: Run) -> int:
    """The place of the module that Python is told to run by `-m`; 0: it is told no module, but a script, or a text."""
    place = 1
    while place < len(run.words) and run.words[place].startswith("-"):
        if re.fullmatch(r"-[a-zA-Z]*m", run.words[place]):
            return place + 1 if place + 1 < len(run.words) else 0
        if run.words[place] in ("-c", "-"):
            return 0
        place += 2 if run.words[place] in _VALUES["python"] else 1
    return 0


def file_of(run: Run) -> str:
    """The file that a command plainly runs: a program by its path, or the script of an interpreter."""
    runs_scripts = run.program in SHELLS | INTERPRETERS or (PYTHONS.match(run.program) and "-m" not in run.words)
    return script_of(run) if runs_scripts else run.words[0] if "/" in run.words[0] else ""


def search_folders(run: Run, name: str = "PATH") -> tuple[str, ...]:
    """The entries of a list of paths that the command sets, without those outside of the tree."""
    given = [word.partition("=")[2] for word in run.before if word.startswith(f"{name}=")]
    entries = [
        entry for value in given for entry in re.split(r"[:\s]", value) if entry and not entry.startswith(("$", "/"))
    ]
    return tuple(dict.fromkeys(entry.rstrip("/") for entry in entries))


def build_files(run: Run) -> list[str]:
    names = _BUILD_FILES.get(run.program, ())
    return [path for name in options_of(run, *names) if (path := resolved(name, folder_of(run)))]


def values_of(run: Run) -> tuple[str, ...]:
    """The values of variables in the words of a run of make, and before it."""
    line = (*run.before, *run.words[1:])
    return tuple(word.partition("=")[2] for word in line if re.match(r"[A-Za-z_]\w*[:+?]*=", word))


def programs_built(run: Run, tree: Tree) -> tuple[str, ...]:
    """The sources of the program that `cargo run` or `go run` builds and starts."""
    words = run.words[2 : run.words.index("--")] if "--" in run.words else run.words[2:]
    if run.program == "go":
        named = [path for word in words if not word.startswith("-") and (path := resolved(word, run.folder))]
        found = [path for name in named for path in (name, *tree.below(name)) if path.endswith(".go")]
        return tuple(path for path in found if path in tree.files)
    name, example = option_of(run, "--bin"), option_of(run, "--example")
    stem = f"src/bin/{name}" if name else f"examples/{example}" if example else "src"
    folder = parent(option_of(run, "--manifest-path"))
    files = (f"{stem}.rs", f"{stem}/main.rs")
    return tuple(path for file in files if (path := resolved(f"./{folder}/{file}", run.folder)) in tree.files and path)


def targets_of(run: Run) -> tuple[str, ...]:
    """The targets that make is asked for; one empty name stands for the default."""
    found, skip = [], False
    for word in run.words[1:]:
        if skip:
            skip = False
        elif word in ("-C", "-f", "-j", "-l", "-o", "-W", "-I", "--directory", "--file", "--makefile"):
            skip = word not in ("-j", "-l")
        elif not word.startswith("-") and "=" not in word and not word.isdigit():
            found.append(word)
    return tuple(found) or ("",)


def script_names(run: Run) -> tuple[str, ...]:
    own = ("run", "run-script", "rum", "urn", "workspaces", "workspace", "foreach")
    if run.program == "nx":
        return _targets_of_nx(run)
    words = [word for word in run.operands if word not in own]
    if run.program in ("run-s", "run-p", "npm-run-all", *SERVE_AND_TEST):
        return tuple(words)
    named = option_of(run, "--prefix", "-C", "--cwd", "--dir", "-w", "--workspace", "--filter")
    if run.program == "yarn" and "workspace" in run.operands[:1]:
        named = "".join(words[:1])
    first = next((word for word in words if word != named), "")
    if first in ("t", "tst"):
        first = "test"
    return () if not first or first in _OWN_VERBS else (first,)


def _targets_of_nx(run: Run) -> tuple[str, ...]:
    """`nx test app`, `nx run app:test`, `nx run-many -t test,lint`."""
    given = [name for value in options_of(run, "-t", "--target", "--targets") for name in value.split(",") if name]
    first, *rest = (*run.operands, "")
    if first == "run":
        given += [word.split(":")[1] for word in rest if ":" in word]
    return tuple(given) if given or first in ("run", "run-many", "affected", "") else (first.rpartition(":")[2],)


SERVE_AND_TEST = ("start-server-and-test", "start-test", "server-test")
"""Programs that run scripts of a package: one that serves, and one that tests."""
