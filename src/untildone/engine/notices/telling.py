"""Sends notifications without delaying the loop: entries of the journal become notices, and a thread delivers them.

Each notice is sent at most once by each channel, over any crash. It is on disk before it is sent, and that it is being sent is on disk as
well. What surely did not arrive (connection refused, an answer of 5xx) is tried again; what may have arrived is not. The next runner or
server of the same folder delivers what a dead process left.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from untildone.core.attention import Act, need_of
from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry
from untildone.core.limits import shown
from untildone.core.loop import Loop
from untildone.core.notices import ASKING, EVENTS, TEMPLATES, TITLES, Notice, Noticed, NoticeKind, noticed, rendered
from untildone.core.protection.secrets import Redactor
from untildone.core.values.codec import timestamp
from untildone.engine.notices import failures, notify, replies
from untildone.engine.notices.notify import Message, NotifySettings, Result
from untildone.engine.notices.outbox import Delivery, Item, Outbox, State, save

if TYPE_CHECKING:
    from untildone.store import Store

PAUSES = (0.5, 2.0, 8.0, 30.0, 120.0, 600.0)
"""Seconds between the attempts to send a notice."""
LOOK_EVERY = 5.0
"""Seconds between two looks for what dead processes left."""
_log = logging.getLogger(__name__)


class Notifier(Protocol):
    """What a runner calls so that notifications are sent."""

    def take_up(self, store_name: str, loop: Loop, entries: Callable[[], Iterable[Entry]]) -> None:
        """A runner has the loop. `entries` returns its journal up to now: notices that a dead runner did not send are sent."""

    def entry(self, entry: Entry, loop: Loop) -> None:
        """An entry was appended."""

    def close(self, within: float) -> None:
        """Wait for what is being delivered, but not longer than `within` seconds."""


class SilentNotifier:
    """Sends no notifications."""

    def take_up(self, store_name: str, loop: Loop, entries: Callable[[], Iterable[Entry]]) -> None:
        return

    def entry(self, entry: Entry, loop: Loop) -> None:
        return

    def close(self, within: float) -> None:
        return


class OutboxNotifier:
    """Sends the notifications about the loops of one store; they wait in its outbox."""

    def __init__(
        self, settings: NotifySettings, environment: Mapping[str, str], redactor: Redactor | None = None
    ) -> None:
        self.settings = settings
        self._environment = environment
        self._redactor = redactor or Redactor({})
        self._states: dict[str, Noticed] = {}
        self._outbox: Outbox | None = None
        self._store_name = ""
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._busy = False

    def take_up(self, store_name: str, loop: Loop, entries: Callable[[], Iterable[Entry]]) -> None:
        if not notify.channels(self.settings):
            return
        with _harmless(store_name, loop.loop_id):
            box = self._open(store_name)
            known = box.noticed(loop.loop_id)
            with self._lock:
                box.items(time.time())
            if known is None or known.seq > loop.seq:
                self._begin(box, loop, entries())
            else:
                self._states[loop.loop_id] = known
                self._fold(loop, entries())
            self._wake.set()

    def expect(self, store_name: str, loop: Loop, entries: Iterable[Entry]) -> None:
        """Record that notifications about this loop are sent from now on, by any process."""
        if notify.channels(self.settings):
            with _harmless(store_name, loop.loop_id):
                box = Outbox(store_name)
                if box.noticed(loop.loop_id) is None:
                    self._begin(box, loop, entries)

    def _begin(self, box: Outbox, loop: Loop, entries: Iterable[Entry]) -> None:
        """Start with a loop about which no notification was sent before: its entries so far give none."""
        state = Noticed()
        for entry in entries:
            state, _ = noticed(state, entry)
        self._states[loop.loop_id] = state
        with self._lock:
            box.note(loop.loop_id, state)

    def entry(self, entry: Entry, loop: Loop) -> None:
        if loop.loop_id in self._states:
            with _harmless(self._store_name, loop.loop_id):
                self._fold(loop, (entry,))

    def _fold(self, loop: Loop, entries: Iterable[Entry]) -> None:
        state = self._states[loop.loop_id]
        notices: list[Notice] = []
        for entry in entries:
            state, more = noticed(state, entry)
            notices += more
        self._states[loop.loop_id] = state
        if notices and self._outbox is not None:
            # The thread must not deliver a notice before it is written that the notice exists.
            with self._lock, self._outbox.alone():
                self._keep(self._outbox, loop, state, notices)
            self._wake.set()

    def _keep(self, box: Outbox, loop: Loop, state: Noticed, notices: list[Notice]) -> None:
        """Put the notices that no other process has put."""
        known = box.noticed(loop.loop_id) or Noticed()
        for notice in notices:
            if notice.seq > known.seq:
                self._put(box, notice, loop)
        if state.seq > known.seq:
            box.note(loop.loop_id, state)

    def _put(self, box: Outbox, notice: Notice, loop: Loop) -> None:
        if notice.kind in self.settings.events:
            name = f"{loop.loop_id}-{notice.seq}-{notice.kind.value}"
            fields = {key: self._clean(value) for key, value in facts(notice, loop).items()}
            box.put(name, notice.at, fields, list(notify.channels(self.settings)))

    def _clean(self, value: Any) -> Any:
        return self._redactor.text(value) if isinstance(value, str) else value

    def _open(self, store_name: str) -> Outbox:
        if self._outbox is None:
            self._outbox, self._store_name = Outbox(store_name), store_name
            self._thread = threading.Thread(target=self._work, name="notifications", daemon=True)
            self._thread.start()
        return self._outbox

    def open(self, store_name: str) -> None:
        """Deliver what dead processes left, before any loop is driven."""
        if notify.channels(self.settings):
            with _harmless(store_name, "all loops"):
                self._open(store_name)
                self._wake.set()

    def close(self, within: float) -> None:
        """Wait until every notice was tried once, but not longer than `within` seconds; the rest stays on disk."""
        if self._thread is None:
            return
        deadline = time.monotonic() + within
        while time.monotonic() < deadline and self._is_pending():
            time.sleep(0.02)
        self._closing = True
        self._wake.set()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._outbox is not None and not self._thread.is_alive():
            self._outbox.close()

    def _is_pending(self) -> bool:
        """Whether something is being sent, or will be tried within seconds."""
        if self._busy or self._outbox is None:
            return self._busy
        with self._lock:
            items = self._outbox.items(time.time())
        names = list(notify.channels(self.settings))
        soon = time.time() + PAUSES[2]
        return any(item.deliveries[name].not_before <= soon for item in items for name in item.waiting(names))

    def _work(self) -> None:
        while not self._closing:
            self._wake.clear()
            self._busy = True
            try:
                next_look = self._deliver_due()
            except Exception:
                _log.exception("Notifications cannot be delivered")
                next_look = LOOK_EVERY
            self._busy = False
            self._wake.wait(next_look)

    def _deliver_due(self) -> float:
        """Send what is due. Returns the seconds until the next look."""
        if self._outbox is None:
            return LOOK_EVERY
        with self._lock:
            items = self._outbox.items(time.time())
        channels = notify.channels(self.settings)
        later = LOOK_EVERY
        for item in items:
            for name in item.waiting(list(channels)):
                wait = item.deliveries[name].not_before - time.time()
                if wait > 0:
                    later = min(later, wait)
                elif not self._closing:
                    self._deliver(item, name, channels[name])
                    later = min(later, PAUSES[0])
        return later

    def _deliver(self, item: Item, name: str, channel: notify.Channel) -> None:
        delivery = item.deliveries[name]
        message = self._message(item)
        notify.load(name)
        item.deliveries[name] = Delivery(State.BEGUN, delivery.tries + 1)
        save(item)
        attempt = notify.tried(channel, message, self._environment)
        again = attempt.result is Result.REFUSED and delivery.tries < len(PAUSES)
        item.deliveries[name] = (
            Delivery(State.WAITING, delivery.tries + 1, time.time() + PAUSES[delivery.tries])
            if again
            else Delivery(State.DONE, delivery.tries + 1)
        )
        save(item)
        self._note(f"{item.path.stem}-{name}", item, attempt)
        if attempt.problem and not again:
            _log.warning("Loop %s: a notification failed: %s", item.fields.get("loop_id"), self._clean(attempt.problem))

    def _note(self, name: str, item: Item, attempt: notify.Attempt) -> None:
        """Record the result of the last attempt for `doctor`: the process that sends may have no log."""
        if attempt.problem:
            failures.note(self._store_name, name, str(item.fields.get("loop_id")), self._redactor.text(attempt.problem))
        else:
            failures.forget(self._store_name, name)

    def _message(self, item: Item) -> Message:
        fields = {**item.fields, **self._ways_back(item.fields)}
        kind = NoticeKind(fields["kind"])
        words = {name: "" if value is None else str(value) for name, value in fields.items()}
        words["answer"] = fields["reply_link"] or f'Answer: untildone say {fields["loop_id"]} "…"'
        words["outcome"] = words["outcome"].capitalize()
        usual = ASKING if fields.get("asks") and kind is NoticeKind.REST else TEMPLATES[kind]
        template = (self.settings.templates or {}).get(kind.value, usual)
        title, text = rendered(TITLES[kind], words), rendered(template, words)
        return Message({**fields, "text": text}, title, text)

    def _ways_back(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The links of a message. They are made when it is sent, so that no token lies on disk."""
        loop_id, url = fields["loop_id"], (self.settings.url or "").rstrip("/")
        expires = time.time() + self.settings.reply_hours * 3600
        token = "" if fields["ended"] else replies.token(loop_id, expires)
        return {
            "link": f"{url}/loops/{loop_id}" if url else "",
            "reply_link": f"{url}/reply/{loop_id}?token={token}" if url and token else "",
            "reply_url": f"{url}/api/v1/loops/{loop_id}/reply" if url and token else "",
            "reply_token": token,
            "reply_expires": timestamp(expires) if token else "",
        }


