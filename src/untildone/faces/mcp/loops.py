"""Where the tools find and start loops: in one folder, or in the folders of a server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from untildone import settings
from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.operations import control, look, stores
from untildone.operations.control import Heard
from untildone.operations.creating.creation import Created, create
from untildone.operations.driving import background
from untildone.operations.stores import Store


class Loops(Protocol):
    """The loops that the tools see. Every method may block."""

    @property
    def environment(self) -> Mapping[str, str]: ...

    def find(self, name: str) -> tuple[Store, str]:
        """The store and the id of the loop of that name. LoopNotFound if there is none."""
        ...

    def newest(self, most: int) -> Sequence[Loop]:
        """The newest loops, newest first; at most `most`."""
        ...

    def start(self, task: str, given: Mapping[str, Any], checks: Sequence[str], folder: str | None) -> Created:
        """Create a loop and start it. `checks` are added to those of the project, `given` are other settings."""
        ...

    def say(self, name: str, text: str) -> Heard:
        """Send a message to a loop, and drive the loop if the message lets it go on."""
        ...


def with_checks(own: Sequence[str], added: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings, with the project's own checks followed by the added checks that it lacks."""
    new = [check for check in added if check not in own]
    return {**given, "checks": [*own, *new]} if new else dict(given)


class LoopsOfFolder:
    """The loops of one folder, each driven by a background process of its own."""

    environment = os.environ

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, name: str) -> tuple[Store, str]:
        store = self._store()
        return store, store.find(name)

    def newest(self, most: int) -> Sequence[Loop]:
        return tuple(look.load_all(self._store()))[::-1][:most]

    def start(self, task: str, given: Mapping[str, Any], checks: Sequence[str], folder: str | None) -> Created:
        place = self._folder
        if folder is not None and Path(folder).resolve() != place.resolve():
            raise UsageError(f"This server has the loops of {place}.", "leave out `folder`")
        chosen = settings.load(place, with_checks(settings.load(place, {}).checks, checks, given))
        store = self._store(create=True)
        created = create(store, task, chosen, place)
        started = control.start(store, created.loop.loop_id)
        background.start_runner(store, started.loop_id)
        return Created(started, created.notices)

    def say(self, name: str, text: str) -> Heard:
        store, loop_id = self.find(name)
        heard = control.say(store, loop_id, text)
        if heard.goes_on and not heard.has_driver:
            background.start_runner(store, loop_id)
        return heard

    def _store(self, *, create: bool = False) -> Store:
        if stores.database_of(self._folder, os.environ) is not None:
            return self._connected
        return stores.open_store(self._folder, create=create)

    @cached_property
    def _connected(self) -> Store:
        """The store in a database, opened once: each has its own connections."""
        return stores.open_store(self._folder)
