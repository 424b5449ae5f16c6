"""Looks at everything that untildone needs on this machine, and says how to fix what is missing."""

from __future__ import annotations

import importlib.util
import locale
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from untildone import agents as programs
from untildone.core.errors import UntilDoneError, installing
from untildone.core.values.value import dataclass
from untildone.operations.creating import suggestions
from untildone.operations.sessions import hook
from untildone.operations.setup import agents
from untildone.operations.setup.agents import AgentInfo
from untildone.operations.stores import database_of, open_store, without_password
from untildone.settings import Settings

SERVER_PACKAGES = ("fastapi", "uvicorn", "sse_starlette")
ENOUGH_DISK = 500 << 20
NARROW = 40


class State(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    """Something does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of the machine."""

    area: str
    state: State
    sentence: str
    fix: str = ""
    """What a person does about it; empty if nothing is wrong."""


def examine(folder: Path, environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Look at agents and their logins, the sandbox, git, the terminal, the server, the store and the project."""
    yield from _agents(folder, environment)
    yield from _sandbox()
    yield from _git(folder)
    yield from _terminal(environment)
    yield from _server()
    yield from _store(folder, environment)
    yield from _project(folder, environment)


def _agents(folder: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    try:
        infos = [info for info in agents.look_at_all(folder) if programs.find(info.agent).program]
    except UntilDoneError as problem:
        yield Finding("agents", State.PROBLEM, problem.sentence, problem.hint)
        return
    installed = [info for info in infos if info.path is not None]
    for info in installed:
        yield from _agent(info, environment)
    if not installed:
        yield Finding("agents", State.PROBLEM, "No coding agent is installed.", infos[0].install if infos else "")
    missing = ", ".join(info.name for info in infos if info.path is None)
    if missing and installed:
        yield Finding("agents", State.OK, f"Not installed: {missing}.")
    yield from _hooks(folder)


def _agent(info: AgentInfo, environment: Mapping[str, str]) -> Iterator[Finding]:
    which = f"{info.name} {info.version}".rstrip()
    if info.problem:
        yield Finding("agents", State.WARNING, f"{which} is {info.problem}.", info.install)
    login = programs.find(info.agent).login
    home = Path(environment.get("HOME") or Path.home())
    logins = [name for name in login.variables if environment.get(name)]
    logins += [name for name in login.files if _holds_something(home / name)]
    if logins:
        yield Finding("agents", State.OK, f"{which} ({info.path}), login: {logins[0]}.")
    else:
        fix = f"log in with `{login.command}`; `untildone agents check {info.name}` tries one call"
        yield Finding("agents", State.WARNING, f"{which} ({info.path}): no login was found.", fix)


def _holds_something(path: Path) -> bool:
    """Whether there is a file with more in it than an empty object."""
    try:
        return path.stat().st_size > len("{}\n")
    except OSError:
        return False


def _hooks(folder: Path) -> Iterator[Finding]:
    for agent, file in hook.installations(folder):
        yield Finding("agents", State.OK, f"The stop hook of {agent} is in {file}.")


def _sandbox() -> Iterator[Finding]:
    from untildone.system.box import sandbox

    problem = sandbox.problem()
    if not problem:
        yield Finding("sandbox", State.OK, "Agents run in a box, and checks in a sealed room (bubblewrap).")
    else:
        yield Finding("sandbox", State.WARNING, f"No boxes and no sealed rooms: {problem.sentence}", problem.hint)


def _git(folder: Path) -> Iterator[Finding]:
    from untildone.workspace.git import GitFailed, git, line_of, root_of
    from untildone.workspace.person_git import commits

    try:
        version = line_of(git(str(folder), "--version")).removeprefix("git version ")
    except GitFailed as problem:
        yield Finding("git", State.PROBLEM, f"Git does not work: {problem}.", "install git")
        return
    root = root_of(str(folder))
    if root is None:
        yield Finding("git", State.WARNING, f"{version}; {folder} is not in a repository.", "git init")
        return
    yield Finding("git", State.OK, f"{version}; repository {root}.")
    if (what := commits.unfinished(root)) is not None:
        yield Finding(
            "git", State.WARNING, f"{what.capitalize()} is unfinished; --commit commits nothing.", "finish it"
        )
    if commits.identity(root):
        fix = 'git config --global user.name "…" && git config --global user.email "…"'
        yield Finding("git", State.WARNING, "No name or address for commits is set; --commit uses a stand-in.", fix)


def _terminal(environment: Mapping[str, str]) -> Iterator[Finding]:
    if not (sys.stderr and sys.stderr.isatty()):
        yield Finding("terminal", State.OK, "This is not a terminal: plain lines are printed.")
        return
    columns = shutil.get_terminal_size().columns
    term, encoding = environment.get("TERM", ""), locale.getpreferredencoding()
    yield Finding("terminal", State.OK, f"{term or 'no TERM'}, {columns} columns, {encoding}.")
    if term in ("", "dumb"):
        yield Finding(
            "terminal", State.WARNING, "TERM is not set, so there is no live view.", "export TERM=xterm-256color"
        )
    if encoding.replace("-", "").lower() != "utf8":
        yield Finding("terminal", State.WARNING, f"The encoding is {encoding}.", "export LANG=C.UTF-8")
    if columns < NARROW:
        yield Finding(
            "terminal", State.WARNING, f"{columns} columns are few.", f"make it {NARROW} or wider, or use --plain"
        )


def _server() -> Iterator[Finding]:
    missing = [name for name in SERVER_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        yield Finding("server", State.WARNING, f"`untildone serve` lacks {', '.join(missing)}.", installing("serve"))
        return
    yield Finding("server", State.OK, "`untildone serve` can start.")


def _store(folder: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    from untildone.system import state_folder

    try:
        address = database_of(folder, environment)
        store = open_store(folder, environment)
        count = len(store.ids())
        served = ", served by a running server" if store.is_served() else ""
        place = without_password(address) if address else str(store.root)
        yield Finding("store", State.OK, f"{place}: {count} loop{'' if count == 1 else 's'}{served}.")
        yield from _notifications(store.name, environment)
    except UntilDoneError as problem:
        yield Finding("store", State.PROBLEM, problem.sentence, problem.hint)
    yield from _folder_is_writable("store", str(folder), "the folder of the project")
    yield from _folder_is_writable("store", state_folder.folder(environment), "untildone's state folder")


def _notifications(store_name: str, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Notifications that did not arrive. Processes that send them for loops in sessions can report that nowhere else."""
    from untildone.engine.notices import failures

    if failed := failures.known(store_name, environment):
        last, many = failed[-1], f"{len(failed)} notifications" if len(failed) > 1 else "A notification"
        sentence = f"{many} did not arrive; the last at {last.at} about {last.loop_id}: {last.problem}"
        yield Finding("notify", State.WARNING, sentence, "correct the settings notify_… (`untildone config`)")


def _folder_is_writable(area: str, folder: str, what: str) -> Iterator[Finding]:
    existing = folder
    while not os.path.isdir(existing):
        existing = os.path.dirname(existing)
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding(area, State.PROBLEM, f"Nothing can be written to {what}, {folder}.", f"chmod u+rwx {existing}")
    elif (free := shutil.disk_usage(existing).free) < ENOUGH_DISK:
        yield Finding(area, State.WARNING, f"Only {free >> 20} MB are free for {what}, {folder}.", "free some space")


def _project(folder: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    from untildone import settings
    from untildone.operations.creating import check_programs

    try:
        chosen = settings.load(folder, {})
    except UntilDoneError as problem:
        yield Finding("project", State.PROBLEM, problem.sentence, problem.hint)
        return
    if chosen.checks:
        yield Finding("project", State.OK, f"Checks: {'; '.join(chosen.checks)}")
        for notice in (check_programs.notice(check, str(folder), environment) for check in chosen.checks):
            if notice:
                yield Finding("project", State.PROBLEM, notice, "install it, or name another check in untildone.toml")
        yield from _left_out(folder, chosen, environment)
        return
    fitting = suggestions.checks(folder)
    fix = f'untildone init, or: untildone run … --check "{fitting[0].command}"' if fitting else "name one with --check"
    yield Finding("project", State.WARNING, "No check is set, so nothing verifies the work.", fix)


def _left_out(folder: Path, chosen: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that loops here would miss."""
    from untildone.core.model import Role
    from untildone.operations.creating import left_out
    from untildone.operations.creating.loop_settings import loop_settings

    try:
        kept = loop_settings(chosen, str(folder), environment, elsewhere=tuple(Role), reviewed=False)
    except UntilDoneError:
        return
    if sentence := left_out.notice(kept, environment):
        text, _, flags = sentence.partition(" hint: ")
        yield Finding("project", State.WARNING, text, f"untildone run … {flags}, or the setting pass_env")
