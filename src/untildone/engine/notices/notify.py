"""The channels of notifications: a program, a webhook, the desktop, and every service that apprise knows.

Each channel sends one message once and says how that went. `engine.notices.telling` decides when, and when again.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from untildone.core.errors import MissingPackage, UntilDoneError
from untildone.core.notices import NoticeKind
from untildone.system import state_folder
from untildone.system.guard import guarded
from untildone.system.program import process
from untildone.system.program.spawn import Cause, Spawn

COMMAND_SECONDS = 30.0
WEBHOOK_SECONDS = 10.0
APPRISE_SECONDS = 10.0
"""Seconds for a connection, and for an answer."""
LONGEST = 45.0
"""Seconds for an attempt in all. Timeouts of connections begin anew with every byte of an answer."""
SIGNATURE = "X-Untildone-Signature"
REPLY_HOURS = 72.0
NOT_FOR_PROGRAMS = (
    "UNTILDONE_TOKEN",
    "UNTILDONE_NOTIFY_APPRISE",
    "UNTILDONE_NOTIFY_WEBHOOK",
    "UNTILDONE_NOTIFY_SECRET",
)
"""Variables that a program which notifies does not inherit."""


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """The channels of notifications, and what is sent by them."""

    command: tuple[str, ...] = ()
    webhook: str | None = None
    secret: str | None = None
    desktop: bool = False
    apprise: tuple[str, ...] = ()
    """Addresses of apprise. They hold passwords and tokens."""
    events: frozenset[NoticeKind] = frozenset(NoticeKind)
    templates: Mapping[str, str] | None = None
    """Texts by the kind of notice, in place of ours."""
    url: str | None = None
    """Where people reach the dashboard."""
    reply_hours: float = REPLY_HOURS


class Result(StrEnum):
    """How an attempt to send a message went."""

    SENT = "sent"
    REFUSED = "refused"
    """It surely did not arrive, and another attempt may help."""
    FAILED = "failed"
    """It did not arrive, and another attempt would not help."""
    UNKNOWN = "unknown"
    """It was sent, and no answer came: it may have arrived."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to send a message: its result, and what went wrong, without any address."""

    result: Result
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: for programs as fields, for people as title and text."""

    fields: Mapping[str, Any]
    title: str
    text: str


SENT = Attempt(Result.SENT)
Channel = Callable[[Message, Mapping[str, str]], Attempt]
"""Sends a message; the second argument is the environment for programs."""


def channels(settings: NotifySettings) -> dict[str, Channel]:
    """The channels by name. The name of an apprise channel is a keyed digest of its address, which does not reveal the address."""
    by_name: dict[str, Channel] = {}
    if settings.command:
        by_name["command"] = lambda message, environment: _run(settings.command, message, environment)
    if settings.desktop:
        by_name["desktop"] = _show
    if settings.webhook:
        by_name["webhook"] = _by_webhook(settings.webhook, settings.secret)
    for number, address in enumerate(settings.apprise, 1):
        by_name[f"apprise-{_name(address)}"] = _by_apprise(number, address)
    return by_name


def tried(channel: Channel, message: Message, environment: Mapping[str, str]) -> Attempt:
    """Send a message, within LONGEST seconds: other channels and notices wait for this attempt."""
    attempts: list[Attempt] = []

    def send() -> None:
        try:
            attempts.append(channel(message, environment))
        except Exception as problem:
            attempts.append(Attempt(Result.UNKNOWN, f"it could not be sent: {type(problem).__name__}"))

    sender = threading.Thread(target=send, name="notification", daemon=True)
    sender.start()
    sender.join(LONGEST)
    return attempts[0] if attempts else Attempt(Result.UNKNOWN, f"no answer within {LONGEST:g} s")


def check_packages(settings: NotifySettings) -> None:
    """MissingPackage if an address needs apprise and it is not installed. Called early, before a loop needs a person."""
    if settings.apprise and find_spec("apprise") is None:
        raise MissingPackage("The setting notify_apprise needs the package apprise, which is not installed.", "notify")


def load(name: str) -> None:
    """Import what the channel of this name needs. A crash in the middle of a delivery loses it, so nothing slow may be a part of one."""
    if name == "webhook":
        import_module("urllib.request")
    elif name.startswith("apprise-"):
        with suppress(ImportError):
            import_module("apprise")


def _name(address: str) -> str:
    return state_folder.seal("notify", address.encode("utf-8", "replace"))[:16] or "address"


def _run(command: tuple[str, ...], message: Message, environment: Mapping[str, str]) -> Attempt:
    fields = {name: value for name, value in message.fields.items() if value is not None}
    variables = {f"UNTILDONE_{name.upper()}": str(value).replace("\0", "") for name, value in fields.items()}
    inherited = {name: value for name, value in environment.items() if name not in NOT_FOR_PROGRAMS}
    return _call(command, message, {**inherited, **variables}, json.dumps(message.fields).encode())


def _call(command: tuple[str, ...], message: Message, environment: Mapping[str, str], given: bytes = b"") -> Attempt:
    workspace = str(message.fields.get("workspace") or "")
    place = workspace if os.path.isdir(workspace) else os.path.abspath(os.sep)
    try:
        with guarded("notify") as watched:
            spawn = Spawn(command, {**environment, **watched.mark}, place, stdin=given, timeout=COMMAND_SECONDS)
            ended = process.run(spawn, lambda _line: None, lambda: False)
            if ended.leftover_group is not None:
                watched.groups.add(ended.leftover_group)
    except (OSError, ValueError, UntilDoneError) as problem:
        return Attempt(Result.FAILED, f"{command[0]} failed: {problem}")
    if ended.cause is Cause.TIMED_OUT:
        return Attempt(Result.FAILED, f"{command[0]} took longer than {COMMAND_SECONDS:g} s")
    return Attempt(Result.FAILED, f"{command[0]} ended with {ended.exit_code}") if ended.exit_code else SENT


def _show(message: Message, environment: Mapping[str, str]) -> Attempt:
    from shutil import which

    for command in _desktop(f"untildone: {message.title}", message.text):
        if which(command[0], path=environment.get("PATH")):
            inherited = {name: value for name, value in environment.items() if name not in NOT_FOR_PROGRAMS}
            return _call(command, message, inherited)
    return Attempt(Result.FAILED, "this machine has neither notify-send nor osascript")


def _desktop(title: str, text: str) -> Iterator[tuple[str, ...]]:
    if sys.platform == "darwin":
        script = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run"
        yield ("osascript", "-e", script, title, text)
    yield ("notify-send", "--app-name=untildone", "--", title, text)


def signature(secret: str | None, body: bytes) -> dict[str, str]:
    """The header that proves to the receiver that the sender knows the secret; no header without a secret."""
    import hashlib
    import hmac

    if secret is None:
        return {}
    return {SIGNATURE: "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def _by_webhook(address: str, secret: str | None) -> Channel:
    return lambda message, _environment: _post(address, secret, message)


def _post(address: str, secret: str | None, message: Message) -> Attempt:
    import http.client
    import urllib.error
    import urllib.request

    class NoRedirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_arguments: Any) -> None:
            return None

    body = json.dumps(message.fields).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "untildone", **signature(secret, body)}
    try:
        request = urllib.request.Request(address, body, headers)
        with urllib.request.build_opener(NoRedirects).open(request, timeout=WEBHOOK_SECONDS):
            return SENT
    except urllib.error.HTTPError as problem:
        again = problem.code >= 500 or problem.code == 429
        return Attempt(Result.REFUSED if again else Result.FAILED, f"the webhook answered {problem.code}")
    except urllib.error.URLError as problem:
        # urllib raises this for what goes wrong before the request is sent as a whole.
        return Attempt(Result.REFUSED, f"the webhook could not be called: {problem.reason}")
    except (OSError, http.client.HTTPException) as problem:
        return Attempt(Result.UNKNOWN, f"the webhook gave no answer: {type(problem).__name__}")
    except ValueError:
        return Attempt(Result.FAILED, "the address of the webhook cannot be used")


def _by_apprise(number: int, address: str) -> Channel:
    return lambda message, _environment: _notify(number, address, message)


def _notify(number: int, address: str, message: Message) -> Attempt:
    """Send by apprise, which reports only whether it worked. After a quick failure nothing has arrived; after a slow one the result is
    unknown."""
    import apprise

    # Its log may contain addresses.
    logging.getLogger("apprise").disabled = True
    asset = apprise.AppriseAsset(app_id="untildone", async_mode=False)
    plugin = apprise.Apprise.instantiate(address, asset=asset)
    if plugin is None:
        return Attempt(Result.FAILED, f"apprise does not know the kind of address number {number} of notify_apprise")
    plugin.socket_connect_timeout = plugin.socket_read_timeout = APPRISE_SECONDS
    started = time.monotonic()
    try:
        sent = plugin.notify(body=message.text, title=f"untildone: {message.title}")
    except Exception as problem:
        return Attempt(Result.UNKNOWN, f"apprise failed for address number {number}: {type(problem).__name__}")
    if sent:
        return SENT
    was_quick = time.monotonic() - started < APPRISE_SECONDS / 2
    return Attempt(
        Result.REFUSED if was_quick else Result.UNKNOWN, f"address number {number} of notify_apprise refused it"
    )
