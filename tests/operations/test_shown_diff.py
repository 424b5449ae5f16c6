"""A patch as people may see it."""

from __future__ import annotations

import pytest

from untildone.core.protection.secrets import Redactor
from untildone.operations.shown_diff import coloured, readable

PATCH = """diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@ def f():
 same
-old
+new
"""


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("+# \x1b[1A\x1b[2K", "+# ^[[1A^[[2K"),
        ("+a\tb", "+a\tb"),
        ("+ends in CRLF\r", "+ends in CRLF\r"),
        ("+over\rwritten", "+over^Mwritten"),
        ("+\x00\x07\x7f", "+^@^G^?"),
        ("+\x9b2K", "+<U+009B>2K"),
        ("+\udc9b2K \udcff", "+<9B>2K \udcff"),
        ("+if user \u202e # nimda", "+if user <U+202E> # nimda"),
        ("+é 漢字 🙂 \u200d", "+é 漢字 🙂 \u200d"),
        ("+key = 's3cret-0123456789'", "+key = '[redacted API_KEY]'"),
        ("+key = 's3cret\x1b[0m-0123456789'", "+key = '[redacted API_KEY]'"),
    ],
)
def test_nothing_in_a_patch_reaches_the_terminal_as_a_command(line: str, shown: str) -> None:
    assert readable(f"{line}\n", Redactor({"API_KEY": "s3cret-0123456789"})) == f"{shown}\n"


def test_colours_are_those_of_the_patch_alone() -> None:
    shown = coloured(readable(PATCH.replace("+new", "+\x1b[8mnew"), Redactor({})))
    assert "\x1b[31m-old\x1b[m\n\x1b[32m+^[[8mnew\x1b[m\n" in shown
    assert "\x1b[36m@@ -1,2 +1,2 @@ def f():\x1b[m\n same\n" in shown
    assert "\x1b[1m--- a/a.py\x1b[m\n\x1b[1m+++ b/a.py\x1b[m\n" in shown


def test_a_removed_line_that_looks_like_a_head_is_a_removed_line() -> None:
    assert coloured("diff --git a/a b/a\n@@ -1 +0,0 @@\n--- old\ndiff --git a/b b/b\n--- a/b\n").split("\n")[2:5] == [
        "\x1b[31m--- old\x1b[m",
        "\x1b[1mdiff --git a/b b/b\x1b[m",
        "\x1b[1m--- a/b\x1b[m",
    ]


def test_a_summary_has_colours_too() -> None:
    shown = coloured(" a.py | 3 ++-\n b.bin | Bin 0 -> 3 bytes\n 2 files changed\n")
    assert shown == " a.py | 3 \x1b[32m++\x1b[m\x1b[31m-\x1b[m\n b.bin | Bin 0 -> 3 bytes\n 2 files changed\n"
