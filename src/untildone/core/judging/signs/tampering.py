"""The tampering report: what in the agent's work could deceive a check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from untildone.core.judging import globs
from untildone.core.judging.checks.script_texts import judging_name
from untildone.core.judging.kinds.classify import has_test_name, is_cache
from untildone.core.judging.signs.red_flags import SKIPS_CALLERS, Flag, Place, SignKind, compiled, flags_for
from untildone.core.judging.survey import JudgeFile, Survey
from untildone.core.judging.tables import CI, INSTALLED, SETTINGS, TEST_FOLDERS, TEST_FOLDERS_OF_PROJECTS, Kind
from untildone.core.judging.trees import Tree, ancestors, parent, resolved
from untildone.core.values.printable import printable
from untildone.core.values.value import dataclass, replace

MOST_FILES = 2000
MOST_OF_A_KIND = 12
LONGEST_TEXT = 120

_CODE = globs.words(
    ".py .pyi .js .jsx .ts .tsx .mjs .cjs .mts .cts .vue .svelte .go .rs .java .kt .kts .scala .groovy .gradle .rb .php "
    ".c .cc .cpp .cxx .h .hpp .sh .bash .bats .mk .yml .yaml .ini .cfg .toml .json .xml .npmrc .yarnrc .env .rake .pl .lua .ex .exs "
    ".swift .cs"
)
_BARE = re.compile(r"(?:GNU)?[Mm]akefile|[Jj]ustfile|Rakefile|Jenkinsfile|\.envrc|\.env(?:\.\w+)?|\.npmrc|\.yarnrc")
_COMMENT = re.compile(r"\s*(?:#(?!\[|!)|//|\*|<!--|--\s)")
_PROGRAM = re.compile(
    r"(?:.*/)?(?:__main__\.py|main\.\w+|cli\.\w+|setup\.py|manage\.py|noxfile\.py|(?:bin|scripts?|tools?|hack|cmd|examples?|benchmarks?|docs?)/.*)\Z"
)
_OWN_MAIN = re.compile(
    r"\A#!|__name__\s*==\s*['\"]__main__|^package main\b|\bfn main\s*\(|\bvoid main\s*\(|require\.main === module",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of tampering."""

    kind: SignKind
    path: str
    sentence: str
    line: int | None = None
    text: str = ""
    """The line, shortened."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Facts that no tree contains."""

    git: tuple[tuple[str, str], ...] = ()
    """Changes inside `.git`: the path, and what it does in words."""
    ignored: tuple[str, ...] = ()
    """Ignored files that are new or changed."""


def report(start: Tree, claimed: Tree, survey: Survey, outside: Outside | None = None) -> tuple[Sign, ...]:
    """All signs, bounded: of each kind only the first few, and then how many more."""
    outside = outside or Outside()
    differing = sorted(path for path, file in claimed.files.items() if start.files.get(path) != file)
    signs = [
        *map(_of_judge_file, survey.changed),
        *(
            _of_judge_file(file)
            for file in survey.added
            if file.kind is Kind.SETTINGS and not file.needed and not file.merged
        ),
        *(_of_program(path) for path in survey.under_test),
        *_of_links(start, claimed, differing),
        *_of_lines(start, claimed, differing, survey),
        *(Sign(SignKind.GIT, path, f"{path}: {what}.") for path, what in outside.git),
        *_of_ignored(outside.ignored),
    ]
    return tuple(replace(sign, sentence=printable(sign.sentence)) for sign in _bounded(signs))


def skipping(start: Tree, claimed: Tree, survey: Survey) -> tuple[str, ...]:
    """Files of the product in which new lines skip the tests that call them, or expect these to fail."""
    judged = {file.path for file in (*survey.changed, *survey.added, *survey.approved)}
    differing = sorted(
        path for path, file in claimed.files.items() if path.endswith(".py") and start.files.get(path) != file
    )
    found = []
    for path in (path for path in differing[:MOST_FILES] if path not in judged):
        text = claimed.text(path)
        lines = added_lines(start.text(path), text) if place_of(path, text) in SKIPS_CALLERS.places else ()
        if any(compiled(SKIPS_CALLERS).search(line) for _, line in lines):
            found.append(path)
    return tuple(found)


def _bounded(signs: Iterable[Sign]) -> Iterator[Sign]:
    counts: Counter[SignKind] = Counter()
    for sign in signs:
        counts[sign.kind] += 1
        if counts[sign.kind] <= MOST_OF_A_KIND:
            yield sign
    for kind, count in counts.items():
        if count > MOST_OF_A_KIND:
            yield Sign(kind, "", f"{count - MOST_OF_A_KIND} more of the kind: {kind.value}.")


def _of_judge_file(file: JudgeFile) -> Sign:
    return Sign(
        SignKind.JUDGE_FILE, file.path, f"{file.path}: the agent's work has it {file.change.value}; {file.why}."
    )


def _of_program(path: str) -> Sign:
    return Sign(
        SignKind.JUDGE_FILE,
        path,
        f"{path}: the check runs it, and it changed; if it judges the work, name it with --protect.",
    )


