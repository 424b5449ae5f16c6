"""`Idempotency-Key`: a request that is sent twice with one key is carried out once, and answered alike."""

from __future__ import annotations

import asyncio
import re

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untildone.core.errors import StoreError
from untildone.core.values.digest import sha256
from untildone.faces.api.schemas.problem_form import Code, code_of, problem
from untildone.operations.access.scopes import Caller
from untildone.operations.serving.repeated import Answered, RepeatedRequests

HEADER = "Idempotency-Key"
BELOW = "/api/v1/loops"
"""Only answers about loops are kept: others may hold a secret."""
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_KEPT_HEADERS = ("content-type", "location", "etag")


class IdempotentRequests:
    """ASGI middleware that answers a repeated POST with the answer to the first."""

    def __init__(self, app: ASGIApp, answers: RepeatedRequests) -> None:
        self._app = app
        self._answers = answers
        self._at_work: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _key(scope)
        if given is None:
            return await self._app(scope, receive, send)
        if not _KEY.fullmatch(given):
            detail = f"'{HEADER}' is not 1 to 200 visible ASCII characters."
            refused = problem(Code.NOT_VALID, detail, "use a random UUID", [(HEADER, detail)])
            return await refused(scope, receive, send)
        key = f"{_caller(scope)}\n{given}"
        if key in self._at_work:
            detail = f"A request with this '{HEADER}' is still being answered."
            busy = problem(Code.KEY_IN_USE, detail, "send it again in a moment", headers={"Retry-After": "1"})
            return await busy(scope, receive, send)
        self._at_work.add(key)
        try:
            await self._answer(scope, receive, send, key)
        finally:
            self._at_work.discard(key)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, key: str) -> None:
        try:
            body = await _whole(receive)
            request = _hash(scope, body)
            answer = await self._known(key, request)
            if answer is None:
                await asyncio.to_thread(self._answers.keep, key, Answered(request))
        except HTTPException as refused:
            answer = problem(code_of(refused.status_code), f"{refused.detail}.", headers=refused.headers)
        except StoreError as trouble:
            answer = problem(Code.UNAVAILABLE, trouble.sentence, trouble.hint)
        if answer is not None:
            await answer(scope, receive, send)
        else:
            await self._carry_out(scope, body, send, key, request)

    async def _known(self, key: str, request: str) -> Response | None:
        """The answer to a key that was used; None: it was not."""
        known = await asyncio.to_thread(self._answers.find, key)
        if known is None:
            return None
        if known.request != request:
            detail = f"This '{HEADER}' was used for another request."
            return problem(Code.KEY_REUSED, detail, "use a new key for a new request")
        if not known.status:
            detail = (
                f"The first request with this '{HEADER}' was not answered: whether it was carried out is not known."
            )
            return problem(Code.KEY_IN_USE, detail, "look at the loops; then use a new key")
        return Response(known.body, known.status, {**(known.headers or {}), "Idempotent-Replayed": "true"})

    async def _carry_out(self, scope: Scope, body: bytes, send: Send, key: str, request: str) -> None:
        """Pass the request on. An error of the client leaves the key unused; after a failure of the server it stays used."""
        answer = _Answer(send)
        await self._app(scope, _again(body), answer.take)
        if answer.status < 300:
            await asyncio.to_thread(self._answers.keep, key, answer.kept(request))
        elif answer.status < 500:
            await asyncio.to_thread(self._answers.forget, key)
        await answer.pass_on()


class _Answer:
    """An answer, held back until it is kept."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._messages: list[Message] = []

    async def take(self, message: Message) -> None:
        self._messages.append(message)

    async def pass_on(self) -> None:
        for message in self._messages:
            await self._send(message)

    @property
    def status(self) -> int:
        return int(self._messages[0]["status"]) if self._messages else 500

    def kept(self, request: str) -> Answered:
        head, *rest = self._messages
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head["headers"]}
        body = b"".join(message.get("body", b"") for message in rest).decode()
        kept = {name: value for name, value in headers.items() if name in _KEPT_HEADERS}
        return Answered(request, int(head["status"]), kept, body)


def takes_key(path: str) -> bool:
    """Whether requests to this address may have a key."""
    return path == BELOW or path.startswith(f"{BELOW}/")


def _key(scope: Scope) -> str | None:
    if scope["type"] != "http" or scope["method"] != "POST" or not takes_key(scope["path"]):
        return None
    name = HEADER.lower().encode()
    return next((value.decode("latin-1") for each, value in scope["headers"] if each.lower() == name), None)


def _caller(scope: Scope) -> str:
    """The identity of the caller: its token, by name and digest, or a hash of the credentials sent. A new token with an old name is
    another caller."""
    caller: Caller | None = scope.get("state", {}).get("caller")
    if caller is not None:
        return f"name {caller.name} {caller.digest}"
    sent = [value for each, value in scope["headers"] if each.lower() in (b"authorization", b"cookie")]
    return "hash " + sha256(b" ".join(sent)).hexdigest()


def _hash(scope: Scope, body: bytes) -> str:
    parts = (scope["method"].encode(), scope["path"].encode("utf-8", "replace"), scope["query_string"], body)
    return sha256(b"\0".join(parts)).hexdigest()


async def _whole(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HTTPException(400, "The body is not whole")
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


def _again(body: bytes) -> Receive:
    """A receiver that yields the body once more."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive
