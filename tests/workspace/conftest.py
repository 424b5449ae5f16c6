"""A repository without the configuration of the person who runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.repositories import git


@pytest.fixture(autouse=True)
def _no_configuration_of_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


@pytest.fixture
def repository(empty: Path) -> Path:
    (empty / "a.txt").write_text("one\ntwo\n")
    (empty / ".gitignore").write_text("ignored/\n*.log\n")
    git(empty, "add", "--all")
    git(empty, "commit", "--quiet", "--message=start")
    return empty
