"""The engine: takes the lease of one loop and drives it with processes on this machine until it rests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from untildone.core.errors import LoopNotFound, UntilDoneError
from untildone.core.events import Entry
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Status, Urgency
from untildone.core.values.value import replace
from untildone.engine.agent import leftovers
from untildone.engine.leasing import leased
from untildone.engine.notices.telling import journal_of
from untildone.engine.process_hands import ProcessHands
from untildone.engine.stepper import HostParts, Stepper
from untildone.engine.surroundings import IgnoringObserver, Observer, Person, Signals, Surroundings
from untildone.settings.guidance import watched
from untildone.store import Store
from untildone.system import orphans, running, trust


class Engine:
    """Drives loops of one store, one at a time."""

    def __init__(
        self,
        store: Store,
        around: Surroundings,
        observer: Observer | None = None,
        person: Person | None = None,
        longest_wait: float | None = None,
    ) -> None:
        """`longest_wait` (seconds): instead of waiting longer, `drive` returns, and `waits_until` is the end of the wait."""
        self.store = store
        self.around = around
        self.observer = observer or IgnoringObserver()
        self.person = person
        self.waits_until: float | None = None
        self._longest_wait = longest_wait
        self._signals = Signals()

    def interrupt(self) -> None:
        """End the turn at once, save, and let the loop rest, as for Ctrl-C. Safe in a signal handler."""
        self._signals.interrupt.set()

    def hand_over(self, urgency: Urgency = Urgency.NOW) -> None:
        """Make `drive` return with the loop still running, for the next runner: at once, or after the present turn."""
        self._signals.hand_over(urgency)

    @property
    def interrupted(self) -> bool:
        return self._signals.interrupt.is_set()

    @property
    def speaks(self) -> threading.Event:
        """Setting this event ends the turn and asks the person for a message."""
        return self._signals.speak

    def drive(self, loop_id: str) -> Loop:
        """Drive the loop until it rests or is handed over. Raises LoopBusy if another runner holds its lease."""
        around = self.around
        with (
            leased(
                self.store,
                loop_id,
                around.host,
                around.token,
                parts=HostParts(around.site.enter, around.clock, self._entry, around.limits),
            ) as stepper,
            self._registered(stepper.loop),
            self._hands(stepper) as hands,
        ):
            around.notifier.take_up(self.store.name, stepper.loop, partial(journal_of, self.store, loop_id))
            stepper.take_up(around.site.keep_start)
            hands.note_supervisors()
            with around.children(self, hands):
                stepper.run(hands)
            loop = stepper.loop
        self.waits_until = hands.waits_until
        return self._after_late_stop(loop) if loop.status is Status.PAUSED else loop

    def _after_late_stop(self, loop: Loop) -> Loop:
        """The loop as it is now if `leased` obeyed a stop that came after it had come to rest."""
        try:
            now = self.store.load(loop.loop_id)
        except UntilDoneError:
            return loop
        return now if now.status.ended else loop

    def _entry(self, entry: Entry, loop: Loop) -> None:
        self.observer.entry(entry, loop)
        self.around.notifier.entry(entry, loop)

    @contextmanager
    def _registered(self, loop: Loop) -> Iterator[None]:
        """Register the loop as running on this machine, so that controls reach it even if its workspace disappears."""
        root = self.store.root
        running.put(
            running.this_process(
                loop.loop_id,
                host=self.around.host.value,
                workspace=loop.settings.workspace,
                home=str(self.store.home),
                root="" if root is None else str(root),
                database="" if root is not None else self.store.name,
                title=loop.title,
                since=self.around.clock(),
            )
        )
        if self.around.host is not Host.CLUSTER:
            place = Path(loop.settings.workspace)
            trust.begin(loop.loop_id, watched(place, self.around.environment, (loop.settings.mode,)))
        try:
            yield
        except LoopNotFound:
            # Its files are gone: this entry is the only trace of the loop that `list` still finds.
            trust.end(loop.loop_id)
            raise
        except BaseException:
            self._unregister(loop.loop_id)
            raise
        self._unregister(loop.loop_id)

    def _unregister(self, loop_id: str) -> None:
        trust.end(loop_id)
        running.forget(loop_id)

    @contextmanager
    def _hands(self, stepper: Stepper) -> Iterator[ProcessHands]:
        """The hands for one drive. Ends processes that a dead runner left, and at the end all processes of this drive.

        Each look at all processes of the machine takes time: the first runner of a loop does without the first one."""
        mark, _ = orphans.mark(stepper.loop.loop_id)
        if stepper.loop.settings.children or stepper.loop.children:
            # Nothing says whether an orphan belongs to the loop or to one of its children, which this process drives too.
            self.around = replace(self.around, adoption=None)
        hands = ProcessHands(
            stepper,
            self.store,
            self.around,
            observer=self.observer,
            person=self.person,
            signals=self._signals,
            longest_wait=self._longest_wait,
        )
        if not stepper.is_first_runner:
            orphans.end_all(mark)
        self.around.guard.watch(mark)
        try:
            yield hands
        finally:
            with suppress(UntilDoneError):
                # Its last entry is lost if the journal is.
                hands.standby.end()
            leftovers.end(stepper.loop.loop_id, self.around, hands.groups)
            self.around.guard.forget(mark)
