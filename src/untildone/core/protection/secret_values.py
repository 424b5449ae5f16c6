"""Which values of an environment are secrets, and how a value can be written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto

SHORTEST_SECRET = 8
SHORTEST_LINE = 16
"""Shorter lines of a value with several lines are no secrets by themselves."""


class _Kind(Enum):
    """How sure a name is about its value, from most to least."""

    PASSWORD = auto()
    TOKEN = auto()
    KEY = auto()
    ADDRESS = auto()


# Ends of words. A name is a secret's if one of its words ends so: DB_PASSWORD, CLIENTSECRET, JWT_SECRET_2.
_ENDS = (
    (_Kind.TOKEN, ("TOKEN", "SECRET", "SECRETS", "CREDENTIAL", "CREDENTIALS", "CREDS", "JWT")),
    (_Kind.KEY, ("PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "KEY", "KEYS", "TOKENS")),
    (_Kind.ADDRESS, ("DSN", "WEBHOOK", "WEBHOOKS")),
)
_LAST_PASSWORD = ("PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "PASS", "PWD")
"""Ends of the last word of a name. In another word they are less sure: `DB_PASS_PROD`, but `PASS_COUNT` too."""
_NO_SECRETS = frozenset({"BYPASS", "COMPASS", "ASKPASS", "COMPAT", "MONKEY", "DONKEY", "TURKEY", "HOTKEY"})
_POSTGRES = frozenset({"PGHOST", "PGHOSTADDR", "PGUSER", "PGDATABASE", "PGSERVICE"})
"""Variables that say where a database is, beside PGPASSWORD. The other variables of libpq hold formats and time-outs."""
_FOLDERS_NAMES = frozenset({"PWD", "OLDPWD"})
_NAMES_PASSED_ON = ["PASS", "ENV"]
"""The last words of a variable that lists names of others, such as untildone's setting."""
_LOGINS = ("USER", "LOGNAME", "USERNAME")
_PLACE_WORDS = frozenset({"SOCK", "SOCKET", "FILE", "PATH", "DIR", "DIRECTORY", "HOME"})
_AMOUNT_WORDS = frozenset(
    {"MAX", "MIN", "LIMIT", "COUNT", "NUM", "SIZE", "LENGTH", "BITS", "TTL", "TIMEOUT", "SECONDS", "EXPIRY", "EXPIRES", "LIFETIME", "PORT"}
)  # fmt: skip
# Words that people write instead of a secret, or as the password of a database for tests.
_COMMON_WORDS = frozenset(
    {
        "anonymous", "automatic", "changeit", "changeme", "disabled", "external", "internal", "interactive", "keychain", "localhost",
        "optional", "password", "postgres", "required", "unlimited", "username",
    }
)  # fmt: skip
_ROOT_FOLDERS = (
    "Applications|Library|System|Users|Volumes|app|bin|data|dev|etc|home|lib|media|mnt|nix|opt|private|proc|root|run|sbin|snap|srv"
    "|tmp|usr|var|workspace"
)
# Compiled at first use: for most environments they are never needed.
_PATH = rf"(?:~|\.\.?|file:/)?/(?:(?<=[~./]/).|(?:{_ROOT_FOLDERS})(?:/|$))|[A-Za-z]:[\\/]"
_SMALL_WORD = r"[a-z]{1,12}"
_NUMBER = r"[0-9.]+"
_URL = r"[a-zA-Z][a-zA-Z0-9+.-]*://"
_URL_PASSWORD = rf"{_URL}[^/\s:@]*:([^/\s@]+)@"
_URL_TOKEN = rf"{_URL}(?=[^/\s:@]*\d)([^/\s:@]{{16,}})@"
_IN_VALUE = (
    r"(?i:password|passwd|secret|token)=(?P<value>[^&;\s\"']+)|(?i:\b(?:bearer|basic)) +[\w.~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(?:gh[opsur]_|github_pat_|glpat-|xox[abp]-|sk-|AKIA|hf_|npm_|pypi-)[A-Za-z0-9_-]{16,}"
)
"""What in a value is a secret, whatever the name says."""
_OWN_MACHINE = rf"{_URL}(?:localhost|127\.|\[::1\])"


