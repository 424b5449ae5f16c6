"""A cluster whose Postgres and Temporal speak TLS only, and want a certificate from everybody."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support import postgres
from tests.support.certificates import Authority, has_openssl
from tests.support.cluster import PATIENCE, Machine, Parts, TestCluster, git
from tests.support.command_line import CommandLine, Ended
from tests.support.temporal import Temporal
from tests.support.tls_proxy import TlsProxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not has_openssl(), reason="openssl is not installed"),
]


@dataclass(frozen=True, slots=True)
class Guarded:
    """The parts of a cluster that requires TLS, with the client settings for it."""

    parts: Parts
    proxy: TlsProxy
    authority: Authority
    settings: dict[str, str]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def guarded_database(authority: Authority) -> Iterator[str]:
    programs = postgres.programs()
    if programs is None:
        pytest.skip("Postgres is not installed; Debian has it in the package postgresql")
    cluster = postgres.Cluster(Path(tempfile.mkdtemp(prefix="pg-")), programs, authority)
    try:
        cluster.start()
        yield cluster.create_database()
    finally:
        cluster.close()


@pytest.fixture
def guarded(tmp_path: Path, temporal: Temporal, guarded_database: str, authority: Authority) -> Iterator[Guarded]:
    client = authority.issue("client")
    with TlsProxy(temporal.address, authority.issue("temporal"), authority.certificate) as proxy:
        certificates = {"tls_ca": authority.certificate, "tls_cert": client.certificate, "tls_key": client.key}
        settings = {name: str(path) for name, path in certificates.items()}
        yield Guarded(Parts(proxy.address, guarded_database, tmp_path), proxy, authority, settings)


def a_laptop(guarded: Guarded, name: str = "laptop", **changed: str) -> CommandLine:
    cli = CommandLine(guarded.parts.folder / name)
    access = {"temporal": guarded.parts.temporal, "queue": guarded.parts.queue, **guarded.settings, **changed}
    cli.environment |= {"UNTILDONE_STORE": guarded.parts.database, "UNTILDONE_CLUSTER": json.dumps(access)}
    return cli


def options(guarded: Guarded) -> tuple[str, ...]:
    return tuple(f"--{name.replace('_', '-')}={value}" for name, value in guarded.settings.items())


def test_a_loop_runs_where_every_connection_needs_a_certificate(guarded: Guarded) -> None:
    with TestCluster(guarded.parts) as cluster:
        cluster.machine("one", *options(guarded))
        laptop = a_laptop(guarded)
        git(laptop.workspace, "clone", "--quiet", str(cluster.remote), ".")
        done = cluster.script([{"say": "Done.", "write": {"ok.txt": "there\n"}, "claim": True}])["args"]
        ended = laptop.run(
            "run", "A job", "--cluster", "--json", "--check", "test -f ok.txt", "--agent", "scripted", "--", *done,
            patience=PATIENCE,
        )  # fmt: skip
        assert ended.code == 0, ended.errors
        assert (ended.errors.count("cannot be reached"), ended.records[-1]["outcome"]) == (0, "verified")
        loop_id = ended.records[-1]["loop_id"]
        assert loop_id in laptop.run("list", patience=PATIENCE).output
        assert laptop.shown(loop_id)["status"] == "completed"
    assert guarded.proxy.rejected == 0


def refused(ended: Ended, *words: str) -> None:
    """Check that the command reports the wrong certificate in one sentence, without waiting."""
    assert ended.code in (2, 6), ended.errors
    assert all(word in ended.errors for word in words), ended.errors
    assert "Traceback" not in ended.errors
    assert len([line for line in ended.errors.splitlines() if "TLS with " in line]) == 1, ended.errors


TEMPORAL_REFUSES = {
    "no certificate": ({"tls_cert": "", "tls_key": ""}, "certificate required"),
    "a stranger's certificate": ({"tls_cert": "stranger.pem", "tls_key": "stranger.key"}, "unknown ca"),
    "another authority": ({"tls_ca": "foreign.pem"}, "its certificate is refused"),
    "another name": ({"tls_server_name": "elsewhere.example"}, "its certificate is refused"),
    "a key that is none": ({"tls_key": "foreign.pem"}, "do not belong together"),
}


@pytest.mark.parametrize("case", TEMPORAL_REFUSES)
def test_certificates_that_temporal_rejects_are_reported_at_once(case: str, guarded: Guarded) -> None:
    changed, words = TEMPORAL_REFUSES[case]
    folder = guarded.parts.folder
    Authority(folder, "foreign").issue("stranger")
    changed = {
        name: str(folder / value) if value.endswith((".pem", ".key")) else value for name, value in changed.items()
    }
    cli = a_laptop(guarded, **changed)
    refused(cli.run("worker", "--machine", "one", patience=PATIENCE), "Temporal at", words)


POSTGRES_REFUSES = {
    "no certificate": ("&sslcert=", "&sslcert=/nowhere/", "client certificate"),
    "another authority": ("authority.pem", "client.pem", "certificate verify failed"),
    "an authority that is not there": ("authority.pem", "nowhere.pem", "nowhere.pem"),
}


@pytest.mark.parametrize("case", POSTGRES_REFUSES)
@pytest.mark.parametrize("command", ["worker", "list"])
def test_certificates_that_postgres_rejects_are_reported_at_once(command: str, case: str, guarded: Guarded) -> None:
    before, after, words = POSTGRES_REFUSES[case]
    cli = a_laptop(guarded)
    cli.environment["UNTILDONE_STORE"] = guarded.parts.database.replace(before, after)
    refused(cli.run(command, patience=PATIENCE), "postgres://127.0.0.1", words)


def test_the_name_in_the_certificate_may_be_another_than_in_the_address(guarded: Guarded) -> None:
    machine = Machine(guarded.parts, "one", *options(guarded), "--tls-server-name=localhost")
    machine.start()
    assert machine.end() == 0
