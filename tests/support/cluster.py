"""A test cluster: Temporal, Postgres, a git remote, and machines, which are worker processes with separate folders.

Needs the extra `cluster`, the program `temporal` and a Postgres server.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from tests.support.command_line import CommandLine, until

from untildone import settings
from untildone.core.events import Entry, LoopCreated, StartRequested
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Budget
from untildone.core.values.codec import timestamp
from untildone.core.values.value import replace
from untildone.hosts.cluster.client import Cluster
from untildone.hosts.cluster.connecting import Access
from untildone.operations.creating import loop_settings
from untildone.store.postgres import PostgresStore
from untildone.system import orphans

PATIENCE = 90.0
HEARTBEAT_TIMEOUT = 4
APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
PROMISE = "<promise>COMPLETE</promise>"
# Does one step in each call and claims after the last one. Its only state is a file in the workspace.
# A single process unless it sleeps, so that it costs little in a benchmark with hundreds of calls.
_STEPPING_AGENT = """#!/bin/sh
while read -r line; do :; done
n=1
if [ -f steps ]; then while read -r line; do n=$((n + 1)); done < steps; fi
echo "$UNTILDONE_LOOP_ID $n $$" >> {log}
{sleep}
echo "step $n" >> steps
if [ $n -ge {steps} ]; then echo "That was all. {promise}"; else echo "Step $n is done."; fi
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that a test cluster is made of."""

    temporal: str
    database: str
    folder: Path
    queue: str = field(default_factory=lambda: f"queue-{secrets.token_hex(4)}")
    """A unique queue name, so that a cluster does not see the work of an earlier one."""


class Machine:
    """One machine of the cluster: a `worker` process."""

    def __init__(self, parts: Parts, name: str, *options: str) -> None:
        self.name = name
        self.cli = CommandLine(parts.folder / name)
        self.log = parts.folder / name / "worker.log"
        self.cli.environment["UNTILDONE_STORE"] = parts.database
        chosen = {"temporal": parts.temporal, "queue": parts.queue, "machine": name}
        options_given = {**chosen, "heartbeat-timeout": str(HEARTBEAT_TIMEOUT)}
        self._arguments = (
            "worker",
            "--json",
            *(f"--{option}={value}" for option, value in options_given.items()),
            *options,
        )
        self.process: subprocess.Popen[str] | None = None
        self._apart = False

    @property
    def folder(self) -> Path:
        """Where it clones to, unless an option says otherwise."""
        return self.cli.home / ".local" / "share" / "untildone" / "worker"

    @property
    def pid(self) -> int:
        assert self.process is not None
        inside = psutil.Process(self.process.pid).children() if self._apart else []
        return inside[0].pid if inside else self.process.pid

    def start(self, *, apart: bool = False) -> Machine:
        """Start it and wait until it is ready. With `apart`, it runs in its own pid namespace if the system allows that."""
        self._apart = apart and can_be_apart()
        process = self.launch()
        assert process.stdout is not None
        assert process.stdout.readline(), self.log.read_text()
        return self

    def launch(self) -> subprocess.Popen[str]:
        """Start it without waiting until it is ready."""
        with self.log.open("a") as log:
            self.process = self.cli.start(*self._arguments, stderr=log, before=APART if self._apart else ())
        return self.process

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def end(self, patience: float = PATIENCE) -> int:
        """Stop it with SIGTERM; return its exit code."""
        return self._end(signal.SIGTERM, patience)

    def _end(self, number: int, patience: float = PATIENCE) -> int:
        assert self.process is not None
        self.signal(number)
        code = self.process.wait(patience)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return code


class TestCluster:
    """`with TestCluster(parts) as cluster: cluster.machine("one")`."""

    __test__ = False

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.store = PostgresStore(parts.database, folder=parts.folder / "loops")
        self.client = Cluster(Access(parts.temporal, queue=parts.queue))
        self.machines: list[Machine] = []
        self.calls_log = parts.folder / "calls.log"
        self.remote = new_remote(parts.folder)

    def __enter__(self) -> TestCluster:
        return self

    def __exit__(self, *_: object) -> None:
        for machine in self.machines:
            if machine.process is not None:
                machine.signal(signal.SIGCONT)
                machine.kill()
        self.client.close()
        self.store.close()

    def machine(self, name: str, *options: str, apart: bool = False) -> Machine:
        machine = Machine(self.parts, name, *options)
        self.machines.append(machine)
        return machine.start(apart=apart)

    def stepping_agent(self, steps: int, seconds: float) -> dict[str, Any]:
        """Settings for a loop whose agent needs `steps` calls of `seconds` each."""
        path = self.parts.folder / f"agent-{steps}-{seconds}.sh"
        sleep = f"sleep {seconds}" if seconds else ""
        content = _STEPPING_AGENT.format(log=self.calls_log, sleep=sleep, steps=steps, promise=PROMISE)
        if not path.exists():
            # Another loop may just be starting it: then it cannot be opened for writing.
            path.write_text(content)
            path.chmod(0o755)
        check = f"test $(wc -l < steps) -ge {steps}"
        return {"agent": "command", "command": shlex.quote(str(path)), "checks": (check,)}

    def script(self, *turns: list[dict[str, Any]], one_place: bool = False) -> dict[str, Any]:
        """Settings for a loop whose agent plays these turns."""
        path = self.parts.folder / f"script-{secrets.token_hex(4)}.json"
        path.write_text(json.dumps(turns))
        place = ("--one-place",) if one_place else ()
        return {"agent": "scripted", "args": (f"--script={path}", *place)}

    def forget_limits(self) -> None:
        """Delete the usage limits of agents that the machines stored."""
        for path in self.parts.folder.glob("*/home/.local/state/untildone/limits/*.json"):
            path.unlink()

    def create(self, name: str, *, iterations: int = 10, remote: Path | None = None, **chosen: Any) -> str:
        """Create a loop without starting it; return its id, which is unique across clusters."""
        loop_id = f"{name}-{self.parts.queue}"
        # Agents keep notes beside their clone. Most tests are about other things than rooms, which take time.
        usual = {"retry_delay": 0.05, "allow_write": (str(self.parts.folder),), "room": "plain"}
        values = settings.load(self.parts.folder, {**usual, **chosen}, {})
        kept = loop_settings.loop_settings(values, str(self.parts.folder / "nowhere"), os.environ)
        kept = replace(kept, remote=str(remote or self.remote), branch=loop_id)
        self.store.create(LoopCreated(loop_id, "A job", "A job", kept, Budget(iterations=iterations)))
        return loop_id

    def start(self, *loop_ids: str) -> None:
        for loop_id in loop_ids:
            self.store.open(loop_id).append(StartRequested(Host.CLUSTER))
            self.client.start(loop_id)

    def run(self, name: str, **chosen: Any) -> str:
        loop_id = self.create(name, **chosen)
        self.start(loop_id)
        return loop_id

    def loop(self, loop_id: str) -> Loop:
        return self.store.load(loop_id)

    def until(self, loop_id: str, holds: Callable[[Loop], object], patience: float = PATIENCE) -> Loop:
        """Wait until `holds(loop)` is true; return the loop."""
        try:
            until(lambda: holds(self.loop(loop_id)), patience)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.story(loop_id)}") from None
        return self.loop(loop_id)

    def until_rest(self, loop_ids: Iterable[str], patience: float = PATIENCE) -> list[Loop]:
        deadline = time.monotonic() + patience
        return [self.until(name, lambda loop: loop.outcome, deadline - time.monotonic()) for name in loop_ids]

    def story(self, loop_id: str) -> str:
        """The journal and the logs of all machines, for the message of a failed test."""
        lines = [f"{timestamp(entry.at)} {str(entry.event)[:200]}" for entry in self.entries(loop_id)]
        return "\n".join(
            [*lines, *(f"{machine.name}:\n{machine.log.read_text()[-3000:]}" for machine in self.machines)]
        )

    def entries(self, loop_id: str) -> list[Entry]:
        return list(self.store.open(loop_id).entries())

    def titles(self, branch: str) -> list[str]:
        """The commit titles of a published branch, oldest first."""
        return git(self.remote, "log", "--reverse", "--format=%s", f"refs/heads/{branch}").splitlines()

    def agents(self, loop_id: str) -> list[int]:
        """The pids of the living processes of the loop."""
        return orphans.find(orphans.mark(loop_id)[0])


@cache
def can_be_apart() -> bool:
    return shutil.which(APART[0]) is not None and subprocess.run([*APART, "true"], capture_output=True).returncode == 0


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=Test", "-c", "user.email=test@localhost", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def new_remote(folder: Path) -> Path:
    """Create a bare repository with one commit."""
    bare, seed = folder / "remote.git", folder / "seed"
    for path in (bare, seed):
        path.mkdir()
    git(bare, "init", "--quiet", "--bare", "--initial-branch=main")
    git(seed, "init", "--quiet", "--initial-branch=main")
    (seed / "hello.txt").write_text("hello\n")
    (seed / ".gitignore").write_text("cache/\n")
    git(seed, "add", "--all")
    git(seed, "commit", "--quiet", "--message", "Start")
    git(seed, "push", "--quiet", str(bare), "main")
    return bare
