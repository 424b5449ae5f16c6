"""Finds out why TLS failed, with a second connection, because the client of Temporal only reports a lost connection."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from untildone.hosts.cluster.connecting import Access

ANSWER_WITHIN = 10.0
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""The start of HTTP/2. A server that refuses our certificate answers it with a TLS alert."""


async def tls_problem(access: Access) -> str:
    """Why the TLS connection fails, in a few words; empty if the reason is unknown."""
    try:
        context = _context(access)
    except OSError:
        return "a file is not in PEM format, or certificate and key do not belong together"
    try:
        await asyncio.wait_for(_greet(access, context), ANSWER_WITHIN)
    except ssl.SSLCertVerificationError as problem:
        return f"its certificate is refused: {problem.verify_message.rstrip('.')}"
    except ssl.SSLError as problem:
        return _in_words(problem)
    except (OSError, TimeoutError):
        return ""
    return ""


def _in_words(problem: ssl.SSLError) -> str:
    reason = (problem.reason or str(problem)).lower().replace("_", " ")
    return (
        "it does not use TLS" if reason == "wrong version number" else f"it answers '{reason.rpartition('alert ')[2]}'"
    )


async def _greet(access: Access, context: ssl.SSLContext) -> None:
    host, _, port = access.address.rpartition(":")
    name = access.tls_server_name or host.strip("[]")
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=context, server_hostname=name)
    try:
        writer.write(_GREETING)
        await reader.read(1)
    finally:
        writer.transport.abort()


def _context(access: Access) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=access.tls_authority)
    context.set_alpn_protocols(["h2"])
    if access.tls_certificate is not None:
        context.load_cert_chain(access.tls_certificate, access.tls_key)
    return context
