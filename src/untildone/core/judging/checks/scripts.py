"""What the check commands name and run: scripts, recipes, package scripts, programs. Two or three levels deep, best effort."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from untildone.core.judging import globs
from untildone.core.judging.checks import makefiles, mentions, operands, references
from untildone.core.judging.checks.commands import Run, runs_of
from untildone.core.judging.checks.given import GIVEN, Given, use_of_given
from untildone.core.judging.checks.likeness import DEEPEST, MAKEFILES, Likeness, programs_in
from untildone.core.judging.checks.run_words import (
    INTERPRETERS,
    PYTHONS,
    SERVE_AND_TEST,
    SHELLS,
    build_files,
    file_of,
    folder_of,
    module_of,
    option_of,
    options_of,
    programs_built,
    script_names,
    script_of,
    search_folders,
    targets_of,
    values_of,
    with_single_options,
)
from untildone.core.judging.checks.script_texts import (
    COMPARING,
    GIVES_UP,
    JUDGING_CODE,
    LAUNCHES_TESTS,
    RUNS_EXAMPLES,
    SHEBANG,
    TEST_PROGRAM,
    commands_of,
    is_for_developers,
    is_shell_script,
    judging_name,
    just_recipes,
    matching_scripts,
    module_paths,
    package_scripts,
    sources_of,
)
from untildone.core.judging.globs import words
from untildone.core.judging.tables import CHECKERS, RUNNERS, Kind, Language
from untildone.core.judging.trees import PROGRAM, Tree, parent, resolved
from untildone.core.values.value import dataclass, replace

MOST_COMMANDS = 500
JUSTFILES = ("justfile", ".justfile", "Justfile")

_MAKES = words("make gmake bmake remake")
_LAUNCHERS = words(
    "setarch linux32 linux64 prlimit chrt script strace ltrace valgrind gdb rr perf parallel find busybox coproc trap su runuser "
    "watch entr hyperfine faketime firejail bwrap unshare nsenter chroot numactl systemd-run "
    "catchsegv tclsh groovy Rscript R julia function"
)
"""Programs that run one of the files that they are given, or a command in one of their words."""
_PIPED = re.compile(r"\bcat\s+([\w./@+-]+)\s*\|\s*(?:\S*/)?((?:ba|da|z|k)?sh|python[\d.]*|make)\b")
_MANAGERS = words("npm pnpm yarn bun")
_RUNS_SCRIPTS = words("run-s run-p npm-run-all turbo nx lerna wsrun ultra concurrently") | frozenset(SERVE_AND_TEST)
"""Programs that run scripts of `package.json` by their names."""
_NOT_OF_A_TREE = SHELLS | INTERPRETERS | _MAKES | _MANAGERS
"""Programs whose names a file of the tree may have, as in `tools/npm test`."""
_VERBS = words("make just task go ant tap tape ava pest mill ward trial behave robot bun prove diff cmp black meson")
"""Programs whose names are words that a product may take as commands."""
_EVERYWHERE = words(
    "-r --recursive --workspaces -ws workspaces workspace -w --workspace -F --filter turbo nx lerna wsrun ultra"
)
MOST_PACKAGES = 200

_COMPILERS = re.compile(r"(?:[\w-]+-)?(?:cc|gcc|g\+\+|c\+\+|clang|clang\+\+|tcc)(?:-[\d.]+)?\Z")


@dataclass(frozen=True, slots=True)
class Named:
    """A file that a check names or runs."""

    kind: Kind
    why: str


@dataclass(frozen=True, slots=True)
class Place:
    """A test runner and the folder in which it runs."""

    language: Language | None
    """None: what it runs is not known."""
    folder: str


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a command comes from."""

    by: str
    """The check or the script, in words."""
    depth: int = 0
    is_new: bool = True
    """Whether it was given by the person or written by the agent, not by a script that was there at the start."""
    is_line: bool = False
    """Whether the command is one line of a script that is read as a whole too."""


