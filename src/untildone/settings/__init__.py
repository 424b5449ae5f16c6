"""Settings: defaults, configuration files, environment and flags become one frozen value. The one schema is here."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from untildone import agents, modes
from untildone.core.errors import UnknownName, UsageError
from untildone.core.limits import Limit
from untildone.core.model import Context, Permissions
from untildone.settings import toml_file
from untildone.store import places
from untildone.system import disk

PROJECT_FILE = places.PROJECT_FILE
PREFIX = "UNTILDONE_"
HIDDEN = "…"
"""Stands for a secret wherever settings are shown."""
_HIDDEN_STORE = f"postgres://{HIDDEN}"
"""For the address of a database, which may hold a password: still one to those who check."""
_FROZEN = ConfigDict(frozen=True, extra="forbid")


def _as_text(value: Any) -> Any:
    """A number in a table of texts."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _runs_something(check: str) -> str:
    """A shell is content with nothing: such a check would pass, and prove nothing."""
    if all(line.strip().strip("\\")[:1] in ("", "#") for line in check.split("\n")):
        raise ValueError(f"the check {check[:60]!r} runs nothing, so it would prove nothing")
    return check


class AgentProfile(BaseModel):
    """A name of yours for an agent with its model, arguments and environment."""

    model_config = _FROZEN
    agent: str = Field(
        title="Agent", description="The agent program: claude, codex, copilot, gemini, opencode, command, scripted"
    )
    model: str | None = Field(None, title="Model", description="Handed to the agent as it is")
    args: tuple[str, ...] = Field((), title="Arguments", description="More arguments for the agent, as they are")
    env: dict[str, str] = Field({}, title="Environment", description="Variables that the agent runs with")
    command: str | None = Field(
        None, title="Command", description="For the agent `command`: the program and its arguments"
    )
    permissions: Permissions = Field(
        Permissions.WORK, title="Permissions", description="How freely the agent may act unattended"
    )
    loop_enabled: bool | None = Field(
        None, title="Enable Loop", description="Enable automatic loop until task completion"
    )
    max_iterations: int | None = Field(
        None, ge=1, le=100, title="Max Iterations", description="Maximum number of loop iterations (default: 5)"
    )
    completion_promise: str | None = Field(
        None,
        title="Completion Promise",
        description="Exact string that signals task completion (e.g., '<promise>COMPLETE</promise>')",
    )


