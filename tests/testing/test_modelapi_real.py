"""The five real agent programs against the scripted model API, with nothing in their environment but what `environment` gives."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from untildone.testing.modelapi import ModelAPI, Step, ToolCall, Usage, environment

INSTALL_AGENTS = Path(__file__).parents[2] / "scripts" / "install-agents"
MADE = "made by the agent\n"
SECONDS = 60


@cache
def bin_folder(agent: str) -> Path:
    listed = subprocess.run([INSTALL_AGENTS, "--list"], capture_output=True, text=True, timeout=30, check=True)
    return next(Path(line) for line in listed.stdout.splitlines() if (Path(line) / agent).exists())


@dataclass(frozen=True, slots=True)
class Program:
    """How one agent is asked without a terminal, how it resumes, which tool of its writes a file, who tells the session."""

    argv: tuple[str, ...]
    resume: tuple[str, ...]
    writes: str
    session_key: str

    def command(self, prompt: str, session: str | None) -> list[str]:
        more = [part.format(session=session) for part in self.resume] if session else []
        return [part.format(prompt=prompt) for part in (*self.argv, *more)]

    def write_call(self, file: Path) -> ToolCall:
        name, arguments = json.loads(self.writes.replace("FILE", str(file)).replace("CONTENT", json.dumps(MADE)[1:-1]))
        return ToolCall(name, arguments)


PROGRAMS: Mapping[str, Program] = {
    "claude": Program(
        ("claude", "-p", "{prompt}", "--output-format=stream-json", "--verbose", "--permission-mode=acceptEdits"),
        ("--resume={session}",),
        '["Write", {"file_path": "FILE", "content": "CONTENT"}]',
        "session_id",
    ),
    "codex": Program(
        ("codex", "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{prompt}"),
        ("resume", "{session}"),
        "[\"exec_command\", {\"cmd\": \"printf '%s' 'CONTENT' > 'FILE'\"}]",
        "thread_id",
    ),
    "gemini": Program(
        ("gemini", "-p", "{prompt}", "--output-format=stream-json", "--yolo"),
        ("--resume={session}",),
        '["write_file", {"file_path": "FILE", "content": "CONTENT"}]',
        "session_id",
    ),
    "copilot": Program(
        ("copilot", "-p", "{prompt}", "--allow-all-tools", "--output-format=json"),
        ("--resume={session}",),
        '["create", {"path": "FILE", "file_text": "CONTENT"}]',
        "sessionId",
    ),
    "opencode": Program(
        ("opencode", "run", "{prompt}", "--format=json"),
        ("--session={session}",),
        '["write", {"filePath": "FILE", "content": "CONTENT"}]',
        "sessionID",
    ),
}


@dataclass(frozen=True, slots=True)
class Run:
    exit_code: int
    lines: tuple[dict[str, Any], ...]
    stderr: str

    def first(self, key: str) -> str:
        return next(str(line[key]) for line in self.lines if key in line)


@dataclass(frozen=True, slots=True)
class Bench:
    """A real program, a home and a workspace of its own, and the model API it talks to."""

    agent: str
    api: ModelAPI
    env: Mapping[str, str]
    workspace: Path

    @property
    def program(self) -> Program:
        return PROGRAMS[self.agent]

    def ask(self, prompt: str, session: str | None = None) -> Run:
        with subprocess.Popen(
            self.program.command(prompt, session),
            env=self.env,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=SECONDS)
            finally:
                end_group(process.pid)
        lines = tuple(json.loads(line) for line in out.splitlines() if line.startswith("{"))
        return Run(process.returncode, lines, err)


def end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


@pytest.fixture(params=PROGRAMS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with open_bench(request.param, tmp_path) as opened:
        yield opened


@contextmanager
def open_bench(agent: str, folder: Path) -> Iterator[Bench]:
    workspace = folder / "work"
    workspace.mkdir()
    node = Path(shutil.which("node") or "/usr/bin/node").parent
    bins = bin_folder(agent)
    with ModelAPI() as api:
        env = environment(
            agent,
            api.url,
            folder / "home",
            path=f"{bins}:{node}:/usr/bin:/bin",
            workspaces=[workspace],
            package_cache=bins.parents[3] / "copilot-packages",
        )
        yield Bench(agent, api, env, workspace)


@pytest.mark.real_agent
@pytest.mark.timeout(150)
def test_answers_writes_a_file_and_resumes_its_session(bench: Bench) -> None:
    made = bench.workspace / "made.txt"
    usage = Usage(input_tokens=70, output_tokens=9)
    bench.api.load([Step(tools=(bench.program.write_call(made),), usage=usage), Step(text="answer one", usage=usage)])

    first = bench.ask("please make it")

    assert first.exit_code == 0, first.stderr
    assert "answer one" in json.dumps(first.lines)
    assert made.read_text().strip() == MADE.strip()
    assert bench.api.usage_served == usage + usage
    assert ["please make it" in turn.user_text for turn in bench.api.turns] == [True, True]

    bench.api.load([Step(text="answer two")])
    second = bench.ask("go on then", first.first(bench.program.session_key))

    assert second.exit_code == 0, second.stderr
    assert "answer two" in json.dumps(second.lines)
    sent = json.dumps(bench.api.turns[0].body)
    assert "please make it" in sent
    assert "answer one" in sent
    assert "go on then" in bench.api.turns[0].user_text


@pytest.mark.real_agent
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_retries_are_bounded_where_the_program_can_be_told(agent: str, tmp_path: Path) -> None:
    with open_bench(agent, tmp_path) as bench:
        bench.api.load([Step(status=500, repeat="forever")])
        run = bench.ask("fail")
        assert run.exit_code != 0
        assert 2 <= len(bench.api.turns) <= 4


@pytest.mark.real_agent
@pytest.mark.parametrize(("agent", "requests"), [("copilot", 1), ("opencode", 6)])
def test_headers_make_a_failure_quick_where_the_program_cannot_be_told(
    agent: str, requests: int, tmp_path: Path
) -> None:
    with open_bench(agent, tmp_path) as bench:
        headers = {"x-should-retry": "false", "retry-after-ms": "10"}
        bench.api.load([Step(status=500, headers=headers, repeat="forever")])
        run = bench.ask("fail")
        assert run.exit_code != 0
        assert len(bench.api.turns) == requests


@pytest.mark.real_agent
def test_the_first_example_of_the_documentation_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
    example: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], example)
    monkeypatch.setenv("PATH", f"{bin_folder('claude')}:{os.environ['PATH']}")
    example["test_claude_writes_the_file"](tmp_path)
