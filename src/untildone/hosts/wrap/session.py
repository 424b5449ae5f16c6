"""One wrapped run of an agent, from start to end. No process is left behind."""

from __future__ import annotations

import os
import resource
import signal

from untildone.core.errors import AgentMissing
from untildone.hosts.wrap import job
from untildone.hosts.wrap.job import Program
from untildone.hosts.wrap.pump import Pump
from untildone.hosts.wrap.reports import Reports
from untildone.hosts.wrap.terminal import Terminal
from untildone.system import orphans
from untildone.system.guard import Guard


def run(program: Program, outer: Terminal, reports: Reports | None = None) -> int:
    """Run the program at the person's terminal until it ends; return its wait status. `reports` answers a hook inside of a box."""
    guard, marks = Guard(), orphans.marks_in(program.env) - orphans.marks_in(os.environ)
    for mark in marks:
        guard.watch(mark)
    try:
        return _run(program, outer, reports)
    finally:
        orphans.end_marked(marks)
        for mark in marks:
            guard.forget(mark)
        guard.close()


def _run(program: Program, outer: Terminal, reports: Reports | None) -> int:
    with outer:
        started = job.start(program, outer)
        try:
            if reports is None:
                Pump(started, outer).run()
            else:
                reports.start(lambda: started.agent or 0)
                Pump(started, outer, reports.typed.add).run()
        finally:
            started.close()
    if started.refused:
        raise AgentMissing(
            f"'{program.argv[0]}' cannot be started: {os.strerror(started.refused)}.", "install it again"
        )
    return _as_outside(started.status or 0) if reports is not None else started.status or 0


def _as_outside(status: int) -> int:
    """The wait status of a program in a box. bubblewrap reports a signal as an exit code, as shells do."""
    code = os.waitstatus_to_exitcode(status)
    return code - 128 if 128 < code < 128 + signal.NSIG else status


def end_like(status: int) -> int:
    """The exit code for a wait status. If a signal killed the program, this process kills itself with the same signal."""
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
    return 128 + number
