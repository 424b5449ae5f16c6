"""Sends the notifications about loops in sessions, in a process of its own: the stop hook does not wait for them."""

from __future__ import annotations

from collections.abc import Mapping

from untildone import settings
from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop
from untildone.engine.notices import failures
from untildone.engine.notices.telling import OutboxNotifier, journal_of
from untildone.operations.creating import known_secrets
from untildone.operations.driving.runner import TELL_WITHIN, notifications
from untildone.store import Store


def expect(store: Store, loop: Loop, environment: Mapping[str, str]) -> None:
    """Send notifications about a loop from now on, if the settings name a channel. MissingPackage if that channel cannot work."""
    _telling(store, environment).expect(store.name, loop, journal_of(store, loop.loop_id))


def tell(store: Store, loop_id: str, environment: Mapping[str, str]) -> None:
    """Send the notifications of a loop that were not sent yet. Errors are recorded for `doctor`: this process has no reader for its
    output."""
    failures.forget(store.name, loop_id)
    try:
        telling = _telling(store, environment)
        telling.take_up(store.name, store.load(loop_id), lambda: journal_of(store, loop_id))
        telling.close(TELL_WITHIN)
    except UntilDoneError as problem:
        failures.note(store.name, loop_id, loop_id, problem.sentence)
        raise


def _telling(store: Store, environment: Mapping[str, str]) -> OutboxNotifier:
    chosen = settings.load(store.home, {}, environment)
    return OutboxNotifier(notifications(chosen), environment, known_secrets.redactor(environment, chosen))
