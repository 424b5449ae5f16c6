"""Commands that are not understood wholly, and the files of the tree that their texts mention.

A list of all ways in which one program starts another can never be complete. So the files that such a text mentions are looked at, whatever
it does with them: by path, by name, by a pattern, or by a folder around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from untildone.core.judging import globs
from untildone.core.judging.checks.commands import LOAD_NOTHING, Run
from untildone.core.judging.checks.references import is_code
from untildone.core.judging.globs import words
from untildone.core.judging.tables import CHECKERS
from untildone.core.judging.trees import PROGRAM, Tree, resolved
from untildone.core.values.value import dataclass

MOST_WORDS = 3000
MOST_PATTERNS = 40
MOST_FILES = 2000
MOST_CODE = 300
"""Programs in a folder that are no scripts by their name or mode."""
MOST_OF_A_NAME = 20
"""Files of one name; of more, the name says nothing."""

TASK_FILES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(words("task go-task"), ("Taskfile*.y{a,}ml", "taskfile*.y{a,}ml")),
    **dict.fromkeys(words("invoke inv"), ("tasks.py", "tasks/**")),
    "nox": ("noxfile.py",),
    "tox": ("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml"),
    "hatch": ("hatch.toml", "pyproject.toml"),
    **dict.fromkeys(words("pdm rye poe taskipy"), ("pyproject.toml",)),
    "pixi": ("pixi.toml", "pyproject.toml"),
    "pipenv": ("Pipfile",),
    "mise": ("mise.toml", ".mise.toml"),
    "rake": ("Rakefile", "rakefile", "Rakefile.rb", "*.rake"),
    **dict.fromkeys(words("grunt gulp"), ("Gruntfile.*", "gulpfile.*")),
    "doit": ("dodo.py",),
    "fab": ("fabfile.py",),
    "ant": ("build.xml",),
    "ninja": ("build.ninja",),
    **dict.fromkeys(words("foreman honcho overmind hivemind goreman"), ("Procfile*",)),
    "act": (".github/workflows/**", ".github/actions/**"),
    "earthly": ("Earthfile",),
    **dict.fromkeys(words("turbo nx lerna"), ("package.json", "project.json", "turbo.json", "nx.json")),
    **dict.fromkeys(words("concurrently npm-run-all run-s run-p wireit"), ("package.json",)),
    "composer": ("composer.json",),
    "deno": ("deno.json", "deno.jsonc"),
    "mix": ("mix.exs",),
    "meson": ("meson.build",),
    "ctest": ("CMakeLists.txt",),
    **dict.fromkeys(words("bazel bazelisk"), ("BUILD", "BUILD.bazel", "*.bzl")),
    **dict.fromkeys(words("docker podman docker-compose podman-compose buildah"), ("Dockerfile*", "*compose*.y{a,}ml")),
    **dict.fromkeys(words("nix nix-build nix-shell"), ("flake.nix", "default.nix", "shell.nix")),
    **dict.fromkeys(words("pre-commit prek"), (".pre-commit-config.y{a,}ml",)),
    "lefthook": ("lefthook.y{a,}ml",),
    "vagrant": ("Vagrantfile",),
    "cargo": (".cargo/config.toml", ".cargo/config"),
    "jake": ("Jakefile*", "jakefile*"),
    "nps": ("package-scripts.*",),
    "mask": ("maskfile.md",),
    "tusk": ("tusk.y{a,}ml",),
    "moon": ("moon.yml", ".moon/**"),
    "mage": ("magefile.go", "magefiles/**"),
    "scons": ("SConstruct", "SConscript"),
    "waf": ("wscript",),
}
"""Where programs that run tasks find them. The files themselves judge by the tables of names."""

_INLINE = {
    "sh": re.compile(r"[-+][a-zA-Z]*[cs]"),
    "python": re.compile(r"-[a-zA-Z]*c.*|-"),
    "other": re.compile(r"-(?:[ceEprnBi]|[npa]+e).*|--(?:eval|print|run|require|import)\b.*|-"),
}
"""Options of interpreters that are followed by a program, or that take it from their input."""
_SHELLS = words("sh bash dash zsh ksh ash fish busybox source . eval")
_MAKES = words("make gmake bmake remake")
_PYTHONS = re.compile(r"(?:python|pypy)[\d.]*\Z|py\Z")
_INTERPRETERS = words(
    "node nodejs tsx ts-node ruby perl php lua Rscript R julia tclsh groovy swift expect osascript pwsh"
)
_ONLY_TELLS = words("--version -V --help -h --test --check --coverage -v")
_MODULES = words(
    "pip build compileall venv ensurepip json.tool http.server py_compile tabnanny doctest pyflakes pycodestyle pydocstyle vulture"
)
"""Modules of Python that run no file which they are given."""
_PLAIN = (
    LOAD_NOTHING
    | CHECKERS
    | words(
        "cd pushd popd uv pip pip3 curl wget jq yq gzip gunzip zip unzip cmake cc gcc g++ c++ clang clang++ ld ar ranlib strip "
        "nm objdump javac rustc rustup rustfmt gofmt gcov lcov id whoami uname hostname which type command df du file hash jobs "
        "local declare typeset readonly unset shopt ulimit printenv realpath readlink mktemp time nproc sha256sum md5sum sync "
        "xxd od strings tac nl paste join column fold fmt split csplit comm break continue let"
    )
)
"""Programs that run no file of the tree, or whose files are followed by what is known of them."""
_GIT = words(
    "add apply blame branch cat-file check-ignore checkout clean clone commit config describe diff diff-index fetch grep init log ls-files "
    "ls-tree merge-base restore rev-list rev-parse show show-ref stash status switch tag update-index write-tree"
)
_RUNS_SOURCES = {
    "go": words("test vet build fmt mod list version env install clean get work tool"),
    "cargo": words(
        "test t nextest build b check c clippy fmt bench doc tree metadata fetch clean update llvm-cov tarpaulin hack audit deny miri "
        "install"
    ),
    "dotnet": words("test build restore clean format publish"),
    "swift": words("test build package"),
}
"""Programs that build and run sources of the tree, and their commands that do not."""
_LISTS = re.compile(
    r"\b(?:find|xargs|parallel|ls|git ls-files|git ls-tree|fd|rg --files|glob|readdir|os\.walk|scandir|listdir)\b"
)
_HERE = re.compile(r"(?:^|[\s'\"(])\.(?:/?[\s'\")]|\Z)")
_WORD = re.compile(r"(?:[^\W]|[.@%+~*?$/!^-]|\{[\w.,*-]+\}|\[[\w!^-]+\])+")
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`")
_IMPORTED = re.compile(r"(?:\bimport|\bfrom|\brequire|\bload|\bdo|\s-m)\b\W+(\w[\w.]*)")
_SET_ELSEWHERE = re.compile(r"\$\{?[\w@*#]+\}?|\$\([^()]*\)")
_ENDS = ("", ".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".pl", ".sh", "/index.js", "/__main__.py", "/__init__.py")
_JUDGES_ITSELF = re.compile(
    r"\bassert|[^=!<>]==[^=]|!=|\s-(?:eq|ne|lt|le|gt|ge)\s|\b(?:diff|cmp|comm)\b|grep\s+-\w*[qcx]|\[\[?\s[^;\n]*\s=\s|\btest\s[^;\n]*\s=\s|\.equal|expect\("
)
_LOADING = re.compile(
    r"(?:^|[\s;&|(])(?:export\s+)?(?:BASH_ENV|ENV|NODE_OPTIONS|RUBYOPT|PERL5OPT|PYTHONSTARTUP|PYTHONBREAKPOINT|LD_PRELOAD|GIT_EXTERNAL_DIFF|GIT_PAGER|PAGER"
    r"|COVERAGE_RCFILE|COVERAGE_PROCESS_START|MAKEFILES|GIT_CONFIG_GLOBAL|CC|CXX|LD|RUSTC|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|CARGO_TARGET_\w+_RUNNER|GOFLAGS|JAVA_TOOL_OPTIONS|npm_config_script_shell|npm_config_node_options"
    r"|NPM_CONFIG_SCRIPT_SHELL|npm_config_userconfig|NPM_CONFIG_USERCONFIG)=('[^']*'|\"[^\"]*\"|[^\s;&|]*)"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A file of the tree that a text mentions."""

    path: str
    by_name: bool
    """Whether the text has the file's path or name; else only a pattern that fits it, or a folder around it."""


