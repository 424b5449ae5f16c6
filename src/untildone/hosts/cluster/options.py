"""The options of a cluster, from the table `[cluster]` of the settings and from flags, which win."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from untildone.core.errors import UsageError
from untildone.hosts.cluster.connecting import NAMESPACE, QUEUE, Access

DRAIN, SHARE, HEARTBEAT_TIMEOUT, SLOTS = 600.0, 600.0, 30.0, 4


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one machine and of its connection to Temporal."""

    temporal: str = ""
    """The address of Temporal."""
    namespace: str = NAMESPACE
    queue: str = QUEUE
    tls_cert: str = ""
    tls_key: str = ""
    tls_ca: str = ""
    tls_server_name: str = ""
    slots: int = SLOTS
    machine: str = ""
    work_dir: str = ""
    heartbeat_timeout: float = HEARTBEAT_TIMEOUT
    """Seconds without a heartbeat after which a machine counts as dead."""
    drain: float = DRAIN
    """Seconds for which turns may go on after the machine was asked to end."""
    share: float = SHARE
    """Seconds after which a loop leaves its slot to a waiting loop."""

    @property
    def access(self) -> Access:
        if not self.temporal:
            raise UsageError(
                "The address of Temporal is not set.", "give it with --temporal, or in [cluster] of the settings"
            )
        tls = (self.tls_cert, self.tls_key, self.tls_ca, self.tls_server_name)
        return Access(self.temporal, self.namespace, self.queue, *(given or None for given in tls))


_NUMBERS: Mapping[str, Callable[[str], float]] = {
    "slots": int,
    "heartbeat_timeout": float,
    "drain": float,
    "share": float,
}
_KNOWN = tuple(field.name for field in fields(Options))


def options(table: Mapping[str, str], flags: Mapping[str, Any]) -> Options:
    """The options of the table and the flags. A flag that is None was not given."""
    for name in table:
        if name not in _KNOWN:
            raise UsageError(f"There is no setting 'cluster.{name}'.", f"known are: {', '.join(_KNOWN)}")
    configured = {name: _read(name, text) for name, text in table.items() if text != ""}
    given = {name: value for name, value in flags.items() if value is not None and name in _KNOWN}
    return Options(**{**configured, **given})


def _read(name: str, text: str) -> Any:
    if name not in _NUMBERS:
        return text
    try:
        number = _NUMBERS[name](text)
    except ValueError:
        raise UsageError(f"Setting 'cluster.{name}': '{text[:60]}' is not a number.", "give one above 0") from None
    if not 0 <= number < float("inf") or (number < 1 and name != "drain"):
        raise UsageError(f"Setting 'cluster.{name}': {text[:60]} is out of range.", "give a number above 0")
    return number
