"""Where the contents of some files can be read as well: repositories, other work trees, files that were made from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.repositories import git

from untildone.workspace import copies
from untildone.workspace.shadow import NoSnapshot

KEPT = "tests/test_a.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "tests").mkdir(parents=True)
    (made / KEPT).write_text("secret")
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "first"),
    ):
        git(made, *words)
    return made.resolve()


def elsewhere(root: Path) -> list[str]:
    return list(copies.elsewhere(str(root), (KEPT,)))


@pytest.mark.parametrize(
    ("name", "tells"),
    [
        ("build/lib/tests/test_a.py", True),
        ("tests/test_a.py~", True),
        ("tests/.test_a.py.swp", True),
        ("tests/__snapshots__/test_a.py.snap", True),
        ("old/__pycache__/test_a.cpython-311-pytest-8.pyc", True),
        (".pytest_cache/v/cache/nodeids", True),
        ("tests/my_test_a.py", False),
        ("tests/test_a.pyx", False),
        ("tests/test_ab.py", False),
        ("other/test_a.py", False),
    ],
)
def test_files_made_from_others_are_found_by_name(root: Path, name: str, tells: bool) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("secret")
    found = list(copies.beside(str(root), (KEPT,), (KEPT, "other/test_a.py")))
    assert found == ([str(root / name)] if tells else [])


@pytest.mark.parametrize(
    ("kept", "name", "tells"),
    [
        ("src/a.test.ts", "dist/a.test.js", True),
        ("src/a.test.ts", "dist/a.test.js.map", True),
        ("src/a.test.ts", "dist/a.test.d.ts", True),
        ("src/a.test.ts", "dist/a.js", False),
        ("src/a.test.ts", "node_modules/b/a.test.js", False),
        ("src/test/java/ATest.java", "target/test-classes/ATest.class", True),
        ("src/test/java/ATest.java", "target/test-classes/ATest$Inner.class", True),
        ("src/test/java/ATest.java", "target/classes/BATest.class", False),
        ("tests/test_a.py", "htmlcov/z_a44f0ac069e85531_test_a_py.html", True),
        ("tests/test_a.py", "htmlcov/z_a44f0ac069e85531_mytest_a_py.html", False),
    ],
)
def test_outputs_of_builds_and_reports_of_coverage_are_found(tmp_path: Path, kept: str, name: str, tells: bool) -> None:
    for path in (tmp_path / kept, tmp_path / name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret")
    assert list(copies.beside(str(tmp_path), (kept,), (kept,))) == ([str(tmp_path / name)] if tells else [])


def test_too_many_files_are_refused_and_not_passed_over(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_FILES", 20)
    assert list(copies.beside(str(root), (KEPT,), (KEPT,))) == []
    for number in range(30):
        (root / f"{number}").mkdir()
    with pytest.raises(NoSnapshot, match="more than 20 files"):
        list(copies.beside(str(root), (KEPT,), (KEPT,)))


def test_what_the_agent_wrote_itself_is_not_found(root: Path) -> None:
    (root / "new").mkdir()
    (root / "new/test_a.py").write_text("mine")
    began = (root / "new/test_a.py").stat().st_ctime
    assert not list(copies.beside(str(root), (KEPT,), (KEPT,), began))


@pytest.mark.parametrize("place", ["beside", "project/below"])
def test_other_work_trees_are_found_from_each_of_them(root: Path, tmp_path: Path, place: str) -> None:
    other = (tmp_path / place).resolve()
    git(root, "worktree", "add", "-q", str(other))
    assert elsewhere(root) == [str(other / KEPT)]
    assert elsewhere(other) == [str(root / KEPT)]
    assert list(copies.repositories(str(root))) == []
    assert list(copies.repositories(str(other))) == [str(root / ".git")]


def test_a_repository_in_another_folder_is_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "kept"), str(tmp_path / "work"))
    assert list(copies.repositories(str(tmp_path.resolve() / "work"))) == [str(tmp_path.resolve() / "kept")]


def test_work_trees_inside_of_a_bare_repository_stay(root: Path, tmp_path: Path) -> None:
    bare = tmp_path.resolve() / "bare"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    git(bare, "worktree", "add", "-q", str(bare / "work"))
    assert list(copies.repositories(str(bare / "work"))) == [str(bare / "objects")]


def test_repositories_inside_and_those_of_other_programs_are_found(root: Path) -> None:
    git(root, "init", "-q", "tests")
    for name in (".jj", ".hg", "other/.git"):
        (root / name).mkdir(parents=True)
    found = list(copies.repositories(str(root), (KEPT,)))
    assert found == [str(root / name) for name in (".hg", ".jj", "tests/.git")]


@pytest.mark.parametrize("pointer", ["gitdir: /", "gitdir: ../..", "gitdir: /nowhere", "", "nonsense"])
def test_a_pointer_to_no_repository_hides_nothing(tmp_path: Path, pointer: str) -> None:
    (tmp_path / ".git").write_text(pointer)
    assert list(copies.repositories(str(tmp_path))) == []
    assert elsewhere(tmp_path) == []


def test_a_repository_that_lends_its_objects_is_found(root: Path) -> None:
    clone = root.parent / "clone"
    git(root.parent, "clone", "--quiet", "--shared", str(root), str(clone))
    assert list(copies.repositories(str(clone))) == [str(root / ".git" / "objects")]
