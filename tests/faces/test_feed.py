"""The stream of all loops, inside one process. Covers: faces/api/feed.py, the listeners of operations/loop_table."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from untildone.core.errors import StoreError
from untildone.faces.api.feed import LoopFeed, Message
from untildone.operations import control
from untildone.operations.driving.service import Service

PATIENCE = 60.0


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    with Service([tmp_path / "work"]) as made:
        yield made


def titles(heard: list[Message]) -> list[str]:
    return [json.loads(each.data).get("title", "gone") for each in heard]


def test_all_clients_hear_the_last_state_and_not_every_one(service: Service) -> None:
    async def listen(feed: LoopFeed, heard: list[Message]) -> None:
        async for message in feed.follow(None, stays=True):
            heard.append(message)
            if titles(heard)[-1] == "gone":
                return

    async def follow() -> tuple[list[Message], list[Message]]:
        feed, one, two = LoopFeed(service), list[Message](), list[Message]()
        listening = [asyncio.create_task(listen(feed, heard)) for heard in (one, two)]
        await asyncio.to_thread(change)
        await asyncio.wait_for(asyncio.gather(*listening), PATIENCE)
        return one, two

    def change() -> None:
        service.table.rows()
        loop = service.create("A job", {"agent": "scripted"}, None)
        for number in range(30):
            control.rename(service.store_of(loop.loop_id), loop.loop_id, f"Title {number}")
        control.stop(service.store_of(loop.loop_id), loop.loop_id)
        service.delete(loop.loop_id)

    began = time.monotonic()
    one, two = asyncio.run(follow())
    assert one == two
    assert titles(one)[-1] == "gone"
    assert len(one) <= time.monotonic() - began + 2


def test_a_client_that_was_away_hears_what_changed_since(service: Service) -> None:
    before = service.create("Before", {"agent": "scripted"}, None)
    after = service.create("After", {"agent": "scripted"}, None)

    async def heard() -> list[Message]:
        return [each async for each in LoopFeed(service).follow(after.updated_at, stays=False)]

    assert before.updated_at < after.updated_at
    assert titles(asyncio.run(heard())) == ["After"]


def test_nobody_listens_to_the_table_when_the_last_client_is_gone(service: Service) -> None:
    async def listen(feed: LoopFeed) -> None:
        async for _ in feed.follow(None, stays=True):
            return

    async def come_and_go() -> None:
        client = asyncio.create_task(listen(LoopFeed(service)))
        await asyncio.sleep(0.1)
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)

    asyncio.run(come_and_go())
    service.create("Unheard", {"agent": "scripted"}, None)
    assert len(service.table.rows()) == 1


def test_a_client_that_comes_when_the_last_one_goes_hears_everything(service: Service) -> None:
    async def first_title(feed: LoopFeed) -> str:
        async for message in feed.follow(None, stays=True):
            return titles([message])[0]
        return ""

    async def come_and_go() -> str:
        feed = LoopFeed(service)
        before = asyncio.create_task(first_title(feed))
        await asyncio.sleep(0.2)
        before.cancel()
        hears = asyncio.create_task(first_title(feed))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(service.create, "Heard", {"agent": "scripted"}, None)
        return await asyncio.wait_for(hears, PATIENCE)

    assert asyncio.run(come_and_go()) == "Heard"


def test_a_stream_ends_if_the_loops_cannot_be_read(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> None:
        raise StoreError("The database is gone.")

    async def heard() -> list[Message]:
        return [each async for each in LoopFeed(service).follow(None, stays=True)]

    monkeypatch.setattr(service.table, "rows", lost)
    assert asyncio.run(asyncio.wait_for(heard(), PATIENCE)) == []
