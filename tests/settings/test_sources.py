"""Where settings come from: the nearest project file, the environment, flags, several names of one setting.

Covers: settings/loading.py, saving.py, guidance.py; store/places.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from untildone import settings
from untildone.core.errors import UsageError
from untildone.core.model import EMPTY
from untildone.settings import guidance
from untildone.store import places


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "sub" / "deep").mkdir(parents=True)
    return root


def load(folder: Path, flags: Mapping[str, Any] = EMPTY, variables: Mapping[str, str] = EMPTY) -> settings.Settings:
    return settings.load(folder, flags, {"HOME": "/nowhere", **variables})


def test_a_file_in_a_parent_folder_counts(repository: Path) -> None:
    (repository / places.PROJECT_FILE).write_text('checks = ["true"]\n')
    assert load(repository / "sub" / "deep").checks == ("true",)
    assert settings.files(repository / "sub" / "deep")[1] == repository / places.PROJECT_FILE


def test_the_nearest_file_counts_alone(repository: Path) -> None:
    (repository / places.PROJECT_FILE).write_text('checks = ["true"]\ncommit = true\n')
    (repository / "sub" / places.PROJECT_FILE).write_text('checks = ["false"]\n')
    found = load(repository / "sub" / "deep")
    assert (found.checks, found.commit) == (("false",), False)


def test_a_file_above_the_repository_does_not_count(repository: Path) -> None:
    (repository.parent / places.PROJECT_FILE).write_text('checks = ["true"]\n')
    assert load(repository / "sub").checks == ()
    assert settings.files(repository / "sub")[1] == repository / "sub" / places.PROJECT_FILE


def test_outside_of_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / places.PROJECT_FILE).write_text('checks = ["true"]\n')
    assert load(tmp_path / "sub").checks == ()
    assert load(tmp_path).checks == ("true",)


def test_the_supervisor_file_is_looked_for_in_the_same_way(repository: Path) -> None:
    (repository / guidance.SUPERVISOR_FILE).write_text("Look closely.")
    assert guidance.supervisor_text(repository / "sub" / "deep", {"HOME": "/nowhere"}) == "Look closely."
    (repository / "sub" / guidance.SUPERVISOR_FILE).write_text("Look more closely.")
    assert guidance.supervisor_text(repository / "sub" / "deep", {"HOME": "/nowhere"}) == "Look more closely."


def test_the_store_of_a_parent_folder_counts(repository: Path) -> None:
    (repository / places.PROJECT_FILE).write_text('store = "postgres://host/loops"\n')
    assert places.named(repository / "sub", {"HOME": "/nowhere"}) == "postgres://host/loops"


@pytest.mark.parametrize("name", ["promise", "completion_promise"])
class TestOneSettingWithTwoNames:
    def test_in_a_file(self, name: str, tmp_path: Path) -> None:
        (tmp_path / places.PROJECT_FILE).write_text(
            f'{name} = "DONE"\n[profiles.mine]\nagent = "claude"\n{name} = "OK"\n'
        )
        found = load(tmp_path)
        assert (found.promise, found.profiles["mine"].completion_promise) == ("DONE", "OK")

    def test_in_the_environment(self, name: str, tmp_path: Path) -> None:
        (tmp_path / places.PROJECT_FILE).write_text('completion_promise = "of the file"\n')
        found = load(tmp_path, variables={f"UNTILDONE_{name.upper()}": "DONE"})
        assert (found.promise, found.overrides_profile("promise")) == ("DONE", True)

    def test_given_by_a_program(self, name: str, tmp_path: Path) -> None:
        (tmp_path / places.PROJECT_FILE).write_text('promise = "of the file"\n')
        assert load(tmp_path, {name: "DONE"}).promise == "DONE"

    def test_a_saved_file_keeps_the_name_it_has(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / places.PROJECT_FILE
        path.write_text(f'{name} = "A" # why\n')
        settings.save(path, {"promise": "B"})
        assert path.read_text() == f'{name} = "B" # why\n'


def test_the_same_value_under_both_names_is_no_error(tmp_path: Path) -> None:
    (tmp_path / places.PROJECT_FILE).write_text('promise = "DONE"\ncompletion_promise = "DONE"\n')
    assert load(tmp_path).promise == "DONE"


def test_two_values_in_the_environment_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"promise and completion_promise in the environment"):
        load(tmp_path, variables={"UNTILDONE_PROMISE": "a", "UNTILDONE_COMPLETION_PROMISE": "b"})


def test_secrets_that_are_shown_hidden_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / places.PROJECT_FILE
    path.write_text(
        'notify_webhook = "https://me:pass@host:8443/x?key=y"\nnotify_secret = "s" # ours\n'
        '[profiles.a]\nagent = "claude"\nenv = { KEY = "k" }\n'
    )
    shown = settings.hidden(settings.read(path))
    assert (shown["notify_secret"], shown["profiles"]["a"]["env"]) == (settings.HIDDEN, {"KEY": settings.HIDDEN})
    assert shown["notify_webhook"] == f"https://host:8443/{settings.HIDDEN}"
    before = path.read_text()
    settings.save(path, {**shown, "review": True})
    assert path.read_text() == before.replace("# ours\n", "# ours\nreview = true\n")


def test_the_settings_as_json_have_every_setting_and_whole_profiles(tmp_path: Path) -> None:
    (tmp_path / places.PROJECT_FILE).write_text('[profiles.mine]\nagent = "claude"\n')
    shown = settings.as_json(load(tmp_path))
    assert set(shown) == set(settings.every())
    assert set(shown["profiles"]["mine"]) == set(settings.PROFILE_SETTINGS)
