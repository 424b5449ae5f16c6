"""A value that cannot be a setting gets a sentence of ours, whatever its source. Covers: settings/complaints.py, schema.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
import tomlkit
from fastapi import FastAPI

from untildone import settings
from untildone.core.errors import UsageError
from untildone.faces.api.routes.settings_routes import router
from untildone.faces.api.schemas.models import NewLoop
from untildone.faces.api.schemas.problems import explain_errors
from untildone.faces.cli.commands.runs import run
from untildone.settings.schema import SettingsModel
from untildone.settings.setting import Command
from untildone.store import places

PHRASES = (
    "Input should",
    "validation error",
    "Field required",
    "Value error",
    "Extra inputs",
    "unable to",
    "String should",
)
WRONG: tuple[Any, ...] = (
    True,
    -1,
    0,
    1.5,
    10**30,
    float("inf"),
    "",
    "x",
    "a\nb",
    [],
    ["x"],
    [1, {"a": []}],
    [""],
    {},
    {"a": 1},
    {"a": {"b": 1}},
    {"a": {"agent": 5, "env": [], "max_iterations": 0, "loop_enabled": "x", "permissions": "x"}},
)
NAMES = (*settings.every(), "completion_promise", "speed")


def check(sentence: str, hint: str, name: str) -> None:
    text = f"{sentence}\n{hint}"
    assert not [phrase for phrase in PHRASES if phrase.lower() in text.lower()], text
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert f"'{name.replace('completion_', '')}" in sentence or name in sentence, text
    assert hint


def refused(name: str, folder: Path, flags: dict[str, Any], **variables: str) -> UsageError | None:
    try:
        settings.load(folder, flags, {"HOME": str(folder), **variables})
    except UsageError as problem:
        check(problem.sentence, problem.hint, name)
        return problem
    return None


@pytest.mark.parametrize("name", NAMES)
def test_in_a_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / places.PROJECT_FILE
    for value in WRONG:
        path.write_text(tomlkit.dumps({name: value}), encoding="utf-8")
        problem = refused(name, tmp_path, {})
        assert problem is None or str(path) in problem.sentence


@pytest.mark.parametrize("name", NAMES)
def test_in_the_environment(name: str, tmp_path: Path) -> None:
    for value in WRONG:
        text = value if isinstance(value, str) else json.dumps(value)
        problem = refused(name, tmp_path, {}, **{f"UNTILDONE_{name.upper()}": text})
        assert problem is None or "environment" in problem.sentence


@pytest.mark.parametrize("name", NAMES)
def test_given_by_a_program(name: str, tmp_path: Path) -> None:
    for value in WRONG:
        refused(name, tmp_path, {name: value})


@pytest.mark.parametrize("name", [each.name for each in settings.every().values() if each.is_flag_of(Command.RUN)])
def test_given_with_a_flag(name: str, tmp_path: Path) -> None:
    """Flags that take a text take every text; of the others, each refuses one of these."""
    declared = settings.every()[name]
    if not (declared.unit or declared.choices):
        return
    flag = declared.flag_names[-1]
    for text in ("x", "", "-1", "1e999"):
        with pytest.raises((UsageError, click.UsageError)) as raised:
            run.command.main([f"{flag}={text}", "--dir", str(tmp_path), "a task"], standalone_mode=False)
        problem = raised.value
        text = problem.format_message() if isinstance(problem, click.UsageError) else str(problem)
        assert not [phrase for phrase in PHRASES if phrase in text]
        assert any(name in text for name in declared.flag_names)


def app() -> FastAPI:
    made = FastAPI()
    explain_errors(made)

    @made.put(router.prefix)
    def save(wanted: SettingsModel) -> None: ...

    @made.post("/api/v1/loops")
    def create(wanted: NewLoop) -> None: ...

    return made


def answers(requests: Iterable[tuple[str, str, Any]]) -> list[httpx.Response]:
    """The answers of the API to requests: method, path and body."""

    async def ask() -> list[httpx.Response]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app()), base_url="http://test") as client:
            return [await client.request(method, path, json=body) for method, path, body in requests]

    return asyncio.run(ask())


@pytest.mark.parametrize("name", NAMES)
def test_sent_to_the_api(name: str) -> None:
    values = [value for value in WRONG if value != float("inf")]
    saved = [("PUT", router.prefix, {name: value}) for value in values]
    created = [("POST", "/api/v1/loops", {"task": "a", "settings": {name: value}}) for value in values]
    for answer in answers([*saved, *created]):
        assert answer.status_code in (200, 422)
        if answer.status_code == 422:
            told = answer.json()
            check(told["detail"], told["hint"], name)
            assert name.replace("completion_", "") in told["errors"][0]["field"]


BODIES: list[Any] = [
    [],
    None,
    {},
    {"task": 5},
    {"task": ""},
    {"task": "a", "start": "x"},
    {"task": "a", "more": 1},
    {"task": "a", "settings": 1},
]


def test_the_rest_of_a_body() -> None:
    for answer in answers(("POST", "/api/v1/loops", body) for body in BODIES):
        told = answer.json()
        assert answer.status_code == 422
        assert not [phrase for phrase in PHRASES if phrase.lower() in f"{told}".lower()], told


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        (
            "max_iterations = 0",
            "Setting 'max_iterations' in FILE: 0 is not a number of rounds.",
            "give a whole number from 1 to 1,000,000, or none",
        ),
        (
            "max_cost = 'much'",
            "Setting 'max_cost' in FILE: 'much' is not a number of dollars.",
            "give a number above 0 and up to 1,000,000,000,000",
        ),
        (
            "retry_delay = -1",
            "Setting 'retry_delay' in FILE: -1 is not a number of seconds.",
            "give a number from 0 to 1,000,000,000",
        ),
        ("review = 'x'", "Setting 'review' in FILE: 'x' is neither true nor false.", "give true or false"),
        (
            "context = 'x'",
            "Setting 'context' in FILE: 'x' is not one of the choices.",
            "choose one of: continue, fresh",
        ),
        ("model = 5", "Setting 'model' in FILE: 5 is not text.", "give a text"),
        ("marker = ''", "Setting 'marker' in FILE: it is empty.", "give a text"),
        (
            "checks = 'pytest'",
            "Setting 'checks' in FILE: 'pytest' is not a list.",
            'give a list of texts, such as ["pytest -q"]',
        ),
        ("checks = [1]", "Setting 'checks.0' in FILE: 1 is not text.", 'give a list of texts, such as ["pytest -q"]'),
        (
            "notify_webhook = 'here'",
            "Setting 'notify_webhook' in FILE: 'here' is not a web address.",
            "give one that starts with http:// or https://",
        ),
        ("[profiles.mine]\nmodel = 'm'", "Setting 'profiles.mine.agent' in FILE: it is missing.", "give a text"),
        (
            "[profiles.mine]\nagent = 'claude'\nmax_iterations = 101",
            "Setting 'profiles.mine.max_iterations' in FILE: 101 is not a number of rounds.",
            "give a whole number from 1 to 100",
        ),
        (
            "max_iteration = 5",
            "Setting 'max_iteration' in FILE: there is no setting of this name.",
            "did you mean 'max_iterations'? `untildone config --schema` lists what is allowed",
        ),
        (
            "promise = 'a'\ncompletion_promise = 'b'",
            "Settings promise and completion_promise in FILE: they are one setting, and the values differ.",
            "keep one of them",
        ),
    ],
)
def test_the_words(text: str, sentence: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / places.PROJECT_FILE
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        settings.load(tmp_path, {}, {"HOME": str(tmp_path)})
    assert (raised.value.sentence, raised.value.hint) == (sentence.replace("FILE", str(path)), hint)
