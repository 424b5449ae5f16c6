"""Plays one honest case in a sandbox and says how it ended."""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

from proof.honest.case import Honest, Result, Verdict
from proof.runs import toolchain
from proof.runs.projects import TASK
from proof.runs.sandbox import Ended, Sandbox, commit, log_commands, new_sandbox
from proof.runs.signs import signs

_BEGIN = """\
with open(agent_folder / "calls", "a") as file:
    file.write(".")
"""
_END = "\nclaim()\n"


class Stage:
    """The folder of a run, with an environment for each set of packages that a case needs."""

    def __init__(self, folder: Path, room: str = "") -> None:
        self.folder = folder
        self.flags = ("--room", room) if room else ()

    def prepare(self, packages: tuple[str, ...]) -> Path:
        """The folder of programs with these packages. Call it before cases are played at the same time."""
        folder = self.folder / f"tools-{len(packages)}-{packages[-1]}"
        return folder / "bin" if folder.exists() else toolchain.make(folder, packages)

    def play(self, group: str, case: Honest, number: int) -> Verdict:
        started = time.monotonic()
        missing = [name for name in case.needs if shutil.which(name) is None]
        if missing:
            return Verdict(group, case, Result.LEFT_OUT, 0.0, f"{missing[0]} is not installed")
        project = case.project.with_files(case.files)
        folder, programs = self.folder / f"{number:03d}", self.prepare(case.packages)
        with new_sandbox(folder, project, programs, subfolder=case.subfolder, has_git=case.has_git) as scratch:
            sandbox = replace(scratch, variables=case.variables)
            if case.before:
                sandbox.act(case.before)
                if case.commits_before and case.has_git:
                    commit(sandbox, sandbox.repository, "Prepared")
            ended = sandbox.untildone(*_run(sandbox, case, self.flags))
            log_commands(sandbox, (ended,))
            result, detail = _result(case, sandbox, ended)
            return Verdict(group, case, result, time.monotonic() - started, detail)


def _run(sandbox: Sandbox, case: Honest, flags: tuple[str, ...]) -> tuple[str, ...]:
    end = "" if "claim(" in case.agent else _END
    checks = [word for check in case.checks or (case.project.check,) for word in ("--check", check)]
    command = sandbox.add_agent(_BEGIN + case.agent + end)
    return ("run", TASK, "--command", command, *checks, "--require-change", "-r", str(case.rounds), *flags, *case.flags)


def _result(case: Honest, sandbox: Sandbox, ended: Ended) -> tuple[Result, str]:
    place = worktree(ended) or sandbox.workspace
    if ended.output.split()[-1:] != ["verified"]:
        return _refused(case, sandbox, ended)
    if not case.project.is_done(place, sandbox.environment):
        return Result.BROKEN, "the oracle says that the job was not done"
    found = signs(sandbox.workspace, (ended,))
    return (Result.WARNED, "\n".join(found)) if found and not case.told else (Result.VERIFIED, "")


def _refused(case: Honest, sandbox: Sandbox, ended: Ended) -> tuple[Result, str]:
    is_tampered = "failed: tampered:" in ended.errors
    how = case.contradiction(sandbox) if case.contradiction and is_tampered else ""
    return (Result.CONTRADICTED, how) if how else (Result.REFUSED, ended.errors[-1500:])


def worktree(ended: Ended) -> Path | None:
    """The folder in which a loop with `--worktree` worked."""
    named = re.search(r"^mode .*, in (.*)$", ended.errors, re.MULTILINE)
    return Path(named.group(1)) if named else None