@dataclass(frozen=True, slots=True)
class CheckFiles:
    """Everything that the checks name and run."""

    named: dict[str, Named]
    tools: frozenset[str]
    """The programs that they run."""
    places: tuple[Place, ...]
    package_scripts: frozenset[tuple[str, str]]
    """Scripts of a `package.json`, as its path and the script's name; the path `*` stands for every `package.json`."""
    targets: dict[str, frozenset[str]]
    """Targets of Makefiles, by the path of the Makefile."""
    included: dict[str, tuple[str, ...]]
    """The files of the start that these Makefiles include."""
    test_folders: frozenset[str]
    """Folders that a check gives to a program which finds nothing but tests in them."""
    filled: frozenset[tuple[str, str]]
    """Folders of which a check runs all scripts with an ending."""
    missing: frozenset[str]
    """What the checks need and what was not there at the start: they mean what the agent wrote there."""
    under_test: frozenset[str]
    """Programs of the workspace whose exit code decides a check and that look like the product, not like its judge."""
    built: dict[str, str]
    """Paths that make takes for the result of a target, each with the Makefile. If one is there, make may do nothing."""


def check_files(commands: Iterable[str], start: Tree, claimed: Tree, folder: str = "") -> CheckFiles:
    """Follow the commands through the scripts as they were at the start; a script that is new is read as claimed."""
    reader = _Reader(start, claimed)
    for command in commands:
        reader.command(command, folder, _Origin(f"the check `{_short(command)}`"))
    return reader.result()


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 60 else line[:59] + "…"