_SEVERAL = re.compile(r"\bfor\s+\w+\s+in\s+[^\s;]+[ \t]+(?!do\b)[^\s;]")
"""A loop over more than one word: only the first is followed."""


def are_understood(command: str, runs: Iterable[Run], tree: Tree) -> bool:
    """Whether everything that a command runs is known: no program is hidden in a text, a variable or in the input of another one."""
    return not _SEVERAL.search(command) and all(_is_understood(run, tree) for run in runs)


def _is_understood(run: Run, tree: Tree) -> bool:
    word, program = run.words[0], run.program
    if re.search(r"[$*?{}\[`]", word) and word not in ("[", "[["):
        return False
    if program in _SHELLS:
        return _runs_file(run, "sh", tree)
    if _PYTHONS.match(program):
        module = next((place for place, each in enumerate(run.words[:-1]) if re.fullmatch(r"-[a-zA-Z]*m", each)), 0)
        return _is_known(run.words[module + 1], run, tree) if module else _runs_file(run, "python", tree)
    if program in _INTERPRETERS:
        return _runs_file(run, "other", tree)
    if program in _RUNS_SOURCES:
        return next(iter(run.operands), "") in _RUNS_SOURCES[program]
    if program == "git":
        return next(iter(run.operands), "") in _GIT and not {"-c", "--exec", "-x"}.intersection(run.words)
    if program in ("awk", "gawk", "mawk"):
        return not re.search(r"\bsystem\s*\(|\|", " ".join(run.words[1:]))
    if program in _MAKES:
        return not {"-f", "--file", "--makefile"}.intersection(run.words) or _names_file(run, tree)
    return program in _PLAIN or ("/" in word and resolved(word, run.folder) in tree.files)


