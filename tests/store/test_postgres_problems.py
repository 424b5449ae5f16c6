"""Which errors of the database are temporary, and the messages for the others."""

from __future__ import annotations

import psycopg
import pytest

from untildone.store.postgres.problems import is_temporary, store_error

SERVER = 'connection failed: connection to server at "db", port 5432 failed: '
TEMPORARY = {
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


@pytest.mark.parametrize("words", TEMPORARY)
def test_only_temporary_errors_are_retried(words: str) -> None:
    assert is_temporary(psycopg.OperationalError(SERVER + words)) is TEMPORARY[words]


def test_certificate_problems_differ_from_an_unreachable_server() -> None:
    tls_problem = store_error(
        psycopg.OperationalError(f"{SERVER}SSL error: certificate verify failed"), "postgres://db/it"
    )
    assert tls_problem.sentence == ("TLS with postgres://db/it failed: SSL error: certificate verify failed.")
    assert "sslrootcert" in tls_problem.hint
    assert "is the server running" in store_error(psycopg.OperationalError(f"{SERVER}Connection refused"), "it").hint
