"""Notices over crashes: each is sent once by each channel, the loop never waits for it, and no secret lies on disk."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.command_line import until
from tests.support.receiver import HANG, TWICE, Receiver, receiving

from untildone.core.errors import ReplyRefused
from untildone.core.events import Entry, Event, Rested, RunnerLeased
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Budget, LoopSettings, Outcome, Spend, Status
from untildone.core.notices import NoticeKind
from untildone.core.values.value import replace
from untildone.engine.notices import notify, replies
from untildone.engine.notices.notify import NotifySettings
from untildone.engine.notices.telling import OutboxNotifier
from untildone.store.seals import Seals
from untildone.system import state_folder
from untildone.testing.driver import WORKER

LEASED = RunnerLeased("t", 1, "here", Host.TERMINAL)
BLOCKED = Rested(Outcome.BLOCKED, "Which database?")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Seals().prepare()
    return tmp_path / "state"


def a_loop(tmp_path: Path, seq: int = 1) -> Loop:
    loop = Loop("loop-1", "Connect it", "task", LoopSettings("ralph", WORKER, str(tmp_path)), Budget(), 0.0, 0.0, seq)
    spend = Spend(iterations=2, cost_usd=0.25, tokens=1200)
    return replace(loop, status=Status.PAUSED, outcome=Outcome.BLOCKED, reason="Which database?", spend=spend)


def entries(*events: Event) -> list[Entry]:
    return [Entry(seq, time.time(), event) for seq, event in enumerate(events, 1)]


def drive(telling: OutboxNotifier, tmp_path: Path, *events: Event) -> None:
    """What a runner does: take up the loop after its first entry, then append the others."""
    first, *later = entries(LEASED, *events)
    telling.take_up("store", a_loop(tmp_path), lambda: iter([first]))
    for entry in later:
        telling.entry(entry, a_loop(tmp_path, entry.seq))


def by_webhook(receiver: Receiver) -> NotifySettings:
    return NotifySettings(webhook=receiver.url, url="http://127.0.0.1:8321/")


def test_a_message_names_loop_question_spend_and_the_way_to_answer(tmp_path: Path) -> None:
    with receiving() as receiver:
        telling = OutboxNotifier(by_webhook(receiver), {})
        drive(telling, tmp_path, BLOCKED)
        telling.close(10)
    (fields,) = receiver.accepted
    assert (fields["event"], fields["kind"], fields["question"]) == ("loop_rested", "blocked", "Which database?")
    assert (fields["title"], fields["spend"]) == ("Connect it", "2 rounds, $0.2500, 1,200 tokens")
    assert fields["link"] == "http://127.0.0.1:8321/loops/loop-1"
    assert fields["reply_link"] == f"http://127.0.0.1:8321/reply/loop-1?token={fields['reply_token']}"
    replies.check(fields["reply_token"], "loop-1", time.time())
    assert "Which database?" in fields["text"]
    assert fields["reply_link"] in fields["text"]


@pytest.mark.parametrize(
    ("outcome", "reason", "way"),
    [
        (Outcome.STALLED, "3 times the same answer", True),
        (Outcome.PAUSED, "Which database?", True),
        (Outcome.PAUSED, "", False),
        (Outcome.VERIFIED, "", False),
    ],
)
def test_a_rest_that_an_answer_ends_is_told_with_the_way_to_answer(
    outcome: Outcome, reason: str, way: bool, tmp_path: Path
) -> None:
    with receiving() as receiver:
        telling = OutboxNotifier(by_webhook(receiver), {})
        first, last = entries(LEASED, Rested(outcome, reason))
        telling.take_up("store", a_loop(tmp_path), lambda: iter([first]))
        telling.entry(last, replace(a_loop(tmp_path, 2), status=outcome.status, outcome=outcome, reason=reason))
        telling.close(10)
    (fields,) = receiver.accepted
    assert (fields["kind"], fields["asks"], fields["question"]) == ("rest", way, reason if way else "")
    assert ("/reply/loop-1?token=" in fields["text"]) is way


@pytest.mark.parametrize(("answers", "tries"), [((TWICE,), 1), ((500, 503, 200), 3), ((404,), 1)])
def test_a_webhook_gets_each_notice_once(tmp_path: Path, answers: tuple[int | str, ...], tries: int) -> None:
    with receiving(*answers) as receiver:
        telling = OutboxNotifier(by_webhook(receiver), {})
        drive(telling, tmp_path, BLOCKED)
        telling.close(20)
        OutboxNotifier(by_webhook(receiver), {}).open("store")
        time.sleep(0.3)
    assert len(receiver.bodies) == tries
    assert len(receiver.accepted) == (0 if answers == (404,) else 1)


def test_the_loop_does_not_wait_for_a_webhook_that_hangs(tmp_path: Path) -> None:
    with receiving(HANG) as receiver:
        telling = OutboxNotifier(by_webhook(receiver), {})
        started = time.monotonic()
        drive(telling, tmp_path, BLOCKED)
        until(lambda: receiver.accepted)
        telling.close(0.5)
        assert time.monotonic() - started < notify.WEBHOOK_SECONDS


def test_only_the_chosen_kinds_are_told_in_the_words_of_the_template(tmp_path: Path) -> None:
    with receiving() as receiver:
        templates = {"blocked": "{title} asks: {about}"}
        settings = NotifySettings(webhook=receiver.url, events=frozenset({NoticeKind.BLOCKED}), templates=templates)
        telling = OutboxNotifier(settings, {})
        drive(telling, tmp_path, Rested(Outcome.VERIFIED), BLOCKED)
        telling.close(10)
    (fields,) = receiver.accepted
    assert fields["text"] == "Connect it asks: Which database?"


def test_what_happened_before_anybody_was_to_be_told_is_no_news(tmp_path: Path) -> None:
    with receiving() as receiver:
        telling = OutboxNotifier(by_webhook(receiver), {})
        telling.take_up("store", a_loop(tmp_path, 2), lambda: iter(entries(LEASED, BLOCKED)))
        telling.close(5)
    assert receiver.bodies == []


def test_what_a_dead_runner_wrote_and_did_not_tell_is_told_by_the_next(tmp_path: Path) -> None:
    with receiving() as receiver:
        first = OutboxNotifier(by_webhook(receiver), {})
        first.take_up("store", a_loop(tmp_path), lambda: iter(entries(LEASED)))
        first.close(5)
        for _ in range(3):
            following = OutboxNotifier(by_webhook(receiver), {})
            following.take_up("store", a_loop(tmp_path, 3), lambda: iter(entries(LEASED, BLOCKED, LEASED)))
            following.close(10)
    assert receiver.kinds == ["blocked"]


RUNNER = """
import sys, time
from pathlib import Path
from tests.engine.test_telling import BLOCKED, NotifySettings, OutboxNotifier, drive
address = sys.argv[2]
settings = NotifySettings(apprise=(address,)) if address.startswith("json") else NotifySettings(webhook=address)
drive(OutboxNotifier(settings, {}), Path(sys.argv[1]), BLOCKED)
print("told", flush=True)
time.sleep(60)
"""


def crashing(tmp_path: Path, address: str) -> subprocess.Popen[str]:
    """A runner that is blocked; the test kills it."""
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(tmp_path), address], stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    assert runner.stdout.readline() == "told\n"
    return runner


def killed(runner: subprocess.Popen[str]) -> None:
    runner.kill()
    runner.wait(30)
    if runner.stdout is not None:
        runner.stdout.close()


@pytest.mark.parametrize("scheme", ["http", "json"])
def test_a_runner_killed_while_a_service_hangs_sends_nothing_twice(tmp_path: Path, scheme: str) -> None:
    with receiving(HANG) as receiver:
        address = receiver.url.replace("http", scheme)
        runner = crashing(tmp_path, address)
        until(lambda: receiver.bodies)
        killed(runner)
        settings = NotifySettings(webhook=address) if scheme == "http" else NotifySettings(apprise=(address,))
        following = OutboxNotifier(settings, {})
        following.open("store")
        following.close(3)
        assert len(receiver.bodies) == 1


@pytest.mark.parametrize("scheme", ["http", "json"])
def test_a_runner_killed_while_a_service_is_down_has_its_notice_sent_by_the_next(tmp_path: Path, scheme: str) -> None:
    with receiving() as receiver:
        port = receiver.port
    address = f"{scheme}://127.0.0.1:{port}/hook"
    runner = crashing(tmp_path, address)
    until(lambda: '"tries": 1' in outbox(tmp_path) and '"waiting"' in outbox(tmp_path))
    killed(runner)
    with receiving(port=port) as receiver:
        for _ in range(2):
            settings = NotifySettings(webhook=address) if scheme == "http" else NotifySettings(apprise=(address,))
            following = OutboxNotifier(settings, {})
            following.open("store")
            until(lambda: receiver.bodies)
            following.close(10)
        assert len(receiver.bodies) == 1


def outbox(tmp_path: Path) -> str:
    files = (tmp_path / "state").rglob("outbox/*/*/*.json")
    return "".join(path.read_text() for path in files)


def test_no_address_and_no_token_lies_on_disk(tmp_path: Path) -> None:
    with receiving() as receiver:
        port = receiver.port
    settings = NotifySettings(apprise=(f"json://user:s3cr3t-passw0rd@127.0.0.1:{port}/",), webhook=receiver.url)
    telling = OutboxNotifier(settings, {})
    drive(telling, tmp_path, BLOCKED)
    until(lambda: '"tries": 1' in outbox(tmp_path))
    telling.close(0.1)
    kept = outbox(tmp_path)
    assert '"question": "Which database?"' in kept
    assert '"problem": "the webhook could not be called' in kept
    assert "s3cr3t" not in kept
    assert f":{port}" not in kept
    assert "token=" not in kept


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda token: token.replace("loop-1", "loop-2"), "not valid"),
        (lambda token: token[:-1] + ("0" if token[-1] != "0" else "1"), "not valid"),
        (lambda _token: "", "not valid"),
        (lambda _token: replies.token("loop-2", 2000.0), "for another loop"),
        (lambda _token: replies.token("loop-1", 999.0), "has expired"),
    ],
)
def test_a_token_is_for_one_loop_and_for_a_time(change: object, sentence: str) -> None:
    token = replies.token("loop-1", 2000.0)
    replies.check(token, "loop-1", 1000.0)
    assert callable(change)
    with pytest.raises(ReplyRefused, match=sentence):
        replies.check(change(token), "loop-1", 1000.0)


def test_without_a_key_there_is_no_token_and_none_is_valid(state: Path) -> None:
    token = replies.token("loop-1", 2000.0)
    Path(state_folder.folder(), state_folder.KEY).unlink()
    assert replies.token("loop-1", 2000.0) == ""
    with pytest.raises(ReplyRefused, match="not valid"):
        replies.check(token, "loop-1", 1000.0)
