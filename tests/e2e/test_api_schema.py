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
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,unsupported_method,allow_header_conformance,use_after_free"
)


CONFIGURATION = """
[[operations]]
include-path-regex = "/events$"
parameters = { "query.follow" = false }
"""
"""A stream that stays would be waited for."""


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
            f"--checks={CHECKS}",
            "--phases=examples,coverage,fuzzing,stateful",
            "--max-examples=10",
            f"--max-time={SECONDS}",
            "--workers=1",
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
