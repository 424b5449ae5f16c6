"""Errors that nobody expected, through the whole application: a page or a problem with an id, and nothing of the traceback."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from untildone.faces import web
from untildone.faces.api.app import create_app
from untildone.faces.api.middleware.keys import Keys
from untildone.faces.api.schemas.problem_form import Code
from untildone.faces.web.translations.problems import CODES
from untildone.operations.driving.service import Service

TOKEN = "a-token-of-the-tests-0123456789"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    with Service([tmp_path / "work"]) as service:
        app = create_app(service, Keys(TOKEN))
        web.mount(app, service)

        def fail() -> None:
            raise ZeroDivisionError("a secret of the server")

        for path in ("/api/v1/loops/x/breaks", "/breaks"):
            app.get(path)(fail)
        yield app


def ask(app: FastAPI, path: str, **headers: str) -> httpx.Response:
    async def answer() -> httpx.Response:
        # The transport raises what the server would see: nothing may come through.
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
            sent = {"Authorization": f"Bearer {TOKEN}", **headers}
            return await client.get(path, headers={name: value for name, value in sent.items() if value})

    return asyncio.run(answer())


@pytest.mark.parametrize(
    ("path", "accept", "language", "kind", "says"),
    [
        ("/api/v1/loops/x/breaks", "*/*", "en", "application/problem+json", "This is a defect of untildone"),
        ("/breaks", "*/*", "en", "application/problem+json", "This is a defect of untildone"),
        ("/breaks", "text/html", "en", "text/html", "<h1>This is a defect of untildone"),
        ("/breaks", "text/html", "zh-CN", "text/html", "服务器日志中有"),
    ],
)
def test_a_defect_is_told_with_an_id_that_the_log_has(
    app: FastAPI, caplog: pytest.LogCaptureFixture, path: str, accept: str, language: str, kind: str, says: str
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = ask(app, path, accept=accept, **{"accept-language": language})
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (500, kind)
    assert says in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    (record,) = caplog.records
    (number,) = re.findall(r"Defect ([0-9a-f]{8}): GET ", record.getMessage())
    assert number in answer.text
    assert record.exc_info is not None
    for told in ("secret", "ZeroDivision", "Traceback", ".py"):
        assert told not in answer.text


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 303),
        ("/", {"sec-fetch-mode": "navigate"}, 303),
        ("/", {"sec-fetch-mode": "cors"}, 401),
        ("/fragments/inbox", {}, 401),
        ("/fragments/loops/x/head", {"sec-fetch-mode": "cors"}, 401),
    ],
)
def test_only_a_page_leads_to_the_login_and_no_part_of_one(
    app: FastAPI, path: str, headers: dict[str, str], status: int
) -> None:
    """A script would show the login page inside of the page that it keeps live."""
    assert ask(app, path, Authorization="", accept="text/html", **headers).status_code == status


def test_a_foreign_name_is_refused_with_a_page_for_a_person(app: FastAPI) -> None:
    answer = ask(app, "/", accept="text/html", host="<b>elsewhere</b>:8321")
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (403, "text/html")
    assert "<h1>This server has another name.</h1>" in answer.text
    assert "<b>" not in answer.text
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    told = ask(app, "/api/v1/loops", accept="text/html", host="elsewhere")
    assert (told.status_code, told.json()["code"]) == (403, "wrong-host")


def test_every_code_of_a_problem_is_translated() -> None:
    assert {code.word for code in Code} == set(CODES)


def test_every_code_of_a_problem_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
    assert [code.word for code in Code if f"`{code.word}`" not in guide] == []
