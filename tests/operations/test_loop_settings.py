"""From settings to a loop: flags and variables overrule the agent's profile, and the profile overrules the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from untildone import settings
from untildone.core.errors import UsageError
from untildone.core.plugins.mode import FromFiles
from untildone.operations.creating import loop_settings
from untildone.store import places

FILE = """
promise = "of the file"
max_iterations = 12
model = "of-the-file"
command = "cat file"
permissions = "read"

[profiles.mine]
agent = "command"
completion_promise = "of the profile"
max_iterations = 3
model = "of-the-profile"
command = "cat profile"
permissions = "edit"

[profiles.bare]
agent = "command"
"""
OF_FILE = {
    "promise": "of the file",
    "max_iterations": 12,
    "model": "of-the-file",
    "command": "cat file",
    "permissions": "read",
}
OF_PROFILE = {
    "promise": "of the profile",
    "max_iterations": 3,
    "model": "of-the-profile",
    "command": "cat profile",
    "permissions": "edit",
}
OF_RUN = {"promise": "said", "max_iterations": 7, "model": "said", "command": "cat said", "permissions": "work"}


def planned(folder: Path, flags: dict[str, Any], variables: dict[str, str]) -> dict[str, Any]:
    (folder / places.PROJECT_FILE).write_text(FILE)
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", **variables}
    chosen = settings.load(folder, flags, environment)
    loop = loop_settings.loop_settings(chosen, str(folder), environment)
    return {
        "promise": loop.promise,
        "max_iterations": loop_settings.loop_budget(chosen, FromFiles()).iterations,
        "model": loop.worker.model,
        "command": loop.worker.command,
        "permissions": loop.worker.permissions.value,
    }


@pytest.mark.parametrize(
    ("flags", "variables", "wanted"),
    [
        ({"agent": "bare"}, {}, OF_FILE),
        ({"agent": "mine"}, {}, OF_PROFILE),
        ({"agent": "mine", **OF_RUN}, {}, OF_RUN),
        ({"agent": "bare", **OF_RUN}, {}, OF_RUN),
        ({}, {"UNTILDONE_AGENT": "mine"}, OF_PROFILE),
        ({"agent": "mine"}, {f"UNTILDONE_{name.upper()}": str(value) for name, value in OF_RUN.items()}, OF_RUN),
        (
            {"agent": "mine", "promise": "said", "max_iterations": "none"},
            {"UNTILDONE_PROMISE": "a variable", "UNTILDONE_MODEL": "variable"},
            {**OF_PROFILE, "promise": "said", "max_iterations": None, "model": "variable"},
        ),
        ({"agent": "mine", "promise": ""}, {}, {**OF_PROFILE, "promise": None}),
    ],
)
def test_who_overrules_whom(
    tmp_path: Path, flags: dict[str, Any], variables: dict[str, str], wanted: dict[str, Any]
) -> None:
    assert planned(tmp_path, flags, variables) == wanted


@pytest.mark.parametrize(
    ("flags", "once"), [({}, True), ({"loop_enabled": True}, False), ({"loop_enabled": False}, True)]
)
def test_whether_it_loops(tmp_path: Path, flags: dict[str, Any], once: bool) -> None:
    (tmp_path / places.PROJECT_FILE).write_text('[profiles.mine]\nagent = "scripted"\nloop_enabled = false\n')
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    chosen = settings.load(tmp_path, {"agent": "mine", **flags}, environment)
    assert loop_settings.loop_settings(chosen, str(tmp_path), environment).once is once


def test_a_gate_that_is_not_installed_is_refused_when_the_loop_is_created(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    chosen = settings.load(tmp_path, {"agent": "scripted", "gates": {"missing": "1"}}, environment)
    with pytest.raises(UsageError, match="There is no gate named 'missing'"):
        loop_settings.loop_settings(chosen, str(tmp_path), environment)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"agent": "mine"}, "mine has no goal loop of its own for --native-goal."),
        ({"agent": "scripted", "fallback_agent": "mine"}, "scripted has no goal loop of its own for --native-goal."),
        ({"agent": "mine", "mode": "instruct"}, "--native-goal makes no sense in the mode instruct."),
    ],
)
def test_a_goal_loop_that_is_not_there_is_refused(tmp_path: Path, flags: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        planned(tmp_path, {**flags, "native_goal": True}, {})
    assert refused.value.sentence == sentence
