"""What a reviewer is shown of the work: signs of tampering, the list of changed files, then the diff, and what was left out.

The worker decides what it changes, so it must not decide what is seen: files that judge come first, then source, then other text,
generated files last; large files share the space that small ones leave, so that none pushes another out without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum

from untildone.core.values.printable import printable
from untildone.core.values.value import dataclass

MOST_CHARACTERS = 150_000
"""Of the diff."""
LEAST_SHARE = 400
"""A file of which fewer characters could be shown is left out and counted instead."""
MOST_LISTED = 300
MOST_SIGNS = 60


class Rank(IntEnum):
    """The order in which files are shown."""

    JUDGE = 0
    SOURCE = 1
    OTHER = 2
    GENERATED = 3


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that differs from the start of the loop."""

    path: str
    how: str = "changed"
    """`new`, `changed` or `deleted`."""
    insertions: int = 0
    deletions: int = 0
    binary: bool = False
    judges: bool = False
    """Whether it decides what a check means."""

    @property
    def lines(self) -> int:
        return self.insertions + self.deletions


@dataclass(frozen=True, slots=True)
class Work:
    """Everything that is known of the agent's work."""

    files: tuple[Changed, ...] = ()
    patches: Mapping[str, str] | None = None
    """The diff of each file, by path; None: there is none to show."""
    signs: tuple[str, ...] = ()
    """The tampering report."""
    hidden: tuple[str, ...] = ()
    """Files that are new or changed and that ignore rules keep out of the diff."""
    problem: str = ""
    """Why it is not known what changed; empty: it is known."""


_GENERATED = re.compile(
    r"(?:^|/)(?:node_modules|vendor|dist|build|target|\.venv|venv|__snapshots__|__pycache__|site-packages|coverage)/"
    r"|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|poetry\.lock|uv\.lock|pdm\.lock"
    r"|Pipfile\.lock|Cargo\.lock|Gemfile\.lock|composer\.lock|go\.sum|flake\.lock|mix\.lock|pubspec\.lock|packages\.lock\.json)$"
    r"|\.min\.(?:js|css)$|\.map$|\.snap$|_pb2(?:_grpc)?\.pyi?$|\.pb\.go$|\.generated\.\w+$|\.lock$"
)
_TEXT = re.compile(
    r"\.(?:md|txt|rst|adoc|json|jsonl|csv|tsv|xml|svg|html?|log|po|pot|ipynb|tex|sql|diff|patch)$|(?:^|/)[A-Z]+$"
)


def rank(file: Changed) -> Rank:
    if file.judges:
        return Rank.JUDGE
    if file.binary or _GENERATED.search(file.path):
        return Rank.GENERATED
    return Rank.OTHER if _TEXT.search(file.path) else Rank.SOURCE


def text(work: Work) -> str:
    """The part of a reviewer's prompt about the work."""
    if work.problem:
        return f"What changed in the workspace is not known: {work.problem}"
    parts = (*_signs(work.signs), *_listed(work), *_diff(work))
    return "\n\n".join(parts)


def _signs(signs: tuple[str, ...]) -> Iterator[str]:
    if signs:
        rows = [f"- {printable(sign)}" for sign in signs[:MOST_SIGNS]]
        more = [f"- and {len(signs) - MOST_SIGNS:,} more"] if len(signs) > MOST_SIGNS else []
        yield "\n".join(("Found in the agent's work by untildone itself; look at these first:", *rows, *more))


def _listed(work: Work) -> Iterator[str]:
    files = sorted(work.files, key=lambda file: (rank(file), file.path))
    if not files:
        yield "Nothing changed in the workspace since the loop began."
    else:
        added, removed = sum(file.insertions for file in files), sum(file.deletions for file in files)
        head = f"What changed in the workspace since the loop began: {_count(len(files), 'file')} (+{added:,} −{removed:,})."
        judges = [file for file in files if file.judges]
        if judges:
            yield "\n".join(
                (
                    head,
                    "Files that decide what a check means (tests, settings of test runners, scripts):",
                    *_rows(judges),
                )
            )
            head = "Other files:"
        others = [file for file in files if not file.judges]
        if others:
            yield "\n".join((head, *_rows(others)))
    if work.hidden:
        rows = [f"- {plain(path)}" for path in work.hidden[:MOST_LISTED]]
        yield "\n".join(
            ("New or changed, ignored by git and so not in the diff:", *rows, *_more(work.hidden[MOST_LISTED:]))
        )


def _rows(files: Sequence[Changed]) -> Iterator[str]:
    for file in files[:MOST_LISTED]:
        size = "binary" if file.binary else f"+{file.insertions:,} −{file.deletions:,}"
        yield f"- {plain(file.path)} ({file.how}, {size})"
    yield from _more([file.path for file in files[MOST_LISTED:]])


