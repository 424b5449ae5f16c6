"""Opens the agent's own session for the person after a loop is done, if the mode of the loop hands it back."""

from __future__ import annotations

import os
import shlex
import sys

from untildone.core.loop import Loop
from untildone.faces.cli import streams
from untildone.operations import output


def command_of(loop: Loop) -> tuple[str, ...] | None:
    """The command that opens the worker's last session; None if the loop is not done, or its mode does not hand back."""
    if not output.mode(loop.settings.mode).hands_back or loop.outcome is None or loop.outcome.exit_code != 0:
        return None
    return output.session_command(loop)


def hand_back(loop: Loop) -> None:
    """Replace this process by the agent, in the workspace. Does nothing without a terminal."""
    argv = command_of(loop)
    if argv is None or not (sys.stdin and sys.stdin.isatty() and streams.data().is_terminal):
        return
    streams.talk().line(f"Your session: {shlex.join(argv)}")
    streams.close_quietly()
    try:
        os.chdir(loop.settings.workspace)
        os.execvp(argv[0], argv)
    except OSError as problem:
        streams.report_error(f"The session could not be opened: {problem.strerror}.", f"`{shlex.join(argv)}` opens it")
