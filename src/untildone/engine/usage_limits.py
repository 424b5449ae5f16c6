"""Usage limits that all loops of a person share: what one loop learns saves the others a futile call."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
from contextlib import suppress
from pathlib import Path

from untildone import agents
from untildone.core.answers.reset_times import reset_time
from untildone.core.events import LimitReached
from untildone.core.loop import UsageLimit
from untildone.core.model import AgentChoice, Answer, LoopSettings
from untildone.core.values.codec import epoch, timestamp
from untildone.core.values.value import replace


def account(agent: AgentChoice, place: str) -> str:
    """The account to which a usage limit applies: the profile. An agent of any command has one profile for all
    commands, so its account includes a hash of the command line."""
    if agent.command is None or agents.of(agent).program:
        return agent.profile
    line = "\0".join(_resolved(place, word) for word in (*_words(agent.command), *agent.args))
    return f"{agent.profile}-{hashlib.sha256(line.encode(errors='replace')).hexdigest()[:32]}"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def _resolved(place: str, word: str) -> str:
    """The absolute path of an existing file: `./agent.sh` is another program in another folder. Other words stay."""
    path = os.path.join(place, word)
    return os.path.realpath(path) if "\0" not in path and os.path.exists(path) else word


class SharedLimits:
    """Usage limits in a folder of the person, one file for each account."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, account: str, now: float) -> UsageLimit | None:
        """The present limit of an account; None: there is none."""
        try:
            fields = json.loads(self._path(account).read_text())
            limit = UsageLimit(epoch(fields["until"]), str(fields["message"]), int(fields["strikes"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return limit if limit.until > now else None

    def put(self, account: str, limit: UsageLimit) -> None:
        """Store a limit. Best effort: if that fails, the limit still holds for the loop that reached it."""
        path = self._path(account)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_text(
                json.dumps({"until": timestamp(limit.until), "message": limit.message, "strikes": limit.strikes})
            )
            os.replace(draft, path)
        except OSError:
            return

    def share(self, event: LimitReached, settings: LoopSettings, place: str) -> None:
        """Store a limit that an agent of a loop has reached, for other loops."""
        limit = UsageLimit(event.until, event.message, event.strikes)
        for agent in (settings.worker, settings.instructor, settings.supervisor, settings.fallback, *settings.escalate):
            if agent is not None and agent.profile == event.profile:
                self.put(account(agent, place), limit)

    def forget(self, account: str) -> None:
        with suppress(OSError):
            self._path(account).unlink()

    def _path(self, account: str) -> Path:
        name = "".join(letter if letter.isalnum() or letter in "-_" else f"%{ord(letter):x}" for letter in account)
        return self._folder / f"{name}.json"


def default_folder() -> Path:
    """The folder of the person for shared usage limits."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "untildone" / "limits"


def in_local_time(answer: Answer, now: float) -> Answer:
    """The answer with the reset time of its limit in local time. Readers are pure and take a time without a zone as UTC."""
    failure = answer.failure
    if failure is None or failure.reset_at is None or failure.reset_at != reset_time(failure.message, now):
        return answer
    local = reset_time(failure.message, now, time.localtime(now).tm_gmtoff)
    return replace(answer, failure=replace(failure, reset_at=local))
