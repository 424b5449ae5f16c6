"""Driving a loop in this process: the engine, and what it needs."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.kinds import Host
from untildone.engine import notify, turns
from untildone.engine.engine import Engine
from untildone.engine.notify import NotifySettings
from untildone.engine.surroundings import Surroundings
from untildone.engine.usage_limits import SharedLimits, default_folder
from untildone.operations import known_secrets
from untildone.settings import Settings
from untildone.system.adoption import Adoption
from untildone.system.guard import Guard

__all__ = ["Engine", "Surroundings", "notifications", "surroundings"]


def surroundings(
    environment: Mapping[str, str],
    chosen: Settings,
    guard: Guard | None = None,
    host: Host = Host.TERMINAL,
    *,
    drives_one: bool = False,
) -> Surroundings:
    """What all runners of one process share. `drives_one`: this process drives one loop and nothing else.

    With loops in Postgres, agents and checks do not get the variables of its client, such as PGPASSWORD; a profile may set them."""
    notify_settings = notifications(chosen)
    return Surroundings(
        environment=turns.without_database(environment) if chosen.store else environment,
        redactor=known_secrets.redactor(environment, chosen),
        guard=guard or Guard(),
        limits=SharedLimits(default_folder()),
        profile_environment=lambda name: chosen.profiles[name].env if name in chosen.profiles else {},
        host=host,
        adoption=Adoption() if drives_one else None,
        on_rest=lambda loop: notify.send(notify_settings, loop, environment),
    )


def notifications(chosen: Settings) -> NotifySettings:
    """How to notify people when a loop comes to rest."""
    return NotifySettings(chosen.notify_command, chosen.notify_webhook, chosen.notify_secret, chosen.notify_desktop)
