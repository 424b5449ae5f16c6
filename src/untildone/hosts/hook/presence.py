"""The process that has a session open. Its start time distinguishes it from a later process with the same id."""

from __future__ import annotations

import os

from untildone import agents
from untildone.hosts.hook import sessions
from untildone.system import runners

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout"})

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.loop import Loop


def of_process(pid: int) -> str:
    """The holder text for a process: id, start time, machine; empty if the process is unknown."""
    start = _start_of(pid)
    return "" if start is None else f"{pid} {start:.2f} {runners.machine()}"


def of_agent(agent: str, environment: Mapping[str, str]) -> str:
    """The holder text for the agent process that called the hook; empty if the agent does not report its process id."""
    pid = environment.get(agents.hook_of(agent).pid_variable, "")
    return of_process(int(pid)) if pid.isascii() and pid.isdigit() and len(pid) < 12 else ""


def is_gone(holder: str) -> bool:
    """Whether the process is known to have ended. Processes of other machines are unknown."""
    pid, start = _here(holder)
    return pid > 0 and not _is(pid, start)


def is_left(root: str, loop: Loop) -> bool:
    """Whether the loop is at work in a session whose process has ended."""
    if not loop.works_in_session:
        return False
    note = sessions.read(root, loop.settings.hook_session)
    return note is not None and note.loop_id == loop.loop_id and is_gone(note.holder)


def register(root: str, loop: Loop, holder: str) -> None:
    """List a loop that is at work in a session among the running loops, or take it off the list if it is not at work any more."""
    from untildone.system import running

    if not loop.works_in_session:
        from untildone.system import trust

        trust.end(loop.loop_id)
        running.forget(loop.loop_id)
        return
    pid = _here(holder)[0] or _caller()
    known = running.find(loop.loop_id)
    if pid and (known is None or not known.is_alive):
        home = os.path.dirname(root)
        place = loop.settings.workspace
        running.put(
            running.of_process(
                loop.loop_id, pid, host=loop.host.value, workspace=place, home=home, root=root, title=loop.title
            )
        )


def _caller() -> int:
    """The nearest ancestor of the hook that is not a shell, for an agent that does not report its process id; 0: there is none."""
    from untildone.system import orphans

    for process in orphans.line_of(os.getppid()):
        words = orphans.command_of(process.pid)
        if words and os.path.basename(words[0]).lstrip("-") not in _SHELLS and program_file() not in words:
            return process.pid
    return 0


def program_file() -> str:
    """The path of the hook's program."""
    from untildone.hosts.hook import program

    return os.path.abspath(program.__file__)


def environment_of(holder: str) -> dict[str, str]:
    """The environment with which the process was started. Some agents hide variables from hooks, above all keys."""
    pid, start = _here(holder)
    if not pid or not _is(pid, start):
        return {}
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = os.fsdecode(file.read()).split("\0")
    except OSError:
        return {}
    return {name: value for name, is_set, value in (entry.partition("=") for entry in entries) if is_set}


def _here(holder: str) -> tuple[int, str]:
    """Id and start time of a process of this machine; 0: it is on another machine, or the text is invalid."""
    pid, _, rest = holder.partition(" ")
    start, _, machine = rest.partition(" ")
    return (int(pid) if pid.isascii() and pid.isdigit() and machine == runners.machine() else 0), start


def _is(pid: int, start: str) -> bool:
    now = _start_of(pid)
    return now is not None and f"{now:.2f}" == start


def _start_of(pid: int) -> float | None:
    from untildone.system import orphans

    try:
        return orphans.start_of(pid)
    except ImportError:
        # The hook runs without packages, and on some systems psutil is needed.
        return None
