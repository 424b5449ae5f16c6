"""The clean environment and the configuration files with which a real agent talks to a scripted model API."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.testing.modelapi.routing import MODEL
from untildone.testing.modelapi.steps import Json

KEY = "test-key"
SUBSCRIBER_TOKEN = "sk-ant-oat01-scripted-0123456789"
"""A token with the form of a subscriber's, for Claude Code. It is valid nowhere."""
GEMINI_MODEL = "gemini-2.5-flash"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parameters of an environment."""

    url: str
    home: Path
    retries: int
    workspaces: tuple[str, ...]
    package_cache: Path | None
    subscriber: bool


@dataclass(frozen=True, slots=True)
class _Setup:
    """An agent's variables and its configuration file: a text, or settings to merge into the existing file."""

    variables: Mapping[str, str]
    file: str
    content: str | Json


def environment(
    agent: str,
    url: str,
    home: Path,
    *,
    path: str | None = None,
    retries: int = 1,
    workspaces: Sequence[Path] = (),
    package_cache: Path | None = None,
    subscriber: bool = False,
) -> dict[str, str]:
    """The whole environment that `agent` needs to talk to the server at `url`. Writes its settings under `home`.

    `path` is its PATH (by default yours). `retries` limits how often it repeats a failed request, if the agent has such a
    setting. `workspaces` are folders that an interactive agent trusts without asking. `package_cache` is the folder into
    which Copilot unpacks itself (235 MB; by default in each home). `subscriber`: Claude Code takes itself for that of a subscriber, whose
    limits `subscription_limit` plays; others refuse it.
    """
    if agent not in _SETUPS:
        raise UsageError(f"There is no environment for the agent '{agent}'.", f"choose one of: {', '.join(_SETUPS)}")
    if subscriber and agent != "claude":
        raise UsageError(f"{agent} has no subscription that can be played.", "leave subscriber out")
    home = home.resolve()
    trusted = tuple(str(folder.resolve()) for folder in workspaces)
    setup = _SETUPS[agent](_Plan(url.rstrip("/"), home, retries, trusted, package_cache, subscriber))
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    _write(home / setup.file, setup.content)
    return _common(home, path) | dict(setup.variables)


def _common(home: Path, path: str | None) -> dict[str, str]:
    return {
        "PATH": path if path is not None else os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


def _write(file: Path, content: str | Json) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(_merged(_settings(file), content), indent=2)
    file.write_text(text, encoding="utf-8")


def _settings(file: Path) -> Json:
    """The settings that the program has already written to the file."""
    try:
        existing = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return existing if isinstance(existing, dict) else {}


def _merged(existing: Json, ours: Json) -> Json:
    both = {name: _merged(existing[name], ours[name]) for name in ours if _are_settings(existing.get(name), ours[name])}
    return {**existing, **ours, **both}


def _are_settings(*values: object) -> bool:
    return all(isinstance(value, Mapping) for value in values)


def _claude(plan: _Plan) -> _Setup:
    answered = {
        "hasCompletedOnboarding": True,
        "bypassPermissionsModeAccepted": True,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {folder: {"hasTrustDialogAccepted": True} for folder in plan.workspaces},
    }
    variables = {
        "ANTHROPIC_BASE_URL": plan.url,
        **({"CLAUDE_CODE_OAUTH_TOKEN": SUBSCRIBER_TOKEN} if plan.subscriber else {"ANTHROPIC_API_KEY": KEY}),
        "CLAUDE_CODE_MAX_RETRIES": str(plan.retries),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }
    return _Setup(variables, ".claude.json", answered)


def _codex(plan: _Plan) -> _Setup:
    config = f"""\
model = "{MODEL}"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{plan.url}/v1"
env_key = "SCRIPTED_API_KEY"
request_max_retries = {plan.retries}
stream_max_retries = {plan.retries}

[features]
plugins = false
unbounded_connection_retries = false
"""
    trusted = "".join(f'\n[projects.{json.dumps(folder)}]\ntrust_level = "trusted"\n' for folder in plan.workspaces)
    variables = {"SCRIPTED_API_KEY": KEY, "CODEX_HOME": str(plan.home / ".codex")}
    return _Setup(variables, ".codex/config.toml", config + trusted)


def _gemini(plan: _Plan) -> _Setup:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "model": {"name": GEMINI_MODEL},
        "general": {"maxAttempts": plan.retries + 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    variables = {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": plan.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return _Setup(variables, ".gemini/settings.json", settings)


def _copilot(plan: _Plan) -> _Setup:
    variables = {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{plan.url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": MODEL,
    }
    if plan.package_cache is not None:
        variables["COPILOT_PKG_CACHE_HOME"] = str(plan.package_cache.resolve())
    return _Setup(variables, ".copilot/config.json", {"trustedFolders": list(plan.workspaces)})


def _opencode(plan: _Plan) -> _Setup:
    model = {"limit": {"context": 100_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{plan.url}/v1", "apiKey": KEY},
        "models": {MODEL: model},
    }
    config = {
        "model": f"scripted/{MODEL}",
        "small_model": f"scripted/{MODEL}",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": provider},
    }
    variables = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    return _Setup(variables, ".config/opencode/opencode.json", config)


_SETUPS: Mapping[str, Callable[[_Plan], _Setup]] = {
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "opencode": _opencode,
}
