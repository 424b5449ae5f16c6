"""A scratch folder for one case: workspace, home folder, state folder and agent, in a clean environment.

Everything that a case starts is ended with it: by its mark in the environment, and by the numbers that agents wrote down.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from proof.runs.projects import Project, search_path

KIT = Path(__file__).with_name("agent_kit.py")
MARK = "PROOF_CASE"
PATIENCE = 120.0
"""Seconds after which a command counts as one that does not end."""
HEADER = "from agent_kit import *\n"


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended; `code` is None if it was killed because it took too long."""

    code: int | None
    output: str
    errors: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The JSON objects on standard output."""
        records = []
        for line in self.output.splitlines():
            with contextlib.suppress(ValueError):
                records.append(json.loads(line))
        return [record for record in records if isinstance(record, dict)]


@dataclass(frozen=True, slots=True)
class Sandbox:
    folder: Path
    programs: Path
    """The folder of pytest and untildone, as a person has it on PATH."""
    repository: Path
    workspace: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def agent_folder(self) -> Path:
        return self.folder / "agent"

    @property
    def environment(self) -> dict[str, str]:
        """What a person's shell has, and nothing of this process."""
        own = (self.home / ".local" / "bin", self.programs, self.home / "bin")
        return {
            "PATH": os.pathsep.join((*map(str, own), search_path())),
            "HOME": str(self.home),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
            "UNTILDONE_RETRY_DELAY": "0.05",
            # Agents may do what the person may; `proof/escapes` is about boxes.
            "UNTILDONE_SANDBOX": "off",
            MARK: str(self.folder),
            **self.variables,
        }

    def add_agent(self, body: str, name: str = "agent") -> str:
        """Write the script of an agent; return the words for `--command`."""
        script = self.agent_folder / f"{name}.py"
        script.write_text(HEADER + body)
        return shlex.join([sys.executable, str(script)])

    def act(self, body: str, name: str = "person") -> None:
        """Run a script in the workspace as the person, before or between loops."""
        command = shlex.split(self.add_agent(body, name))
        done = subprocess.run(
            command,
            cwd=self.workspace,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the script of the {name} failed:\n{done.stderr}")

    def untildone(self, *arguments: str, patience: float = PATIENCE) -> Ended:
        """Run a command as the person."""
        return self.finish(self.start(str(self.programs / "untildone"), *arguments), patience)

    def shell(self, command: str) -> Ended:
        return self.finish(self.start("sh", "-c", command))

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.workspace,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def finish(self, process: subprocess.Popen[str], patience: float = PATIENCE) -> Ended:
        try:
            output, errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            end_processes(self)
            output, errors = process.communicate()
            return Ended(None, output, errors)
        return Ended(process.returncode, output, errors)

    def wait_for(self, name: str, process: subprocess.Popen[str]) -> None:
        """Wait until the agent has made this file in its folder, or the process has ended."""
        deadline = time.monotonic() + PATIENCE
        while not (self.agent_folder / name).exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)

    def left_behind(self) -> list[psutil.Process]:
        """The living processes whose numbers agents wrote down."""
        path = self.agent_folder / "pids"
        numbers = {int(word) for word in path.read_text().split()} if path.exists() else set()
        return [process for number in numbers if (process := _living(number, str(self.folder)))]


def _living(number: int, folder: str) -> psutil.Process | None:
    """The process, if it lives and runs a program of this folder: its number may belong to another one by now."""
    try:
        process = psutil.Process(number)
        ours = any(folder in word for word in process.cmdline())
        return process if ours and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.Error:
        return None


@contextlib.contextmanager
def new_sandbox(
    folder: Path, project: Project, programs: Path, *, subfolder: str = "", has_git: bool = True
) -> Iterator[Sandbox]:
    """A sandbox with a project in it, committed if it has git. `folder` must not exist yet.

    With a `subfolder`, the workspace is that folder of its repository.
    """
    repository = folder / "above" / "project"
    sandbox = Sandbox(folder, programs, repository, repository / subfolder)
    for path in (sandbox.workspace, sandbox.home / ".local" / "bin", folder / "tmp", sandbox.agent_folder):
        path.mkdir(parents=True)
    shutil.copy(KIT, sandbox.agent_folder)
    (sandbox.agent_folder / "solution.json").write_text(json.dumps(dict(project.solution)))
    add_files(sandbox.workspace, project.files)
    for name in project.programs:
        (sandbox.workspace / name).chmod(0o755)
    if has_git:
        commit(sandbox, repository)
    try:
        yield sandbox
    finally:
        end_processes(sandbox)


def add_files(workspace: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(sandbox: Sandbox, repository: Path, message: str = "Start") -> None:
    """Commit everything in a folder, which becomes a repository if it is none."""
    identity = ("-c", "user.name=Person", "-c", "user.email=person@example.com")
    quick = ("-c", "gc.auto=0", "-c", "core.fsync=none", "-c", "init.defaultBranch=main")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", message]):
        command = ["git", *identity, *quick, *arguments]
        subprocess.run(command, cwd=repository, env=sandbox.environment, check=True, capture_output=True, timeout=60)


def log_commands(sandbox: Sandbox, ended: Sequence[Ended]) -> None:
    """Keep what the commands printed, for those who keep the scratch folder."""
    texts = (f"exit code {one.code}\n{one.output}{one.errors}" for one in ended)
    (sandbox.folder / "commands.log").write_text("\n".join(texts))


def end_processes(sandbox: Sandbox) -> None:
    """End every process that this case started."""
    for _ in range(2):
        for process in (*_marked(str(sandbox.folder)), *sandbox.left_behind()):
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)


def _marked(folder: str) -> Sequence[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == folder:
                found.append(process)
    return found