def journal_of(store: Store, loop_id: str) -> Iterator[Entry]:
    """Every entry of the loop so far."""
    journal = store.open(loop_id)
    try:
        yield from journal.entries()
    finally:
        journal.close()


def facts(notice: Notice, loop: Loop) -> dict[str, Any]:
    """What a message says about a notice and its loop: everything but the links."""
    spend = [f"{loop.spend.iterations} rounds", *shown(loop.spend)]
    need = need_of(loop) if notice.about == loop.reason else None
    asks = notice.kind is NoticeKind.BLOCKED or (need is not None and need.act is Act.ANSWER)
    return {
        "id": f"{loop.loop_id}-{notice.seq}-{notice.kind.value}",
        "event": EVENTS[notice.kind],
        "kind": notice.kind.value,
        "ts": timestamp(notice.at),
        "loop_id": loop.loop_id,
        "title": loop.title,
        "status": loop.status.value,
        "ended": loop.status.ended,
        "outcome": loop.outcome.word if loop.outcome else None,
        "sentence": loop.end_sentence,
        "reason": loop.reason,
        "about": notice.about,
        "question": notice.about if asks else "",
        "asks": asks,
        "iterations": loop.spend.iterations,
        "cost_usd": loop.spend.cost_usd,
        "tokens": loop.spend.tokens,
        "spend": ", ".join(spend),
        "workspace": loop.settings.workspace,
    }


class _harmless:
    """Logs and notes what goes wrong: a notification never harms its loop."""

    def __init__(self, store_name: str, loop_id: str) -> None:
        self._store_name = store_name
        self._loop_id = loop_id

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, _trace: object) -> bool:
        if isinstance(problem, OSError | UntilDoneError):
            _log.warning("%s: notifications cannot be kept: %s", self._loop_id, problem)
            failures.note(self._store_name, self._loop_id, self._loop_id, f"notifications cannot be kept: {problem}")
            return True
        return False