def _of_links(start: Tree, claimed: Tree, differing: Iterable[str]) -> Iterator[Sign]:
    for path in differing:
        target = claimed.link(path)
        if target and resolved(target, parent(path)) is None:
            yield Sign(
                SignKind.LINK,
                path,
                f"{path} is a link to {target[:LONGEST_TEXT]}, outside of the workspace.",
                text=target[:LONGEST_TEXT],
            )
        elif target and path in start.files and not start.is_link(path):
            yield Sign(
                SignKind.LINK,
                path,
                f"{path} was a file and is a link to {target[:LONGEST_TEXT]}.",
                text=target[:LONGEST_TEXT],
            )


def _of_lines(start: Tree, claimed: Tree, differing: Iterable[str], survey: Survey) -> Iterator[Sign]:
    judged = {file.path: file.kind for file in (*survey.changed, *survey.added, *survey.approved)}
    scanned = [path for path in differing if _holds_code(path) and not is_cache(path) and not _is_installed(path)][
        :MOST_FILES
    ]
    start.fetch(scanned)
    claimed.fetch(scanned)
    for path in scanned:
        text = claimed.text(path)
        yield from flagged(path, start.text(path), text, place_of(path, text, judged.get(path)))


def _holds_code(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_list = re.search(r"(?:lock|\.min|-lock|\.bundle)\.\w+\Z|\.(?:snap|lock|map)\Z", name)
    return not is_list and (_suffix(path) in _CODE or _BARE.fullmatch(name) is not None)


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :] if "." in name else ""


def _is_installed(path: str) -> bool:
    return any(folder.rpartition("/")[2] in INSTALLED for folder in ancestors(path))


def place_of(path: str, text: str, kind: Kind | None = None) -> Place:
    """How a file is used: its kind as a judge file, else its name and whether it is a program of its own."""
    folders = {part.lower() for part in path.split("/")[:-1]}
    name = path.rpartition("/")[2]
    is_test = (
        has_test_name(path)
        or name in ("conftest.py", "tests.py")
        or folders & (TEST_FOLDERS | TEST_FOLDERS_OF_PROJECTS | {"spec", "testing"})
    )
    if kind is Kind.TEST or (is_test and _suffix(path) not in (".ini", ".toml", ".cfg", ".yml", ".yaml", ".json", "")):
        return Place.TEST
    if kind is not None or _is_settings(path):
        return Place.SETTINGS
    return Place.PROGRAM if _PROGRAM.match(path) or _OWN_MAIN.search(text) else Place.SOURCE


def _is_settings(path: str) -> bool:
    if _suffix(path) in (".sh", ".bash") and judging_name(path):
        return True
    rows = [row.patterns for row in (*SETTINGS, CI)]
    shared = (
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "package.json",
        "pom.xml",
        "build.gradle{.kts,}",
        "{GNU,}[Mm]akefile",
        "*.mk",
        "justfile",
    )
    return any(globs.of_names_cached(patterns).match(path) for patterns in (*rows, shared))


def flagged(path: str, before: str, after: str, place: Place) -> Iterator[Sign]:
    """The red flags in the lines that are new. A line that only moved is not new."""
    flags = flags_for(_suffix(path), place)
    added = dict(added_lines(before, after)) if flags else {}
    lines = after.splitlines()
    for number, line in added.items():
        window = f"{line}\n{added[number + 1]}" if number + 1 in added else line
        for flag in flags:
            found = compiled(flag).search(window)
            if found and found.start() <= len(line) and not _is_conditional(flag, lines, number):
                yield _of_flag(flag, path, number, line)
                break


_CONDITION = re.compile(r"\s*(?:\}\s*)?(?:if|elif|else|except|unless|while|case)\b")


def _is_conditional(flag: Flag, lines: list[str], number: int) -> bool:
    """Whether a skip stands below a condition, as honest ones do: a platform, a missing program."""
    return flag.kind is SignKind.SKIP and number > 1 and _CONDITION.match(lines[number - 2]) is not None


def _of_flag(flag: Flag, path: str, number: int, line: str) -> Sign:
    text = " ".join(line.split())[:LONGEST_TEXT]
    return Sign(flag.kind, path, f"{path}:{number}: a new line {flag.says}: {text}", number, text)


def added_lines(before: str, after: str) -> list[tuple[int, str]]:
    """The lines of `after` that are not in `before`, with their numbers; without comments and blank lines."""
    known = Counter(line.strip() for line in before.splitlines())
    added = []
    for number, line in enumerate(after.splitlines(), 1):
        key = line.strip()
        if known[key]:
            known[key] -= 1
        elif key and not _COMMENT.match(line):
            added.append((number, line))
    return added


_TELLING = re.compile(
    r"(?:.*/)?(?:(?:site|user)customize\.py|[^/]*\.pth|[^/]*\.egg-link|conftest\.py|pytest\.ini|entry_points\.txt|(?:\.?bin|\.bin)/[^/]+|\.npmrc)\Z"
)


def _of_ignored(paths: Iterable[str]) -> Iterator[Sign]:
    """Ignored files that runners load or that are programs. Others are counted elsewhere."""
    for path in paths:
        if _TELLING.match(path) and not is_cache(path):
            yield Sign(
                SignKind.IGNORED, path, f"{path}: git ignores it, it is new or changed, and checks may load or run it."
            )
