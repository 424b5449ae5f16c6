"""Rust with two uses: unit tests in source files, and the entries of Cargo.toml about tests."""

from __future__ import annotations

from untildone.core.judging.checks.scripts import CheckFiles
from untildone.core.judging.documents import Document, Key, found, loaded_toml
from untildone.core.judging.versions import rust
from untildone.core.judging.versions.parts import SAME, Comparison, Part, compare_toml, table, text_of, with_tools
from untildone.core.values.hints import Any

_CARGO: tuple[Key, ...] = (
    ("test",),
    ("package", "autotests"),
    ("package", "build"),
    ("package", "autobins"),
    ("package", "autoexamples"),
    ("profile", "test"),
    *((place, key) for place in ("lib",) for key in ("test", "doctest", "harness", "path")),
    *((place, "*", key) for place in ("bin", "example") for key in ("test", "harness", "path")),
    ("workspace", "exclude"),
    ("workspace", "default-members"),
)


def compare_source(_path: str, start: bytes | None, claimed: bytes | None, _files: CheckFiles) -> Comparison:
    """Unit tests inside a source file."""
    hidden = rust.hidden_asserts(text_of(claimed or b"")) - rust.hidden_asserts(text_of(start or b""))
    if hidden:
        return Comparison(Part.ADDED if start is None else Part.CHANGED)
    if start is None:
        return SAME
    was = rust.test_blocks(text_of(start))
    if was is not None and not was:
        return SAME
    if claimed is None or was is None:
        return Comparison(Part.CHANGED)
    if rust.same_tests(text_of(start), text_of(claimed)):
        return SAME
    merged = rust.merged(text_of(start), text_of(claimed))
    return Comparison(Part.CHANGED, None if merged is None else merged.encode("utf-8", "surrogateescape"))


def has_tests(content: bytes) -> bool:
    """Whether a Rust file has unit tests."""
    return rust.test_blocks(text_of(content)) != ()


def compare_manifest(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """The entries about tests, and the libraries of tests of the start if they come from elsewhere now."""
    try:
        redirected = _redirected_crates(loaded_toml(start), loaded_toml(claimed))
    except ValueError:
        redirected = ()
    patterns = with_tools((*_CARGO, *redirected), {"clippy": (("lints",),)})
    return compare_toml(patterns, (("workspace", "members"),))(path, start, claimed, files)


def _redirected_crates(before: Document, after: Document) -> tuple[Key, ...]:
    were = found(before, (("dev-dependencies", "*"), ("target", "*", "dev-dependencies", "*")))
    moved = [key for key, entry in were.items() if _origin(entry) != _origin(found(after, (key,)).get(key, entry))]
    names = {key[-1] for key in were} - set(table(before, "dependencies"))
    patched = found(after, (("patch", "*", "*"), ("replace", "*")))
    return (*moved, *(key for key in patched if key[-1].partition(":")[0] in names))


def _origin(entry: Any) -> tuple[str, ...]:
    """Where a crate comes from: a folder, a repository, another name."""
    keys = ("path", "git", "registry", "package")
    return tuple(str(entry.get(key, "")) for key in keys) if isinstance(entry, dict) else ("",) * len(keys)
