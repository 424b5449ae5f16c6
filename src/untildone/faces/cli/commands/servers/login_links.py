"""`untildone serve --link`: asks the running server for a login link, and shows it, at a terminal with a QR code."""

from __future__ import annotations

import io
from typing import Any

from untildone.core.errors import UntilDoneError, UsageError
from untildone.faces.cli import streams

WITHIN = 10.0
_WHITE_ON_BLACK, _PLAIN = "\x1b[38;5;231;48;5;16m", "\x1b[0m"
"""Explicit colours, or the code would be inverted on a light terminal."""


def show(server: str, token: str, public: str, *, as_json: bool) -> None:
    """Print a fresh link of the server at the address `server`, under the address by which browsers reach it."""
    made = _made(server, token)
    link = f"{public.rstrip('/')}{made['path']}"
    if as_json:
        streams.data().record({"login": link, "ends_at": made["ends_at"]})
        return
    data = streams.data()
    data.line(link)
    if data.is_terminal:
        data.raw(qr_code(link).encode("utf-8", "replace"))
        streams.talk().prose("The link logs one browser in, within 15 minutes.")


def qr_code(link: str) -> str:
    """The QR code of a link, in half blocks."""
    import segno

    drawn = io.StringIO()
    segno.make(link, micro=False).terminal(drawn, border=2, compact=True)
    lines = drawn.getvalue().rstrip("\n").split("\n")
    return "".join(f"{_WHITE_ON_BLACK}{line}{_PLAIN}\n" for line in lines)


def _made(server: str, token: str) -> dict[str, Any]:
    import httpx

    headers = {"Authorization": f"Bearer {token}"}
    try:
        answer = httpx.post(f"{server}/api/v1/login-links", headers=headers, timeout=WITHIN, trust_env=False)
        content = answer.json()
    except (httpx.HTTPError, ValueError):
        raise UsageError(
            f"No server of untildone answers at {server}.",
            "start one with `untildone serve`, or say where it is with --host and --port",
        ) from None
    if answer.status_code == 401:
        raise UsageError(
            f"The server at {server} has another token.", "set UNTILDONE_TOKEN to the token that it was started with"
        )
    if answer.status_code != 201:
        raise UntilDoneError(
            f"The server at {server} refuses: {streams.printable(str(content.get('detail', content)))}"
        )
    return dict(content)
