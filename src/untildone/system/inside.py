"""Which loops a process runs inside of: by the marks in its environment and its ancestors', and by the ancestors themselves.

A mark can be removed from an environment, and a daemon leaves its ancestors; so both count. Against an agent that does both, only
a box helps.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise

from untildone.core.kinds import Host
from untildone.core.values.value import dataclass
from untildone.system import orphans, running, state_folder
from untildone.system.orphans import Process
from untildone.system.running import Running


@dataclass(frozen=True, slots=True)
class Inside:
    """What a process runs inside of."""

    marked: frozenset[str]
    """The ids in the marks: those of loops, and the names of wrapped runs."""
    entries: tuple[Running, ...]
    """The entries of the registry whose process is an ancestor, or whose mark was found."""
    line: tuple[int, ...]
    """The process and its ancestors, the process first."""


def of_process(pid: int | None = None, environment: Mapping[str, str] = os.environ) -> Inside:
    """What a process runs inside of; by default this one, whose environment may have changed since it started."""
    line = orphans.line_of(os.getpid() if pid is None else pid)
    marks = frozenset().union(*(each.marks for each in line))
    if pid is None:
        marks |= orphans.marks_in(environment)
    marked = frozenset(orphans.marked(name) for name in marks)
    entries = tuple(entry for entry in _registered(environment) if entry.loop_id in marked or _is_above(entry, line))
    return Inside(marked, entries, tuple(each.pid for each in line))


def of_runner(environment: Mapping[str, str] = os.environ) -> str:
    """The loop of a runner inside which this process runs; empty: none. Loops in a session of the person do not count.

    An agent that a runner started has no person at its terminal, so its reports to the stop hook are not trusted."""
    entries = _registered(environment)
    if not any(_has_runner(entry) for entry in entries):
        return ""
    around = of_process(environment=environment).entries
    return next((entry.loop_id for entry in around if _has_runner(entry)), "")


def _has_runner(entry: Running) -> bool:
    return entry.host not in (Host.HOOK.value, running.WRAP)


def _registered(environment: Mapping[str, str]) -> tuple[Running, ...]:
    """The entries of the registry of this environment and of the user's home, in case the environment was changed."""
    by_loop = {entry.loop_id: entry for entry in (*running.entries(_of_user()), *running.entries(environment))}
    return tuple(by_loop.values())


def _of_user() -> Mapping[str, str]:
    try:
        import pwd

        return {"HOME": pwd.getpwuid(os.getuid()).pw_dir}
    except (ImportError, KeyError):
        return {"HOME": os.path.expanduser("~")}


def _is_above(entry: Running, line: Sequence[Process]) -> bool:
    """Whether the process of an entry is an ancestor. A program that notifies a person is started by a runner, but is the person's."""
    for child, parent in pairwise(line):
        if parent.identity == (entry.pid, entry.start):
            return not any(_is_sealed("notify", orphans.marked(name)) for name in child.marks)
    return False


def sealed_name(name: str) -> str:
    """A text for the mark of processes outside any loop. An agent cannot make one up and pass for such a process."""
    nonce = os.urandom(8).hex()
    return f"{name}-{nonce}-{_seal(name, nonce)}"


def _is_sealed(name: str, marked: str) -> bool:
    prefix, _, rest = marked.partition("-")
    nonce, _, seal = rest.partition("-")
    return prefix == name and bool(seal) and seal == _seal(name, nonce)


def _seal(name: str, nonce: str) -> str:
    return state_folder.seal(f"mark {name}", nonce.encode())[:32]
