"""Sends requests to a server, again if the connection breaks, and reads its streams. The token goes to this server only."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

import httpx

from untildone.core.errors import ServerError
from untildone.core.events import Entry
from untildone.faces.client import answers, sse
from untildone.faces.client.address import Address
from untildone.faces.client.answers import Answer

API = "/api/v1"
CONNECT_WITHIN = 10.0
SILENCE = 45.0
"""Seconds without a message after which a stream is opened anew. The server sends a comment every 15 s."""
LARGEST = 64 << 20
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
END = "loop_end"
"""The event of the last message of a stream."""
Query = Mapping[str, Any]


class Patience:
    """How long a request is tried again while the server does not answer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.renew()

    def renew(self) -> None:
        """The server has answered."""
        self._until = time.monotonic() + self._seconds
        self._pause = FIRST_PAUSE

    async def wait(self, problem: ServerError, at_least: float = 0.0) -> None:
        """Wait before the next try; raise `problem` if there is no time for one."""
        pause = max(self._pause, at_least)
        if time.monotonic() + pause > self._until:
            raise problem from None
        await asyncio.sleep(pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


class Transport:
    """The connections to one server."""

    def __init__(self, address: Address) -> None:
        self.server = address.url
        self._patience = address.patience
        self._timeout = address.timeout
        self._was_reached = False
        self._http = httpx.AsyncClient(
            base_url=address.url + API,
            headers={"Authorization": f"Bearer {address.token}", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(None, connect=CONNECT_WITHIN),
            follow_redirects=False,
            # A proxy of the environment would read the token of an unencrypted request.
            trust_env=address.is_encrypted,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, path: str, query: Query | None = None) -> Answer:
        return await self._send("GET", path, query=query)

    async def post(self, path: str, body: Mapping[str, Any] | None = None, within: float | None = None) -> Answer:
        """POST, carried out once: the server knows a repeated request by its key."""
        return await self._send("POST", path, body=body or {}, key=secrets.token_hex(16), within=within)

    async def delete(self, path: str, query: Query | None = None) -> None:
        await self._send("DELETE", path, query=query)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        key: str = "",
        within: float | None = None,
    ) -> Answer:
        headers = {"Idempotency-Key": key} if key else {}
        request = self._http.build_request(method, path, params=query, json=body, headers=headers)
        patience, tried = Patience(self._patience), False
        while True:
            answer = await self._attempt(request, within or self._timeout)
            if isinstance(answer, ServerError):
                await patience.wait(answer)
            elif (pause := answer.again_in) is not None:
                await patience.wait(answer.nonsense(f"its status is {answer.status}"), pause)
            elif method == "DELETE" and tried and answer.status == 404:
                # The first try has deleted it, and its answer was lost.
                return answer
            else:
                return self._final(answer)
            tried = True

    async def _attempt(self, request: httpx.Request, within: float) -> Answer | ServerError:
        """The answer, or the problem of a connection that may be better the next time."""
        try:
            async with asyncio.timeout(within):
                response = await self._http.send(request, stream=True)
                try:
                    return await self._read(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            return ServerError(f"The server at {self.server} does not answer within {within:g} s.", "try again later")
        except httpx.HTTPError as problem:
            return self._unreachable(problem)

    async def _read(self, response: httpx.Response) -> Answer:
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > LARGEST:
                raise answers.nonsense(self.server, f"it sends more than {LARGEST >> 20} MB")
        self._was_reached = True
        return Answer(self.server, response.status_code, dict(response.headers), bytes(content))

    def _final(self, answer: Answer) -> Answer:
        if (problem := answers.error(answer)) is not None:
            raise problem
        return answer

    def _unreachable(self, problem: httpx.HTTPError) -> ServerError:
        """The error about a connection; raised at once if another try cannot help."""
        reason = str(problem) or type(problem).__name__
        error = ServerError(f"The server at {self.server} cannot be reached: {reason}.", "is it running?")
        if _is_distrusted(problem):
            error.hint = "its certificate is not trusted here"
            raise error from None
        if not self._was_reached and isinstance(problem, httpx.ConnectError | httpx.ConnectTimeout):
            raise error from None
        return error

    async def entries(self, loop_id: str, after: int) -> AsyncGenerator[Entry, None]:
        """The entries of a loop's journal after number `after`, until the loop ends. A broken stream goes on where it was."""
        patience = Patience(self._patience)
        while True:
            problem, pause = (
                ServerError(f"The stream of the server at {self.server} breaks off.", "try again later"),
                0.0,
            )
            try:
                async with aclosing(self._messages(f"/loops/{loop_id}/events", after)) as messages:
                    async for message in messages:
                        patience.renew()
                        if message.event == END:
                            return
                        if message.data and (entry := answers.entry(self.server, message.data, loop_id)).seq > after:
                            after = entry.seq
                            yield entry
            except TimeoutError:
                pass
            except httpx.HTTPError as broken:
                problem = self._unreachable(broken)
            except _Refused as refused:
                pause = refused.again_in
            await patience.wait(problem, pause)

    async def _messages(self, path: str, after: int) -> AsyncGenerator[sse.Message, None]:
        """The messages of one connection. TimeoutError if none comes for too long."""
        headers = {"Last-Event-ID": str(after), "Accept": "text/event-stream"}
        request = self._http.build_request("GET", path, headers=headers)
        async with asyncio.timeout(self._timeout):
            response = await self._http.send(request, stream=True)
        try:
            if response.status_code != 200:
                async with asyncio.timeout(self._timeout):
                    answer = await self._read(response)
                yield self._refused(answer)
            else:
                async for message in self._parsed(response.aiter_raw()):
                    yield message
        finally:
            await response.aclose()

    def _refused(self, answer: Answer) -> sse.Message:
        """The end message for a stream that has ended. Raises for any other answer."""
        if (pause := answer.again_in) is not None:
            raise _Refused(pause)
        self._final(answer)
        return sse.Message(END)

    async def _parsed(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[sse.Message, None]:
        parser, last = sse.Parser(), time.monotonic()
        while True:
            try:
                async with asyncio.timeout(max(0.0, last + SILENCE - time.monotonic())):
                    chunk = await anext(chunks)
                events = tuple(parser.feed(chunk))
            except StopAsyncIteration:
                return
            except sse.TooLong:
                raise answers.nonsense(self.server, "a message of its stream does not end") from None
            for message in events:
                self._was_reached, last = True, time.monotonic()
                yield message


class _Refused(Exception):
    """The server does not open a stream now."""

    def __init__(self, again_in: float) -> None:
        super().__init__()
        self.again_in = again_in


def _is_distrusted(problem: BaseException | None) -> bool:
    """Whether the connection failed because the certificate of the server is not trusted."""
    while problem is not None:
        if isinstance(problem, ssl.SSLCertVerificationError):
            return True
        problem = problem.__cause__ or problem.__context__
    return False