def _is_known(module: str, run: Run, tree: Tree) -> bool:
    """Whether a module of Python runs no file that it is given, or is itself a file of the tree."""
    if module in _MODULES or module.partition(".")[0] in CHECKERS | _MODULES:
        return True
    return f"{resolved(module.replace('.', '/'), run.folder)}.py" in tree.files


def _runs_file(run: Run, kind: str, tree: Tree) -> bool:
    """Whether the first that an interpreter is given to run is a file of the tree."""
    if _ONLY_TELLS.intersection(run.words[1:2]):
        return True
    if any(_INLINE[kind].fullmatch(word) for word in run.words[1:] if word[:1] in ("-", "+")):
        return _reads_file(run, tree) and not run.operands
    named = [resolved(word, run.folder) in tree.files for word in run.operands]
    return (True in named[:2]) if named else _reads_file(run, tree)


def _reads_file(run: Run, tree: Tree) -> bool:
    return bool(run.reads) and all(resolved(name, run.folder) in tree.files for name in run.reads)


def _names_file(run: Run, tree: Tree) -> bool:
    return any(resolved(word, run.folder) in tree.files for word in run.operands)


def judges_itself(text: str) -> bool:
    """Whether a text compares something: then not all that it runs decides."""
    return _JUDGES_ITSELF.search(text) is not None


def loaded_by_variables(text: str, places: Sequence[str], tree: Tree) -> Iterator[str]:
    """The files that a command makes programs load, by a variable that it sets."""
    for value in _LOADING.findall(text):
        for word in _WORD.findall(value):
            yield from _by_path(
                re.sub(r"\A-{1,2}\w+=?|\A-\w", "", word) if word.startswith("-") else word, places, tree
            )[:1]


def mentioned(
    text: str, runs: Iterable[Run], places: Sequence[str], tree: Tree, *, all_folders: bool = True
) -> tuple[Mention, ...]:
    """The files that a text mentions. `places` are the folders from which its words may be seen; the root is one of them.

    With `all_folders`, folders count whatever the text does with them; else only if it lists some."""
    places = tuple(dict.fromkeys((*places, "")))
    found: dict[str, bool] = {}
    patterns: dict[str, None] = {}
    folders: dict[str, None] = {}
    imported = frozenset(_IMPORTED.findall(text))
    for word in _words(text, runs):
        plain = _SET_ELSEWHERE.sub("*", word).strip()
        if re.search(r"[*?\[{]", plain):
            patterns[plain] = None
            continue
        is_path = "/" in plain or "." in plain.strip(".") or plain in imported
        for path in _by_path(plain, places, tree, _ENDS if is_path else _ENDS[:1]) or _by_name(plain, tree):
            found[path] = True
        for place in places:
            folder = resolved(plain, place) if plain.strip("./") else None
            if folder and folder in tree.folders:
                folders[folder] = None
    lists = _LISTS.search(text) is not None
    if lists and (not folders or _HERE.search(text)):
        folders |= dict.fromkeys(places)
    elif not lists and not all_folders:
        folders = {}
    for path in (*_fitting(list(patterns)[:MOST_PATTERNS], places, tree), *_scripts_below(folders, tree)):
        found.setdefault(path, False)
    return tuple(Mention(path, by_name) for path, by_name in list(found.items())[:MOST_FILES])


