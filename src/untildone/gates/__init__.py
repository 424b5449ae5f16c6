"""The gates, one pure package each: this folder is the registry, plugins add to it."""

from __future__ import annotations

from untildone.core.gate import Gate
from untildone.core.model import GateResult, LoopSettings
from untildone.core.registry import Registry

_REGISTRY: Registry[Gate] = Registry("gate", Gate)
find = _REGISTRY.find
names = _REGISTRY.names
own_names = _REGISTRY.own_names


def gates_of(settings: LoopSettings) -> tuple[Gate, ...]:
    """The gates of this folder and the plugins that the loop names. UsageError if a plugin cannot be loaded."""
    return tuple(find(name) for name in (*own_names(), *settings.gates))


def failure_report(results: tuple[GateResult, ...]) -> str:
    """The part of the next prompt about the gates that failed; empty if none did."""
    if all(result.passed for result in results):
        return ""
    from untildone.gates import _report

    return _report.report(results)
