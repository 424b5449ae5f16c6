"""Reads the output of a program until it has ended, and ends it at a limit or on interruption."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from untildone.system import orphans
from untildone.system.program.ending import (
    LINGER,
    LOOK_FOR_THE_END_EVERY,
    end_group,
    end_tree,
    reap,
    wait,
)
from untildone.system.program.output import Output, Tail
from untildone.system.program.pipes import Pipes, Stream
from untildone.system.program.spawn import Cause, Spawn

LOOK_EVERY = 0.02
"""Seconds between two calls of `interrupted`."""
ASK_GRACE = 5.0
"""Seconds that a program has to end by itself after SIGINT, or to end its turn when it is asked to, at its limit, before its process
tree is ended."""
CANCEL_GRACE = 2.0
"""Seconds that a program has to end its turn on an interruption, if it can be asked to. A person waits for it."""
LEAVE_GRACE = 1.0
"""Seconds that a program has to exit after the end of its conversation, before its process group is ended."""


@dataclass(slots=True)
class Listener:
    """Reads the output of one child until it has ended, and ends it at a limit or on interruption."""

    spawn: Spawn
    child: subprocess.Popen[bytes]
    pipes: Pipes
    sinks: Mapping[Stream, Output | Tail]
    cause: Cause = Cause.EXITED
    ending: threading.Thread | None = None
    over_since: float | None = field(default=None, init=False)
    left_since: float | None = field(default=None, init=False)
    """When the conversation came to its end; None: it has not, or there is none."""
    stays: bool = field(default=False, init=False)
    """Whether the conversation came to its end, and the program waits for the next one."""

    def listen(self, started: float, interrupted: Callable[[], bool]) -> Cause:
        try:
            self._listen(started, interrupted)
        except BaseException:
            self._end_now()
            raise
        finally:
            if not self.stays:
                self.pipes.close()
        return self.cause

    def _listen(self, started: float, interrupted: Callable[[], bool]) -> None:
        deadline = _deadline(started, self.spawn.timeout)
        now, next_look = started, started + LOOK_EVERY
        self._converse()
        while not self._is_over(now):
            for stream, chunk in self.pipes.wait(max(0.0, min(next_look, deadline) - now)):
                self.sinks[stream].take(chunk)
                self._end_if_used_up()
            self._converse()
            now = time.monotonic()
            if now >= min(next_look, deadline):
                next_look = now + (LOOK_EVERY if self.ending is None else LOOK_FOR_THE_END_EVERY)
                if self.ending is None and not self.pipes.exited:
                    deadline = self._look(interrupted, started, deadline)
                deadline = deadline if now < deadline else float("inf")

    def _look(self, interrupted: Callable[[], bool], started: float, deadline: float) -> float:
        """End the child if it is interrupted, at its limit or late. Returns the deadline, which `timeout_now` may have moved."""
        if self.left_since is not None:
            if time.monotonic() - self.left_since >= LEAVE_GRACE:
                self._end(Cause.EXITED)
            return deadline
        if interrupted():
            self._end(Cause.INTERRUPTED)
            return deadline
        self._end_if_used_up()
        if self.spawn.timeout_now is not None:
            deadline = _deadline(started, self.spawn.timeout_now())
        if self.ending is None and time.monotonic() >= deadline:
            self._end(Cause.TIMED_OUT)
        self._end_if_silent(started)
        return deadline

    def _converse(self) -> None:
        """Write what the conversation has to say. At its end, close the input, so that the program exits, unless it stays."""
        talk = self.spawn.conversation
        if talk is None or self.left_since is not None:
            return
        self.pipes.send(talk.outgoing())
        if talk.has_ended:
            self.left_since = time.monotonic()
            self.stays = self.spawn.stays and self.ending is None and self.pipes.is_quiet
        if (talk.has_ended and not self.stays) or talk.has_said_all:
            self.pipes.close_input()

    def _end_if_silent(self, started: float) -> None:
        """End a child that opens no session."""
        talk, patience = self.spawn.conversation, self.spawn.open_within
        if talk is None or self.ending is not None or talk.is_open or time.monotonic() - started < patience:
            return
        talk.give_up(patience)
        self._end(Cause.UNANSWERED)

    def _end_if_used_up(self) -> None:
        """End the child as soon as its output says that it is at its limit: it may begin the next message at once."""
        if self.ending is None and not self.pipes.exited and self.spawn.used_up is not None and self.spawn.used_up():
            self._end(Cause.USED_UP)

    def _end(self, cause: Cause) -> None:
        self.cause = cause
        talk = self.spawn.conversation
        if talk is None or talk.has_ended:
            self.pipes.close_input()
        elif not self._is_asked_by_signal:
            talk.interrupt()
            self._converse()
        self.ending = threading.Thread(target=self._end_all, daemon=True)
        self.ending.start()

    @property
    def _is_asked_by_signal(self) -> bool:
        """Whether the program is asked to end by SIGINT: a message to it may come when it has already begun with the next one."""
        return self.spawn.ends_on_sigint and self.cause in (Cause.TIMED_OUT, Cause.USED_UP)

    def _end_all(self) -> None:
        if self.cause is Cause.EXITED:
            end_group(self.child, lambda: self.pipes.exited)
            return
        talk = self.spawn.conversation
        if self._is_asked_by_signal:
            orphans.interrupt(self.child.pid)
            wait(lambda: self.pipes.exited, ASK_GRACE)
        elif talk is not None and not talk.has_said_all:
            patience = CANCEL_GRACE if self.cause is Cause.INTERRUPTED else ASK_GRACE
            wait(lambda: self.pipes.exited or self.left_since is not None, patience)
            if self.cause is not Cause.INTERRUPTED and self.left_since is not None:
                # It may still have to write down what it was asked to end.
                wait(lambda: self.pipes.exited, LEAVE_GRACE)
        end_tree(self.spawn, self.child)

    def _is_over(self, now: float) -> bool:
        """Whether the child is gone (with its tree, if it is being ended) and its output is read or `LINGER` has passed."""
        if self.stays:
            return True
        still_there = self.ending.is_alive() if self.ending else not self.pipes.exited
        if still_there:
            return False
        self.over_since = self.over_since or now
        return self.pipes.all_read or now - self.over_since >= LINGER

    def _end_now(self) -> None:
        self.pipes.close_input()
        if self.ending is None:
            end_tree(self.spawn, self.child)
        else:
            self.ending.join()
        reap(self.child)


def _deadline(started: float, timeout: float | None) -> float:
    return float("inf") if timeout is None else started + timeout
