"""Compares the tree at the start with the claimed tree: which judge files changed, which are new, and in which trees a check runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import StrEnum

from untildone.core.judging.checks import makefiles, script_texts, scripts
from untildone.core.judging.checks.scripts import CheckFiles, Place
from untildone.core.judging.kinds.classify import Classifier, Judging, is_cache, language_of
from untildone.core.judging.tables import Kind, Language
from untildone.core.judging.trees import Edit, Remove, Restore, Tree, Write, ancestors, in_order, parent, resolved
from untildone.core.judging.versions import crates, meaning, rust, shared
from untildone.core.judging.versions.parts import Part
from untildone.core.values.value import dataclass

MOST_FETCHED = 2000
"""Files that are read at once."""
MOST_COMPARED = 10_000_000
"""Bytes of judge files that are compared by their meaning; beyond, every difference is a change."""


class Change(StrEnum):
    """What the agent did to a judge file."""

    ADDED = "added"
    EDITED = "edited"
    DELETED = "deleted"
    LINKED = "replaced by a link"
    MODE = "mode changed"


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """A judge file that the agent changed or added."""

    path: str
    kind: Kind
    change: Change
    why: str
    """Completes the sentence "It is a judge file: …"."""
    merged: bool = False
    """Whether only a part of it judges, and only that part is put back."""
    needed: bool = False
    """Whether it is new and stays in every pass: the check itself asks for it, and it was not there at the start."""
    wanted: bool = False
    """Whether it is new and joins the originals if nothing runs without it: nothing is known that could judge in its place."""
    module: str = ""
    """The module of which it is a part, if judge files of the start import one of that name and the tree had none."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the person set."""

    commands: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    """Paths whose change a person accepted: they count as claimed."""
    folder: str = ""
    """The folder in which the checks run, relative to the root of the trees."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What became of the judge files, and the edits that make the trees of the passes from the claimed tree."""

    changed: tuple[JudgeFile, ...] = ()
    added: tuple[JudgeFile, ...] = ()
    approved: tuple[JudgeFile, ...] = ()
    """Changed or new judge files that a person accepted."""
    originals: tuple[Edit, ...] = ()
    """For the pass with the originals: existing judge files as at the start, no new ones."""
    with_wanted: tuple[Edit, ...] = ()
    """As `originals`, with the new judge files that are wanted if nothing runs without them."""
    as_changed: tuple[Edit, ...] = ()
    """For the pass with the claimed tree: only without what runners kept from earlier runs."""
    under_test: tuple[str, ...] = ()
    """Changed programs that a check runs and that were taken for the product."""
    named: frozenset[str] = frozenset()
    """Files of the start that checks name or run as judges: no command has a reason to write to them."""

    @property
    def wanted(self) -> bool:
        """Whether some new judge files may join the originals."""
        return any(file.wanted for file in self.added)

    @property
    def modules(self) -> frozenset[str]:
        """New modules that judge files of the start import."""
        return frozenset(file.module for file in self.added if file.module)

    @property
    def needs_originals(self) -> bool:
        """Whether the check must hold with the originals too: some judge file is not as it was, or is not in that pass."""
        return bool(self.changed) or any(not file.needed for file in self.added)


def survey(start: Tree, claimed: Tree, rules: Rules) -> Survey:
    """Compare the trees. Reads only judge files that differ, scripts that the checks run, and settings of runners."""
    return _Comparison(start, claimed, rules).survey()


