"""The address of a server, with the token that it is called with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from untildone.core.errors import UsageError

_TOKEN = re.compile(r"[\x21-\x7e]{1,1000}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is. The token is not part of its text form."""

    url: str
    token: str = field(repr=False)
    patience: float
    timeout: float

    @property
    def is_encrypted(self) -> bool:
        return self.url.startswith("https:")


def checked(url: str, token: str, patience: float, timeout: float) -> Address:
    """The address; UsageError if the URL or the token cannot be one. The sentence does not repeat the token."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        fits = None
    if not fits or parts.query or parts.fragment:
        raise UsageError("The URL of the server cannot be used.", "give one such as http://127.0.0.1:8321")
    if parts.username is not None or parts.password is not None:
        raise UsageError("The URL of the server contains a name or password.", "give the token as `token`")
    if not _TOKEN.fullmatch(token):
        what = "cannot be one: it has blanks or special characters" if token else "is missing"
        raise UsageError(f"The token of the server {what}.", "give `token`, or set UNTILDONE_TOKEN")
    for name, seconds in (("patience", patience), ("timeout", timeout)):
        if not 0 <= seconds < float("inf"):
            raise UsageError(f"`{name}` is not a number of seconds.", "give 0 or more")
    return Address(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", token, patience, timeout)
