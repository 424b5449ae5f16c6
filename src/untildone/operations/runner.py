"""Driving a loop in this process: the engine, and what it needs."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.kinds import Host
from untildone.core.secrets import Redactor
from untildone.engine import notify
from untildone.engine.engine import Engine
from untildone.engine.notify import NotifySettings
from untildone.engine.surroundings import Surroundings
from untildone.engine.usage_limits import SharedLimits, default_folder
from untildone.settings import Settings
from untildone.store import places
from untildone.system.guard import Guard

__all__ = ["Engine", "Surroundings", "notifications", "surroundings"]


def surroundings(
    environment: Mapping[str, str], chosen: Settings, guard: Guard | None = None, host: Host = Host.TERMINAL
) -> Surroundings:
    """What all runners of one process share."""
    redactor = Redactor.from_environment({**environment, **_secrets_of(chosen)})
    notify_settings = notifications(chosen)
    return Surroundings(
        environment=environment,
        redactor=redactor,
        guard=guard or Guard(),
        limits=SharedLimits(default_folder()),
        profile_environment=lambda name: chosen.profiles[name].env if name in chosen.profiles else {},
        host=host,
        on_rest=lambda loop: notify.send(notify_settings, loop, environment),
    )


def notifications(chosen: Settings) -> NotifySettings:
    """How to notify people when a loop comes to rest."""
    return NotifySettings(chosen.notify_command, chosen.notify_webhook, chosen.notify_secret, chosen.notify_desktop)


def _secrets_of(chosen: Settings) -> dict[str, str]:
    """Values of the settings files that may be secrets, as environment variables."""
    variables = {name: value for profile in chosen.profiles.values() for name, value in profile.env.items()}
    return {**variables, **({places.VARIABLE: chosen.store} if chosen.store else {})}
