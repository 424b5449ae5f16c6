"""The content security policy of the dashboard: a page may load our own files and run the scripts that it contains."""

from __future__ import annotations

import base64
import hashlib
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SCRIPT = re.compile(rb"<script\b[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)
# NiceGUI evaluates code that the server sends, and writes styles into the page, so these two must be allowed.
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'{scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def policy(page: bytes) -> str:
    """The policy of a page, with the hashes of its scripts. Scripts injected later are not allowed."""
    hashes = dict.fromkeys(_hash(script) for script in _SCRIPT.findall(page) if script.strip())
    return _POLICY.format(scripts="".join(f" 'sha256-{each}'" for each in hashes))


def _hash(script: bytes) -> str:
    # A browser reads each line end as one character before it hashes.
    return base64.b64encode(hashlib.sha256(script.replace(b"\r\n", b"\n")).digest()).decode()


class PagePolicy:
    """ASGI middleware that gives each HTML page its own policy."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, _Page(send).send if scope["type"] == "http" else send)


class _Page:
    """Holds the head of an HTML response back until the whole page is there. Passes other responses through."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None
        self._content = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._head = message
        elif self._head is None:
            await self._send(message)
        else:
            await self._collect(self._head, message)

    async def _collect(self, head: Message, message: Message) -> None:
        self._content += message.get("body", b"")
        if not message.get("more_body", False):
            header = (b"content-security-policy", policy(self._content).encode())
            await self._send({**head, "headers": [*head["headers"], header]})
            await self._send({"type": "http.response.body", "body": self._content})


def _is_page(head: Message) -> bool:
    return any(name.lower() == b"content-type" and b"text/html" in value for name, value in head.get("headers", ()))
