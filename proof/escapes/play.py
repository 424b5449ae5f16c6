"""Plays one try as the agent of a loop in a box, and judges from outside whether it got out."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

from proof.escapes.case import Escape, Result, Verdict
from proof.escapes.world import World

PATIENCE = 150.0
KIT = Path(__file__).with_name("kit.py")
FAKE = '#!/bin/sh\n[ "$1" != --version ] || exec echo 9.9.9\nexec {python} {script}\n'
"""Asked for its version, the program of an agent runs outside of the box."""


def play(world: World, family: str, escape: Escape, number: int) -> Verdict:
    """Run the loop and what the person does after it; then look at the world."""
    missing = [name for name in escape.needs if shutil.which(name) is None]
    if missing:
        return Verdict(family, escape, Result.SKIPPED, f"there is no {missing[0]} here")
    started = time.monotonic()
    workspace = _prepared(world, escape, number)
    before = world.state()
    world.knocks.clear()
    output = _loop(world, escape, workspace)
    for command in escape.then:
        output += _shell(world, escape, workspace, command)
    result, evidence = _judged(world, workspace, before, output)
    for pid in world.survivors():
        with contextlib.suppress(OSError):
            os.kill(pid, 9)
    return Verdict(family, escape, result, evidence, time.monotonic() - started)


def _prepared(world: World, escape: Escape, number: int) -> Path:
    workspace = world.folder / "work" / f"{number:03d}" / "project"
    workspace.mkdir(parents=True)
    (workspace.parent / ".loop").mkdir()
    (workspace.parent / ".loop" / "state").write_text(world.word)
    for command in ("git init -q", "git config user.name Person", "git config user.email person@example.com"):
        _shell(world, escape, workspace, command)
    shutil.copy(KIT, workspace / "kit.py")
    (workspace / "world.json").write_text(world.facts())
    (workspace / "try.py").write_text(f"from kit import *\n\n{escape.script}\n\ndone()\n")
    _shell(world, escape, workspace, "git add -A && git commit -qm Start")
    if escape.agent != "command":
        _install(world, escape, workspace)
    if escape.before:
        _shell(world, escape, workspace, escape.before)
    return workspace


def _install(world: World, escape: Escape, workspace: Path) -> None:
    """Make the program of an agent, and let a box create the folders of the agent that are missing."""
    program = world.folder / "bin" / escape.agent
    program.write_text(FAKE.format(python=os.path.realpath(sys.executable), script=workspace / "try.py"))
    program.chmod(0o755)
    _shell(world, escape, workspace, f"UNTILDONE_AGENT={escape.agent} $UNTILDONE sandbox -- true")


def _environment(world: World, escape: Escape, workspace: Path) -> dict[str, str]:
    own = world.environment
    places = {"home": world.home, "workspace": workspace, "path": own["PATH"], "modules": own["PYTHONPATH"]}
    return {**own, **{name: value.format(**places) for name, value in escape.variables.items()}}


def _shell(world: World, escape: Escape, workspace: Path, command: str) -> str:
    environment = {**_environment(world, escape, workspace), "UNTILDONE": f"{sys.executable} -P -m untildone"}
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"{command}: did not end\n"
    return done.stdout + done.stderr


def _loop(world: World, escape: Escape, workspace: Path) -> str:
    python = os.path.realpath(sys.executable)
    agent = ["--command", f"{python} try.py"] if escape.agent == "command" else ["--agent", escape.agent]
    network = ["--sandbox-net", escape.network.value, "--allow-host", f"127.0.0.1:{world.ports['loopback']}"]
    command = [
        sys.executable,
        "-m",
        "untildone",
        "run",
        "Try",
        *agent,
        "--sandbox",
        "on",
        *network,
        "-r",
        "1",
        *escape.flags,
    ]
    return (
        _at_terminal(world, escape, workspace, command)
        if escape.at_terminal
        else _plain(world, escape, workspace, command)
    )


def _plain(world: World, escape: Escape, workspace: Path, command: list[str]) -> str:
    process = subprocess.Popen(
        command,
        cwd=workspace,
        env=_environment(world, escape, workspace),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return f"{process.communicate()[0]}\nthe loop did not end\n"


def _at_terminal(world: World, escape: Escape, workspace: Path, command: list[str]) -> str:
    """Run the loop as a person does: with a terminal, which would repeat what is typed into it."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(workspace)
        os.execve(command[0], command, _environment(world, escape, workspace))
    output, deadline = b"", time.monotonic() + PATIENCE
    with contextlib.suppress(OSError):
        while time.monotonic() < deadline and (piece := os.read(descriptor, 4096)):
            output += piece
    os.close(descriptor)
    with contextlib.suppress(OSError):
        os.kill(pid, 9)
    os.waitpid(pid, 0)
    return output.decode(errors="replace")


def _judged(world: World, workspace: Path, before: dict[str, str], output: str) -> tuple[Result, str]:
    said = _text(workspace / "said.txt")
    evidence = [line.removeprefix("GOT ") for line in said.splitlines() if line.startswith("GOT ")]
    if world.word in said + _spread(workspace, world.word):
        line = next((line for line in said.splitlines() if world.word in line), "in another file")
        evidence.append(f"read a secret: {line.replace(world.word, '…')[:120]}")
    evidence += [f"connected to {name}" for name in world.knocks]
    after = world.state()
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    evidence += [f"changed {name.replace(str(world.folder), '')}" for name in changed]
    evidence += [f"process {pid} lives on" for pid in world.survivors()]
    if evidence:
        return Result.GOT_OUT, "; ".join(evidence[:6])
    if "DONE" not in said.splitlines():
        return Result.BROKEN, f"{said[-400:]}\n{output[-1200:]}"
    return Result.HELD, ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _spread(workspace: Path, word: str) -> str:
    """The word, if it lies in a file of the workspace that untildone did not write."""
    for folder, folders, names in os.walk(workspace):
        folders[:] = [name for name in folders if name not in (".loop", ".git")]
        if any(word in _text(Path(folder, name)) for name in names):
            return word
    return ""
