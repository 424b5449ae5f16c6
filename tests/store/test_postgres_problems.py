"""Which errors of the database pass by themselves, and what a person is told of those that do not."""

from __future__ import annotations

import psycopg
import pytest

from untildone.store.postgres.problems import passes, told

SERVER = 'connection failed: connection to server at "db", port 5432 failed: '
PASSES = {
    "Connection refused": True,
    "timeout expired": True,
    "SSL SYSCALL error: EOF detected": True,
    "SSL error: unexpected eof while reading": True,
    "FATAL:  password authentication failed for user": False,
    "SSL error: certificate verify failed": False,
    "SSL error: tlsv1 alert unknown ca": False,
    "FATAL:  connection requires a valid client certificate": False,
    "server does not support SSL, but SSL was required": False,
    'root certificate file "/x/ca.pem" does not exist': False,
    'could not load private key file "/x/client.key": no start line': False,
}


@pytest.mark.parametrize("words", PASSES)
def test_only_what_may_get_better_is_tried_again(words: str) -> None:
    assert passes(psycopg.OperationalError(SERVER + words)) is PASSES[words]


def test_papers_are_told_from_a_server_that_is_away() -> None:
    mistrust = told(psycopg.OperationalError(f"{SERVER}SSL error: certificate verify failed"), "postgres://db/it")
    assert mistrust.sentence == (
        "postgres://db/it and this machine do not trust each other: SSL error: certificate verify failed."
    )
    assert "sslrootcert" in mistrust.hint
    assert "is the server running" in told(psycopg.OperationalError(f"{SERVER}Connection refused"), "it").hint
