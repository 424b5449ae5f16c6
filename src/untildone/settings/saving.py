"""Writes settings files, and hides the secrets in settings that are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.settings import toml_file
from untildone.settings.declared import PROFILE_SETTINGS, SETTINGS
from untildone.settings.loading import read, validated
from untildone.settings.setting import Setting

HIDDEN = "…"
"""Stands for a secret wherever settings are shown."""
_HIDDEN_STORE = f"postgres://{HIDDEN}"
"""The address of a database may hold a password. This is still an address to code that checks it."""


def save(path: Path, values: Mapping[str, Any]) -> None:
    """Makes a settings file hold exactly these values, and keeps its comments. A hidden value stays as the file has it."""
    from untildone.system import disk, trust

    whole = _revealed(values, read(path) if path.exists() else {})
    validated(whole, "")
    with disk.as_store_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    disk.replace_file(path, toml_file.edited(before, _named_as_in(before, whole)).encode())
    trust.accept(path)


def hidden(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without secrets and without the variables of agents."""
    shown = dict(values)
    for secret, instead in (("notify_secret", HIDDEN), ("store", _HIDDEN_STORE)):
        if shown.get(secret):
            shown[secret] = instead
    if shown.get("notify_webhook"):
        shown["notify_webhook"] = _hidden_address(shown["notify_webhook"])
    if shown.get("notify_apprise"):
        shown["notify_apprise"] = [HIDDEN for _ in shown["notify_apprise"]]
    if "profiles" in shown:
        shown["profiles"] = {
            name: {**profile, "env": dict.fromkeys(profile["env"], HIDDEN)} if profile.get("env") else profile
            for name, profile in shown["profiles"].items()
        }
    return shown


def _hidden_address(address: str) -> str:
    """The host of an address. The path of a webhook is a secret: with it, any program can post there."""
    host = re.match(r"https?://(?:[^/?#]*@)?([^/?#@]+)", address)
    return f"{address.partition(':')[0]}://{host[1]}/{HIDDEN}" if host else HIDDEN


def _is_hidden(value: object) -> bool:
    is_address = isinstance(value, str) and re.fullmatch(rf"https?://[^/?#]+/{HIDDEN}", value) is not None
    return is_address or value in (HIDDEN, _HIDDEN_STORE)


def _revealed(values: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The values with each hidden one replaced by the one in `before`, or left out if that has none."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        old = before.get(name)
        if isinstance(value, Mapping):
            result[name] = _revealed(value, old if isinstance(old, Mapping) else {})
        elif isinstance(value, list) and HIDDEN in value:
            result[name] = _revealed_list(value, old if isinstance(old, list) else [])
        elif not _is_hidden(value):
            result[name] = value
        elif old is not None:
            result[name] = old
    return result


def _revealed_list(values: list[Any], before: list[Any]) -> list[Any]:
    """The values with the hidden ones replaced by those of `before`, in their order."""
    kept = iter(before)
    revealed = [next(kept, None) if value == HIDDEN else value for value in values]
    return [value for value in revealed if value is not None]


def _named_as_in(text: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values under the names that the file uses, where a setting has several."""
    import tomllib

    present = tomllib.loads(text)
    profiles = present.get("profiles", {})
    result = _renamed(values, present, SETTINGS)
    if "profiles" in result:
        result["profiles"] = {
            name: _renamed(profile, profiles.get(name, {}), PROFILE_SETTINGS)
            for name, profile in result["profiles"].items()
        }
    return result


def _renamed(values: Mapping[str, Any], present: Mapping[str, Any], declared: Mapping[str, Setting]) -> dict[str, Any]:
    names = {each.name: alias for each in declared.values() for alias in each.aliases if alias in present}
    return {names.get(name, name): value for name, value in values.items()}
