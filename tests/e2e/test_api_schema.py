"""The whole description of the API, tried out by machine: no crash, and no answer that is not described."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine
from tests.support.serving import TOKEN, Server

SECONDS = 20
CHECKS = ("--checks=all", "--exclude-checks=ignored_auth")
"""`ignored_auth` takes 401 and 403 for an answer to wrong tokens, and not 429, which many of them get by design. The tests of hostile
requests try each route without a token and with wrong ones."""


CONFIGURATION = """
[[operations]]
include-path-regex = "/events$"
parameters = { "query.follow" = false }

[[operations]]
include-path-regex = "/receipt$"
checks.ensure_resource_availability.enabled = false

[[operations]]
include-path-regex = "/tasks/order$"
checks.allow_header_conformance.enabled = false

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "428", "429", "503"]

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "412", "422", "429", "503"]
"""
"""A stream that stays would be waited for. No schema knows which folders are served, which state a loop is in, which checks it has,
which keys were used, and whether its store is Postgres: a body that the schema allows may be 409, 412 or 422, and nothing else. A new loop
has no receipt yet. A task may have the name `order`, so that `/tasks/order` has the methods of a task too. A text may be longer than any
body."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("dashboard", [False, True], ids=["bare", "dashboard"])
def test_nothing_undocumented_is_ever_answered(cli: CommandLine, tmp_path: Path, dashboard: bool) -> None:
    cli.environment["UNTILDONE_AGENT"] = "scripted"
    with Server(cli, "--quiet", dashboard=dashboard) as server:
        server.create("an ended one")
        server.create("one that rests", start=False)
        program = Path(sys.executable).with_name("schemathesis")
        options = [
            *CHECKS,
            "--phases=examples,coverage,fuzzing,stateful",
            "--max-examples=10",
            f"--max-time={SECONDS}",
            "--workers=1",
            "--generation-deterministic",
            "--request-timeout=10",
            "--no-color",
            "--suppress-health-check=all",
            "--warnings=off",
            f"--header=Authorization: Bearer {TOKEN}",
        ]
        (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
        command = [str(program), "run", f"{server.url}/api/v1/openapi.json", *options]
        environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis"), "NO_PROXY": "*"}
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)
        assert ended.returncode == 0, ended.stdout[-12000:] + ended.stderr[-2000:]
        assert "Traceback" not in server.log.read_text()
        assert server.is_well()