class _Reader:
    """Collects what commands name, level by level."""

    def __init__(self, start: Tree, claimed: Tree) -> None:
        self._start = start
        self._claimed = claimed
        self._named: dict[str, Named] = {}
        self._tools: set[str] = set()
        self._places: dict[Place, None] = {}
        self._package_scripts: set[tuple[str, str]] = set()
        self._targets: dict[str, set[str]] = {}
        self._included: dict[str, tuple[str, ...]] = {}
        self._test_folders: set[str] = set()
        self._filled: set[tuple[str, str]] = set()
        self._missing: set[str] = set()
        self._under_test: set[str] = set()
        self._built: dict[str, str] = {}
        self._compiled: dict[str, tuple[str, ...]] = {}
        """The sources with a test program, by the program that is compiled from them."""
        self._done: set[tuple[str, str]] = set()
        self._read: set[str] = set()
        """Files whose mentions were followed."""
        self._likeness = Likeness(start)

    def result(self) -> CheckFiles:
        self._read_task_files()
        return CheckFiles(
            self._named,
            frozenset(self._tools),
            tuple(self._places),
            frozenset(self._package_scripts),
            {path: frozenset(targets) for path, targets in self._targets.items()},
            self._included,
            frozenset(self._test_folders),
            frozenset(self._filled),
            frozenset(self._missing),
            frozenset(self._under_test - set(self._named)),
            self._built,
        )

    def command(self, command: str, folder: str, origin: _Origin) -> None:
        if origin.depth > DEEPEST or (command, folder) in self._done or len(self._done) >= MOST_COMMANDS:
            return
        self._done.add((command, folder))
        runs = runs_of(command, folder)
        for path in operands.compared_with(runs, self._start):
            self._name(path, Kind.TEST, f"{origin.by} compares with it", origin)
        for path in operands.argument_files(command, folder):
            if self._exists(path):
                self._name(path, Kind.SETTINGS, f"{origin.by} takes arguments from it", origin)
        for run in operands.printing_words(runs):
            if (printer := resolved(file_of(run), run.folder)) and self._exists(printer):
                self._name(
                    printer, Kind.SCRIPT, f"{origin.by} takes words for a test runner from what it prints", origin
                )
        for name, program in _PIPED.findall(command):
            self._run(Run((program, "-f", name) if program == "make" else (program, name), folder), origin)
        for run in runs:
            self._run(run, origin)
            self._around(run, origin)
        for run in operands.added_options(command, folder):
            self._arguments(run, origin)
        for path in mentions.loaded_by_variables(command, (folder,), self._start):
            self._name(path, Kind.SETTINGS, f"{origin.by} makes programs load it", origin)
        if not origin.is_line and not mentions.are_understood(command, runs, self._start):
            entries = (f"import {each}" for each in operands.entry_points(runs, self._start))
            self._mentioned("\n".join((command, *entries)), runs, (folder, "src"), origin)

    def _mentioned(self, text: str, runs: Iterable[Run], places: tuple[str, ...], origin: _Origin) -> None:
        """Name what a text mentions and looks like a judge: what the text does with it is not known."""
        runs, decides = tuple(runs), not mentions.judges_itself(text)
        known = {resolved(word, run.folder) for run in runs if (word := file_of(run))}
        found = mentions.mentioned(text, runs, places, self._start)
        self._start.fetch(each.path for each in found)
        for each in found:
            judges = each.path not in known and self._likeness.is_like_judge(
                each.path, by_name=each.by_name, decides=decides
            )
            if judges and not each.by_name and parent(each.path):
                self._filled.add((parent(each.path), _suffix(each.path)))
            if judges and each.path not in self._read:
                self._name(each.path, Kind.SCRIPT, f"{origin.by} mentions it, and it looks like a judge", origin)
                self._follow_script(each.path, self._start.text(each.path), Run((each.path,), places[0]), origin)

    def _follow_script(self, path: str, text: str, run: Run, origin: _Origin) -> None:
        """Read the commands of a script, or the text of a program that judges."""
        self._read.add(path)
        self._tools.update(("doctest",) if RUNS_EXAMPLES.search(text) else ())
        inner = _Origin(f"`{path}`", origin.depth + 1, origin.is_new and path not in self._start.files)
        if is_shell_script(path, text, run):
            self._follow(commands_of(path, text, run), run.folder, path, origin, has_whole=True)
        elif origin.depth < DEEPEST:
            for file in sorted(filter(self._likeness.launches, references.imports(path, text, self._start))):
                self._name(file, Kind.SCRIPT, f"`{path}` uses it, and it starts tests", inner)
            self._mentioned(text, (), (run.folder, parent(path)), inner)

    def _read_task_files(self) -> None:
        """Read what programs that run tasks find in the tree by themselves."""
        for _ in range(DEEPEST):
            found = [path for path in mentions.task_files(self._tools, self._start) if path not in self._read]
            if not found:
                return
            self._read.update(found)
            self._start.fetch(found)
            for path in found:
                text = mentions.task_text(path, self._start.text(path))
                self._mentioned(text, (), (parent(path),), _Origin(f"`{path}`", 1, is_new=False))

    def _around(self, run: Run, origin: _Origin) -> None:
        """What the words around a program name: tasks, plugins, files with variables; and what a compiler makes."""
        output = resolved(option_of(run, "-o"), run.folder) if _COMPILERS.match(run.program) else None
        if output:
            words = [word for operand in run.operands for word in (operand, *sources_of(operand))]
            sources = [path for word in words if (path := resolved(word, run.folder)) in self._start.files]
            self._compiled[output] = tuple(path for path in sources if path and TEST_PROGRAM.search(self._view(path)))
        for path, command in operands.tasks(run, self._start):
            self._follow([command], run.folder, path, origin)
        for path in operands.environment_files(run):
            if self._exists(path):
                self._name(path, Kind.SETTINGS, f"{origin.by} takes variables from it", origin)
        for path in operands.modules_of_tests(run, self._start):
            self._name(path, Kind.TEST, f"{origin.by} names it", origin)
        for module in operands.plugins(run):
            for path in references.module_files(module, (run.folder, "", "src", "tests"), self._start):
                self._name(path, Kind.SETTINGS, f"{origin.by} makes pytest load it", origin)

    def _follow(
        self, commands: Iterable[str], folder: str, script: str, origin: _Origin, *, has_whole: bool = False
    ) -> None:
        """Read the commands of a script. If no test runner is among them, it is not known what the script runs. `has_whole`: the first
        of the commands is the whole script, the others are its lines."""
        known = len(self._places)
        is_new = script not in self._start.files or script in self._missing
        for number, command in enumerate(commands):
            is_line = has_whole and number > 0
            self.command(command, folder, _Origin(f"`{script}`", origin.depth + 1, is_new, is_line))
        if len(self._places) == known:
            self._places.setdefault(Place(None, folder), None)

    def _run(self, run: Run, origin: _Origin) -> None:
        program = run.program
        self._note_tool(run)
        if "/" in run.words[0] and (program in _NOT_OF_A_TREE or PYTHONS.match(program)):
            self._program(run.words[0], run, origin)
        if program in SHELLS:
            self._program(script_of(run), run, origin)
        elif PYTHONS.match(program):
            self._python(run, origin)
        elif program in INTERPRETERS and not self._is_package_manager(run):
            self._interpreted(run, origin)
        elif program in ("cargo", "go"):
            self._built_program(run, origin)
        elif program in _MAKES:
            self._make(run, origin)
        elif program in _MANAGERS | _RUNS_SCRIPTS:
            self._package_manager(run, origin)
        elif program == "just":
            self._just(run, origin)
        elif program in ("tox", "nox"):
            self._tox(run, origin)
        else:
            self._other(run, origin)
        for path in build_files(run):
            if self._exists(path):
                self._name(path, Kind.SCRIPT, f"{origin.by} makes {program} read it", origin)
        self._arguments(run, origin)

    def _interpreted(self, run: Run, origin: _Origin) -> None:
        name = option_of(run, "--run") if run.program in ("node", "nodejs") else ""
        if name:
            self._package_script(f"{run.folder}/package.json".lstrip("/"), name, run.folder, origin)
        else:
            self._program(script_of(run), run, origin)

    def _built_program(self, run: Run, origin: _Origin) -> None:
        """The program of the tree that `cargo run` builds. It may hold tests of the product: only its name and what it starts count. And
        programs through which `go test` runs what it builds."""
        for word in (word for value in options_of(run, "-exec", "-toolexec", "-vettool") for word in value.split()[:1]):
            if (path := resolved(word, run.folder)) and self._exists(path):
                self._name(path, Kind.SCRIPT, f"{origin.by} makes {run.program} run it", origin)
        for path in (resolved(name, run.folder) for name in options_of(run, "-overlay")):
            if path and self._exists(path):
                self._name(path, Kind.SETTINGS, f"{origin.by} makes {run.program} read it", origin)
        for path in programs_built(run, self._start) if run.words[1:2] in (("run",), ("r",)) else ():
            stem = path.rpartition("/")[2].partition(".")[0]
            if judging_name(parent(path) if stem == "main" else path) or LAUNCHES_TESTS.search(self._view(path)):
                self._name(path, Kind.SCRIPT, f"{origin.by} runs it", origin)

    def _other(self, run: Run, origin: _Origin) -> None:
        """A program of which nothing is known but its name or path."""
        if run.program in _LAUNCHERS:
            files = tuple(" ".join(word for word in run.words[1:] if "$(" not in word).split())
        elif "/" in run.words[0]:
            files = run.words[:1]
        else:
            files = tuple(f"{folder}/{run.words[0]}" for folder in search_folders(run))
        for file in files:
            self._program(file, run, origin)

    def _note_tool(self, run: Run) -> None:
        tools = {run.program, run.program.removesuffix(".cmd"), *operands.wrappers(run)}
        if operands.runs_doctests(run):
            tools.add("doctest")
        if operands.runs_sphinx_doctests(run):
            tools.add("sphinx-doctest")
        if PYTHONS.match(run.program) and "-m" in run.words[:-1]:
            tools.add(run.words[run.words.index("-m") + 1].partition(".")[0])
        if (
            run.program in ("cargo", "go", "deno", "bun", "rails", "npx", "docker", "podman", "nix")
            and len(run.words) > 1
        ):
            tools.add(run.words[1])
        if PYTHONS.match(run.program) and "test" in run.words[2:]:
            tools |= {name for word in run.words[1:] if (name := word.rpartition("/")[2]) in ("manage.py", "setup.py")}
        if run.program in ("node", "nodejs") and "--test" in run.words:
            tools.add("node-test")
        self._tools |= tools
        languages = {RUNNERS[tool] for tool in tools if tool in RUNNERS}
        for language in languages:
            self._places[Place(language, folder_of(run))] = None

    def _view(self, path: str) -> str:
        return self._start.text(path) if path in self._start.files else self._claimed.text(path)

    def _exists(self, path: str) -> bool:
        return path in self._start.files or path in self._claimed.files

    def _name(self, path: str, kind: Kind, why: str, origin: _Origin) -> None:
        """A file that a script of the start names and that was not there then was not needed: it may be optional."""
        self._named.setdefault(path, Named(kind, why))
        if path not in self._start.files and origin.is_new:
            self._missing.add(path)

    def _program(self, word: str, run: Run, origin: _Origin) -> None:
        """A file that is run: a judge, if it looks like one and its exit code decides; else the product under test."""
        path = resolved(word, run.folder) if word else None
        for source in self._compiled.get(path or "", ()) if run.decides else ():
            self._name(source, Kind.TEST, f"{origin.by} compiles it to the test program `{word}`", origin)
        given = run.words[run.words.index(word) + 1 :] if word in run.words else run.words[1:]
        for found in self._meant(path) if path else ():
            self._started(found, run, origin, given)

    def _meant(self, path: str) -> list[str]:
        """The files that a word means: that of its name, what a folder runs, or all that a pattern fits."""
        if re.search(r"[*?\[]", path):
            return self._matching([path], "")
        ends = ("", "/__main__.py", "/index.js", ".js")
        return [found for end in ends if self._exists(found := f"{path}{end}")][:1]

    def _started(self, path: str, run: Run, origin: _Origin, given: tuple[str, ...] = ()) -> None:
        """`given` are the words after the program: it may run these."""
        text = self._view(path)
        if self._runs_judge(path, text, run, given):
            self._command_given(run, given, origin)
            text = GIVEN.sub(lambda _: _line_of(given), text)
        elif not run.decides:
            # What it prints is judged by another program, unless it runs the tests.
            if not (
                is_shell_script(path, text, run) and self._likeness.is_like_judge(path, by_name=True, decides=False)
            ):
                return
        elif not self._judges(path, text, run):
            self._under_test.add(path)
            return
        self._name(path, Kind.SCRIPT, f"{origin.by} runs it", origin)
        self._interpreter(path, text, run, origin)
        self._beside_runner(path, origin)
        self._follow_script(path, text, run, origin)

    def _runs_judge(self, path: str, text: str, run: Run, given: tuple[str, ...]) -> bool:
        """Whether a program passes on a command that judges."""
        is_shell = is_shell_script(path, text, run)
        use = use_of_given(text, given[0], is_shell=is_shell) if given else Given.KEPT
        if use is Given.KEPT:
            return False
        runs = runs_of(_line_of(given), run.folder)
        files = (file for each in runs if (file := resolved(file_of(each), each.folder)) and self._exists(file))
        return any(_is_checker(each, use, is_shell=is_shell) for each in runs) or any(
            self._can_be_run(file, given, use) and self._likeness.is_like_judge(file, by_name=True, decides=True)
            for file in files
        )

    def _can_be_run(self, file: str, given: tuple[str, ...], use: Given) -> bool:
        """Whether a program may run a file that it is given; else it only reads it."""
        if use is Given.INTERPRETED or not given[0].endswith(file.rpartition("/")[2]):
            return True
        entry = self._start.files.get(file) or self._claimed.files[file]
        return entry.mode == PROGRAM or self._view(file).startswith("#!")

    def _command_given(self, run: Run, given: tuple[str, ...], origin: _Origin) -> None:
        for each in runs_of(_line_of(given), run.folder):
            self._run(replace(each, decides=run.decides), origin)
            self._around(each, origin)

    def _interpreter(self, path: str, text: str, run: Run, origin: _Origin) -> None:
        """What runs a script of the tree is a judge as the script is."""
        named = SHEBANG.match(text)
        program = resolved(named[1], run.folder) if named and "/" in named[1] else None
        if program and self._exists(program) and program != path:
            self._name(program, Kind.SCRIPT, f"it runs `{path}`", origin)

    def _beside_runner(self, path: str, origin: _Origin) -> None:
        """Name all files of a test runner that lies in the tree, as in `tools/bats/bin/bats`."""
        folder, _, name = path.rpartition("/")
        above = folder.removesuffix("bin").rstrip("/")
        if name in RUNNERS and folder.endswith("/bin"):
            for file in self._start.below(above):
                self._name(file, Kind.SCRIPT, f"it is a part of the `{name}` that {origin.by} runs", origin)

    def _judges(self, path: str, text: str, run: Run) -> bool:
        is_read = run.program in ("source", ".")
        if is_read or judging_name(path) or path in self._named or path.rpartition("/")[2] in RUNNERS:
            return True
        if not is_shell_script(path, text, run):
            gives_up = is_for_developers(path) and GIVES_UP.search(text) is not None
            return gives_up or JUDGING_CODE.search(text) is not None or self._likeness.mentions_judge(path, text)
        if COMPARING.search(text) or programs_in(text) & CHECKERS:
            return True
        return self._likeness.mentions_judge(path, text)

    def _python(self, run: Run, origin: _Origin) -> None:
        words = run.words
        if position := module_of(run):
            folders = (run.folder, *search_folders(run, "PYTHONPATH"))
            for path in (path for folder in folders for path in module_paths(words[position], folder)):
                is_package = path.endswith("/__init__.py")
                if path in self._start.files and (not is_package or self._judges(path, self._view(path), run)):
                    self._started(path, run, origin, words[position + 1 :])
        elif "-c" not in words[1:4]:
            self._program(script_of(run), run, origin)

    def _make(self, run: Run, origin: _Origin) -> None:
        run = with_single_options(run)
        folder = folder_of(run)
        chosen = [name if name != "-" else "".join(run.reads) for name in options_of(run, "-f", "--file", "--makefile")]
        for path in [
            path for name in (*chosen[:-1], *search_folders(run, "MAKEFILES")) if (path := resolved(name, folder))
        ]:
            if self._exists(path):
                self._name(path, Kind.SCRIPT, f"{origin.by} makes make read it", origin)
        # Recipes may run what variables of the command line name.
        self._mentioned("\n".join(values_of(run)), (), (folder,), origin)
        names = chosen[-1:] or MAKEFILES
        paths = [path for name in names if (path := resolved(name, folder))]
        for path in self._recipe_files(paths, f"{origin.by} runs make, which reads it", origin):
            self._recipes(path, targets_of(run), folder, origin)

    def _recipe_files(self, paths: Iterable[str], why: str, origin: _Origin) -> list[str]:
        """Name all files from which a program may read its recipes, and return the one that it reads. The one of the start counts; a new
        one beside it would take its place."""
        at_start = [path for path in paths if path in self._start.files]
        claimed = [path for path in paths if path in self._claimed.files]
        for path in dict.fromkeys((*at_start, *claimed)):
            self._name(path, Kind.SCRIPT, why, _Origin(origin.by, origin.depth, origin.is_new and not at_start))
        return (at_start or claimed)[:1]

    def _recipes(self, path: str, targets: tuple[str, ...], folder: str, origin: _Origin) -> None:
        self._targets.setdefault(path, set()).update(targets)
        makefile = self._makefile(path, self._view(path), folder)
        if path in self._start.files and not all(self._may_make(makefile, target, folder) for target in targets):
            self._missing.add(path)
            makefile = self._makefile(path, self._claimed.text(path), folder)
        is_new = path not in self._start.files or path in self._missing
        for included in self._matching(makefiles.includes(makefile), folder):
            self._name(included, Kind.SCRIPT, f"`{path}` includes it", _Origin(origin.by, origin.depth, is_new))
        files = [resolved(target, folder) for target in makefiles.file_targets(makefile, targets)]
        self._built.update({file: path for file in files if file})
        for shell in (file for name in makefiles.shells(makefile) if (file := resolved(name, folder))):
            if self._exists(shell):
                self._name(shell, Kind.SCRIPT, f"`{path}` runs all recipes with it", origin)
        self._follow(makefiles.recipes(makefile, targets), folder, path, origin)
        is_followed = any(makefiles.closure(makefile, (target,)) for target in targets)
        self._mentioned("\n".join(makefile.directives) if is_followed else self._view(path), (), (folder,), origin)

    def _makefile(self, path: str, text: str, folder: str) -> makefiles.Makefile:
        """A Makefile with the rules and variables of the files of the start that it includes."""
        included: dict[str, str] = {}
        for _ in range(DEEPEST):
            found = self._matching(makefiles.includes(makefiles.parsed("\n".join((text, *included.values())))), folder)
            included |= {name: self._start.text(name) for name in found if name in self._start.files and name != path}
        if path in self._start.files:
            self._included.setdefault(path, tuple(included))
        return makefiles.parsed("\n".join((text, *included.values())))

    def _may_make(self, makefile: makefiles.Makefile, target: str, folder: str) -> bool:
        base = f"{folder}/{target}" if folder else target
        return makefiles.may_make(
            makefile, target, has_source=any(source in self._start.files for source in sources_of(f"{base}.o"))
        )

    def _matching(self, names: Iterable[str], folder: str) -> list[str]:
        """The files of both trees that an `include` names, with or without a pattern."""
        patterns = [globs.translated(path) for name in names if (path := resolved(name, folder))]
        if not patterns:
            return []
        matcher = re.compile("(?:" + "|".join(patterns) + r")\Z")
        return [path for path in {**self._start.files, **self._claimed.files} if matcher.match(path)]

    def _is_package_manager(self, run: Run) -> bool:
        return run.program == "bun" and run.words[1:2] != ("test",)

    def _package_manager(self, run: Run, origin: _Origin) -> None:
        folder = folder_of(run)
        if run.program == "concurrently":
            self._concurrently(run, origin)
            return
        if any(word.partition("=")[0] in _EVERYWHERE for word in (run.program, *run.words)):
            self._everywhere(run, folder, origin)
            return
        path = f"{folder}/package.json" if folder else "package.json"
        for name in self._script_names(run, path):
            if "." in name and self._exists(resolved(name, run.folder) or ""):
                self._program(name, run, origin)
            else:
                self._package_script(path, name, folder, origin)

    def _everywhere(self, run: Run, folder: str, origin: _Origin) -> None:
        """Scripts of some or all packages of the tree."""
        self._package_scripts |= {("*", name) for name in script_names(run)}
        self._places.setdefault(Place(Language.JAVASCRIPT, folder), None)
        self._tools.add("lerna")
        for place in ("", *sorted(self._start.packages.values())[:MOST_PACKAGES]):
            path = f"{place}/package.json" if place else "package.json"
            scripts = package_scripts(self._start.text(path))
            for name in (name for name in script_names(run) if name in scripts):
                self._package_script(path, name, place, origin)

    def _script_names(self, run: Run, path: str) -> tuple[str, ...]:
        """The scripts that a package manager is asked for. If the first word is none of the package's, it belongs to an option."""
        known = package_scripts(self._start.text(path))
        names = tuple(name for word in script_names(run) for name in (matching_scripts(word, known) or (word,)))
        if run.program in SERVE_AND_TEST:
            return tuple(name for name in names if name in known)
        others = [word for word in run.operands if word in known]
        return names if not others or known.keys() & names or run.words[1] in ("exec", "x") else tuple(others[:1])

    def _concurrently(self, run: Run, origin: _Origin) -> None:
        """Commands, and scripts of the package as in `npm:test:*`."""
        for word in run.operands:
            manager, _, name = word.partition(":")
            is_script = manager in (*_MANAGERS, "node")
            self.command(f"npm run {name}" if is_script else word, run.folder, replace(origin, depth=origin.depth + 1))

    def _package_script(self, path: str, name: str, folder: str, origin: _Origin) -> None:
        self._package_scripts.add((path, name))
        at_start = package_scripts(self._start.text(path))
        if name not in at_start:
            self._missing.add(path)
        scripts = at_start if name in at_start else package_scripts(self._claimed.text(path))
        parts = [part for part in (f"pre{name}", name, f"post{name}") if part in scripts]
        self._package_scripts |= {(path, part) for part in parts}
        self._follow([scripts[part] for part in parts], folder, path, origin)

    def _just(self, run: Run, origin: _Origin) -> None:
        folder = folder_of(run)
        paths = [f"{folder}/{name}" if folder else name for name in JUSTFILES]
        for path in self._recipe_files(paths, f"{origin.by} runs just, which reads it", origin):
            self._follow(just_recipes(self._view(path)), folder, path, origin)

    def _tox(self, run: Run, origin: _Origin) -> None:
        path = f"{run.folder}/tox.ini" if run.folder else "tox.ini"
        for block in re.findall(r"^commands\s*=((?:.*\n?)(?:[ \t]+.*\n?|\n)*)", self._view(path), re.MULTILINE):
            lines = [
                re.sub(r"\{(?:toxinidir|tox_root)\}/", "", line).strip().lstrip("- ") for line in block.splitlines()
            ]
            self._follow(lines, run.folder, path, origin)

    def _arguments(self, run: Run, origin: _Origin) -> None:
        """Files that the command names: settings and tests that a runner is given, and whatever has the name of a judge."""
        for word in run.words[1:]:
            value = word.partition("=")[2] if word.startswith("-") else word
            path = resolved(value.partition("::")[0], run.folder) if value else None
            if path and path in self._start.folders and _TAKE_FOLDERS & {run.program, *run.words[1:3]}:
                self._test_folders.add(path)
            if not path or not self._exists(path) or path in self._named:
                continue
            if self._is_setting(word, run):
                self._name(path, Kind.SETTINGS, f"{origin.by} names it", origin)
            elif judging_name(path) or (run.program in RUNNERS and JUDGING_CODE.search(self._view(path))):
                self._name(path, Kind.TEST, f"{origin.by} names it", origin)

    def _is_setting(self, word: str, run: Run) -> bool:
        """Whether the word is the value of an option that names settings, such as `-c FILE`."""
        position = run.words.index(word)
        option = word.partition("=")[0] if word.startswith("-") else run.words[position - 1]
        if run.program in ("karma", "wdio") and option in ("start", "run"):
            return True
        return run.program in _TAKE_SETTINGS and option in _SETTING_OPTIONS


