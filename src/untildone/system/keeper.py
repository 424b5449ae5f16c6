"""Starts a command without untildone's variables, and ends what it leaves running.

Without variables there is no mark by which the guard finds processes. The keeper, which is a process of its own, carries the mark in their
place: on Linux all of them descend from it, because orphans among them become its children.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from untildone.system import orphans
from untildone.system.adoption import Adoption

ROUNDS = 3
"""How often processes are ended that became children of the keeper while others were being ended."""
NOT_STARTED = 127
_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from untildone.system import keeper; keeper.main(sys.argv[2:])"


def launcher() -> tuple[str, ...]:
    """The beginning of a command line: the keeper, which starts the words that follow. Give it an environment with a mark."""
    without_site = ("-S",) if orphans.HAS_PROC else ()
    above = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir))
    return (sys.executable, "-I", *without_site, "-c", _PROGRAM, above)


def without_ours(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables of untildone: code under test must not be able to recognise that it is judged."""
    return {name: value for name, value in environment.items() if not name.startswith("UNTILDONE_")}


def main(command: Sequence[str]) -> None:
    """The program of the keeper. Exits as the command does; where a signal ended that, as a shell would."""
    adoption = Adoption()
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The command gets these signals too. The keeper stays until it has ended. A handler, unlike SIG_IGN, is not inherited.
        signal.signal(ending, lambda _number, _frame: None)
    try:
        child = _start(command)
    except OSError as problem:
        sys.stderr.write(f"{command[0]}: {problem.strerror}\n")
        sys.exit(NOT_STARTED)
    code = _wait(child)
    _end_rest(adoption, child)
    sys.exit(code if code >= 0 else 128 - code)


def _start(command: Sequence[str]) -> int:
    """Start the command in a process group of its own, so that a command that kills its group does not kill the keeper."""
    usual = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them
    return os.posix_spawnp(command[0], tuple(command), without_ours(os.environ), setpgroup=0, setsigdef=usual)


def _wait(child: int) -> int:
    """The exit code of the child; negative: the signal that ended it. Adopted processes that end before it are reaped."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _end_rest(adoption: Adoption, group: int) -> None:
    for _ in range(ROUNDS):
        adopted = adoption.adopted()
        orphans.end_marked(frozenset(), groups=adopted | {group})
        adoption.reap(adopted)
        if not adoption.adopted():
            return