class _Comparison:
    def __init__(self, start: Tree, claimed: Tree, rules: Rules) -> None:
        self._start = start
        self._claimed = claimed
        self._rules = rules
        self._files: CheckFiles = scripts.check_files(rules.commands, start, claimed, rules.folder)
        self._judge = Classifier(start, claimed, self._files, rules.protect)
        self._merged: dict[str, bytes | None] = {}
        self._originals: dict[Place, bool] = {}
        self._compared = 0
        """Bytes of judge files that were compared by their meaning."""

    def survey(self) -> Survey:
        differing = [path for path in {**self._start.files, **self._claimed.files} if self._differs(path)]
        self._fetch(differing)
        caches = [path for path in differing if is_cache(path)]
        found = [file for path in sorted(set(differing) - set(caches)) if (file := self._judged(path))]
        accepted = [file for file in found if file.path in self._rules.approved]
        refused = [file for file in found if file not in accepted]
        cleaned = [Restore(path) if path in self._start.files else Remove(path) for path in caches]
        return Survey(
            changed=tuple(file for file in refused if file.change is not Change.ADDED),
            added=tuple(file for file in refused if file.change is Change.ADDED),
            approved=tuple(accepted),
            originals=self._edits(refused, cleaned),
            with_wanted=self._edits([file for file in refused if not file.wanted], cleaned),
            as_changed=in_order(cleaned),
            under_test=tuple(sorted(self._files.under_test.intersection(differing))),
            named=frozenset(
                path for path in self._files.named if path in self._start.files and not _WRITTEN.search(path)
            ),
        )

    def _fetch(self, differing: list[str]) -> None:
        """Read at once what is compared below."""
        compared = [path for path in differing if shared.comparer(path) or path.endswith((".py", ".json", ".toml"))]
        for tree in (self._start, self._claimed):
            tree.fetch(compared[:MOST_FETCHED])

    def _differs(self, path: str) -> bool:
        return self._start.files.get(path) != self._claimed.files.get(path)

    def _judged(self, path: str) -> JudgeFile | None:
        is_new = path not in self._start.files
        judging = self._judge.new(path) if is_new else self._judge.existing(path)
        if shared.comparer(path) and (judging is None or (_has_two_uses(path) and _is_mild(judging))):
            return self._shared(path)
        if judging is None:
            return None
        return self._new(path, judging) if is_new else self._existing(path, judging)

    def _existing(self, path: str, judging: Judging) -> JudgeFile | None:
        if path in self._files.missing:
            return JudgeFile(path, judging.kind, Change.ADDED, f"{judging.why}, and what is run is new", needed=True)
        return None if self._same_meaning(path) else JudgeFile(path, judging.kind, self._change(path), judging.why)

    def _new(self, path: str, judging: Judging) -> JudgeFile | None:
        needed, wanted = self._is_needed(path, judging), self._is_wanted(path, judging)
        return JudgeFile(
            path,
            judging.kind,
            Change.ADDED,
            judging.why,
            needed=needed,
            wanted=wanted and not needed,
            module=judging.module,
        )

    def _is_needed(self, path: str, judging: Judging) -> bool:
        """Whether a new judge file stays in the pass with the originals: the check asks for it, or it is not known to matter."""
        if judging.hijacks or judging.kind is Kind.PROTECTED:
            return False
        if judging.kind is Kind.CI or path in self._files.missing:
            return True
        return judging.kind is Kind.TEST and self._is_built(path)

    def _is_wanted(self, path: str, judging: Judging) -> bool:
        """Whether a new judge file may join the originals, if the run without it shows that there is nothing to run."""
        if judging.module:
            return True
        can_be = not judging.hijacks and judging.kind in (Kind.TEST, Kind.SETTINGS)
        return can_be and not self._covered(path)

    def _shared(self, path: str) -> JudgeFile | None:
        """A file of which only a part judges; None if that part is the same."""
        kind = Kind.TEST if path.endswith(".rs") else Kind.SETTINGS
        if self._start.is_link(path) or self._claimed.is_link(path):
            return JudgeFile(path, kind, self._change(path), shared.why(path))
        start, claimed = self._start.content(path), self._claimed.content(path)
        compare = shared.comparer(path)
        if path.endswith(".lock") and self._is_unreadable(path, start, claimed):
            # A list of what dependency files ask for: too large to be read, it belongs to the product.
            return None
        if compare is None or self._is_unreadable(path, start, claimed):
            has_tests = start is not None and crates.has_tests(start)
            return (
                JudgeFile(path, kind, self._change(path), shared.why(path))
                if kind is not Kind.TEST or has_tests
                else None
            )
        compared = compare(path, start, claimed, self._files)
        if compared.part is Part.SAME:
            return self._without_modules(path) if path.endswith(".rs") else None
        self._merged[path] = compared.merged
        change = Change.ADDED if compared.part is Part.ADDED else self._change(path)
        needed = change is Change.ADDED and path in self._files.missing
        wanted = change is Change.ADDED and not needed and not self._covered(path)
        merged = compared.merged is not None
        return JudgeFile(path, kind, change, shared.why(path), merged=merged, needed=needed, wanted=wanted)

    def _without_modules(self, path: str) -> JudgeFile | None:
        """A Rust file that leaves out a file with tests which is still there."""
        lost = rust.modules(self._start.text(path)) - rust.modules(self._claimed.text(path))
        base = path.removesuffix(".rs")
        folders = {parent(path), base}
        files = [
            f"{folder}/{name}{end}".lstrip("/") for folder in folders for name in lost for end in (".rs", "/mod.rs")
        ]
        tested = [
            file for file in files if file in self._claimed.files and rust.test_blocks(self._start.text(file)) != ()
        ]
        if not tested or path not in self._claimed.files:
            return None
        return JudgeFile(
            path, Kind.TEST, self._change(path), f"the tests in `{tested[0]}` run because it names that module"
        )

    def _is_unreadable(self, path: str, start: bytes | None, claimed: bytes | None) -> bool:
        return (start is None and path in self._start.files) or (claimed is None and path in self._claimed.files)

    def _change(self, path: str) -> Change:
        before, after = self._start.files.get(path), self._claimed.files.get(path)
        if before is None:
            return Change.ADDED
        if after is None:
            return Change.DELETED
        if self._claimed.is_link(path):
            return Change.LINKED
        return Change.MODE if before.blob == after.blob else Change.EDITED

    def _same_meaning(self, path: str) -> bool:
        """Whether only the format of the file changed, or what a Makefile does beside the check."""
        before, after = self._start.files.get(path), self._claimed.files.get(path)
        start, claimed = self._start.content(path), self._claimed.content(path)
        if before is None or after is None or before.mode != after.mode or start is None or claimed is None:
            return False
        if targets := self._files.targets.get(path):
            included = map(self._start.text, self._files.included.get(path, ()))
            rest = "".join(f"\n{text}" for text in included)
            was, now = (content.decode(errors="replace") + rest for content in (start, claimed))
            return makefiles.same_check(was, now, targets) and not self._loses_judges(
                path, makefiles.lost_sources(was, now)
            )
        if meaning.has_other_line_ends(path, start, claimed):
            return True
        self._compared += len(start)
        is_small_enough = self._compared <= MOST_COMPARED
        return path not in self._files.named and is_small_enough and meaning.is_same(path, start, claimed)

    def _loses_judges(self, makefile: str, sources: Iterable[str]) -> bool:
        """Whether one of the sources is a test program that was there at the start."""
        names = (name for source in sources for name in (source, *script_texts.sources_of(source)))
        paths = (resolved(name, parent(makefile)) for name in names)
        return any(path in self._start.files and self._judge.existing(path) is not None for path in paths if path)

    def _covered(self, path: str) -> bool:
        """Whether the checks that could run the file had tests of their own at the start."""
        language = language_of(path)
        places = [
            place
            for place in self._files.places
            if _is_below(path, place.folder) and (language is None or place.language in (None, language))
        ]
        return any(map(self._has_originals, places or self._files.places or (Place(None, self._rules.folder),)))

    def _has_originals(self, place: Place) -> bool:
        if place not in self._originals:
            paths = [
                path
                for path in self._start.files
                if _is_below(path, place.folder) and (place.language is None or language_of(path) is place.language)
            ]
            self._originals[place] = any(map(self._judge.is_original_test, paths)) or self._has_inner_tests(paths)
        return self._originals[place]

    def _has_inner_tests(self, paths: Iterable[str]) -> bool:
        sources = [path for path in paths if path.endswith(".rs")]
        self._start.fetch(sources[:MOST_FETCHED])
        return len(sources) > MOST_FETCHED or any("#[test]" in self._start.text(path) for path in sources)

    def _is_built(self, path: str) -> bool:
        """Whether a build file outside of the tests names the new file: without it, nothing would be built."""
        if language_of(path) is not Language.C:
            return False
        name = path.rpartition("/")[2]
        builds = [
            other for other in self._claimed.files if _is_build_file(other) and self._judge.existing(other) is None
        ]
        return any(name in self._claimed.text(other) for other in builds)

    def _edits(self, files: Iterable[JudgeFile], cleaned: Iterable[Edit]) -> tuple[Edit, ...]:
        edits: dict[str, Edit] = {edit.path: edit for edit in cleaned}
        for file in files:
            if not file.needed:
                edits[file.path] = self._edit(file)
        put = [path for path, edit in edits.items() if not isinstance(edit, Remove)]
        edits |= {path: Remove(path) for path in self._in_the_way(put) if path not in edits}
        return in_order(
            edit for edit in edits.values() if not (isinstance(edit, Remove) and edit.path not in self._claimed.files)
        )

    def _edit(self, file: JudgeFile) -> Edit:
        merged = self._merged.get(file.path)
        in_start = file.path in self._start.files
        if merged is not None and (merged.strip() or in_start):
            return Write(file.path, merged)
        return Restore(file.path) if in_start else Remove(file.path)

    def _in_the_way(self, put: Collection[str]) -> Iterable[str]:
        """Claimed files and links in the place of a folder of the start, or below the place of a file of the start."""
        if not put:
            return
        around = {folder for path in put for folder in ancestors(path)}
        wanted = set(put)
        for path in self._claimed.files:
            if path in around or wanted.intersection(ancestors(path)):
                yield path


_WRITTEN = re.compile(
    r"(?i)\.(?:db|sqlite3?|log|pyc|lock|sock|pid|tmp|cache|snap\.new|received\.\w+)\Z|(?:^|/)(?:junit|coverage|results?)\.xml\Z"
)


def _has_two_uses(path: str) -> bool:
    """Whether the file judges in part even if settings of runners have its name. Programs and texts judge in part only as the product."""
    return not path.endswith((".py", ".pyi", ".md", ".rst", ".txt")) or path.endswith(
        ("entry_points.txt", "CMakeLists.txt")
    )


def _is_mild(judging: Judging) -> bool:
    return judging.kind is Kind.SETTINGS and not judging.hijacks


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _is_build_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in ("CMakeLists.txt", "meson.build", "BUILD", "BUILD.bazel", "Makefile.am") or name.endswith(
        (".cmake", ".pro", ".vcxproj")
    )
