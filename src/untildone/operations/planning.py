"""From settings to a loop: what was chosen becomes what the loop keeps, and what its runner brings along."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from untildone import agents, modes, settings
from untildone.core import rounds
from untildone.core.agent import Agent
from untildone.core.agent_io import Request
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.events import LoopCreated
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings, Permissions, Role
from untildone.core.secrets import Redactor
from untildone.core.value import replace
from untildone.engine import archiving, notify
from untildone.engine.surroundings import Surroundings
from untildone.engine.usage_limits import SharedLimits, default_folder
from untildone.settings import Settings, guidance
from untildone.store import Store, layout, places
from untildone.store.files import FileStore
from untildone.system import disk
from untildone.system.guard import Guard
from untildone.workspace.worktrees import create_worktree

if TYPE_CHECKING:
    from untildone.hosts.cluster.client import Cluster

TITLE_LENGTH = 100


def surroundings(
    environment: Mapping[str, str], chosen: Settings, guard: Guard | None = None, host: Host = Host.TERMINAL
) -> Surroundings:
    """What runners bring along, for one process."""
    redactor = Redactor.from_environment({**environment, **_secrets_of(chosen)})
    wishes = notifications(chosen)
    return Surroundings(
        environment=environment,
        redactor=redactor,
        guard=guard or Guard(),
        limits=SharedLimits(default_folder()),
        profile_environment=lambda name: chosen.profiles[name].env if name in chosen.profiles else {},
        host=host,
        on_rest=lambda loop: notify.tell(wishes, loop, environment),
    )


def notifications(chosen: Settings) -> notify.Wishes:
    """Whom to tell how a loop came to rest."""
    return notify.Wishes(chosen.notify_command, chosen.notify_webhook, chosen.notify_secret, chosen.notify_desktop)


def _secrets_of(chosen: Settings) -> dict[str, str]:
    """What the settings files hold that may be a secret, as variables."""
    variables = {name: value for profile in chosen.profiles.values() for name, value in profile.env.items()}
    return {**variables, **({places.VARIABLE: chosen.store} if chosen.store else {})}


def create(
    store: Store,
    task: str,
    chosen: Settings,
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    *,
    tidies: bool = True,
    hook_session: str = "",
    reviewed: bool | None = None,
    host: Host = Host.NONE,
) -> Loop:
    """A new loop, not started yet. Everything that cannot work is said now, before anything is written.

    `hook_session` is the id of the person's own session that it begins in. `reviewed` overrules the mode's choice whether a
    supervisor reviews. `host` is the kind of host that will drive it, if known: a cluster has its agents and folders elsewhere.
    """
    words = opening(task, chosen, folder)
    in_cluster = host is Host.CLUSTER
    if not in_cluster and not os.access(folder, os.W_OK):
        raise UsageError(f"The folder {folder} cannot be written.", "choose another with --dir")
    if tidies:
        archiving.recover(store, *store.live_ids())
    loop_id = new_id(time.time())
    elsewhere = tuple(Role) if in_cluster else (Role.WORKER,) if hook_session else ()
    wanted = loop_settings(chosen, str(folder), environment, elsewhere=elsewhere, reviewed=reviewed)
    wanted = replace(wanted, hook_session=hook_session)
    if in_cluster:
        wanted = _for_cluster(wanted, chosen, store)
    if wanted.worktree:
        place = create_worktree(str(folder), loop_id, _worktrees(folder) / loop_id)
        wanted = replace(wanted, workspace=place)
    title = _shortened(" ".join(words.rest.split()))
    budget = replace(loop_budget(chosen, folder), iterations=words.remaining)
    return store.create(LoopCreated(loop_id, title, words.rest, wanted, budget))


def _for_cluster(wanted: LoopSettings, chosen: Settings, store: Store) -> LoopSettings:
    from untildone.hosts.cluster import ownership, reading

    if isinstance(store, FileStore):
        raise UsageError("A cluster keeps its loops in Postgres.", "name the database with --store")
    if wanted.worktree or wanted.interactive:
        what = "--worktree" if wanted.worktree else "--interactive"
        raise UsageError(f"{what} makes no sense in a cluster.", "leave it out")
    remote = ownership.checked_remote(chosen.remote or reading.remote_of(wanted.workspace))
    return replace(wanted, remote=remote, branch=chosen.branch and ownership.checked_branch(chosen.branch))


def cluster(folder: Path, environment: Mapping[str, str] = os.environ) -> Cluster:
    """The way to the cluster that the settings name."""
    from untildone.hosts.cluster.client import cluster_at
    from untildone.hosts.cluster.options import options

    return cluster_at(options(settings.load(folder, {}, environment).cluster, {}).access)


def _shortened(title: str) -> str:
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"


def _worktrees(folder: Path) -> Path:
    root = folder / layout.FOLDER
    with disk.told_as_sentence(root):
        layout.prepare(root)
    return root / "worktrees"


def opening(task: str, chosen: Settings, folder: Path) -> rounds.Parsed:
    """The task without the round controls at its start, and what these came to."""
    words = rounds.parse(task, loop_budget(chosen, folder).iterations)
    if not words.rest.strip():
        sentence = f"{rounds.NO_INSTRUCTION}." if words.changes else "The task is empty."
        raise UsageError(sentence, "say what is to be done, in quotes")
    return words


def new_id(now: float) -> str:
    at = datetime.fromtimestamp(now, UTC)
    return f"loop-{at:%Y%m%d-%H%M%S}{at.microsecond // 1000:03d}-{secrets.token_hex(3)}"


def loop_settings(
    chosen: Settings,
    folder: str,
    environment: Mapping[str, str] = os.environ,
    *,
    elsewhere: Collection[Role] = (),
    reviewed: bool | None = None,
) -> LoopSettings:
    """What was chosen, as the loop keeps it. The agents of roles that are `elsewhere` need not be on PATH here."""
    worker = _choice(chosen, chosen.agent, environment, own=True, checked=Role.WORKER not in elsewhere)
    here = Role.SUPERVISOR not in elsewhere
    reviewed = chosen.review or modes.find(chosen.mode).reviewed if reviewed is None else reviewed
    return LoopSettings(
        mode=chosen.mode,
        worker=worker,
        workspace=folder,
        instructor=_other(chosen, chosen.instructor, environment, checked=here),
        supervisor=_other(chosen, chosen.supervisor, environment, checked=here),
        fallback=_other(chosen, chosen.fallback_agent, environment, checked=here),
        checks=chosen.checks,
        check_timeout=chosen.check_timeout,
        review=reviewed,
        require_change=chosen.require_change,
        promise=_wanted(chosen, "promise", settings.profile(chosen, chosen.agent).completion_promise) or None,
        marker=chosen.marker,
        context=chosen.context,
        interactive=chosen.interactive,
        once=not _loops(chosen),
        worktree=chosen.worktree,
        commit=chosen.commit,
        group=chosen.group,
        retry_delay=chosen.retry_delay,
        warn_from=_skillpack(chosen, Path(folder)).get("warning_threshold"),
        supervisor_prompt=guidance.supervisor_text(Path(folder), environment) if reviewed else "",
        options=_options(chosen, Path(folder)),
    )


def _options(chosen: Settings, folder: Path) -> dict[str, Any]:
    """The options of the mode, read now so that the loop stays what it was created as."""
    options: dict[str, Any] = {"route": chosen.route, "review_threshold": chosen.review_threshold}
    options["actions"] = guidance.action_texts(folder)
    return {**options, "skillpack": _skillpack(chosen, folder)}


def _skillpack(chosen: Settings, folder: Path) -> dict[str, int]:
    """The `loop` block of `.skillpackrc`, which is for loops in phases."""
    return guidance.skillpack_loop(folder) if chosen.mode == "phases" else {}


def _wanted(chosen: Settings, name: str, own: Any) -> Any:
    """What was said for this run, else what the profile of the agent says (`own`), else what the files say."""
    return getattr(chosen, name) if own is None or chosen.insists_on(name) else own


def _loops(chosen: Settings) -> bool:
    own = settings.profile(chosen, chosen.agent).loop_enabled
    return chosen.loop_enabled and (own is not False or chosen.insists_on("loop_enabled"))


def loop_budget(chosen: Settings, folder: Path) -> Budget:
    """What was said with flags, in settings or in `.skillpackrc`; else what the mode usually takes."""
    minutes = _skillpack(chosen, folder).get("timeout_per_iteration_minutes")
    usual = minutes * 60.0 if minutes else modes.find(chosen.mode).default_iteration_timeout
    said = Budget(**{limit.row.field: getattr(chosen, limit.row.setting) for limit in Limit})
    iterations = _iterations(chosen, folder)
    return replace(said, iterations=iterations, iteration_timeout=said.iteration_timeout or usual)


def _iterations(chosen: Settings, folder: Path) -> int | None:
    if not _loops(chosen):
        return 1
    wanted = _wanted(chosen, "max_iterations", settings.profile(chosen, chosen.agent).max_iterations)
    if wanted == "none":
        return None
    usual = modes.find(chosen.mode).default_iterations
    return wanted or _skillpack(chosen, folder).get("max_iterations") or usual


def _other(chosen: Settings, name: str | None, environment: Mapping[str, str], *, checked: bool) -> AgentChoice | None:
    return None if name is None else _choice(chosen, name, environment, own=False, checked=checked)


def _choice(chosen: Settings, name: str, environment: Mapping[str, str], *, own: bool, checked: bool) -> AgentChoice:
    """The agent behind a name. Model, arguments and command of the settings are the worker's."""
    profile = settings.profile(chosen, name)
    said = profile.permissions if "permissions" in profile.model_fields_set else None
    agent = agents.find(profile.agent)
    choice = AgentChoice(
        profile=name,
        agent=profile.agent,
        model=_wanted(chosen, "model", profile.model) if own else profile.model,
        args=(*profile.args, *(chosen.args if own else ())),
        command=_wanted(chosen, "command", profile.command) if own else profile.command,
        permissions=(_wanted(chosen, "permissions", said) if own else said) or Permissions.WORK,
        abilities=tuple(name for name in ("resume", "fork", "system_prompt") if getattr(agent.capabilities, name)),
    )
    if checked:
        _check_program(agent, choice, {**environment, **profile.env})
    return choice


def _check_program(agent: Agent, choice: AgentChoice, environment: Mapping[str, str]) -> None:
    program = agent.invocation(Request(prompt="", command=choice.command)).argv[0]
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise AgentMissing(f"The program '{program}' for agent '{choice.profile}' is not on PATH.", agent.install)
