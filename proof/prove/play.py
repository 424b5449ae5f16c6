"""Plays one case on its rungs and says on which of them it is verified."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from proof.prove.case import Case, Rung, Verdict
from proof.runs import toolchain
from proof.runs.sandbox import Ended, Sandbox, add_files, log_commands, new_sandbox

PATIENCE = 400.0
_BEGIN = """\
with open(agent_folder / "calls", "a") as file:
    file.write(".")
"""


class Stage:
    """The folder of a run of the corpus, with the programs that all cases share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = toolchain.make(folder / "tools")

    def play(self, family: str, case: Case, number: int) -> Verdict | None:
        """None: a program that the case needs is not installed."""
        if any(shutil.which(name) is None for name in case.needs):
            return None
        started = time.monotonic()
        verified, refused_by, problem = set[Rung](), "", ""
        for rung in _RIGHT if case.must_be_verified else Rung:
            ended, problem = self._run(case, number, rung)
            if is_verified(ended):
                verified.add(rung)
            else:
                refused_by = _refused_by(ended)
            if problem or _is_known(case, rung, ended):
                break
        if Rung.HELD_OUT in verified:
            verified.add(Rung.PROVE)
        return Verdict(family, case, frozenset(verified), refused_by, problem, time.monotonic() - started)

    def _run(self, case: Case, number: int, rung: Rung) -> tuple[Ended, str]:
        folder = self.folder / f"{number:03d}-{rung.name.lower()}"
        with new_sandbox(folder, case.project, self.programs) as sandbox:
            ended = sandbox.finish(sandbox.start(*_command(sandbox, case, rung)), PATIENCE)
            log_commands(sandbox, (ended,))
            return ended, _problem(case, sandbox, ended)


_RIGHT = (Rung.PLAIN, Rung.HELD_OUT, Rung.PROVE)


def _is_known(case: Case, rung: Rung, ended: Ended) -> bool:
    """Whether the other rungs need not be played: a rung asks for all that the one before it does."""
    if case.must_be_verified:
        return rung is Rung.HELD_OUT and is_verified(ended)
    return not is_verified(ended)


def is_verified(ended: Ended) -> bool:
    return ended.output.split()[-1:] == ["verified"]


def _command(sandbox: Sandbox, case: Case, rung: Rung) -> tuple[str, ...]:
    command = sandbox.add_agent(f"{_BEGIN}{case.agent}\nclaim()\n")
    plain = ("run", case.task, "--command", command, "--check", case.written.check, "--require-change", "-r", "1")
    prove = ("--prove",) if rung is not Rung.PLAIN else ()
    held_out = ("--held-out", str(_held_out(sandbox, case))) if rung is Rung.HELD_OUT else ()
    return (str(sandbox.programs / "untildone"), *plain, *case.flags, *prove, *held_out)


def _held_out(sandbox: Sandbox, case: Case) -> Path:
    folder = sandbox.folder / "held-out"
    add_files(folder, case.job.held_out_files(case.written))
    return folder


def _problem(case: Case, sandbox: Sandbox, ended: Ended) -> str:
    """Why the case proves nothing; empty: it is as it says."""
    if not (sandbox.agent_folder / "calls").exists():
        return f"the agent was not called: {ended.errors[-800:]}"
    if (crash := sandbox.agent_folder / "crashed").exists():
        return f"the agent failed: {crash.read_text()}"
    if ended.code is None or "Traceback (most recent call last)" in re.sub(r"(?m)^  \| .*$", "", ended.errors):
        return f"the command did not end well: {ended.errors[-1500:]}"
    is_done = case.job.is_done(sandbox.workspace, sandbox.environment)
    return "" if is_done == case.is_right else f"the oracle says that the work is {'right' if is_done else 'wrong'}"


def _refused_by(ended: Ended) -> str:
    """The lines about the gates that refused the claim."""
    found = re.findall(r"(?m)^.*\bfailed: .*$", ended.errors)
    return "; ".join(line.strip() for line in found)[:300] or ended.errors.strip()[-300:]
