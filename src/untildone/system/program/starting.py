"""Starts the process of a program, and words why one could not be started."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess

from untildone.core.errors import AgentMissing, BoxNotMade, ResourcesShort, UntilDoneError, UsageError
from untildone.system.program import apart
from untildone.system.program.spawn import Spawn


def start(spawn: Spawn) -> subprocess.Popen[bytes]:
    try:
        return apart.start(lambda: _popen(spawn), spawn.env)
    except (OSError, ValueError) as error:
        raise _start_error(spawn, error) from error


def _popen(spawn: Spawn) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        spawn.argv,
        bufsize=0,
        stdin=subprocess.DEVNULL if spawn.stdin is None and spawn.conversation is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if spawn.merge_stderr else subprocess.PIPE,
        env=spawn.env,
        cwd=spawn.cwd,
        start_new_session=True,
        pass_fds=spawn.descriptors,
    )


BOX_FAILED = {1: "bwrap: ", 125: "untildone: ", 126: "untildone: ", 127: "untildone: "}
"""Exit codes of bubblewrap, and of the program in a box that starts the real one, with the beginning of what they then print."""
_ERRNOS = {
    os.strerror(number): number for number in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ENOEXEC)
}


def raise_if_not_started(spawn: Spawn, beginning: str, errors: str) -> None:
    """Raise if the box, and not the program in it, has failed: then one line that begins so is all that was printed."""
    said = errors.strip()
    if not said.startswith(beginning) or "\n" in said:
        return
    reason, program = said.rpartition(": ")[2], spawn.boxed
    if reason not in _ERRNOS or program not in said:
        reason_given = said.removeprefix(beginning)
        raise BoxNotMade(f"The sandbox cannot be made: {reason_given}.", "try it with: untildone sandbox -- true")
    if _ERRNOS[reason] == errno.ENOENT and _is_runnable(program, spawn):
        raise AgentMissing(f"The sandbox hides the program '{program}'.", "show its folder with --allow-read")
    raise _start_error(spawn, OSError(_ERRNOS[reason], reason))


def _is_runnable(program: str, spawn: Spawn) -> bool:
    """Whether a program exists outside of its box, with the interpreter that its first line names."""
    path = shutil.which(program, path=spawn.env.get("PATH"))
    try:
        with open(path or "", "rb") as file:
            words = file.readline(256).removeprefix(b"#!").split() if path else []
    except OSError:
        return False
    return not words or not words[0].startswith(b"/") or os.path.exists(words[0])


def _start_error(spawn: Spawn, error: OSError | ValueError) -> UntilDoneError:
    program = spawn.boxed or spawn.argv[0]
    if not os.path.isdir(spawn.cwd):
        return UsageError(f"The folder {spawn.cwd} does not exist.", "name an existing folder with --dir")
    if isinstance(error, ValueError):
        return UsageError(f"'{program}' cannot be given a NUL character.", "remove the NUL character from the task")
    match error.errno:
        case errno.ENOENT if os.path.exists(os.path.join(spawn.cwd, program)):
            return AgentMissing(
                f"'{program}' names an interpreter that does not exist.", "look at its first line, or install it again"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return AgentMissing(f"The program '{program}' was not found.", "install it, or put its folder on PATH")
        case errno.EACCES | errno.EPERM:
            return AgentMissing(f"The program '{program}' is not executable.", f"allow it: chmod +x {program}")
        case errno.ENOEXEC:
            return AgentMissing(
                f"'{program}' is not a program for this machine.", "a script starts with a line such as #!/bin/sh"
            )
        case errno.E2BIG:
            return AgentMissing(
                f"The command line or the environment for '{program}' is too long.",
                "shorten the task, put it in a file that the task names, or use an agent that reads standard input",
            )
        case errno.EAGAIN | errno.ENOMEM | errno.EMFILE | errno.ENFILE:
            return ResourcesShort(
                f"The program '{program}' cannot be started: {error.strerror}.", "free memory, processes or open files"
            )
    return AgentMissing(f"The program '{program}' cannot be started: {error.strerror}.", "try to start it by hand")
