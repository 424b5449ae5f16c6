"""Events from other threads of a runner: the thread that steps the loop writes them, between two looks at its agent."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from untildone.core.errors import LoopBusy, UntilDoneError
from untildone.core.events import Event
from untildone.core.loop import Loop
from untildone.engine.stepper import Stepper

WITHIN = 30.0
"""Seconds in which the runner writes an event."""
Make = Callable[[Loop], Event]
"""Makes an event from the loop as it is when the event is written. It refuses by an UntilDoneError, or by the error of a
value that makes no event."""


@dataclass(slots=True)
class _Submission:
    make: Make
    taken: threading.Lock = field(default_factory=threading.Lock)
    """Taken once: by the thread that writes the event, or by the caller that gives up. The other one comes too late."""
    written: threading.Event = field(default_factory=threading.Event)
    loop: Loop | None = None
    refusal: Exception | None = None


class Submissions:
    """The events that wait to be written."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[_Submission] = queue.SimpleQueue()

    def submit(self, make: Make, within: float = WITHIN) -> Loop:
        """Have an event written; return the loop after it. Raises what `make` raises, or LoopBusy if the event was not written, and never
        will be, because the thread that steps the loop did not begin to write it in time."""
        submission = _Submission(make)
        self._waiting.put(submission)
        if not submission.written.wait(within) and submission.taken.acquire(blocking=False):
            raise LoopBusy("The runner of the loop does not answer.", "try again in a moment")
        submission.written.wait()
        if submission.refusal is not None:
            raise submission.refusal
        assert submission.loop is not None
        return submission.loop

    def write(self, stepper: Stepper) -> None:
        """Write what waits. Only the thread that steps the loop calls this."""
        while not self._waiting.empty():
            submission = self._waiting.get()
            if submission.taken.acquire(blocking=False):
                self._write(submission, stepper)

    def _write(self, submission: _Submission, stepper: Stepper) -> None:
        try:
            stepper.write(submission.make(stepper.loop))
            submission.loop = stepper.loop
        except (UntilDoneError, ArithmeticError, TypeError, ValueError) as refusal:
            # What a request of an agent contains must not end the runner.
            submission.refusal = refusal
        except BaseException:
            submission.refusal = LoopBusy("The runner of the loop ends.", "look at the loop")
            raise
        finally:
            submission.written.set()
