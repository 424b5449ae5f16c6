"""The secrets that this process knows, and commands that must not contain them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from untildone.core.errors import UsageError
from untildone.core.model import AgentChoice, LoopSettings
from untildone.core.protection.secrets import Redactor
from untildone.settings import Settings
from untildone.store import places

SHORTEST_PART = 12
"""Characters of a part of an address that may be a secret. Shorter ones are words."""
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


def redactor(environment: Mapping[str, str], chosen: Settings) -> Redactor:
    """A redactor for the secrets of the environment and of the settings files."""
    return Redactor.from_environment({**environment, **_of_settings(chosen)})


def _of_settings(chosen: Settings) -> dict[str, str]:
    """Values of the settings files that may be secrets, as environment variables."""
    variables = {name: value for profile in chosen.profiles.values() for name, value in profile.env.items()}
    own = {
        places.VARIABLE: chosen.store,
        "UNTILDONE_NOTIFY_WEBHOOK": chosen.notify_webhook,
        "UNTILDONE_NOTIFY_SECRET": chosen.notify_secret,
        **dict(_of_addresses(chosen.notify_apprise)),
    }
    return {**variables, **{name: value for name, value in own.items() if value}}


def _of_addresses(addresses: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The addresses of apprise, and the parts of each that are long enough to be a token or a password."""
    for number, address in enumerate(addresses, 1):
        yield f"NOTIFY_APPRISE_{number}_WEBHOOK", address
        parts = re.split(r"[/?&=:@]+", address.partition("://")[2])
        secrets = (part for part in parts if len(part) >= SHORTEST_PART and not _HOST.fullmatch(part))
        for place, part in enumerate(secrets, 1):
            yield f"NOTIFY_APPRISE_{number}_{place}_TOKEN", part


def refuse_in_commands(kept: LoopSettings, known: Redactor) -> None:
    """UsageError if a command of the loop contains a secret: the journal would keep it, and run it, without the secret."""
    for kind, command in _commands(kept):
        if name := known.found_in(command.encode(errors="surrogateescape")):
            raise UsageError(
                f"The {kind} contains the value of {name}, a secret, which untildone does not write down.",
                f"write '${name}' in single quotes, so that the shell of the check puts it in, and --pass-env {name}"
                if kind == "check"
                else f"let the program read {name} from its environment, and --pass-env {name} if it does not get it",
            )


def _agents(kept: LoopSettings) -> tuple[AgentChoice | None, ...]:
    return (kept.worker, kept.instructor, kept.supervisor, kept.acceptance, kept.fallback, *kept.escalate)


def _commands(kept: LoopSettings) -> Iterator[tuple[str, str]]:
    for check in kept.checks:
        yield "check", check
    for argument in kept.gates.values():
        yield "argument of a gate", argument
    for agent in filter(None, _agents(kept)):
        for words in (agent.command or "", *agent.args):
            yield "command of an agent", words
