"""Secrets of the environment stay out of what is written, however the output is cut."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.core.protection.secrets import Redactor

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
        ("PGPASSWORD", "lettersonly"),
        ("MYSQL_PWD", "12345678"),
        ("REDIS_PASS", "x9-something"),
        ("DB_PASS_PROD", "x9-something"),
        ("GITHUB_PAT_READONLY", "ghp_abcdefghij"),
        ("MYSQL_PWD_ADMIN", "x9-something"),
        ("SMTP_PASS2", "x9-something"),
        ("GITHUB_PAT", "github_pat_11ABC"),
        ("GHPAT", "github_pat_11ABC"),
        ("MY_APITOKEN", "abcdefgh"),
        ("TELEGRAM_TOKEN", "1234567890"),
        ("CLIENTSECRET", "abc-def-ghi"),
        ("clientSecret", "abc-def-ghi"),
        ("SESSION_JWT", "eyJhbGciOi.eyJzdWIi.sig"),
        ("SENTRY_DSN", "https://abc123@o1.ingest.example.com/2"),
        ("DB_DSN", "host=db user=me password=x"),
        ("SLACK_WEBHOOK_URL", "https://hooks.example.com/services/T0/B0/xyz"),
        ("PGHOST", "db.internal.example.com"),
        ("AWS_CREDS", "AKIAIOSFODNN7EXAMPLE"),
        ("MAX_RETRY_TOKEN", "abc-12345"),
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
        ("PASS_COUNT", "12345678"),
        ("BYPASS_HOSTS", "a.example.org"),
        ("UNTILDONE_PASS_ENV", "DATABASE_URL"),
        ("PWD_PREFIX", "/home/somebody/work"),
        ("MAX_OUTPUT_TOKENS", "12800000"),
        ("API_KEY", "short"),
        ("HOME", "/home/somebody"),
        ("DATABASE_URL", "postgres://host/database"),
        ("PATH", "/usr/local/bin:/usr/bin"),
        ("PWD", "/srv/project-1"),
        ("OLDPWD", "relative-looking-1"),
        ("BUILD_PWD", "/srv/project-1"),
        ("GIT_ASKPASS", "/usr/lib/git-core/askpass"),
        ("SSH_ASKPASS", "ksshaskpass-5"),
        ("MODE_COMPAT", "posix-2008"),
        ("PROXY_BYPASS", "*.example.com"),
        ("PGHOST", "localhost"),
        ("PGPORT", "54321000"),
        ("PGSSLMODE", "verify-full"),
        ("PGAPPNAME", "untildone-worker"),
        ("PGDATABASE", "warehouse"),
        ("PGPASSFILE", "/home/me/.pgpass"),
        ("PGPASSWORD", "postgres"),
        ("DB_PASSWORD", "changeme"),
        ("CI_TOKEN_REQUIRED", "required"),
        ("TOKEN_TTL", "86400000"),
        ("TOKENIZERS_PARALLELISM", "disabled-by-me"),
        ("SORT_KEY", "lastmodified"),
        ("CACHE_KEY", "20260131"),
        ("API_TOKEN_VERSION", "2026.01.31"),
        ("WEBHOOK_URL", "http://localhost:9000/hook"),
        ("SQLITE_DSN", "sqlite/data.db"),
    ],
)
def test_ordinary_values_stay(name: str, value: str) -> None:
    assert Redactor.from_environment({name: value}).text(f"it is {value}.") == f"it is {value}."


def test_the_name_of_the_person_is_no_secret() -> None:
    redactor = Redactor.from_environment({"USER": "ada.lovelace", "PGUSER": "ada.lovelace", "DB_PASS": "ada.lovelace"})
    assert redactor.text("by ada.lovelace") == "by ada.lovelace"


def test_an_encoded_password_inside_an_address_is_known_as_it_is() -> None:
    redactor = Redactor.from_environment({"DATABASE_URL": "postgres://me:hunter%2F2hunter@host/database"})
    assert redactor.text("hunter/2hunter hunter%2F2hunter hunter%2f2hunter") == " ".join(
        ["[redacted DATABASE_URL]"] * 3
    )


def test_a_token_inside_an_address_is_a_secret() -> None:
    redactor = Redactor.from_environment({"REMOTE": "https://ghp_0123456789abcdef@example.com/a.git"})
    assert redactor.text("ghp_0123456789abcdef") == "[redacted REMOTE]"


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


ODD = "s3cr3t/+ \"<&'@pä:1"


def encoded(value: bytes, before: bytes = b"", after: bytes = b"") -> str:
    return base64.b64encode(before + value + after).decode()


@pytest.mark.parametrize("value", ["sk-ant-0123456789", ODD, "12345678"])
@pytest.mark.parametrize(
    "write",
    [
        lambda value: encoded(value.encode()),
        lambda value: encoded(value.encode(), b"u:", b"!"),
        lambda value: encoded(value.encode(), b"user:", b"\n"),
        lambda value: encoded(value.encode(), b"", b"?>?>"),
        lambda value: base64.urlsafe_b64encode(b"\xff" + value.encode()).decode(),
        lambda value: value.encode().hex(),
        lambda value: value.encode().hex().upper(),
        lambda value: quote(value),
        lambda value: quote(value, safe="").lower() if value.islower() else quote(value, safe=""),
        quote_plus,
        lambda value: quote(value, safe="!*'()"),
        html.escape,
        lambda value: html.escape(value, quote=False),
        lambda value: json.dumps(value).replace("/", "\\/"),
        lambda value: json.dumps(json.dumps(value).replace("/", "\\/")),
    ],
)
def test_a_secret_is_found_however_it_is_written(value: str, write: Callable[[str], str]) -> None:
    redactor = Redactor.from_environment({"MY_SECRET": value})
    printed = redactor.text(f"before {write(value)} after")
    assert "[redacted MY_SECRET]" in printed
    assert printed.startswith("before ")
    assert printed.endswith(" after")


KEY = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA0123456789\nshort1\nabcdefghij/klmnop+qrst9\n-----END KEY-----\n"


@pytest.mark.parametrize(
    "printed",
    [
        "  MIIEpAIBAAKCAQEA0123456789",
        KEY.replace("\n", "\r\n"),
        KEY.replace("\n", "\n    "),
        json.dumps(["abcdefghij/klmnop+qrst9"]),
    ],
)
def test_each_long_line_of_a_secret_is_a_secret(printed: str) -> None:
    redacted = Redactor.from_environment({"DEPLOY_KEY": KEY}).text(printed)
    assert "[redacted DEPLOY_KEY]" in redacted
    assert "MIIEpAIBAAKCAQEA0123456789" not in redacted
    assert "klmnop" not in redacted


def test_the_frame_of_a_key_is_no_secret() -> None:
    redactor = Redactor.from_environment({"DEPLOY_KEY": KEY})
    assert redactor.text("-----BEGIN KEY-----\nother\n") == "-----BEGIN KEY-----\nother\n"


@pytest.mark.parametrize(
    "printed",
    [
        "secret-\x1b[31mvalue-1\x1b[0m",
        "\x1b[1ms\x1b[0mecret\x1b]8;;x\x07-value-1",
        json.dumps("secret-\x1b[31mvalue-1"),
    ],
)
def test_escape_sequences_do_not_hide_a_secret(printed: str) -> None:
    redactor = Redactor.from_environment({"A_KEY": "secret-value-1"})
    assert "[redacted A_KEY]" in redactor.text(printed)
    for size in (1, 2, 3, 7):
        stream, content = redactor.stream(), printed.encode()
        parts = [stream.feed(content[start : start + size]) for start in range(0, len(content), size)]
        assert b"[redacted A_KEY]" in b"".join(parts) + stream.flush()


def test_colours_stay_where_no_secret_is() -> None:
    redactor = Redactor.from_environment({"A_KEY": "secret-value-1"})
    assert redactor.text("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m"
    assert redactor.text("\x1b[31mred\x1b[0m secret-value-1") == "\x1b[31mred\x1b[0m [redacted A_KEY]"
    stream = redactor.stream()
    assert stream.feed(b"\x1b[31mred\x1b[0m\n") == b"\x1b[31mred\x1b[0m\n"


def test_a_line_with_an_escape_sequence_that_never_ends_is_not_held_back_for_ever() -> None:
    stream = Redactor.from_environment({"A_KEY": "secret-value-1"}).stream()
    shown = b"".join(stream.feed(b"\x1b[K" + b"." * 1000) for _ in range(200))
    assert len(shown) > 100_000


def test_the_secret_that_a_text_holds_is_named() -> None:
    redactor = Redactor.from_environment({"A_KEY": "secret-value-1", "B_KEY": "secret-value-2"})
    assert redactor.found_in(b"curl -H " + encoded(b"secret-value-2").encode()) == "B_KEY"
    assert redactor.found_in(b"curl -H secret-value-3") == ""


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


@given(st.binary(max_size=90), st.binary(min_size=8, max_size=60), st.binary(max_size=90))
def test_a_secret_is_found_wherever_it_stands(before: bytes, value: bytes, after: bytes) -> None:
    redactor = Redactor({"A_KEY": value.decode(errors="surrogateescape")})
    assert b"[redacted A_KEY]" in redactor.bytes(before + value + after)


def test_no_secret_changes_nothing() -> None:
    redactor = Redactor.from_environment({})
    assert redactor.text("any \ud800 text") == "any \ud800 text"
    assert redactor.stream().feed(b"any") == b"any"


def test_text_that_is_no_valid_unicode_passes() -> None:
    redactor = Redactor.from_environment({"A_KEY": "secret-value-1", "B_KEY": "raw-\udcff-value"})
    assert redactor.text("\ud800 secret-value-1 \udcff") == "\ud800 [redacted A_KEY] \udcff"
    assert redactor.bytes(b"raw-\xff-value") == b"[redacted B_KEY]"


@pytest.mark.parametrize(
    "sequence", ["\x1b(B\x1b[m", "\x1b#8", "\x1b%G", "\x1bP1$q\x1b\\", "\x1b_x\x1b\\", "\x9b31m", "\x1b", "\0"]
)
def test_no_kind_of_escape_sequence_hides_a_secret_wherever_it_stands(sequence: str) -> None:
    """`tput sgr0` prints the first one."""
    value = "Tr0ub4dor&3/XYZ+abc"
    redactor = Redactor.from_environment({"MY_TOKEN": value})
    for place in range(1, len(value)):
        printed = f"{value[:place]}{sequence}{value[place:]}"
        stream = redactor.stream()
        pieces = [stream.feed(bytes([byte])) for byte in f"{printed}\n".encode()]
        for shown in (redactor.text(printed), redactor.text(json.dumps(printed)), b"".join(pieces).decode()):
            assert "[redacted MY_TOKEN]" in shown


def test_a_secret_of_which_every_letter_is_escaped_is_found() -> None:
    redactor = Redactor.from_environment({"MY_TOKEN": "sk-0123456789"})
    assert redactor.text("".join(f"\\u{ord(letter):04x}" for letter in "sk-0123456789")) == "[redacted MY_TOKEN]"
