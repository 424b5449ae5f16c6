"""Settings: each is declared once, and files, environment and flags become one frozen value.

Importing this loads the standard library only; pydantic and tomlkit are loaded when values are checked or saved.
"""

from untildone.settings.declared import PROFILE_SETTINGS, AgentProfile, Settings, as_json, every
from untildone.settings.loading import files, load, profile, read
from untildone.settings.saving import HIDDEN, hidden, save
from untildone.settings.setting import PREFIX

__all__ = [
    "HIDDEN",
    "PREFIX",
    "PROFILE_SETTINGS",
    "AgentProfile",
    "Settings",
    "as_json",
    "every",
    "files",
    "hidden",
    "load",
    "profile",
    "read",
    "save",
]
