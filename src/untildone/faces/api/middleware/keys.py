"""Authentication: the server's own token, named tokens, login codes, and the sessions of browsers."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.operations import inside
from untildone.operations.access.codes import Codes
from untildone.operations.access.scopes import MAIN, Caller, Scope
from untildone.operations.access.sessions import Session, Sessions
from untildone.operations.access.tokens import Tokens, digest_of
from untildone.operations.access.tries import Tries

VARIABLE = "UNTILDONE_TOKEN"
SHORTEST_TOKEN = 16
MOST_COOKIES = 10
"""Cookies of our name that are looked at in one request."""


def state_folder(environment: Mapping[str, str]) -> Path:
    """The folder for the state of untildone in the user's home."""
    home = Path(environment.get("HOME") or Path.home())
    return Path(environment.get("XDG_STATE_HOME") or home / ".local" / "state") / "untildone"


def token_file(environment: Mapping[str, str]) -> Path:
    """The file that holds the saved token."""
    return state_folder(environment) / "token"


def find_token(environment: Mapping[str, str]) -> str:
    """The token of the environment, else the saved one, else a new one, saved in a file that only its owner can read."""
    given = environment.get(VARIABLE)
    if given is not None:
        return _checked(given, VARIABLE)
    inside.refuse_token(environment)
    path = token_file(environment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _made(path)
    except FileExistsError:
        path.chmod(0o600)
        return _checked(path.read_text().strip(), str(path))
    except OSError as problem:
        raise UsageError(f"The token cannot be kept in {path}: {problem.strerror}.", f"set {VARIABLE}") from None


def _made(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{token}\n")
    return token


def _checked(token: str, where: str) -> str:
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"The token in {where} is not valid.",
            f"it takes {SHORTEST_TOKEN} characters or more: letters, digits, - and _",
        )
    return token


class Keys:
    """Recognizes the callers of one server, by token, cookie or login code. Compares in constant time, and never logs a secret."""

    def __init__(
        self, token: str, environment: Mapping[str, str] = os.environ, port: int = 0, *, behind_tls: bool = False
    ) -> None:
        """`port` is a part of the cookie's name: browsers send cookies to every port of a host."""
        self.behind_tls = behind_tls
        """Whether browsers reach this server by TLS only, through a proxy."""
        self.cookie = f"{'__Host-' if behind_tls else ''}untildone_{port}"
        self.main = Caller(MAIN, Scope.ADMIN, digest_of(token))
        self.tokens = Tokens(environment)
        self.sessions = Sessions(environment)
        self.codes = Codes()
        self.tries = Tries()

    def of_token(self, secret: str) -> Caller | None:
        """The caller with this token; None if it is not valid."""
        if hmac.compare_digest(digest_of(secret), self.main.digest):
            return self.main
        return self.tokens.find(secret)

    def of_token_within_limit(self, secret: str, client: str, *, counts: bool = True) -> Caller | None:
        """The same. TooManyTries while the client, or all together, have tried too often; with `counts`, a wrong one counts as a try."""
        digest, wait = digest_of(secret), self.tries.wait(client)
        if wait and not self.tries.knows(client, digest):
            raise TooManyTries(wait)
        caller = self.of_token(secret)
        if caller is not None:
            self.tries.succeeded(client, digest)
        elif counts:
            self.tries.failed(client)
        return caller

    def of_session(self, session_id: str) -> Session | None:
        """The session with this id; None if it has ended, or the token with which it was begun is no longer valid."""
        session = self.sessions.find(session_id)
        return session if session is not None and self._holds(session.caller) else None

    def is_valid(self, caller: Caller) -> bool:
        """Whether the credentials of an authenticated caller are still valid."""
        return self.of_session(caller.session) is not None if caller.session else self._holds(caller)

    def _holds(self, caller: Caller) -> bool:
        if caller.name == MAIN:
            return hmac.compare_digest(caller.digest, self.main.digest)
        return self.tokens.holds(caller.name, caller.digest)

    def session_in(self, cookies: str) -> Session | None:
        """The valid session in a Cookie header; None if there is none.

        Browsers send the cookies of all ports of a host. Those of others may have any form, and our name: neither may log a person out.
        """
        pairs = (part.strip().partition("=") for part in cookies.split(";"))
        ours = dict.fromkeys(value for name, _, value in pairs if name == self.cookie)
        return next(filter(None, map(self.of_session, islice(ours, MOST_COOKIES))), None)


class TooManyTries(Exception):
    """Too many wrong tokens or codes were tried. `wait` is the number of seconds until the next try."""

    def __init__(self, wait: int) -> None:
        super().__init__(f"wait {wait} seconds")
        self.wait = wait
