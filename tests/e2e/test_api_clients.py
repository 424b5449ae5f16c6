"""Clients that are generated from the description compile, work, and cannot weaken a gate of the project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine
from tests.support.serving import TOKEN, Server

INSTALL = Path(__file__).parents[2] / "scripts" / "install-generators"
PROJECT = 'require_change = true\nmode = "workflow"\nmax_iterations = 7\nchecks = ["test -s done.md"]\n'
PROGRAM = """
import sys
from untildone_client import AuthenticatedClient
from untildone_client.api.loops import create_loop, list_loops, show_loop
from untildone_client.models import LoopLine, LoopState, NewLoop, Settings, StatusWord

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
made = create_loop.sync(client=client, body=NewLoop(task="A job", settings=Settings(agent="scripted")))
assert isinstance(made, LoopLine), made
shown = show_loop.sync(made.loop_id, client=client)
assert isinstance(shown, LoopState), shown
listed = list_loops.sync(client=client, status=[StatusWord.CREATED], q="job")
assert [each.loop_id for each in listed.loops] == [made.loop_id], listed
print(made.loop_id)
"""
SCRIPT = """
import type { components, operations } from "./api";

type Schemas = components["schemas"];
export const created: Schemas["NewLoop"] = {
  task: "Write a report in steps",
  start: true,
  settings: { agent: "scripted", checks: ["test $(wc -l < scripted-work.md) -ge 3"] },
};
export const query: operations["listLoops"]["parameters"]["query"] = { status: ["running", "paused"], limit: 10 };
export const gates = (state: Schemas["LoopState"]): boolean => state.gates.every((gate) => gate.passed);
export const spent = (line: Schemas["LoopLine"]): number => line.spend.cost_usd;
export function words(entry: Schemas["Entry"]): string {
  return entry.event === "message" ? entry.text : entry.event;
}
"""


@pytest.fixture(scope="module")
def tools() -> Path:
    ended = subprocess.run(
        [INSTALL], capture_output=True, text=True, timeout=280, env={**os.environ, "PYTHON": sys.executable}
    )
    if ended.returncode:
        pytest.skip(f"the generators cannot be installed: {ended.stderr.strip()[-300:]}")
    return Path(ended.stdout.strip())


@pytest.fixture
def server(cli: CommandLine) -> Iterator[Server]:
    (cli.workspace / "untildone.toml").write_text(PROJECT)
    with Server(cli) as server:
        yield server


def run(*command: str | Path, cwd: Path) -> str:
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_client_in_python_leaves_the_gates_of_the_project(server: Server, tools: Path, tmp_path: Path) -> None:
    programs = tools / "venv" / "bin"
    (tmp_path / "openapi.json").write_bytes(server.client.get("/api/v1/openapi.json").content)
    told = run(
        programs / "openapi-python-client",
        *("generate", "--path", "openapi.json", "--output-path", "client", "--meta", "none", "--overwrite"),
        cwd=tmp_path,
    )
    assert "nable to" not in told, told
    (tmp_path / "client").rename(tmp_path / "untildone_client")
    (tmp_path / "program.py").write_text(PROGRAM)
    loop_id = run(programs / "python", "program.py", server.url, TOKEN, cwd=tmp_path).strip()
    kept = server.show(loop_id)
    assert (kept["settings"]["require_change"], kept["settings"]["mode"]) == (True, "workflow")
    assert (kept["max_iterations"], kept["settings"]["checks"]) == (7, ["test -s done.md"])


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_client_in_typescript_compiles(server: Server, tools: Path, tmp_path: Path) -> None:
    programs = tools / "node_modules" / ".bin"
    (tmp_path / "openapi.json").write_bytes(server.client.get("/api/v1/openapi.json").content)
    run(programs / "openapi-typescript", "openapi.json", "-o", "api.d.ts", cwd=tmp_path)
    (tmp_path / "example.ts").write_text(SCRIPT)
    run(
        programs / "tsc",
        *("--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler", "example.ts"),
        cwd=tmp_path,
    )
