"""Finds secrets in the environment and keeps them out of everything that is written to disk or shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

SHORTEST_SECRET = 8

_PASSWORD_WORDS = frozenset({"PASSWORD", "PASSWD", "PASSPHRASE"})
_SECRET_WORDS = frozenset(
    {
        "KEY",
        "KEYS",
        "APIKEY",
        "TOKEN",
        "TOKENS",
        "SECRET",
        "SECRETS",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTH",
        *_PASSWORD_WORDS,
    }
)
_PLACE_WORDS = frozenset({"SOCK", "SOCKET", "FILE", "PATH", "DIR", "DIRECTORY", "HOME"})
_ROOT_FOLDERS = (
    "Applications|Library|System|Users|Volumes|app|bin|data|dev|etc|home|lib|media|mnt|nix|opt|private|proc|root|run|sbin|snap|srv"
    "|tmp|usr|var|workspace"
)
# Compiled at first use: for most environments they are never needed.
_PATH = rf"(?:~|\.\.?|file:/)?/(?:(?<=[~./]/).|(?:{_ROOT_FOLDERS})(?:/|$))|[A-Za-z]:[\\/]"
_PLAIN = r"[a-z]{1,12}|[0-9.]+"
_SAME_IN_JSON = r"[ !#-\[\]-~]+"
_URL_PASSWORD = r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@"


class Redactor:
    """Replaces every known secret by `[redacted NAME]`."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` maps the name of each secret to its value."""
        names = {
            form.encode(errors="surrogateescape"): name
            for name, value in secrets.items()
            for form in _written_forms(value)
        }
        self._cores = frozenset(map(_core, secrets.values()))
        self._needles = tuple(sorted(names, key=len, reverse=True))
        self._replacements = {needle: f"[redacted {name}]".encode() for needle, name in names.items()}
        self._pattern = re.compile(b"|".join(map(re.escape, self._needles)))

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> Redactor:
        return cls(dict(_secrets_in(env)))

    def text(self, text: str) -> str:
        if not self._needles:
            return text
        return self.bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def stream(self) -> RedactingStream:
        return RedactingStream(self)

    def settled(self, content: bytes) -> int:
        """How many bytes from the start of `content` cannot become part of a secret, whatever bytes follow."""
        cut = min((_start_of_partial(needle, content) for needle in self._needles), default=len(content))
        if cut == len(content) or not self._may_hold_one(content):
            return cut
        spanning = (match.end() for match in self._pattern.finditer(content) if match.start() < cut)
        return max(cut, *spanning, 0)

    def _may_hold_one(self, content: bytes) -> bool:
        """A quick test: nearly all output contains no secret, and there can be gigabytes of it."""
        return any(core in content for core in self._cores)

    def bytes(self, content: bytes) -> bytes:
        if self._may_hold_one(content):
            return self._pattern.sub(lambda match: self._replacements[match[0]], content)
        return content


class RedactingStream:
    """Redacts content that arrives in chunks. Holds back only bytes that may be the start of a secret."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        content = self._held + chunk if self._held else chunk
        settled = self._redactor.settled(content)
        if settled == len(content):
            self._held = b""
            return self._redactor.bytes(content)
        self._held = content[settled:]
        return self._redactor.bytes(content[:settled])

    def flush(self) -> bytes:
        held, self._held = self._held, b""
        return self._redactor.bytes(held)


def _start_of_partial(needle: bytes, content: bytes) -> int:
    """Where a proper prefix of `needle` at the end of `content` starts; the length of `content` if there is none."""
    first, end = needle[:1], len(content)
    start = content.find(first, max(0, end - len(needle) + 1))
    while start >= 0:
        if needle.startswith(content[start:]):
            return start
        start = content.find(first, start + 1)
    return end


def _secrets_in(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in env.items():
        if _is_secret(name, value):
            yield name, value
        elif "://" in value and (match := re.match(_URL_PASSWORD, value)) and len(match[1]) >= SHORTEST_SECRET:
            yield name, match[1]


def _is_secret(name: str, value: str) -> bool:
    words = re.split(r"[^A-Z0-9]+", name.upper())
    if len(value) < SHORTEST_SECRET or _SECRET_WORDS.isdisjoint(words):
        return False
    if words[-1] in _PASSWORD_WORDS:
        return True
    return words[-1] not in _PLACE_WORDS and not re.match(_PATH, value) and not re.fullmatch(_PLAIN, value)


def _core(value: str) -> bytes:
    """The longest part of a secret that is the same in all its written forms."""
    return max(re.findall(_SAME_IN_JSON, value), key=len, default="").encode()


def _written_forms(value: str) -> set[str]:
    """The value as is, as the content of a JSON string, and as that of a JSON string inside another JSON string."""
    forms = {value}
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        forms |= {once, json.dumps(once, ensure_ascii=ascii_only)[1:-1]}
    return forms
