"""The sandbox of a loop's agents: what the person wants of it, and what really held."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from untildone.core.values.value import dataclass


class Sandbox(StrEnum):
    """Whether agents run in a box. `auto`: where the machine allows it; `on`: the loop does not run without; `off`: never."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class SandboxNet(StrEnum):
    """What agents in a box reach of the network: all of it, the hosts that are allowed by name, or nothing."""

    ALL = "all"
    HOSTS = "hosts"
    NONE = "none"


_NETWORK = {
    SandboxNet.ALL: "network open",
    SandboxNet.HOSTS: "network by host name",
    SandboxNet.NONE: "no network",
}


@dataclass(frozen=True, slots=True)
class Containment:
    """What held while agents of a loop ran."""

    boxed: bool
    network: SandboxNet = SandboxNet.ALL
    reason: str = ""
    """Why there was no box, as a sentence with a hint; empty: there was one, or the person wanted none."""

    @property
    def sentence(self) -> str:
        """One line for people."""
        if self.boxed:
            return f"sandbox: on (workspace writable, home hidden, {_NETWORK[self.network]})"
        return f"sandbox: off: {self.reason}" if self.reason else "sandbox: off"


OTHERS = "other hosts"
"""Stands for hosts that are too many to be recorded by name."""
MOST_HOSTS = 100


@dataclass(frozen=True, slots=True)
class HostAsked:
    """A host that programs in a box asked for."""

    host: str
    """`name`, or `name:port` for an unusual port."""
    allowed: bool
    connections: int = 0
    sent: int = 0
    """Bytes that programs sent to it."""
    received: int = 0

    @property
    def line(self) -> str:
        """One line of a list of hosts."""
        if not self.allowed:
            return f"{self.host}: refused {self.connections} times"
        return f"{self.host}: {self.connections} connections, {self.sent} bytes sent, {self.received} received"

    @property
    def sentence(self) -> str:
        """For person and agent, about a refusal."""
        if self.host == OTHERS:
            return "The sandbox refused connections to other hosts too."
        return f"The sandbox refused a connection to {self.host}: `--allow-host {self.host}`."


def together(asked: Iterable[HostAsked]) -> tuple[HostAsked, ...]:
    """The same hosts, each once, with the sums of their counts: refused ones first, then by name. Too many are counted as one."""
    sums: dict[tuple[bool, str], list[int]] = {}
    for each in asked:
        known = (each.allowed, each.host) in sums or len(sums) < MOST_HOSTS
        counts = sums.setdefault((each.allowed, each.host if known else OTHERS), [0, 0, 0])
        for place, count in enumerate((each.connections, each.sent, each.received)):
            counts[place] += count
    return tuple(HostAsked(host, allowed, *counts) for (allowed, host), counts in sorted(sums.items()))
