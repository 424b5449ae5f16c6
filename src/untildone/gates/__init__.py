"""The gates, one pure package each: this folder is the registry, plugins add to it."""

from __future__ import annotations

from untildone.core.errors import UsageError
from untildone.core.plugins.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.loop import Loop
    from untildone.core.model import LoopSettings
    from untildone.core.plugins.gate import Gate
    from untildone.core.plugins.option import Option

_REGISTRY: Registry[Gate] = Registry("gate", "untildone.core.plugins.gate:Gate")
find = _REGISTRY.find
names = _REGISTRY.names
own_names = _REGISTRY.own_names


def gates_of(settings: LoopSettings) -> tuple[Gate, ...]:
    """The gates of this folder and the plugins that the loop names. UsageError if a plugin cannot be loaded.

    Results are matched by the gate's name, so a plugin that takes the name of another gate would answer for it: refused.
    """
    gates = tuple(find(name) for name in (*own_names(), *settings.gates))
    known: set[str] = set()
    for gate in gates:
        if gate.name in known:
            raise UsageError(f"Two gates are named '{gate.name}'.", "leave one of them out of --gate, or rename it")
        known.add(gate.name)
    return gates


def options() -> tuple[Option, ...]:
    """Every option of a gate of this folder. A gate of a plugin has an argument instead."""
    return tuple(option for name in own_names() for option in find(name).declared_options)


def gate_of(settings: LoopSettings, name: str) -> Gate | None:
    """The gate that calls itself `name`; a plugin given as `module:NAME` is not found by that name in the registry."""
    return next((gate for gate in gates_of(settings) if gate.name == name), None)


def failure_report(loop: Loop) -> str:
    """The part of the next prompt about the gates that failed; empty if none did."""
    if not loop.failed_gates:
        return ""
    from untildone.gates import _report

    return _report.report(loop.failed_gates, lambda name: gate_of(loop.settings, name))
