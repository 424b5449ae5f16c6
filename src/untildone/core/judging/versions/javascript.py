"""Settings of JavaScript and TypeScript with two uses."""

from __future__ import annotations

import re
from collections import Counter

from untildone.core.judging.checks.scripts import CheckFiles
from untildone.core.judging.documents import Document, Key, found, loaded_json, replaced, written_json
from untildone.core.judging.globs import words
from untildone.core.judging.versions.parts import SAME, Comparison, Part, compare_json, ordered, text_of, with_tools
from untildone.core.values.hints import Any

_PACKAGE = tuple(
    (name,)
    for name in sorted(words("jest vitest mocha ava nyc c8 tap jasmine config husky wireit babel cypress karma"))
)

_PACKAGE_OF_TOOLS = {
    "eslint": (("eslintConfig",), ("eslintIgnore",)),
    "prettier": (("prettier",),),
    "stylelint": (("stylelint",),),
    "xo": (("xo",),),
    "lint-staged": (("lint-staged",),),
    "nx": (("nx",),),
}

_RESOLVING = words("tsx ts-node ts-node-esm vitest jest bun deno mocha ava esno swc-node")


def compare_tsconfig(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """Type checkers read all of it; programs that run TypeScript resolve modules as `paths` says."""
    if files.tools & words("tsc vue-tsc svelte-check"):
        same = start is not None and start == claimed
        return SAME if same else Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if not files.tools & _RESOLVING:
        return SAME
    try:
        before, after = loaded_json(start), loaded_json(claimed)
    except ValueError:
        return (
            SAME
            if start is not None and claimed is not None and _paths_text(start) == _paths_text(claimed)
            else Comparison(Part.CHANGED if start is not None else Part.ADDED)
        )
    return _resolution(
        before, after, ("compilerOptions", "paths", "*"), (("compilerOptions", "baseUrl"), ("extends",)), files
    )


def _paths_text(content: bytes) -> list[str]:
    """What a document that is no plain JSON says about modules."""
    return re.findall(r'"(?:paths|baseUrl|extends)"\s*:\s*(?:\{[^}]*\}|[^\n]*)', text_of(content))


def _resolution(
    before: Document, after: Document, names: Key, fixed: tuple[Key, ...], _files: CheckFiles
) -> Comparison:
    """Names of modules that a document maps to files. Tests of the start use only names that were there then, or names of packages:
    a new name with a pattern or a mark is the product's own."""
    was = found(before, (names, *fixed))
    now = {
        key: value
        for key, value in found(after, (names, *fixed)).items()
        if key in was or not re.search(r"[*]|^[#~]|/\Z", key[-1])
    }
    if repr(ordered(was)) == repr(ordered(now)):
        return SAME
    return Comparison(Part.CHANGED if was else Part.ADDED, written_json(replaced(after, now, was)))


def compare_deno(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    compared = compare_json(with_tools((("test",),), {"deno": (("tasks",), ("lint",), ("fmt",), ("importMap",))}))(
        path, start, claimed, files
    )
    if compared.part is not Part.SAME or "deno" not in files.tools:
        return compared
    before, after = loaded_json(start), loaded_json(claimed)
    kept = found(before, (("imports", "*"),))
    local = {
        key: value
        for key, value in found(after, (("imports", "*"),)).items()
        if key in kept or (str(value).startswith((".", "/")) and not key[-1].startswith(("./", "../", "#", "~", "@/")))
    }
    if repr(ordered(kept)) == repr(ordered(local)):
        return SAME
    return Comparison(Part.CHANGED, written_json(replaced(after, local, kept)))


_VITE_HOOK = re.compile(
    r"\b(?:transform|load|resolveId|configureVitest|configResolved|buildStart|enforce)\b\s*[(:]|(?:from|import|require)\s*\(?\s*['\"]\.[^'\"]*"
)


_VITE_NAMES = re.compile(
    r"""['"]?((?:@[\w-]+/)?[\w-]*(?:chai|vitest|expect|sinon|testing-library|\bassert\b)[\w/-]*)['"]?\s*[:,]"""
)
"""Names of libraries of tests, as keys or values: an alias of one leads tests elsewhere."""


def compare_vite(_path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """Vitest reads `test` in Vite's settings, and sends tests through its plugins. They are a program, so they cannot be merged."""
    was, now = (re.search(r"\btest\s*:", text_of(content or b"")) for content in (start, claimed))
    hooks, new_hooks = (Counter(_VITE_HOOK.findall(text_of(content or b""))) for content in (start, claimed))
    names, new_names = (Counter(_VITE_NAMES.findall(text_of(content or b""))) for content in (start, claimed))
    if "vitest" in files.tools and (new_hooks - hooks or new_names - names):
        return Comparison(Part.CHANGED if start is not None else Part.ADDED)
    if not was and not now:
        return SAME
    return Comparison(Part.CHANGED) if was else Comparison(Part.ADDED, start)


_LOCAL = re.compile(r"(?:npm|file|link|portal|patch|git\+\w+):|\.{0,2}/")


def compare_package(path: str, start: bytes | None, claimed: bytes | None, files: CheckFiles) -> Comparison:
    """The settings of runners and scripts of the check, and the libraries of tests of the start if they come from a folder now."""
    try:
        before, after = loaded_json(start), loaded_json(claimed)
    except ValueError:
        before, after = {}, {}
    were = found(before, (("devDependencies", "*"),))
    moved = [key for key, entry in were.items() if _is_moved(entry, found(after, (key,)).get(key, entry))]
    values = {key[-1]: entry for key, entry in were.items()}
    places = (("dependencies",), ("optionalDependencies",), ("overrides",), ("resolutions",), ("pnpm", "overrides"))
    forced = found(after, [(*place, "*") for place in places])
    moved += [key for key, entry in forced.items() if key[-1] in values and _is_moved(values[key[-1]], entry)]
    patterns = with_tools((*_PACKAGE, *moved), _PACKAGE_OF_TOOLS)
    return compare_json(patterns, (("workspaces",), ("workspaces", "packages")))(path, start, claimed, files)


def _is_moved(before: Any, after: Any) -> bool:
    return before != after and _LOCAL.match(str(after)) is not None
