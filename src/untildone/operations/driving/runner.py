"""Driving a loop in this process: the engine, and what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from untildone.core.kinds import Host
from untildone.core.notices import NoticeKind
from untildone.core.prices import PUBLISHED
from untildone.engine import environments
from untildone.engine.engine import Engine
from untildone.engine.notices.notify import NotifySettings, check_packages
from untildone.engine.notices.telling import OutboxNotifier
from untildone.engine.process_hands import ProcessHands
from untildone.engine.surroundings import Surroundings
from untildone.engine.usage_limits import SharedLimits, default_folder
from untildone.operations.creating import known_secrets
from untildone.settings import Settings
from untildone.system.adoption import Adoption
from untildone.system.guard import Guard

__all__ = ["Engine", "Surroundings", "notifications", "surroundings"]

TELL_WITHIN = 15.0
"""Seconds that a runner waits at its end for notifications; the next one sends the rest."""


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
    redactor = known_secrets.redactor(environment, chosen)
    return Surroundings(
        environment=environments.without_database(environment) if chosen.store else environment,
        redactor=redactor,
        guard=guard or Guard(),
        limits=SharedLimits(default_folder()),
        profile_environment=lambda name: chosen.profiles[name].env if name in chosen.profiles else {},
        pass_env=chosen.pass_env,
        host=host,
        adoption=Adoption() if drives_one else None,
        prices=PUBLISHED.changed(chosen.prices),
        notifier=OutboxNotifier(notifications(chosen), environment, redactor),
        children=_children,
    )


def _children(engine: Engine, hands: ProcessHands) -> AbstractContextManager[None]:
    """What lets an agent start loops; most loops have none."""
    if not hands.loop.settings.children and not hands.loop.children:
        return nullcontext()
    from untildone.operations.driving import children

    return children.serving(engine, hands)


def notifications(chosen: Settings) -> NotifySettings:
    """How to notify people. MissingPackage if that needs a package that is not installed."""
    made = NotifySettings(
        command=chosen.notify_command,
        webhook=chosen.notify_webhook,
        secret=chosen.notify_secret,
        desktop=chosen.notify_desktop,
        apprise=chosen.notify_apprise,
        events=frozenset(map(NoticeKind, chosen.notify_events)),
        templates=chosen.notify_templates,
        url=chosen.dashboard_url,
        reply_hours=chosen.reply_hours,
    )
    check_packages(made)
    return made
