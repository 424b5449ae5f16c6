"""The way to Temporal: its address, how to be let in, and errors as sentences."""

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
"""By these names Temporal knows a loop's workflow, the activity that it calls, and the signal that it hears."""
CONNECT_WITHIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Access:
    """Where Temporal is, and with which papers it is entered."""

    address: str
    namespace: str = NAMESPACE
    queue: str = QUEUE
    tls_certificate: str | None = None
    tls_key: str | None = None
    tls_authority: str | None = None
    tls_server_name: str | None = None
    """The name in Temporal's certificate, if it is not that in its address."""

    @property
    def uses_tls(self) -> bool:
        return bool(self.tls_certificate or self.tls_authority or self.tls_server_name)


async def connect(access: Access, identity: str | None = None) -> Client:
    """StoreError if it cannot be reached, UsageError if what it was given cannot work."""
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
            f"'{access.address}' is no address of Temporal: {problem}.", "give it as host:7233"
        ) from problem


async def _check_trust(access: Access) -> None:
    """UsageError if TLS cannot work: that does not pass by waiting."""
    from untildone.hosts.cluster.trust import mistrust

    if access.uses_tls and (why := await mistrust(access)):
        raise UsageError(
            f"Temporal at {access.address} and this machine do not trust each other: {why}.",
            "look at tls_ca, tls_cert, tls_key and tls_server_name of the cluster",
        )


@cache
def _quiet_runtime() -> Runtime:
    """Without a voice of its own: what went wrong is told by us."""
    from temporalio.runtime import Runtime, TelemetryConfig

    return Runtime(telemetry=TelemetryConfig(logging=None))


async def check_namespace(client: Client) -> None:
    """UsageError if Temporal has no such namespace; if it does not answer, nobody knows."""
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
    import importlib.util

    if importlib.util.find_spec("temporalio") is None:
        raise MissingPackage("A cluster needs the package temporalio, which is not installed.", "cluster")


def unreachable(access: Access, problem: BaseException) -> StoreError:
    told = str(problem)
    spoken = re.search(r'message: "([^"]+)"', told)
    reason = spoken[1] if spoken else "it answers as no Temporal does" if "Invalid" in told else "no answer"
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
