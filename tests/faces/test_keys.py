"""Tokens at a server that are tried too often: nothing is looked at, except from clients that were let in before."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone.faces.api.middleware.keys import Keys, TooManyTries
from untildone.operations.access.scopes import Scope
from untildone.operations.access.tries import BURST, Tries

TOKEN = "a-token-of-the-tests-0123456789"


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    made = Keys(TOKEN, {"HOME": str(tmp_path)}, 8321)
    made.tries = Tries(lambda: 0.0)
    return made


def test_a_right_token_is_not_looked_at_either_after_too_many_wrong_ones(keys: Keys) -> None:
    known, new = keys.tokens.add("known", Scope.READ), keys.tokens.add("new", Scope.READ)
    assert keys.of_token_within_limit(known, "a") is not None
    for number in range(BURST):
        assert keys.of_token_within_limit(f"wrong {number}", "a") is None
    for secret in ("wrong", new, TOKEN):
        with pytest.raises(TooManyTries):
            keys.of_token_within_limit(secret, "a")
    assert keys.of_token_within_limit(known, "a") is not None, "it was let in before"
    assert keys.of_token_within_limit(new, "b") is not None, "another client"
    keys.tokens.revoke("known")
    assert keys.of_token_within_limit(known, "a") is None


def test_what_is_not_counted_is_limited_too(keys: Keys) -> None:
    for _ in range(BURST + 1):
        assert keys.of_token_within_limit("the token of one loop", "a", counts=False) is None
    for _ in range(BURST):
        keys.tries.failed("a")
    with pytest.raises(TooManyTries):
        keys.of_token_within_limit(TOKEN, "a", counts=False)


def test_a_session_ends_with_the_token_of_the_server(keys: Keys, tmp_path: Path) -> None:
    session_id = keys.sessions.begin(keys.main).session_id
    assert keys.of_session(session_id) is not None
    assert Keys(TOKEN, {"HOME": str(tmp_path)}, 9000).of_session(session_id) is not None
    assert Keys(f"{TOKEN}x", {"HOME": str(tmp_path)}, 8321).of_session(session_id) is None


@pytest.mark.parametrize(
    "cookies",
    [
        "{ours}",
        'prefs={{"a":1}}; {ours}',
        "a b=c d; {ours}",
        "=nothing; flag; expires=1; {ours}; path=x",
        "caf\xe9=\xe9; na[me]=1;{ours}",
        "untildone_8321=; {ours}",
        "{ours}; untildone_8321=of-somebody-else",
        "untildone_8321=" + "A" * 43 + "; {ours}",
    ],
)
def test_cookies_of_other_ports_of_the_host_log_nobody_out(keys: Keys, cookies: str) -> None:
    session_id = keys.sessions.begin(keys.main).session_id
    found = keys.session_in(cookies.format(ours=f"untildone_8321={session_id}"))
    assert found is not None
    assert found.caller.session == session_id
    assert keys.session_in(cookies.format(ours=f"untildone_83210={session_id}")) is None
