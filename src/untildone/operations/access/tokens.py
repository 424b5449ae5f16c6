"""Named tokens of a user's servers.

The file holds their digests only. A running server reads it for every request, so a revoked token ends at once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from untildone.core.errors import StoreError, UsageError
from untildone.operations.access.scopes import MAIN, Caller, Scope
from untildone.system import disk, locks, state_folder

FILE, LOCK = "tokens.json", "tokens.lock"
MOST = 100
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_PREFIX = "untildone_"
"""Begins every made token, so that scanners of secrets can find one that got into a file."""
_log = logging.getLogger(__name__)


class NoSuchToken(UsageError):
    """There is no token of this name."""


class TokenExists(UsageError):
    """There is already a token of this name."""


@dataclass(frozen=True, slots=True)
class Token:
    """A named token, without its secret."""

    name: str
    scope: Scope
    digest: str
    created_at: float
    """Epoch seconds."""

    @property
    def caller(self) -> Caller:
        return Caller(self.name, self.scope, self.digest)


def digest_of(secret: str) -> str:
    """The digest that is stored of a token or session id. They are random, so a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


class Tokens:
    """The named tokens in the state folder of a user."""

    def __init__(self, environment: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.time) -> None:
        self._environment = environment
        self._path = Path(state_folder.folder(environment)) / FILE
        self._clock = clock

    def all(self) -> tuple[Token, ...]:
        """Every token, oldest first. StoreError if the file cannot be read."""
        with disk.as_store_error(self._path):
            try:
                content = disk.read_promptly(self._path, 1 << 20)
            except FileNotFoundError:
                return ()
        try:
            return tuple(_token(fields) for fields in json.loads(content)["tokens"])
        except (ValueError, LookupError, TypeError, RecursionError):
            raise StoreError(
                f"The tokens in {self._path} cannot be read.", "delete the file, and add them again"
            ) from None

    def find(self, secret: str) -> Caller | None:
        """The caller with this token; None if there is none. If the file cannot be read, no token is valid."""
        return self._matching(lambda token: hmac.compare_digest(token.digest, digest_of(secret)))

    def holds(self, name: str, digest: str) -> bool:
        """Whether the token of this name is still the one with this digest."""
        return (
            self._matching(lambda token: token.name == name and hmac.compare_digest(token.digest, digest)) is not None
        )

    def _matching(self, fits: Callable[[Token], bool]) -> Caller | None:
        try:
            callers = [token.caller for token in self.all() if fits(token)]
        except StoreError as problem:
            _log.warning("%s", problem.sentence)
            return None
        return callers[0] if callers else None

    def add(self, name: str, scope: Scope) -> str:
        """Add a token; return its secret, which is kept nowhere."""
        if not re.fullmatch(NAME, name) or name == MAIN:
            raise UsageError(
                f"'{name[:100]}' cannot be the name of a token.",
                f"use up to 64 letters, digits, '.', '_' and '-'; '{MAIN}' is the server's own token",
            )
        secret = _PREFIX + secrets.token_urlsafe(32)
        with self._changing() as tokens:
            if any(token.name == name for token in tokens):
                raise TokenExists(f"There is already a token '{name}'.", "revoke it first, or choose another name")
            if len(tokens) >= MOST:
                raise UsageError(f"There are {MOST} tokens already.", "revoke one first")
            tokens.append(Token(name, scope, digest_of(secret), self._clock()))
        return secret

    def revoke(self, name: str) -> None:
        """Delete a token. Sessions that were begun with it end."""
        with self._changing() as tokens:
            left = [token for token in tokens if token.name != name]
            if len(left) == len(tokens):
                hint = (
                    "its file or UNTILDONE_TOKEN says what it is"
                    if name == MAIN
                    else "`untildone token list` lists them"
                )
                raise NoSuchToken(f"There is no token '{name[:100]}' to revoke.", hint)
            tokens[:] = left

    @contextmanager
    def _changing(self) -> Iterator[list[Token]]:
        """The list of tokens, under a lock. It is written at the end of the block."""
        with disk.as_store_error(self._path):
            folder = Path(state_folder.made(environment=self._environment))
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with locks.locked(descriptor):
                tokens = list(self.all())
                yield tokens
                disk.replace_file(self._path, _written(tokens), mode=0o600)
                disk.sync_folder(folder)
        except locks.LockHeld as held:
            raise StoreError(f"The tokens cannot be changed: {held}.", "try again in a moment") from None
        finally:
            os.close(descriptor)


def _token(fields: Mapping[str, Any]) -> Token:
    return Token(str(fields["name"]), Scope(fields["scope"]), str(fields["digest"]), float(fields["created_at"]))


def _written(tokens: Sequence[Token]) -> bytes:
    listed = [
        {"name": token.name, "scope": token.scope.value, "digest": token.digest, "created_at": token.created_at}
        for token in tokens
    ]
    return json.dumps({"tokens": listed}, indent=1).encode() + b"\n"