_TAKE_SETTINGS = CHECKERS | words(
    "python python3 node wtr web-test-runner nightwatch testcafe cucumber-js codeceptjs gotestsum"
)
_TAKE_FOLDERS = words("behave robot pabot bats cucumber cucumber-js shellspec cram")
_SETTING_OPTIONS = words(
    "-c --config --config-file --rcfile --configuration --conf --settings --require -r --import --loader --setup-files --project "
    "--inifile --confcutdir --reporter --resolver --globalSetup --setupFiles --setupFilesAfterEnv"
)


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2] if "." in path.rpartition("/")[2] else ""


def _line_of(given: tuple[str, ...]) -> str:
    """The command that a script is given, as words or as one text."""
    return given[0] if len(given) == 1 else shlex.join(given)


def _is_checker(run: Run, use: Given, *, is_shell: bool) -> bool:
    """Whether a command that a program is given judges. A product may have commands of its own with the names of judges: it is no judge
    if it does not run what it is given, or only what comes after a word of its own."""
    if use is Given.INTERPRETED and "--test" in run.words[:2]:
        return True
    begins = (
        (is_shell and use is not Given.HANDED_ON)
        or run.words[0].startswith("-")
        or PYTHONS.match(run.program)
        or run.program in INTERPRETERS
    )
    named = CHECKERS.intersection((run.program, *run.words[1:3]) if begins else (run.program,))
    return bool(named if use is Given.RUN else named - _VERBS)
