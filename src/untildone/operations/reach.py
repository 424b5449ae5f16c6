"""Reaches loops when the project's settings, their database or their files do not answer: by the registry of running loops.

An agent can write everything in its workspace. So `list`, `show`, `log`, `pause` and `stop` use the workspace as far as it answers
within seconds, and the registry for the rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from untildone.core.errors import LoopNotFound, StoreError, UntilDoneError
from untildone.core.events import PauseRequested, StopRequested
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Urgency
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import dataclass
from untildone.operations import inside
from untildone.store import Store, places
from untildone.store.files import FileStore, open_store
from untildone.store.names import resolve_id
from untildone.store.seals import Seals
from untildone.system import orphans, running, state_folder
from untildone.system.running import Order, Orders, Running

ANSWERS_WITHIN = 5.0
"""Seconds that the store of a folder has to answer before the registry is asked instead."""
CONTROLS_WITHIN = 15.0
"""Seconds that a control has to be written before it is given to the runner itself."""
TAKEN_WITHIN = 5.0
"""Seconds that a runner has to take an order that ends its agent before the agent is ended here."""
LOOK_EVERY = 0.02
Result = TypeVar("Result")
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reached:
    """A loop, and how it can be reached."""

    loop_id: str
    store: Store | None
    """The store that has the loop; None: only its runner can be reached."""
    entry: Running | None = None
    """The loop in the registry; None if it is not there."""


class Reach:
    """The loops of a folder, as far as they answer. `warn` gets a sentence about what does not."""

    def __init__(self, folder: Path, environment: Mapping[str, str], warn: Warn) -> None:
        self._folder = folder
        self._environment = environment
        self._warn = warn
        self.entries = tuple(entry for entry in running.entries() if _shows(folder, entry))
        """The loops that run here according to the registry."""
        self.store, self._ids = self._opened()
        """The store of the folder; None if it does not answer."""
        self._tidy()

    def find(self, name: str) -> Reached:
        """The loop of that name: an id, a unique part of one, or `last`."""
        own = {entry.loop_id: entry for entry in self.entries}

        def is_ours(loop_id: str) -> bool:
            return loop_id in own or self.store is None or self.store.is_ours(loop_id)

        loop_id = resolve_id(name, tuple(sorted({*self._ids, *own})), f"in {self._folder}", is_ours)
        entry = own.get(loop_id)
        if loop_id in self._ids or entry is None:
            return Reached(loop_id, self.store, entry)
        return Reached(loop_id, self._store_of(entry), entry)

    @property
    def elsewhere(self) -> tuple[Reached, ...]:
        """The registered loops that the store of the folder does not have."""
        return tuple(self.find(entry.loop_id) for entry in self.entries if entry.loop_id not in self._ids)

    def _opened(self) -> tuple[Store | None, tuple[str, ...]]:
        try:
            return _answered(lambda: _with_ids(places.open_store(self._folder, self._environment, warn=self._warn)))
        except StoreError as problem:
            files = open_store(self._folder, self._environment)
            if not self.entries and not files.ids():
                raise
            self._warn(f"{problem.sentence} Shown are the loops that are kept or run here.")
            return _with_ids(files)

    def _store_of(self, entry: Running) -> Store | None:
        """The store of a loop that is not in the store of the folder, because the settings name another one now."""
        if not entry.root:
            return None
        seals = Seals(state_folder.folder(self._environment))
        store = FileStore(Path(entry.root), Redactor.from_environment(self._environment), seals=seals)
        return store if store.signature(entry.loop_id) is not None else None

    def _tidy(self) -> None:
        """Forget the entries of runners that died: their loops are in the store. Others are the only trace of a loop."""
        dead = {entry.loop_id for entry in self.entries if entry.loop_id in self._ids and not entry.is_alive}
        for loop_id in dead:
            self._obey_left_order(loop_id)
            running.forget(loop_id)
        self.entries = tuple(entry for entry in self.entries if entry.loop_id not in dead)

    def _obey_left_order(self, loop_id: str) -> None:
        """End a loop that has an order to stop and whose runner died before it obeyed."""
        from untildone.operations import control

        store = self.store
        if store is not None:
            with suppress(UntilDoneError):
                _answered(lambda: control.obey_left_order(store, store.load(loop_id)))


def pause(reached: Reached, urgency: Urgency, environment: Mapping[str, str], warn: Warn) -> Loop | None:
    """Pause a loop. Returns it; None if the order was given to its runner directly."""
    from untildone.operations import control

    return _request(
        reached,
        PauseRequested(urgency),
        lambda store: control.pause(store, reached.loop_id, urgency, environment),
        warn,
    )


def stop(
    reached: Reached, urgency: Urgency, outcome: Outcome, environment: Mapping[str, str], warn: Warn
) -> Loop | None:
    """Stop a loop. Returns it; None if the order was given to its runner directly."""
    from untildone.operations import control

    return _request(
        reached,
        StopRequested(urgency, outcome),
        lambda store: control.stop(store, reached.loop_id, urgency, outcome, environment),
        warn,
    )


def _request(
    reached: Reached, event: PauseRequested | StopRequested, control: Callable[[Store], Loop], warn: Warn
) -> Loop | None:
    store = reached.store
    if store is not None:
        try:
            return _answered(lambda: control(store), CONTROLS_WITHIN)
        except (StoreError, LoopNotFound) as problem:
            if reached.entry is None or not reached.entry.is_alive:
                raise
            warn(problem.sentence)
    if reached.entry is not None:
        inside.refuse_order(reached.entry, _word(event))
    if order(reached.loop_id, event):
        return None
    orphans.end_all(orphans.mark(reached.loop_id)[0])
    running.forget(reached.loop_id)
    raise LoopNotFound(
        f"Loop {reached.loop_id} does not run any more, and its files are gone.", "nothing is left to pause or stop"
    )


def order(loop_id: str, event: PauseRequested | StopRequested) -> bool:
    """Give a pause or stop to the runner of a loop by the registry. False: no runner of this machine is known.

    The runner writes it to the journal as soon as that is possible. With `now`, the agent has ended on return.
    """
    entry = running.find(loop_id)
    if entry is None or not entry.is_alive:
        return False
    given = running.give_order(loop_id, Order(_word(event), event.urgency.value, event.outcome.word))
    if given and event.urgency is Urgency.NOW and entry.host != Host.HOOK:
        _see_to_it(entry)
    return given


def _word(event: PauseRequested | StopRequested) -> str:
    return "stop" if isinstance(event, StopRequested) else "pause"


def _see_to_it(entry: Running) -> None:
    """Wait until the runner has taken the order. If it does not, end its agent here."""
    orders, deadline = Orders(entry.loop_id), time.monotonic() + TAKEN_WITHIN
    while orders.is_waiting and entry.is_alive and not orphans.is_suspended(entry.pid):
        if time.monotonic() > deadline:
            break
        time.sleep(LOOK_EVERY)
    if orders.is_waiting:
        orphans.end_all(orphans.mark(entry.loop_id)[0])


def end_if_suspended(loop_id: str) -> None:
    """End the agent of a loop here if its runner is there and suspended (SIGSTOP): it cannot end the agent itself."""
    entry = running.find(loop_id)
    if entry is not None and entry.is_alive and orphans.is_suspended(entry.pid):
        orphans.end_all(orphans.mark(loop_id)[0])


def _shows(folder: Path, entry: Running) -> bool:
    """Whether commands in the folder show the loop."""
    home, place = Path(entry.home), folder.resolve()
    return entry.host != running.WRAP and (home == place or home in place.parents)


def _with_ids(store: Store) -> tuple[Store, tuple[str, ...]]:
    return store, store.ids()


def _answered(work: Callable[[], Result], within: float = ANSWERS_WITHIN) -> Result:
    """The result of `work`. StoreError if it takes longer: a database or a file that does not answer must not block a control."""
    results: list[Result] = []
    problems: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(within)
    if problems:
        raise problems[0]
    if not results:
        raise StoreError(
            f"The loops of this folder do not answer within {within:g} s.", "look at its settings and disk"
        )
    return results[0]
