"""The client of a server: `untildone.connect(url, token)` has the verbs of `untildone` for the loops of that server."""

from __future__ import annotations

import importlib.util
import os

from untildone.core.errors import MissingPackage
from untildone.faces.client.address import Address, checked
from untildone.faces.client.aio import AsyncClient
from untildone.faces.client.plain import Client
from untildone.faces.client.values import LoopLine, NeedLine

__all__ = ["AsyncClient", "Client", "LoopLine", "NeedLine", "connect", "connect_async"]
PATIENCE, TIMEOUT = 60.0, 30.0


def connect(url: str, token: str | None = None, *, patience: float = PATIENCE, timeout: float = TIMEOUT) -> Client:
    """A client of the server at `url`, such as `http://127.0.0.1:8321`. Nothing is sent before a verb is called.

    `token` is one that the server accepts; without it, the value of UNTILDONE_TOKEN. Each request takes `timeout` seconds at most, but
    those that run checks. If the server cannot be reached any more, a verb tries again for `patience` seconds."""
    return Client(_address(url, token, patience, timeout))


def connect_async(
    url: str, token: str | None = None, *, patience: float = PATIENCE, timeout: float = TIMEOUT
) -> AsyncClient:
    """The same client for asynchronous programs: `await server.show(loop)`."""
    return AsyncClient(_address(url, token, patience, timeout))


def _address(url: str, token: str | None, patience: float, timeout: float) -> Address:
    if importlib.util.find_spec("httpx") is None:
        raise MissingPackage("The client of a server needs the package httpx, which is not installed.", "client")
    return checked(url, token if token is not None else os.environ.get("UNTILDONE_TOKEN", ""), patience, timeout)
