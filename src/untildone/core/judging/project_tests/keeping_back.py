"""A share of the project's own tests that is kept back from the agent (`--held-out 20%`): which ones, and what the agent finds instead.

The choice depends on the contents of the start alone, so that everyone who looks again finds the same files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from untildone.core.judging.kinds.classify import has_test_name, is_cache, language_of
from untildone.core.values.digest import sha256

_SHARE = re.compile(r"(\d{1,3}(?:\.\d+)?) ?%")


def share_of(value: object) -> float | None:
    """The share that the option asks for, above 0 and below 1; None: it names a folder. ValueError if no share is possible."""
    found = _SHARE.fullmatch(str(value).strip())
    if found is None:
        return None
    share = float(found[1]) / 100
    if not 0 < share < 1:
        raise ValueError("a share must be more than 0 % and less than 100 %")
    return share


def chosen(tests: Mapping[str, str], share: float, copied: Collection[str] = ()) -> tuple[str, ...]:
    """The files to keep back, of `tests` by path with their texts: at least one, and never all. Empty: there are not enough of them.

    A test that another one names stays: the other one may need it. So does one that is `copied`: another file has the same content."""
    free = [path for path in tests if path not in copied and not _is_needed(path, tests)]
    number = min(max(1, round(share * len(tests))), len(free), len(tests) - 1)
    ranked = sorted(free, key=lambda path: sha256(f"{path}\0{tests[path]}".encode("utf-8", "replace")).hexdigest())
    return tuple(sorted(ranked[: max(0, number)]))


def is_candidate(path: str) -> bool:
    """Whether a file is a test that can be kept back, by its name."""
    is_test = has_test_name(path) and language_of(path) is not None
    return is_test and not is_cache(path) and "__snapshots__" not in path.split("/")


def snapshots(path: str) -> tuple[str, ...]:
    """Where test runners keep the results that a test file expects: jest, vitest, syrupy. They are kept back with it."""
    folder, _, name = path.rpartition("/")
    below = f"{folder}/__snapshots__" if folder else "__snapshots__"
    return f"{below}/{name}.snap", f"{below}/{name.rpartition('.')[0]}.ambr"


def tells_of(path: str, kept_back: Collection[str]) -> bool:
    """Whether a file is one that is kept back, or was made from one: bytecode of Python."""
    if path in kept_back:
        return True
    folder, _, name = path.rpartition("/__pycache__/") if "/__pycache__/" in path else ("", "", path[12:])
    if "__pycache__/" not in path:
        return False
    source = f"{name.split('.')[0]}.py"
    return (f"{folder}/{source}" if folder else source) in kept_back


def _is_needed(path: str, tests: Mapping[str, str]) -> bool:
    stem = path.rpartition("/")[2].split(".")[0]
    named = re.compile(rf"(?<![\w-]){re.escape(stem)}(?![\w-])")
    return any(other != path and named.search(text) for other, text in tests.items())


_WORDS = "This file is kept back while you work."


def stub(path: str, text: str) -> str:
    """What the agent finds in the place of a file that is kept back: something that its test runner accepts."""
    suffix = path.rpartition(".")[2]
    if suffix == "go":
        package = re.search(r"(?m)^package \w+", text)
        return f"// {_WORDS}\n{package[0] if package else 'package main'}\n"
    if suffix in ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"):
        runs_alone = re.search(r"""from ['"]node:test|require\(['"]node:test""", text)
        return f"// {_WORDS}\n" + ("" if runs_alone else "test.skip('kept back', () => {});\n")
    if suffix == "php":
        return f"<?php // {_WORDS}\n"
    return f"{'#' if suffix in ('py', 'rb', 'sh', 'ex', 'exs', 'pl', 't') else '//'} {_WORDS}\n"