def secrets_in(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The secrets of an environment, each with the name of its variable. A name can occur more than once."""
    logins = {environment.get(name) for name in _LOGINS}
    for name, value in environment.items():
        if len(value) < SHORTEST_SECRET or value in logins or value in _COMMON_WORDS:
            continue
        if _is_secret(name, value):
            yield name, value
        for pattern in (_URL_PASSWORD, _URL_TOKEN) if "://" in value else ():
            if (part := re.match(pattern, value)) and len(part[1]) >= SHORTEST_SECRET and part[1] not in _COMMON_WORDS:
                yield name, part[1]


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable may hold a secret, however short its value is. Paths and numbers are none, nor are the words of `secrets_in`."""
    words = _words(name)
    parts = re.finditer(f"{_URL_PASSWORD}|{_URL_TOKEN}|{_IN_VALUE}", value)
    if any((part[1] or part[2] or part["value"]) not in _COMMON_WORDS for part in parts):
        return True
    match _kind(words):
        case None:
            return False
        case _Kind.PASSWORD:
            return bool(value) and _is_secret(name, value)
        case _:
            return bool(value) and not (
                words[-1] in _PLACE_WORDS or re.match(_PATH, value) or re.fullmatch(_NUMBER, value)
            )


def _words(name: str) -> list[str]:
    return [word.rstrip("0123456789") or word for word in re.split(r"[^A-Z0-9]+", name.upper()) if word]


def _is_secret(name: str, value: str) -> bool:
    words = _words(name)
    match _kind(words):
        case None:
            return False
        case _Kind.PASSWORD:
            return not (words[-1].endswith("PWD") and re.match(_PATH, value))
        case _ if words[-1] in _PLACE_WORDS or re.match(_PATH, value):
            return False
        case _Kind.TOKEN:
            return not re.fullmatch(_NUMBER, value) or ("." not in value and _AMOUNT_WORDS.isdisjoint(words))
        case _Kind.KEY:
            return not re.fullmatch(rf"{_SMALL_WORD}|{_NUMBER}", value)
        case _Kind.ADDRESS:
            return bool(re.search(r"://|@|password", value)) and not re.match(_OWN_MACHINE, value)


def _kind(words: list[str]) -> _Kind | None:
    if not words or (len(words) == 1 and words[0] in _FOLDERS_NAMES):
        return None
    if words[-1] in _NO_SECRETS or words[-2:] == _NAMES_PASSED_ON:
        return None
    if words[-1].endswith(_LAST_PASSWORD):
        return _Kind.PASSWORD
    if words[-1].endswith("PAT"):
        return _Kind.TOKEN
    for kind, ends in _ENDS:
        if any(word.endswith(ends) and word not in _NO_SECRETS for word in words):
            return kind
    if any(word.endswith((*_LAST_PASSWORD, "PAT")) and word not in _NO_SECRETS for word in words):
        return _Kind.KEY
    return _Kind.KEY if "AUTH" in words or _POSTGRES.intersection(words) else None


def written_forms(value: str) -> set[bytes]:
    """The value as programs print it: as it is, escaped for JSON, HTML and addresses, as base64 and hex; and its lines."""
    texts = {value, _without_percents(value)}
    for text in tuple(texts):
        texts |= _in_json(text) | _in_html(text) | _in_address(text)
    texts |= {"".join(f"\\u{ord(sign):04{case}}" for sign in value) for case in "xX"}
    texts |= {form for line in _lines(value) for form in (line, json.dumps(line)[1:-1])}
    content = value.encode(errors="surrogateescape")
    return {text.encode(errors="surrogateescape") for text in texts} | {*_base64(content), *_hex(content)}


def _in_json(value: str) -> set[str]:
    """The value as the content of a JSON string, and of a JSON string inside another; with `/` and with `\\/`."""
    forms = set()
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        forms |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
        if "/" in value:
            slashed = once.replace("/", "\\/")
            forms |= {slashed, json.dumps(slashed, ensure_ascii=ascii_only)[1:-1]}
    return forms


def _in_html(value: str) -> set[str]:
    plain = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quoted = plain.replace('"', "&quot;")
    return {plain, quoted, quoted.replace("'", "&#x27;"), quoted.replace("'", "&#39;")}


def _in_address(value: str) -> set[str]:
    """The value as part of an address: libraries differ in what they leave as it is, and in the letters of `%2f`."""
    forms = {_percents(value, safe) for safe in ("", "/", "!*'()", "/:@!*'()")}
    forms |= {form.replace("%20", "+") for form in forms}
    return forms | {re.sub(r"%..", lambda match: match[0].lower(), form) for form in forms}


def _percents(value: str, safe: str) -> str:
    if re.fullmatch(r"[\w.~-]*", value, re.ASCII):
        return value
    content = value.encode(errors="surrogateescape")
    kept = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-" + safe.encode())
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in content)


def _without_percents(value: str) -> str:
    """The value of a part of an address; unchanged if that would be too short to be a secret."""
    if "%" not in value:
        return value
    content = re.sub(
        rb"%([0-9a-fA-F]{2})", lambda match: bytes.fromhex(match[1].decode()), value.encode(errors="surrogateescape")
    )
    text = content.decode(errors="surrogateescape")
    return text if len(text) >= SHORTEST_SECRET else value


def _lines(value: str) -> Iterator[str]:
    """The lines of a value that are secrets by themselves: long, and neither the frame of a key nor plain words."""
    lines = [line.strip() for line in value.splitlines()]
    for line in lines if len(lines) > 1 else ():
        if len(line) >= SHORTEST_LINE and not line.startswith("-----") and re.search(r"\d", line):
            yield line


def _base64(content: bytes) -> Iterator[bytes]:
    """The characters of base64 that depend on nothing else, for each place that `content` can have in what was encoded."""
    from binascii import b2a_base64

    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        coded = b2a_base64(bytes(before) + content, newline=False)[skipped : (before + len(content)) * 8 // 6]
        yield coded
        yield coded.translate(bytes.maketrans(b"+/", b"-_"))


def _hex(content: bytes) -> Iterator[bytes]:
    coded = content.hex()
    yield coded.encode()
    yield coded.upper().encode()
