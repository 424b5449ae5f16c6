"""A sandbox for one run of one tool: workspace, home folder and fake agent. All its processes are killed at the end."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

AGENT = Path(__file__).with_name("agent.sh")
CHECK = "grep -qx done result.txt"
SCRIPT_CHECK = "sh check.sh"
"""The same check as a script of the project."""
TASK = "Write the file result.txt. It holds one line, the word: done"
MARK = "COMPARE_STAGE"
PATIENCE = 180.0
"""Seconds after which a run counts as one that does not end."""


class AgentNotCalled(Exception):
    """The tool did not call the agent, so nothing can be measured."""

    def __init__(self, name: str, printed: str) -> None:
        super().__init__(f"{name} did not call the agent. It printed:\n{printed}")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the agent, from its own log; a killed call has no end."""

    pid: int
    began: float
    ended: float | None


@dataclass(frozen=True, slots=True)
class Sandbox:
    folder: Path
    check: str | None = CHECK
    """The check command for tools that support one."""

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    def environment(self, *paths: Path) -> dict[str, str]:
        """A clean environment: own home, dummy key, and a PATH on which `claude` is the fake agent."""
        search = [str(self.programs), *map(str, paths), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(search),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "ANTHROPIC_API_KEY": "dummy-key",
            # The fake agent notes its calls and process ids beside the workspace; in a box it could reach neither.
            "UNTILDONE_SANDBOX": "off",
            # What the agent leaves running is found by it.
            "UNTILDONE_PASS_ENV": MARK,
            MARK: str(self.folder),
        }

    def start(self, command: list[str], *paths: Path) -> subprocess.Popen[bytes]:
        with (self.folder / "printed").open("ab") as printed:
            return subprocess.Popen(
                command,
                cwd=self.workspace,
                env=self.environment(*paths),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def require_calls(self, name: str) -> None:
        if not self.calls:
            raise AgentNotCalled(name, self.printed[-2000:])

    @property
    def printed(self) -> str:
        return (self.folder / "printed").read_text(errors="replace")

    @property
    def calls(self) -> list[Call]:
        ended = dict(self._stamps("ended"))
        return [Call(pid, at, ended.get(pid)) for pid, at in self._stamps("begun")]

    @property
    def family(self) -> list[psutil.Process]:
        """The forking agent and its two children, one of them in another session; empty until all three run."""
        path = self.programs / "family"
        pids = path.read_text().split() if path.exists() else []
        return [psutil.Process(int(pid)) for pid in pids] if len(pids) == 3 else []

    @property
    def slow_call(self) -> int:
        """The number of the slow call, 0 before it starts."""
        path = self.programs / "slow"
        return int(path.read_text() or 0) if path.exists() else 0

    @property
    def most_at_once(self) -> int:
        """The highest number of slow agents that ran at the same time."""
        path = self.programs / "living"
        return max(map(int, path.read_text().split())) if path.exists() else 0

    @property
    def is_done(self) -> bool:
        """Whether the work is really done, by the check."""
        return subprocess.run(["sh", "-c", CHECK], cwd=self.workspace, stderr=subprocess.DEVNULL).returncode == 0

    def _stamps(self, name: str) -> list[tuple[int, float]]:
        path = self.programs / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(pid), float(at)) for pid, at in (line.split() for line in lines)]


@contextlib.contextmanager
def new_sandbox(check: str | None = CHECK, **behaviour: str | int | float) -> Iterator[Sandbox]:
    folder = Path(tempfile.mkdtemp(prefix="compare-"))
    # Deleted at exit: some file systems are slow to create files after mass deletion, which would distort the next run.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sandbox = Sandbox(folder, check)
    try:
        for name in ("workspace", "home", "tmp", "programs"):
            (folder / name).mkdir()
        shutil.copy(AGENT, sandbox.programs / "claude")
        (sandbox.programs / "claude").chmod(0o755)
        (sandbox.programs / "behaviour").write_text("".join(f"{name}={value}\n" for name, value in behaviour.items()))
        git(sandbox, "init", "-q")
        if check == SCRIPT_CHECK:
            (sandbox.workspace / "check.sh").write_text(f"{CHECK}\n")
            git(sandbox, "add", "check.sh")
            git(sandbox, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "Add the check")
        yield sandbox
    finally:
        kill_processes_in(sandbox)


def git(sandbox: Sandbox, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=sandbox.workspace, env=sandbox.environment(), check=True)


def kill_processes_in(sandbox: Sandbox) -> None:
    """Kill all processes of the sandbox, twice in case one started another meanwhile."""
    for _ in range(2):
        for process in processes_in(sandbox):
            with contextlib.suppress(psutil.Error):
                process.kill()
        until(lambda: not processes_in(sandbox), 10)


def processes_in(sandbox: Sandbox) -> list[psutil.Process]:
    """Every living process that carries the sandbox's environment variable."""
    return [process for process in psutil.process_iter() if is_in(process, sandbox)]


def is_in(process: psutil.Process, sandbox: Sandbox) -> bool:
    try:
        return process.environ().get(MARK) == str(sandbox.folder) and lives(process)
    except (psutil.Error, OSError):
        return False


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def until(holds: Callable[[], object], patience: float = PATIENCE) -> bool:
    """Wait until `holds()` is true; return False on timeout."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def exit_code_of(process: subprocess.Popen[bytes], patience: float = PATIENCE) -> int | None:
    """Wait for the exit code; kill the process on timeout and return None."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None
