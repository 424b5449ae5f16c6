"""Secrets of the environment stay out of what is written, however the output is cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.core.secrets import Redactor

PEM = "-----BEGIN KEY-----\nabc/+def==\n-----END KEY-----"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "sk-ant-0123456789"),
        ("GITHUB_TOKEN", "ghp_abcdefghij"),
        ("my.secret", "s3cr3t-value"),
        ("PG_PASSWD", "lettersonly"),
        ("DB_PASSWORD", "correcthorse"),
        ("npm_config__auth", "dXNlcjpwYXNzd29yZA=="),
        ("AWS_SECRET_ACCESS_KEY", "/Xk3+abcDEF/ghiJKLmnopQRSTuvwxYZ01234567"),
        ("GOOGLE_CREDENTIALS", '{"private": "x"}'),
        ("DEPLOY_KEY", PEM),
    ],
)
def test_a_secret_is_replaced_by_its_name(name: str, value: str) -> None:
    redactor = Redactor.from_environment({name: value})
    assert redactor.text(f"before {value} after") == f"before [redacted {name}] after"
    assert redactor.bytes(b"\xff" + value.encode()) == b"\xff" + f"[redacted {name}]".encode()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSH_AUTH_SOCK", "/tmp/ssh-abc/agent.1"),
        ("SSH_AUTH_SOCK", "custom-place-of-it"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json"),
        ("TLS_KEY", "./certificates/key.pem"),
        ("TLS_KEY", "~/certificates/key.pem"),
        ("TLS_KEY", "C:\\certificates\\key.pem"),
        ("KEYBOARD_LAYOUT", "dvorak-programmer"),
        ("GIT_AUTHOR_NAME", "Ada Lovelace"),
        ("AUTH", "keychain"),
        ("MAX_OUTPUT_TOKENS", "12800000"),
        ("API_KEY", "short"),
        ("HOME", "/home/somebody"),
        ("DATABASE_URL", "postgres://host/database"),
    ],
)
def test_ordinary_values_stay(name: str, value: str) -> None:
    assert Redactor.from_environment({name: value}).text(f"it is {value}.") == f"it is {value}."


def test_a_password_inside_an_address_is_a_secret() -> None:
    redactor = Redactor.from_environment({"DATABASE_URL": "postgres://me:hunter2hunter2@host/database"})
    assert redactor.text("psql postgres://me:hunter2hunter2@host") == "psql postgres://me:[redacted DATABASE_URL]@host"


@pytest.mark.parametrize("value", [PEM, 'quo"te\\and\ttab', "pässwörd-übung"])
def test_a_secret_inside_json_is_found_even_when_nested(value: str) -> None:
    redactor = Redactor.from_environment({"MY_SECRET": value})
    once = json.dumps({"result": value})
    for printed in (once, json.dumps({"outer": once}), json.dumps({"result": value}, ensure_ascii=False)):
        assert "[redacted MY_SECRET]" in redactor.text(printed)
        assert value.splitlines()[-1] not in redactor.text(printed)


def test_the_longer_of_two_secrets_wins() -> None:
    redactor = Redactor.from_environment({"A_KEY": "abcd-1234", "B_KEY": "abcd-1234-5678"})
    assert redactor.text("abcd-1234-5678 abcd-1234") == "[redacted B_KEY] [redacted A_KEY]"


def test_a_stream_lets_a_whole_line_through_at_once() -> None:
    stream = Redactor.from_environment({"A_KEY": "secret-value-1"}).stream()
    assert stream.feed(b"nothing here\n") == b"nothing here\n"
    assert stream.feed(b"it is secret-va") == b"it is "
    assert stream.feed(b"lue-1\n") == b"[redacted A_KEY]\n"
    assert stream.feed(b"ends in secret-") + stream.flush() == b"ends in secret-"
    assert stream.flush() == b""


SECRETS = {"A_KEY": "aab-aab-a", "B_KEY": "aab-aab-aab-b", "C_KEY": "b-aabaabaa"}


@given(st.lists(st.sampled_from(["a", "b", "-", "\n", *SECRETS.values(), "aab-aab"]), max_size=12), st.data())
def test_a_stream_hides_exactly_what_the_whole_text_hides(pieces: list[str], data: st.DataObject) -> None:
    redactor = Redactor.from_environment(SECRETS)
    content = "".join(pieces).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    stream = redactor.stream()
    chunks = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    assert b"".join(map(stream.feed, chunks)) + stream.flush() == redactor.bytes(content)


def test_no_secret_changes_nothing() -> None:
    redactor = Redactor.from_environment({})
    assert redactor.text("any \ud800 text") == "any \ud800 text"
    assert redactor.stream().feed(b"any") == b"any"


def test_text_that_is_no_valid_unicode_passes() -> None:
    redactor = Redactor.from_environment({"A_KEY": "secret-value-1", "B_KEY": "raw-\udcff-value"})
    assert redactor.text("\ud800 secret-value-1 \udcff") == "\ud800 [redacted A_KEY] \udcff"
    assert redactor.bytes(b"raw-\xff-value") == b"[redacted B_KEY]"
