"""Connections to Temporal: address, TLS, and errors translated to ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from untildone.core.errors import MissingPackage, StoreError, UsageError

if TYPE_CHECKING:
    from temporalio.client import Client, TLSConfig
    from temporalio.runtime import Runtime

QUEUE, NAMESPACE = "untildone", "default"
WORKFLOW, ADVANCE, POKE = "untildone-loop", "advance", "poke"
"""Names in Temporal: the workflow of a loop, the activity that it calls, and its signal."""
CONNECT_WITHIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Access:
    """The address of Temporal, and the TLS files for the connection."""

    address: str
    namespace: str = NAMESPACE
    queue: str = QUEUE
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_authority: str | None = None
    tls_server_name: str | None = None
    """The name in the certificate of Temporal, if it differs from the address."""

    @property
    def uses_tls(self) -> bool:
        return bool(self.tls_certificate or self.tls_authority or self.tls_server_name)


async def connect(access: Access, identity: str | None = None) -> Client:
    """Connect to Temporal. StoreError if it cannot be reached, UsageError if address or TLS files are wrong."""
    check_package()
    from temporalio.client import Client
    from temporalio.service import RPCError

    try:
        return await Client.connect(
            access.address,
            namespace=access.namespace,
            tls=_tls(access),
            identity=identity,
            connect_timeout=CONNECT_WITHIN,
            runtime=_quiet_runtime(),
        )
    except (RuntimeError, RPCError, TimeoutError) as problem:
        await _check_trust(access)
        raise unreachable(access, problem) from problem
    except ValueError as problem:
        raise UsageError(
            f"'{access.address}' is not an address of Temporal: {problem}.", "give it as host:7233"
        ) from problem


async def _check_trust(access: Access) -> None:
    """Raise UsageError if TLS fails, because waiting does not help."""
    from untildone.hosts.cluster.trust import tls_problem

    if access.uses_tls and (why := await tls_problem(access)):
        raise UsageError(
            f"TLS with Temporal at {access.address} failed: {why}.",
            "look at tls_ca, tls_cert, tls_key and tls_server_name of the cluster",
        )


@cache
def _quiet_runtime() -> Runtime:
    """A runtime without logging: problems are reported by our exceptions."""
    from temporalio.runtime import Runtime, TelemetryConfig

    return Runtime(telemetry=TelemetryConfig(logging=None))


async def check_namespace(client: Client) -> None:
    """Raise UsageError if Temporal has no such namespace. Does nothing if Temporal does not answer."""
    from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
    from temporalio.service import RPCError, RPCStatusCode

    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as problem:
        if problem.status is RPCStatusCode.NOT_FOUND:
            raise UsageError(
                f"Temporal has no namespace '{client.namespace}'.", "make it: temporal operator namespace create"
            ) from problem


def check_package() -> None:
    """Raise MissingPackage if temporalio is not installed."""
    import importlib.util

    if importlib.util.find_spec("temporalio") is None:
        raise MissingPackage("A cluster needs the package temporalio, which is not installed.", "cluster")


def unreachable(access: Access, problem: BaseException) -> StoreError:
    """The error for a Temporal that cannot be reached, with the reason from `problem`."""
    text = str(problem)
    message = re.search(r'message: "([^"]+)"', text)
    reason = message[1] if message else "its answer is not that of Temporal" if "Invalid" in text else "no answer"
    return StoreError(
        f"Temporal at {access.address} cannot be reached: {reason}.", "is it running? with TLS, or without?"
    )


def _tls(access: Access) -> TLSConfig | bool:
    from temporalio.client import TLSConfig

    if bool(access.tls_certificate) != bool(access.tls_key):
        raise UsageError(
            "A TLS certificate and its key belong together.", "give both --tls-cert and --tls-key, or neither"
        )
    if not access.uses_tls:
        return False
    return TLSConfig(
        server_root_ca_cert=_read(access.tls_authority),
        client_cert=_read(access.tls_certificate),
        client_private_key=_read(access.tls_key),
        domain=access.tls_server_name,
    )


def _read(path: str | None) -> bytes | None:
    try:
        return None if path is None else Path(path).read_bytes()
    except OSError as problem:
        raise UsageError(f"Cannot read {path}: {problem.strerror}.", "name a file in PEM format") from None
