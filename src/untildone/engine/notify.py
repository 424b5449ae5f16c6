"""Notifies people that a loop came to rest: by a program, a webhook, the desktop. A failure is logged and harms no loop."""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from untildone.core.codec import timestamp
from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import Outcome
from untildone.system import process
from untildone.system.guard import guarded
from untildone.system.process import Cause, Spawn

COMMAND_SECONDS = 30.0
WEBHOOK_SECONDS = 10.0
PAUSES = (0.5, 2.0, 8.0)
"""Seconds between the attempts to call a webhook."""
MOST_WAITING = 1000
SIGNATURE = "X-Untildone-Signature"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """The channels of notifications."""

    command: tuple[str, ...] = ()
    webhook: str | None = None
    secret: str | None = None
    desktop: bool = False


def send(settings: NotifySettings, loop: Loop, environment: Mapping[str, str]) -> None:
    """Notify by each channel, one after the other. No notification for an interrupted loop: the person is at the terminal."""
    if loop.outcome is None or loop.outcome is Outcome.INTERRUPTED:
        return
    if settings.command:
        _run(settings.command, loop, environment)
    if settings.desktop:
        _show(loop, environment)
    if settings.webhook:
        _post(settings.webhook, settings.secret, loop)


def message(loop: Loop) -> dict[str, Any]:
    """The JSON object that programs and webhooks get."""
    return {
        "event": "loop_rested",
        "ts": timestamp(time.time()),
        "loop_id": loop.loop_id,
        "title": loop.title,
        "status": loop.status.value,
        "outcome": loop.outcome.word if loop.outcome else None,
        "sentence": loop.outcome.sentence if loop.outcome else "",
        "reason": loop.reason,
        "iterations": loop.spend.iterations,
        "workspace": loop.settings.workspace,
    }


def _run(command: tuple[str, ...], loop: Loop, environment: Mapping[str, str]) -> None:
    fields = message(loop)
    variables = {f"UNTILDONE_{name.upper()}": str(value).replace("\0", "") for name, value in fields.items()}
    inherited = {name: value for name, value in environment.items() if name != "UNTILDONE_TOKEN"}
    _call(command, loop, {**inherited, **variables}, json.dumps(fields).encode())


def _call(command: tuple[str, ...], loop: Loop, environment: Mapping[str, str], given: bytes = b"") -> None:
    place = loop.settings.workspace if os.path.isdir(loop.settings.workspace) else os.path.abspath(os.sep)
    try:
        with guarded("notify") as watched:
            spawn = Spawn(command, {**environment, **watched.mark}, place, stdin=given, timeout=COMMAND_SECONDS)
            ended = process.run(spawn, lambda _line: None, lambda: False)
            if ended.leftover_group is not None:
                watched.groups.add(ended.leftover_group)
    except (OSError, ValueError, UntilDoneError) as problem:
        _log.warning("Loop %s: the notification by %s failed: %s", loop.loop_id, command[0], problem)
        return
    if ended.cause is Cause.TIMED_OUT:
        _log.warning("Loop %s: the notification by %s took longer than %g s", loop.loop_id, command[0], COMMAND_SECONDS)
    elif ended.exit_code:
        _log.warning("Loop %s: the notification by %s ended with %d", loop.loop_id, command[0], ended.exit_code)


def _show(loop: Loop, environment: Mapping[str, str]) -> None:
    from shutil import which

    for command in _desktop(f"untildone: {loop.outcome.word if loop.outcome else ''}", loop.title):
        if which(command[0], path=environment.get("PATH")):
            return _call(command, loop, environment)
    return None


def _desktop(title: str, text: str) -> Iterator[tuple[str, ...]]:
    if sys.platform == "darwin":
        script = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run"
        yield ("osascript", "-e", script, title, text)
    yield ("notify-send", "--app-name=untildone", "--", title, text)


def _post(address: str, secret: str | None, loop: Loop) -> None:
    """Call the webhook; a few attempts with growing pauses, but only one after a permanent error (4xx)."""
    body = json.dumps(message(loop)).encode()
    for pause in (*PAUSES, None):
        problem, again = _posted(address, body, signature(secret, body))
        if not problem:
            return
        if not again or pause is None:
            _log.warning("Loop %s: the webhook could not be called: %s", loop.loop_id, problem)
            return
        time.sleep(pause)


def signature(secret: str | None, body: bytes) -> dict[str, str]:
    """The header that proves to the receiver that the sender knows the secret; no header without a secret."""
    import hashlib
    import hmac

    if secret is None:
        return {}
    return {SIGNATURE: "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def _posted(address: str, body: bytes, signed: Mapping[str, str]) -> tuple[str, bool]:
    """The problem (empty: none) and whether another attempt makes sense."""
    import urllib.error
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_arguments: Any) -> None:
            return None

    headers = {"Content-Type": "application/json", "User-Agent": "untildone", **signed}
    try:
        request = urllib.request.Request(address, body, headers)
        with urllib.request.build_opener(NoRedirects).open(request, timeout=WEBHOOK_SECONDS):
            return "", False
    except urllib.error.HTTPError as problem:
        return f"it answered {problem.code}", problem.code >= 500 or problem.code == 429
    except (OSError, ValueError) as problem:
        return str(problem), not isinstance(problem, ValueError)


class Notifier:
    """Sends notifications in a background thread, for a host that drives many loops."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[NotifySettings, Loop, Mapping[str, str]] | None] = queue.Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def send(self, settings: NotifySettings, loop: Loop, environment: Mapping[str, str]) -> None:
        """Queue a notification, without waiting."""
        if not (settings.command or settings.webhook or settings.desktop):
            return
        self._start()
        try:
            self._waiting.put_nowait((settings, loop, environment))
        except queue.Full:
            _log.warning("Loop %s: too many notifications are waiting; this one is left out", loop.loop_id)

    def close(self, within: float = 2.0) -> None:
        """Wait a moment for the notifications in the queue."""
        if self._thread is not None:
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                return
            self._thread.join(within)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="notifications", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            try:
                send(*waiting)
            except Exception:
                _log.exception("A notification failed")
