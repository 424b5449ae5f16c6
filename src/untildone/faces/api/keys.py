"""Authentication: the token, the login code, which is valid once, and the cookie that a browser gets for it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.operations import inside

VARIABLE = "UNTILDONE_TOKEN"
COOKIE = "untildone_session"
COOKIE_SECONDS = 30 * 24 * 3600
CODE_SECONDS = 15 * 60
SHORTEST_TOKEN = 16


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
    """Checks tokens, cookies and login codes in constant time. Never logs them."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self.cookie = hmac.new(self._token, b"untildone cookie", hashlib.sha256).hexdigest()
        self._codes: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def is_cookie(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.cookie.encode())

    def new_code(self) -> str:
        """A login code, valid once and for 15 minutes."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[code] = time.monotonic() + CODE_SECONDS
        return code

    def use_code(self, given: str) -> bool:
        """Whether the login code is valid. It is not valid again."""
        with self._lock:
            for code, until in list(self._codes.items()):
                if time.monotonic() > until:
                    del self._codes[code]
                elif hmac.compare_digest(given.encode("utf-8", "replace"), code.encode()):
                    del self._codes[code]
                    return True
        return False
