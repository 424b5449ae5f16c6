"""Starts a process that sends notifications about a loop in a session. The hook does not wait for it, and starts none without a channel."""

from __future__ import annotations

import os

from untildone.engine.notices.cursors import cursor


def tell(root: str, loop_id: str, holder: str) -> None:
    """Start the process that sends notifications, if the settings named a channel when the loop began in its session.

    `holder`: the process that has the session. Its environment may name channels that agents do not get."""
    home = os.path.dirname(root)
    if os.path.exists(cursor(home, loop_id)):
        _start(home, loop_id, holder)


def _start(home: str, loop_id: str, holder: str) -> None:
    # Imported late: most loops have no channel.
    import subprocess

    from untildone.hosts.hook import presence, prompts
    from untildone.system import orphans

    environment = {**presence.environment_of(holder), **prompts.own_environment()}
    # Without the marks of the session, with whose end it would end as well.
    marks = orphans.marks_in(environment)
    try:
        subprocess.Popen(
            prompts.own_command("_tell", loop_id, "--dir", home),
            env={name: value for name, value in environment.items() if name not in marks},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as problem:
        from untildone.engine.notices import failures

        failures.note(home, loop_id, loop_id, f"the process that sends them cannot be started: {problem.strerror}")
