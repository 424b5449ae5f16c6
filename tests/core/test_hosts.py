"""Rules about hosts: which names and addresses they allow, and which notations they refuse."""

from __future__ import annotations

import pytest

from untildone.core.protection import hosts
from untildone.core.protection.sandbox import HostAsked, together


@pytest.mark.parametrize(
    ("rule", "name", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 8443, False),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "badexample.org", 443, False),
        ("Example.ORG", "EXAMPLE.org.", 443, True),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("*.example.org", "a.example.org", 8080, False),
        ("*.example.org:8080", "a.example.org", 8080, True),
        ("example.org:8080", "example.org", 8080, True),
        ("example.org:8080", "example.org", 443, False),
        ("10.1.2.3", "10.1.2.3", 443, True),
        ("10.1.2.3", "10.1.2.4", 443, False),
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "::ffff:127.0.0.1", 8080, True),
        ("[::1]:8080", "0:0::1", 8080, True),
        ("[::1]:8080", "[::1]", 8081, False),
    ],
)
def test_a_rule_allows_its_host_and_no_other(rule: str, name: str, port: int, allowed: bool) -> None:
    found = hosts.host_of(name)
    assert found is not None
    assert (hosts.hosts([rule]).find(found, port) is not None) is allowed


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "a..b", "-a.org", "a b", "a\n.org", "ä.org", "a/b", "a@b", "x" * 254, "*", "*.org", "fe80::1%eth0"),
        *("2130706433", "0x7f000001", "0x7f.1", "127.1", "017700000001", "1.2.3.4.5", "a.0x1", "[example.org]"),
    ],
)
def test_what_is_neither_a_name_nor_a_usual_address_is_no_host(name: str) -> None:
    assert hosts.host_of(name) is None


@pytest.mark.parametrize(
    "rule",
    ["", "*", "*.org", "*.1.2.3.4", "a:0", "a:70000", "a:b", "http://a.org", "a.org/", "1.2.3", "a:1:2", "*.*.org"],
)
def test_a_malformed_rule_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match=r"is not a host|valid port"):
        hosts.hosts([rule])


PUBLIC, PRIVATE, LOOPBACK, METADATA = "93.184.216.34", "192.168.1.5", "127.0.0.1", "169.254.169.254"


@pytest.mark.parametrize(
    ("rule", "permitted"),
    [
        ("*.example.org", {PUBLIC, "2606:2800::1"}),
        ("example.org", {PUBLIC, "2606:2800::1", PRIVATE, "fd00::1", "100.64.0.1"}),
        ("example.org:8080", {PUBLIC, "2606:2800::1", PRIVATE, "fd00::1", "100.64.0.1", LOOPBACK, "::1"}),
        (METADATA, {METADATA}),
        (LOOPBACK, {LOOPBACK, "::ffff:127.0.0.1"}),
    ],
)
def test_a_name_leads_only_to_addresses_that_its_rule_permits(rule: str, permitted: set[str]) -> None:
    translated = {"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::ffff:127.0.0.1"}
    places = {
        PUBLIC,
        "2606:2800::1",
        PRIVATE,
        "fd00::1",
        "100.64.0.1",
        LOOPBACK,
        "::1",
        METADATA,
        "fe80::1",
        "0.0.0.0",
        "::",
        "224.0.0.1",
    }
    kept = {place for place in places | translated if hosts.parse(rule).permits(place)}
    assert kept - translated == permitted - translated
    if ":8080" not in rule and rule != LOOPBACK:
        assert not kept & translated


def test_the_rule_that_names_a_host_counts_before_that_of_its_domain() -> None:
    allowed = hosts.hosts(["*.example.org", "api.example.org"])
    found = allowed.find("api.example.org", 443)
    assert found is not None
    assert not found.is_domain


def test_ports_of_this_machine_are_those_that_rules_name_with_a_port() -> None:
    rules = [
        "127.0.0.1:8080",
        "localhost:8080",
        "localhost:9090",
        "[::1]:7070",
        "127.0.0.1",
        "localhost",
        "10.0.0.1:8080",
    ]
    assert hosts.hosts(rules).on_this_machine == (("127.0.0.1", 8080), ("127.0.0.1", 9090), ("::1", 7070))


def test_hosts_that_were_asked_for_are_summed_and_refused_ones_come_first() -> None:
    asked = [
        HostAsked("b", True, 1, 2, 3),
        HostAsked("a", True, 1),
        HostAsked("z", False, 1),
        HostAsked("b", True, 1, 5, 5),
    ]
    assert together(asked) == (HostAsked("z", False, 1), HostAsked("a", True, 1), HostAsked("b", True, 2, 7, 8))


def test_a_refusal_says_which_flag_allows_the_host() -> None:
    sentence = HostAsked(hosts.shown("example.org", 8443), allowed=False).sentence
    assert sentence == "The sandbox refused a connection to example.org:8443: `--allow-host example.org:8443`."