class Settings(BaseModel):
    """Everything a loop can be told when it is created."""

    model_config = _FROZEN
    mode: str = Field("ralph", title="Mode", description="How the next prompt is chosen")
    route: Literal["direct", "planned", "ralph", "architect", "ui_flow", "auto"] = Field(
        "auto", title="Route", description="For the mode `phases`: which phases"
    )
    agent: str = Field("claude", title="Agent", description="The worker: an agent or one of your profiles")
    command: str | None = Field(
        None, min_length=1, title="Command", description="For --agent command: prompt on stdin, answer on stdout"
    )
    model: str | None = Field(None, title="Model", description="Handed to the agent as it is")
    args: tuple[str, ...] = Field((), title="Arguments", description="More arguments for the agent, as they are")
    instructor: str | None = Field(None, title="Instructor", description="Another agent for the role of instructor")
    supervisor: str | None = Field(None, title="Supervisor", description="Another agent for the role of supervisor")
    fallback_agent: str | None = Field(
        None, title="Fallback", description="Carries on while the worker is at its usage limit"
    )
    permissions: Permissions | None = Field(
        None, title="Permissions", description="How freely the agent may act unattended"
    )
    checks: tuple[Annotated[str, AfterValidator(_runs_something)], ...] = Field(
        (), title="Checks", description="Commands that must pass before a claim is believed"
    )
    check_timeout: float = Field(
        600.0, gt=0, allow_inf_nan=False, title="Check timeout", description="Seconds that a check may take"
    )
    review: bool = Field(
        default=False, title="Review", description="A supervisor must agree before a claim is believed"
    )
    review_threshold: int = Field(
        80,
        ge=0,
        le=100,
        title="Review threshold",
        description="For the mode `phases`: the score that a review must reach",
    )
    require_change: bool = Field(
        default=False, title="Require change", description="A claim with nothing changed is not believed"
    )
    loop_enabled: bool = Field(
        default=True, title="Enable Loop", description="Enable automatic loop until task completion"
    )
    max_iterations: int | Literal["none"] | None = Field(
        None, title="Max Iterations", description="Maximum number of loop iterations; none: no limit"
    )
    max_minutes: float | None = Field(
        None,
        gt=0,
        le=Limit.MINUTES.row.most,
        allow_inf_nan=False,
        title="Max minutes",
        description="Minutes of work, all iterations together",
    )
    max_cost: float | None = Field(
        None,
        gt=0,
        le=Limit.COST.row.most,
        allow_inf_nan=False,
        title="Max cost",
        description="Dollars, as far as the agent tells them",
    )
    max_tokens: int | None = Field(
        None, gt=0, le=Limit.TOKENS.row.most, title="Max tokens", description="Tokens, as far as the agent tells them"
    )
    iteration_timeout: float | None = Field(
        None,
        gt=0,
        le=Limit.ITERATION_TIMEOUT.row.most,
        allow_inf_nan=False,
        title="Iteration timeout",
        description="Seconds that an iteration may take",
    )
    promise: str | None = Field(
        "<promise>COMPLETE</promise>",
        title="Completion Promise",
        description="Exact string that signals task completion; empty: rely only on max iterations",
    )
    marker: str = Field(
        "[TASK_COMPLETED]",
        min_length=1,
        title="Marker",
        description="Alone on a line, it is the supervisor's agreement",
    )
    context: Context = Field(
        Context.CONTINUE, title="Context", description="Follow up in the same session, or a fresh one each time"
    )
    interactive: bool = Field(default=False, title="Interactive", description="Ask the person between steps")
    worktree: bool = Field(default=False, title="Worktree", description="Work in a git worktree of its own")
    commit: bool = Field(default=False, title="Commit", description="A commit after each iteration")
    remote: str | None = Field(
        None,
        min_length=1,
        title="Remote",
        description="For a cluster: the git remote that the work comes from and goes to; not set: origin of the folder",
    )
    branch: str | None = Field(
        None,
        min_length=1,
        title="Branch",
        description="For a cluster: the branch that the work is published on; not set: one of the loop's own",
    )
    group: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$",
        title="Group",
        description="Loops of one group share a total of dollars and of loops at once; needs loops in Postgres",
    )
    retry_delay: float = Field(
        2.0, ge=0, title="Retry delay", description="Seconds before a failed turn is tried again"
    )
    notify_command: tuple[str, ...] = Field(
        (), title="Notify by command", description="Program and arguments, run when a loop comes to rest; no shell"
    )
    notify_webhook: str | None = Field(
        None,
        pattern=r"^https?://[^\s]+$",
        title="Notify by webhook",
        description="Where the outcome is posted as JSON when a loop comes to rest",
    )
    notify_secret: str | None = Field(
        None,
        min_length=1,
        title="Webhook secret",
        description="Signs what is posted: X-Untildone-Signature is the HMAC-SHA256 of the body",
    )
    notify_desktop: bool = Field(
        default=False,
        title="Notify on the desktop",
        description="A notification of the desktop when a loop comes to rest",
    )
    store: str | None = Field(
        None,
        pattern=r"^(postgres(ql)?://[^\s]+)?$",
        title="Store",
        description="The Postgres database that keeps the loops, as postgres://user@host/database; none: files",
    )
    cluster: dict[str, Annotated[str, BeforeValidator(_as_text)]] = Field(
        {},
        title="Cluster",
        description="Where Temporal is, and how this machine works for it: temporal, queue, slots, …",
    )
    profiles: dict[str, AgentProfile] = Field({}, title="Profiles", description="Your own names for agents")
    _insisted: frozenset[str] = PrivateAttr(frozenset())

    def insists_on(self, name: str) -> bool:
        """Whether it was said for this very run, with a flag or a variable: that overrules what a profile says."""
        return name in self._insisted

    def insisting_on(self, names: Iterable[str]) -> Settings:
        self._insisted = frozenset(names)
        return self


def schema() -> dict[str, Any]:
    """The JSON Schema of the settings, from which the settings page, the API and the configuration file all come."""
    return Settings.model_json_schema()


