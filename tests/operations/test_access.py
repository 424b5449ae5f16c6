"""Tokens, sessions, login codes and wrong tries: what each lets in, for how long, and what is kept on disk."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from untildone.core.errors import StoreError, UsageError
from untildone.operations.access import codes, sessions, tries
from untildone.operations.access.codes import Codes
from untildone.operations.access.scopes import Caller, Scope
from untildone.operations.access.sessions import Sessions
from untildone.operations.access.tokens import MOST, NoSuchToken, TokenExists, Tokens
from untildone.operations.access.tries import Tries

ANN = Caller("ann", Scope.CONTROL, "d" * 64)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def kept(home: dict[str, str]) -> list[Path]:
    return [path for path in (Path(home["HOME"]) / ".local/state/untildone").rglob("*") if path.is_file()]


def test_a_scope_includes_those_before_it() -> None:
    allowed = [(have, need) for have in Scope for need in Scope if have.includes(need)]
    assert allowed == [
        (Scope.READ, Scope.READ),
        (Scope.CONTROL, Scope.READ),
        (Scope.CONTROL, Scope.CONTROL),
        (Scope.ADMIN, Scope.READ),
        (Scope.ADMIN, Scope.CONTROL),
        (Scope.ADMIN, Scope.ADMIN),
    ]


def test_a_token_is_found_by_its_secret_until_it_is_revoked(home: dict[str, str]) -> None:
    tokens = Tokens(home)
    secret = tokens.add("ci", Scope.READ)
    found = Tokens(home).find(secret)
    assert found is not None
    assert (found.name, found.scope) == ("ci", Scope.READ)
    assert tokens.find(secret[:-1]) is None
    assert tokens.find("") is None
    tokens.revoke("ci")
    assert (tokens.find(secret), tokens.all()) == (None, ())


def test_no_secret_is_on_disk_and_only_the_owner_reads_the_files(home: dict[str, str]) -> None:
    secret = Tokens(home).add("ci", Scope.READ)
    new = Sessions(home).begin(ANN)
    files = kept(home)
    assert len(files) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    for path in files:
        assert secret not in path.read_text()
        assert new.session_id not in f"{path}{path.read_text()}"
        assert new.key not in path.read_text()


@pytest.mark.parametrize("name", ["", "main", "-x", "a b", "a/b", "ä", "x" * 65, "a\n"])
def test_names_of_tokens_are_plain_words(home: dict[str, str], name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        Tokens(home).add(name, Scope.READ)


def test_a_name_is_given_once_and_tokens_are_bounded(home: dict[str, str]) -> None:
    tokens = Tokens(home)
    tokens.add("t0", Scope.READ)
    with pytest.raises(TokenExists):
        tokens.add("t0", Scope.ADMIN)
    with pytest.raises(NoSuchToken):
        tokens.revoke("t1")
    for number in range(1, MOST):
        tokens.add(f"t{number}", Scope.READ)
    with pytest.raises(UsageError, match="already"):
        tokens.add("more", Scope.READ)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tokens": [{"name": "x"}]}', '{"tokens": 1}', "[" * 100_000])
def test_a_damaged_file_of_tokens_lets_nobody_in_and_is_not_overwritten(home: dict[str, str], content: str) -> None:
    tokens = Tokens(home)
    secret = tokens.add("ci", Scope.READ)
    (path,) = (path for path in kept(home) if path.name == "tokens.json")
    path.write_text(content)
    assert tokens.find(secret) is None
    with pytest.raises(StoreError, match="cannot be read"):
        tokens.add("other", Scope.READ)
    assert path.read_text() == content


def test_a_session_ends_after_thirty_days_and_by_log_out(home: dict[str, str], clock: Clock) -> None:
    kept_sessions = Sessions(home, clock)
    first, second = kept_sessions.begin(ANN).session_id, kept_sessions.begin(ANN).session_id
    found = Sessions(home, clock).find(first)
    assert found is not None
    assert (found.caller.name, found.caller.scope, found.caller.session) == ("ann", Scope.CONTROL, first)
    kept_sessions.end(first)
    assert kept_sessions.find(first) is None
    clock.now += sessions.LASTS - 1
    assert kept_sessions.find(second) is not None
    clock.now += 1
    assert kept_sessions.find(second) is None


@pytest.mark.parametrize("session_id", ["", "x", "../tokens.json", "A" * 43, "A" * 42 + "/", "\0" * 43])
def test_made_up_session_ids_are_nobody(home: dict[str, str], session_id: str) -> None:
    kept_sessions = Sessions(home)
    kept_sessions.begin(ANN)
    assert kept_sessions.find(session_id) is None
    kept_sessions.end(session_id)


def test_a_session_opens_with_its_own_key_only(home: dict[str, str]) -> None:
    kept_sessions = Sessions(home)
    new, other = kept_sessions.begin(ANN), kept_sessions.begin(ANN)
    found = kept_sessions.find(new.session_id)
    assert found is not None
    tries = (new.key, other.key, "", new.session_id, found.key_digest)
    assert [found.opens_with(key) for key in tries] == [True, False, False, False, False]


def test_a_damaged_session_is_nobody(home: dict[str, str]) -> None:
    kept_sessions = Sessions(home)
    session_id = kept_sessions.begin(ANN).session_id
    (path,) = kept(home)
    for content in ("", "[]", "{}", '{"name":"ann","scope":"root","token":"x","since":1}', "[" * 100_000):
        path.write_text(content)
        assert kept_sessions.find(session_id) is None


def test_sessions_are_bounded_and_the_oldest_ends_first(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST", 5)
    kept_sessions = Sessions(home)
    ids = [kept_sessions.begin(ANN).session_id for _ in range(8)]
    assert [kept_sessions.find(each) is not None for each in ids] == [False] * 3 + [True] * 5
    assert len(kept(home)) == 5


def test_a_login_code_is_valid_once_and_for_a_quarter_of_an_hour(clock: Clock) -> None:
    made = Codes(clock)
    first, second = made.new(ANN), made.new(ANN)
    assert made.look(first) == ANN
    assert made.use(first) == ANN
    assert made.use(first) is None
    assert made.use(f"{second}x") is None
    clock.now += codes.LASTS
    assert made.use(second) is None


def test_wrong_tries_are_limited_for_a_client_and_come_back_with_time(clock: Clock) -> None:
    counted = Tries(clock)
    for _ in range(tries.BURST):
        assert counted.wait("a") == 0
        counted.failed("a")
    assert counted.wait("a") == tries.EVERY
    assert counted.wait("b") == 0
    clock.now += tries.EVERY
    assert counted.wait("a") == 0
    counted.failed("a")
    assert counted.wait("a") > 0
    for _ in range(1000):
        counted.failed("a")
    assert counted.wait("a") <= tries.EVERY, "a client that goes on is not locked out for longer"


def test_wrong_tries_of_many_clients_are_limited_together(clock: Clock) -> None:
    counted = Tries(clock)
    for number in range(tries.BURST_OF_ALL):
        counted.failed(f"client {number}")
    assert counted.wait("a new one") > 0
    clock.now += 1
    assert counted.wait("a new one") == 0


def test_a_token_that_worked_before_is_known(clock: Clock) -> None:
    counted = Tries(clock)
    counted.succeeded("a", "digest")
    assert (counted.knows("a", "digest"), counted.knows("b", "digest"), counted.knows("a", "other")) == (
        True,
        False,
        False,
    )
