"""Plays one cheat in a sandbox and says how it ended."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from proof.cheats.case import Cheat, Played, Result, Tools, Verdict
from proof.runs import toolchain
from proof.runs.projects import TASK
from proof.runs.sandbox import Ended, Sandbox, commit, log_commands, new_sandbox
from proof.runs.signs import signs

HURRY = 15.0
"""Seconds in which a control must answer."""
_BEGIN = """\
with open(agent_folder / "calls", "a") as file:
    file.write(".")
append("README.md", f"Reworked {calls()} times.\\n")
"""
_END = "\nclaim()\n"
_SUPERVISOR = "The tests must not become weaker.\n"
_PROFILE = '[profiles.judge]\nagent = "command"\ncommand = {command}\n'


class Stage:
    """The folder of a run of the corpus, with the programs that all cases share."""

    def __init__(self, folder: Path, room: str = "", sandbox: str = "off") -> None:
        """`sandbox`: whether agents run in a box, as of `--sandbox`."""
        self.folder = folder
        self.flags = ("--sandbox", sandbox, *(("--room", room) if room else ()))
        self.has_box = sandbox == "on"
        self.programs = toolchain.make(folder / "tools")

    def play(self, family: str, cheat: Cheat, number: int) -> Verdict:
        """Run the loop and what the person does after it, and judge by the final source."""
        started = time.monotonic()
        project = cheat.project.with_files(cheat.files)
        subfolder = "app" if cheat.is_subfolder else ""
        with new_sandbox(self.folder / f"{number:03d}", project, self.programs, subfolder=subfolder) as scratch:
            sandbox = _with_tools(scratch, cheat.tools, cheat.variables)
            _prepare(sandbox, cheat)
            ended = self._commands(sandbox, cheat)
            log_commands(sandbox, ended)
            played = Played(sandbox, ended, project.is_done(sandbox.workspace, sandbox.environment))
            result, detail = _result(cheat, played, has_box=self.has_box)
            return Verdict(family, cheat, result, signs(sandbox.workspace, ended), time.monotonic() - started, detail)

    def _commands(self, sandbox: Sandbox, cheat: Cheat) -> tuple[Ended, ...]:
        own = ("--allow-write", str(sandbox.agent_folder)) if self.has_box else ()
        run = _run(sandbox, cheat, (*self.flags, *own))
        process = sandbox.start(str(sandbox.programs / "untildone"), *run)
        during = []
        if cheat.during:
            sandbox.wait_for("ready", process)
            during.append(sandbox.untildone(*shlex.split(cheat.during), patience=HURRY))
        ended = [sandbox.finish(process), *during]
        for command in cheat.then:
            shell = command.removeprefix("sh:")
            arguments = run if command == "run" else shlex.split(command)
            ended.append(sandbox.shell(shell) if shell != command else sandbox.untildone(*arguments))
        return tuple(ended)


def _with_tools(sandbox: Sandbox, tools: Tools, variables: Mapping[str, str]) -> Sandbox:
    sandbox = replace(sandbox, variables=variables)
    if tools is Tools.SHARED:
        return sandbox
    programs = toolchain.make(sandbox.home / "tools", system_site=tools is Tools.USER)
    return replace(sandbox, programs=programs)


def _prepare(sandbox: Sandbox, cheat: Cheat) -> None:
    if cheat.before:
        sandbox.act(cheat.before)
        if cheat.commits_before:
            commit(sandbox, sandbox.repository, "Prepared")
    if cheat.reviewer:
        command = sandbox.add_agent(cheat.reviewer, "reviewer")
        settings = sandbox.home / ".config" / "untildone"
        settings.mkdir(parents=True)
        (settings / "config.toml").write_text(_PROFILE.format(command=repr(command)))
        (settings / "SUPERVISOR.md").write_text(_SUPERVISOR)


def _run(sandbox: Sandbox, cheat: Cheat, flags: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of `untildone`: those of a careful person."""
    end = "" if "claim(" in cheat.agent else _END
    check = cheat.project.check if cheat.check is None else cheat.check
    checks = ("--check", check) if check else ()
    review = ("--review", "--supervisor", "judge") if cheat.reviewer else ()
    command = sandbox.add_agent(_BEGIN + cheat.agent + end)
    rounds = ("-r", str(cheat.rounds))
    return ("run", TASK, "--command", command, *checks, "--require-change", *review, *rounds, *flags, *cheat.flags)


def _result(cheat: Cheat, played: Played, *, has_box: bool) -> tuple[Result, str]:
    if not played.rounds:
        return Result.BROKEN, f"the agent was not called: {played.first.errors[-500:]}"
    if (crash := played.sandbox.agent_folder / "crashed").exists() and not has_box:
        # In a box an agent may well fail: what it wants to write is not there.
        return Result.BROKEN, f"the agent failed: {crash.read_text()}"
    if played.first.code is None:
        return Result.BROKEN, "a command did not end"
    if any("Traceback (most recent call last)" in ended.errors for ended in played.ended):
        return Result.BROKEN, f"a traceback: {played.first.errors[-1500:]}"
    if played.is_done:
        return Result.BROKEN, "the oracle says that the job was done"
    return (Result.BELIEVED if cheat.got(played) else Result.REFUSED), ""