def _words(text: str, runs: Iterable[Run]) -> Iterable[str]:
    literal = ["".join(parts) for parts in _QUOTED.findall(text)]
    of_runs = [word for run in runs for word in (*run.before, *run.words, *run.reads) if len(word) < 300]
    return list(dict.fromkeys((*of_runs, *literal, *_WORD.findall(re.sub(r"['\"`\\]", " ", text)))))[:MOST_WORDS]


def _by_path(word: str, places: Sequence[str], tree: Tree, ends: Sequence[str] = _ENDS) -> list[str]:
    """The files that a word may name by a path, with an ending: relative to one of the places, or by the end of an absolute path."""
    relative = word.lstrip("/") if word.startswith("/") else re.sub(r"\A~/", "", word)
    names = [relative, *([relative.replace(".", "/")] if "/" not in relative else [])]
    for place in places:
        bases = [base for name in names if name and (base := resolved(name, place))]
        found = [path for base in bases for end in ends if (path := f"{base}{end}") in tree.files]
        if found:
            return found[:1] if found[0] in bases else found
    parts = relative.split("/")
    tails = ("/".join(parts[number:]) for number in range(1, len(parts) - 1))
    return next(([tail] for tail in tails if tail in tree.files), [])


def _by_name(word: str, tree: Tree) -> list[str]:
    """The files of this name, wherever they are; those without an ending only if they are programs."""
    name = word.rstrip("/").rpartition("/")[2]
    if not name.strip(".-_$"):
        return []
    same = [path for path in tree.named(name) if "." in name.strip(".") or tree.files[path].mode == PROGRAM]
    return same if len(same) <= MOST_OF_A_NAME else []


def _fitting(patterns: Sequence[str], places: Sequence[str], tree: Tree) -> Iterator[str]:
    """The files that fit one of the patterns: by path from one of the places, or by name. A pattern that fits everything is none."""
    full: list[str] = []
    for pattern in patterns:
        if not re.search(r"[\w.]", pattern.replace("*", "")):
            continue
        bases = {path for place in places if (path := resolved(pattern.removesuffix("/"), place))}
        full += map(globs.translated, sorted(bases))
        full += [f"(?:.*/)?{globs.translated(pattern)}"] if "/" not in pattern else []
    if not full:
        return
    matcher = re.compile("(?:" + "|".join(full) + r")\Z", re.DOTALL)
    yield from (path for path in tree.files if matcher.match(path))


def _scripts_below(folders: Iterable[str], tree: Tree) -> Iterator[str]:
    """The files below folders that look like scripts by ending or mode, then other code in folders that are not the root."""
    for folder in folders:
        below = tree.below(folder) if folder else tree.files
        yield from (path for path in below if is_script(path, tree))
    for folder in filter(None, folders):
        yield from [path for path in tree.below(folder) if is_code(path) and not is_script(path, tree)][:MOST_CODE]


def is_script(path: str, tree: Tree) -> bool:
    return path.endswith((".sh", ".bash", ".zsh", ".ksh")) or tree.files[path].mode == PROGRAM


def task_files(tools: Iterable[str], tree: Tree) -> tuple[str, ...]:
    """The files of the tree in which the tools find their tasks."""
    patterns = tuple(dict.fromkeys(pattern for tool in sorted(tools) for pattern in TASK_FILES.get(tool, ())))
    if not patterns:
        return ()
    matcher = globs.of_names_cached(patterns)
    found = (path for path in tree.files if matcher.match(path) and "node_modules/" not in path)
    return tuple(sorted(found, key=lambda path: (path.count("/"), path)))[:MOST_FILES]


_TASK_TABLE = re.compile(
    r"\[+(?:tool\.(?:hatch|pdm|rye|poe|taskipy|pixi|tox)\b|.*\b(?:tasks?|scripts|env|envs|testenv|env_run_base)\b)"
)


def task_text(path: str, text: str) -> str:
    """The part of a file that defines tasks: of a document with two uses, its scripts or the tables of the tools."""
    if path.endswith((".json", ".jsonc")):
        return "\n".join(re.findall(r"\"(?:scripts|tasks|targets|pipeline)\"\s*:\s*(\{(?:[^{}]|\{[^{}]*\})*\})", text))
    if path.endswith((".toml", "tox.ini", "setup.cfg")):
        tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
        return "".join(table for table in tables if _TASK_TABLE.match(table) or path.endswith("mise.toml"))
    return text