def _more(paths: Sequence[str]) -> Iterator[str]:
    """One row for the files that are too many to list: how many, and in which folders."""
    if not paths:
        return
    folders: dict[str, int] = {}
    for path in paths:
        top = path.partition("/")[0] + "/" if "/" in path else "the top folder"
        folders[top] = folders.get(top, 0) + 1
    most = sorted(folders.items(), key=lambda item: -item[1])[:10]
    yield f"- and {_count(len(paths), 'more file')}: " + ", ".join(
        f"{number:,} in {plain(name)}" for name, number in most
    )


def _diff(work: Work) -> Iterator[str]:
    if work.patches is None or not work.files:
        return
    shares = _shares(work.files, work.patches)
    shown = [file for file in sorted(work.files, key=lambda file: (rank(file), file.path)) if shares.get(file.path)]
    sections = [_section(file, work.patches[file.path], shares[file.path]) for file in shown]
    body = "\n".join(sections)
    if body:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
        yield f"The diff:\n{fence}diff\n{body}\n{fence}"
    left_out = [file for file in work.files if not file.binary and file.lines and not shares.get(file.path)]
    if left_out:
        lines = sum(file.lines for file in left_out)
        names = [file.path for file in sorted(left_out, key=lambda file: -file.lines)]
        listed = ", ".join(f"{plain(name)}" for name in names[:20]) + (" and others" if len(names) > 20 else "")
        yield f"Left out of the diff: {_count(len(left_out), 'file')} with {_count(lines, 'line')}: {listed}. Read them in the files."


def _section(file: Changed, patch: str, share: int) -> str:
    """The diff of one file; of a long one the beginning, whole lines, and how much is missing."""
    patch = patch.rstrip("\n")
    if len(patch) <= share:
        return patch
    kept = patch[:share].rpartition("\n")[0] or patch[:share]
    missing = patch[len(kept) :].count("\n") or 1
    return f"{kept}\n[… {_count(missing, 'more line')} of {plain(file.path)} left out: read them in the file]"


def _shares(files: Iterable[Changed], patches: Mapping[str, str]) -> dict[str, int]:
    """How many characters of each file's diff are shown, rank by rank."""
    shares: dict[str, int] = {}
    ranked = [(rank(file), file.path) for file in files if patches.get(file.path, "").strip()]
    for order, most in _MOST.items():
        sizes = sorted((min(len(patches[path]), most.each), path) for each, path in ranked if each is order)
        shares |= _fair(sizes, max(0, most.so_far - sum(shares.values())))
    return shares


@dataclass(frozen=True, slots=True)
class _Most:
    """How many characters files of one rank may have."""

    so_far: int
    """Together with those before."""
    each: int = MOST_CHARACTERS


_MOST = {
    Rank.JUDGE: _Most(MOST_CHARACTERS // 2),
    Rank.SOURCE: _Most(MOST_CHARACTERS * 6 // 7),
    Rank.OTHER: _Most(MOST_CHARACTERS),
    Rank.GENERATED: _Most(MOST_CHARACTERS, 2_000),
}
"""Each rank gets what those before it leave, and none takes all: something is left for the next."""


def _fair(sizes: Sequence[tuple[int, str]], budget: int) -> dict[str, int]:
    """The budget shared out among files, smallest first: each gets what it needs, or an equal part of what is left."""
    shares: dict[str, int] = {}
    for place, (size, path) in enumerate(sizes):
        share = min(size, budget // (len(sizes) - place))
        if share < min(size, LEAST_SHARE):
            share = min(size, LEAST_SHARE) if budget >= LEAST_SHARE else 0
        if share:
            shares[path] = share
            budget -= share
    return shares


def by_file(paths: Sequence[str], patch: str) -> Mapping[str, str]:
    """A patch of these files, in this order, as one text for each; empty if it is a patch of other files.

    Lines of content never begin with `diff --git`. A file that became a link has two sections, with the same first line.
    """
    heads, sections = list[str](), list[str]()
    for section in re.split(r"^(?=diff --git )", patch, flags=re.MULTILINE):
        head = section.partition("\n")[0]
        if heads and head == heads[-1]:
            sections[-1] += section
        elif head.startswith("diff --git "):
            heads.append(head)
            sections.append(section)
    return dict(zip(paths, sections, strict=True)) if len(sections) == len(paths) else {}


def plain(path: str) -> str:
    """The path on one line, bounded."""
    shown = printable(path)
    return shown if len(shown) <= 300 else f"{shown[:299]}…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
