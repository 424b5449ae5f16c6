"""The modes, one pure file each: this folder is the registry, plugins add to it."""

from __future__ import annotations

from untildone.core.mode import Mode
from untildone.core.registry import Registry

_REGISTRY: Registry[Mode] = Registry("mode", Mode)
find = _REGISTRY.find
names = _REGISTRY.names
own_names = _REGISTRY.own_names
