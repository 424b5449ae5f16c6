"""Plays one case on its rungs and says on which of them it is verified."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from proof.prove.case import Case, Rung, Verdict
from proof.runs import toolchain
from proof.runs.sandbox import Ended, Sandbox, add_files, log_commands, new_sandbox

from untildone.core.receipts.proving import PROOFS

PATIENCE = 400.0
ORACLE_TIMES = 16
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
        for rung in _RIGHT if case.must_be_verified else _WRONG:
            ended, problem = self._run(case, number, rung)
            known = implied(ended, rung)
            verified |= known
            refused_by = refused_by or ("" if rung in known else _refused_by(ended))
            if problem or (rung in known) == case.must_be_verified:
                break
        return Verdict(family, case, frozenset(verified), refused_by, problem, time.monotonic() - started)

    def _run(self, case: Case, number: int, rung: Rung) -> tuple[Ended, str]:
        folder = self.folder / f"{number:03d}-{rung.name.lower()}"
        with new_sandbox(folder, case.project, self.programs) as sandbox:
            ended = sandbox.finish(sandbox.start(*_command(sandbox, case, rung)), PATIENCE)
            log_commands(sandbox, (ended,))
            return ended, _problem(case, sandbox, ended)


# In the order in which they are played, until one of them says all about the others.
_RIGHT = (Rung.HELD_OUT, Rung.PROVE)
_WRONG = (Rung.PROVE, Rung.HELD_OUT)


def implied(ended: Ended, rung: Rung) -> set[Rung]:
    """The rungs on which a claim is verified, as far as a run on one of them tells: a rung asks for all that those below it do, and a
    proof runs only at a claim that all other gates believe."""
    every = list(Rung)
    if is_verified(ended):
        return set(every[: every.index(rung) + 1])
    return {Rung.PLAIN} if set(re.findall(r"(?m)^gate: (\w+): failed", ended.errors)) & set(PROOFS) else set()


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
    # Work that holds only sometimes is wrong: one answer could be its luck.
    asked = range(1 if case.is_right else ORACLE_TIMES)
    is_done = all(case.job.is_done(sandbox.workspace, sandbox.environment) for _ in asked)
    return "" if is_done == case.is_right else f"the oracle says that the work is {'right' if is_done else 'wrong'}"


def _refused_by(ended: Ended) -> str:
    """The lines about the gates that refused the claim."""
    found = re.findall(r"(?m)^.*\bfailed: .*$", ended.errors)
    return "; ".join(line.strip() for line in found)[:300] or ended.errors.strip()[-300:]