def load(workspace: Path, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Settings:
    """Later words win: defaults, the person's file, the project's file, the agent's profile, the environment, flags."""
    merged: dict[str, Any] = {}
    for path in files(workspace, environment):
        merged = _merge(merged, _from_file(path))
    for_this_run = _merge(
        _from_environment(environment), {name: value for name, value in flags.items() if value is not None}
    )
    return _validated(_merge(merged, for_this_run), "").insisting_on(for_this_run)


def files(workspace: Path, environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Where settings are read from: the person's own file, then the project's."""
    return places.settings_files(workspace, environment)


def said_in(path: Path) -> dict[str, Any]:
    """What one settings file says; nothing if it is not there."""
    return _from_file(path)


def save(path: Path, values: Mapping[str, Any]) -> None:
    """Make a settings file say exactly this, and keep its comments. What is hidden in `values` stays as the file had it."""
    whole = _revealed(values, _from_file(path) if path.exists() else {})
    _validated(whole, "")
    with disk.as_store_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    disk.replace_file(path, toml_file.edited(before, whole).encode())


def hidden(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for other eyes: without secrets and the variables of agents."""
    told = dict(values)
    for secret, shown in (("notify_secret", HIDDEN), ("store", _HIDDEN_STORE)):
        if told.get(secret):
            told[secret] = shown
    if "profiles" in told:
        told["profiles"] = {
            name: {**profile, "env": dict.fromkeys(profile["env"], HIDDEN)} if profile.get("env") else profile
            for name, profile in told["profiles"].items()
        }
    return told


def _revealed(values: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What is hidden, as it was before; what was not there before is gone."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        old = before.get(name)
        if isinstance(value, Mapping):
            found[name] = _revealed(value, old if isinstance(old, Mapping) else {})
        elif value not in (HIDDEN, _HIDDEN_STORE):
            found[name] = value
        elif old is not None:
            found[name] = old
    return found


def _from_file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(f"Cannot read the settings in {path}: {problem}.", "fix or delete the file") from None
    _validated(found, f" in {path}")
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    named = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and not name.startswith(f"{PREFIX}MARK_")
    }
    return {name: _read_variable(name, value) for name, value in named.items() if name in Settings.model_fields}


def _read_variable(name: str, value: str) -> Any:
    """Lists and tables as JSON; a list of one may be the bare word; empty means none."""
    if name not in ("checks", "args", "notify_command", "cluster", "profiles"):
        return value if value else None
    if not value and name in ("cluster", "profiles"):
        return {}
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return [value] if value else []


def _merge(old: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    both = ((name, old.get(name), new.get(name)) for name in ("profiles", "cluster"))
    tables = {
        name: {**mine, **theirs} for name, mine, theirs in both if isinstance(mine, dict) and isinstance(theirs, dict)
    }
    return {**old, **new, **tables}


def _validated(values: Mapping[str, Any], where: str) -> Settings:
    try:
        settings = Settings.model_validate(values)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(str(part) for part in first["loc"] if part not in ("int", "literal['none']"))
        raise UsageError(
            f"Setting '{field[:200]}'{where}: {first['msg'].removeprefix('Value error, ')}.",
            "`untildone config --schema` lists what is allowed",
        ) from None
    _check_iterations(settings, where)
    modes.find(settings.mode)
    return settings


def _check_iterations(settings: Settings, where: str) -> None:
    most = settings.max_iterations
    if isinstance(most, int) and not 1 <= most <= Limit.ITERATIONS.row.most:
        raise UsageError(
            f"Setting 'max_iterations'{where}: {most} is not a number of iterations.",
            f"give a whole number from 1 to {Limit.ITERATIONS.row.most:,}, or none",
        )


def profile(settings: Settings, name: str) -> AgentProfile:
    """The profile of that name; an agent's own name is a profile with nothing set."""
    found = settings.profiles.get(name)
    if found is not None:
        agents.find(found.agent)
        return found
    try:
        agents.find(name)
    except UnknownName:
        known = ", ".join((*agents.names(), *settings.profiles))
        raise UsageError(f"There is no agent or profile named '{name}'.", f"choose one of: {known}") from None
    return AgentProfile.model_validate({"agent": name})
