"""Which hosts a program in a box may reach: rules by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from untildone.core.values.value import dataclass

USUAL_PORTS = (80, 443)
"""The ports of a rule that names none."""
LOCAL = "localhost"
_TRANSLATED = IPv6Network("64:ff9b::/96")
_LONGEST = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class HostRule:
    """A host that may be reached: `name`, `*.domain` or an address, perhaps with a port."""

    name: str
    """In lower case; an address in its usual form; `.domain` for all names below a domain."""
    port: int | None = None
    """None: the usual ports."""

    @property
    def is_domain(self) -> bool:
        return self.name.startswith(".")

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The address, if the rule names one."""
        return address_of(self.name)

    def covers(self, name: str, port: int) -> bool:
        """Whether the rule is about this name, which is in the form that `host_of` returns."""
        same = name.endswith(self.name) and address_of(name) is None if self.is_domain else name == self.name
        return same and (port in USUAL_PORTS if self.port is None else port == self.port)

    def permits(self, address: str) -> bool:
        """Whether a covered name may lead to this address.

        Whoever owns a name chooses its addresses. So a domain leads to public ones only, a name also to private networks, a name with a
        port also to this machine. Addresses of the link, such as that of a cloud's metadata service, must be named themselves.
        """
        place = address_of(address)
        if place is None or self.address is not None:
            return place is not None and place == self.address
        place = _inner(place)
        if place.is_global and not place.is_multicast:
            return True
        if self.is_domain or place.is_link_local or place.is_multicast or place.is_unspecified:
            return False
        return self.port is not None or not place.is_loopback


@dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts that programs in a box may reach."""

    rules: tuple[HostRule, ...] = ()

    def find(self, name: str, port: int) -> HostRule | None:
        """The rule that allows this host: one that names it rather than its domain; None: there is none."""
        rules = [rule for rule in self.rules if rule.covers(name, port)]
        return min(rules, key=lambda rule: (rule.is_domain, rule.port is None), default=None)

    def names(self, name: str) -> bool:
        """Whether a rule covers this name, on any port."""
        return any(rule.covers(name, rule.port or USUAL_PORTS[0]) for rule in self.rules)

    @property
    def on_this_machine(self) -> tuple[tuple[str, int], ...]:
        """Addresses and ports of this machine's loopback interface that rules name. A box shows them at the same address."""
        named = [(LOCAL_ADDRESS if rule.name == LOCAL else rule.name, rule.port) for rule in self.rules]
        return tuple(dict.fromkeys((name, port) for name, port in named if port is not None and _is_loopback(name)))


LOCAL_ADDRESS = "127.0.0.1"


def hosts(rules: Iterable[str]) -> Hosts:
    """The hosts in the words of settings and agents. Raises ValueError."""
    return Hosts(tuple(dict.fromkeys(parse(rule) for rule in rules)))


def parse(text: str) -> HostRule:
    """The rule in a text: `example.com`, `*.example.com`, `example.com:8080`, `127.0.0.1:8080` or `[::1]:8080`. Raises ValueError."""
    name, port = split(text)
    domain = name.startswith("*.")
    host = host_of(name.removeprefix("*."))
    if host is None or (domain and (address_of(host) is not None or "." not in host)):
        raise ValueError(
            f"{text[:60]!r} is not a host: give a name such as example.com, *.example.com or example.com:8080"
        )
    return HostRule(f".{host}" if domain else host, port)


def split(text: str) -> tuple[str, int | None]:
    """Name and port of `name` or `name:port`. Raises ValueError for a bad port."""
    name, colon, port = text.rpartition(":")
    if not colon or (text.startswith("[") and text.endswith("]")):
        return text, None
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16):
        raise ValueError(f"{text[:60]!r} has no valid port: it is a number from 1 to 65535")
    return name, int(port)


def host_of(text: str) -> str | None:
    """The name in lower case, or the address in its usual form; None if it is neither.

    Names that end in a number are addresses in other notations, such as `2130706433` or `0x7f.1`. They are refused: a rule
    could not be compared with them.
    """
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address = address_of(bare)
    if address is not None:
        return str(address)
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    is_name = 0 < len(name) <= _LONGEST and all(_LABEL.fullmatch(label) for label in labels)
    return name if is_name and not _NUMBER.fullmatch(labels[-1]) else None


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """The address in a text; None: it is not an address. An IPv4 address that is written as IPv6 is returned as IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return None
        return address.ipv4_mapped or address
    return address


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address of IPv4 to which gateways translate one of IPv6, if they do."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or address


def _is_loopback(name: str) -> bool:
    address = address_of(name)
    return address is not None and address.is_loopback


def shown(name: str, port: int) -> str:
    """A host as a rule would name it."""
    address = address_of(name)
    host = f"[{name}]" if isinstance(address, IPv6Address) else name
    return host if port in USUAL_PORTS else f"{host}:{port}"
