"""Clients that are generated from the description compile, work, and cannot weaken a gate of the project."""

from __future__ import annotations

import json
import os
import re
import shutil
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
EXAMPLES = Path(__file__).with_name("api_examples.ts")
GUIDE = Path(__file__).parents[2] / "docs" / "api.md"


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
    assert is_gated(server, loop_id)


def is_gated(server: Server, loop_id: str) -> bool:
    """Whether a loop has the gates of the project."""
    kept = server.show(loop_id)
    chosen = kept["settings"]
    gates = (chosen["require_change"], chosen["mode"], chosen["checks"])
    return (*gates, kept["max_iterations"]) == (True, "workflow", ["test -s done.md"], 7)


def examples_of_the_guide() -> set[str]:
    """Method and address of each request of the guide."""
    told = re.findall(r"\bapi ([A-Z]+) \"?(/[^ \"]+)|\bget \"?(/[^\s\"|]+)", GUIDE.read_text())
    requests = {(method or "GET", (path or read).partition("?")[0]) for method, path, read in told}
    return {f"{method} /api/v1{_address(path)}" for method, path in requests}


def _address(path: str) -> str:
    """`/loops/$SLOW/output/1` becomes `/loops/{loop_id}/output/{name}`."""
    forms = {r"tasks/\$\w+": "tasks/{task_id}", r"\$[A-Z]+": "{loop_id}", r"output/\d+": "output/{name}"}
    for form, name in {**forms, r"rounds/\d+": "rounds/{number}"}.items():
        path = re.sub(form, name, path)
    return path


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_a_client_in_typescript_runs_the_examples_of_the_guide(server: Server, tools: Path, tmp_path: Path) -> None:
    programs = tools / "node_modules" / ".bin"
    (tmp_path / "openapi.json").write_bytes(server.client.get("/api/v1/openapi.json").content)
    run(programs / "openapi-typescript", "openapi.json", "-o", "api.d.ts", cwd=tmp_path)
    shutil.copy(EXAMPLES, tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = ("--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "esnext")
    run(programs / "tsc", *options, "--moduleResolution", "bundler", EXAMPLES.name, cwd=tmp_path)
    told = json.loads(run("node", EXAMPLES.with_suffix(".js").name, server.url, TOKEN, cwd=tmp_path))
    assert is_gated(server, told["gated"])
    assert len(examples_of_the_guide()) > 20
    assert examples_of_the_guide() - set(told["called"]) == set()
