"""Diffs of git as files, hunks and lines; their colours, pages, pairs and tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from untildone.faces.web.render import diff_lines, diffs, file_tree
from untildone.faces.web.render.diffs import Change, FileDiff, Side

SIMPLE = """diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,4 @@ def f():
 one
-two = 1
+two = 2
+<script>alert(1)</script>
 three
\\ No newline at end of file
"""


def test_lines_have_their_numbers() -> None:
    (file,) = diffs.parsed(SIMPLE)
    assert (file.path, file.change, file.added, file.removed, file.size) == ("src/a.py", Change.MODIFIED, 2, 1, 6)
    (hunk,) = file.hunks
    assert hunk.heading == "def f():"
    assert [(line.side, line.old, line.new) for line in hunk.lines] == [
        (Side.BOTH, 1, 1),
        (Side.OLD, 2, None),
        (Side.NEW, None, 2),
        (Side.NEW, None, 3),
        (Side.BOTH, 3, 4),
    ]
    assert [line.ends for line in hunk.lines] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("head", "path", "old", "change", "binary", "modes"),
    [
        ("diff --git a/x y b/x y\nnew file mode 100644", "x y", "x y", Change.ADDED, False, ("", "100644")),
        (
            'diff --git "a/\\344\\274\\230.md" "b/\\344\\274\\230.md"',
            "优.md",
            "优.md",
            Change.MODIFIED,
            False,
            ("", ""),
        ),
        (
            'diff --git "a/q\\"\\t\\\\.md" "b/q\\"\\t\\\\.md"',
            'q"\t\\.md',
            'q"\t\\.md',
            Change.MODIFIED,
            False,
            ("", ""),
        ),
        (
            "diff --git a/old b/new\nsimilarity index 90%\nrename from old\nrename to new",
            "new",
            "old",
            Change.RENAMED,
            False,
            ("", ""),
        ),
        (
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755",
            "x",
            "x",
            Change.MODIFIED,
            False,
            ("100644", "100755"),
        ),
        (
            "diff --git a/p.png b/p.png\nindex 1..2\nBinary files a/p.png and b/p.png differ",
            "p.png",
            "p.png",
            Change.MODIFIED,
            True,
            ("", ""),
        ),
        (
            "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a",
            "x",
            "x",
            Change.DELETED,
            False,
            ("100644", ""),
        ),
    ],
)
def test_what_happened_to_a_file(
    head: str, path: str, old: str, change: Change, *, binary: bool, modes: tuple[str, str]
) -> None:
    (file,) = diffs.parsed(head + "\n")
    assert (file.path, file.old_path, file.change, file.is_binary) == (path, old, change, binary)
    assert (file.old_mode, file.new_mode) == modes


def test_lines_that_look_like_a_diff_are_lines() -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+diff --git a/z b/z\n @@ -1 +1 @@\n"
    (file,) = diffs.parsed(text)
    assert [line.text for line in file.lines()] == ["-- a/y", "diff --git a/z b/z", "@@ -1 +1 @@"]


def test_names_of_a_real_repository(tmp_path: Path) -> None:
    names = ("plain.txt", "with blank.txt", "优惠.md", 'with "quote".md', "tab\there", "<img src=x>", "deep/er/ä b.txt")
    _git(tmp_path, "init", "-q")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("hello\n")
    _git(tmp_path, "add", ".")
    for quoting in ("true", "false"):
        text = _git(tmp_path, "-c", f"core.quotePath={quoting}", "diff", "--cached")
        assert {file.path for file in diffs.parsed(text)} == set(names)


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True).stdout.decode()


def test_a_line_is_escaped_coloured_and_marked() -> None:
    (file,) = diffs.parsed(SIMPLE)
    (hunk,) = diff_lines.shown(file)
    assert "<script" not in "".join(line.html for line in hunk.lines)
    assert [line.number for line in hunk.lines] == [1, 2, 2, 3, 4]
    assert [line.sign for line in hunk.lines] == [" ", "-", "+", "+", " "]


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("two = 1", "two = 2", ((6, 7), (6, 7))),
        ("return foo(a)", "return foo(a, b)", ((12, 12), (12, 15))),
        ("abc", "xyz", None),
        ("same", "same", None),
        ("", "x", None),
    ],
)
def test_the_changed_part_of_a_line(old: str, new: str, parts: object) -> None:
    assert diff_lines.changed_parts(old, new) == parts


def test_the_changed_part_is_marked_through_colours() -> None:
    text = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-total = 10\n+total = 12\n"
    (hunk,) = diff_lines.shown(diffs.parsed(text)[0])
    assert hunk.lines[1].html == 'total = <span class="tk-n">1</span><mark><span class="tk-n">2</span></mark>'


def test_bidirectional_controls_are_marked() -> None:
    text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x<U+202E>y\n"
    (hunk,) = diff_lines.shown(diffs.parsed(text)[0])
    assert '<span class="hidden-char" title="right-to-left override (U+202E)">U+202E</span>' in hunk.lines[0].html


def test_pairs_for_the_view_side_by_side() -> None:
    (hunk,) = diff_lines.shown(diffs.parsed(SIMPLE)[0])
    sides = [(pair.left and pair.left.old, pair.right and pair.right.new) for pair in hunk.pairs]
    assert sides == [(1, 1), (2, 2), (None, 3), (3, 4)]


def test_a_large_file_comes_in_pages() -> None:
    body = "".join(f"+line {n}\n" for n in range(1000))
    (file,) = diffs.parsed(
        f"diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,1000 @@\n{body}"
    )
    pages = [diff_lines.shown(file, start, 400) for start in (0, 400, 800, 1200)]
    assert [sum(len(hunk.lines) for hunk in page) for page in pages] == [400, 400, 200, 0]
    assert pages[1][0].lines[0].new == 401


def test_the_tree_joins_single_folders() -> None:
    files = [FileDiff(path, path, Change.ADDED) for path in ("src/app/a.py", "src/app/b/c.py", "README.md")]
    root = file_tree.tree(files)
    assert [leaf.name for leaf in root.files] == ["README.md"]
    (source,) = root.folders
    assert (source.name, [leaf.place for leaf in source.files], source.folders[0].name) == ("src/app", [0], "b")
