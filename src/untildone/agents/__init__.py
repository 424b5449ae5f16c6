"""The agents, one pure package each: this folder is the registry, plugins add to it.

The stop hook imports `untildone.agents.<name>`: a package's `__init__` imports its parts only when they are used.
"""

from __future__ import annotations

from untildone.core.errors import UsageError
from untildone.core.plugins.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.model import AgentChoice
    from untildone.core.plugins.agent import Agent
    from untildone.core.plugins.hook import HookSide

DEFAULT = "claude"
"""The agent that works if none is named."""

_REGISTRY: Registry[Agent] = Registry("agent", "untildone.core.plugins.agent:Agent")
find = _REGISTRY.find
own_names = _REGISTRY.own_names


def find_with(name: str, program: str) -> Agent:
    """The agent called `name`, with another program than its own; empty: with its own."""
    agent = find(name)
    if not program or program == agent.program:
        return agent
    from untildone.agents._programs import with_program

    return with_program(agent, program)


def of(choice: AgentChoice) -> Agent:
    """The agent of a role, with the program that its profile names."""
    return find_with(choice.agent, choice.program)


def names() -> tuple[str, ...]:
    """The names in the folder, those of known variants and those of installed plugins, sorted."""
    variants = (variant for name in own_names() for variant in _REGISTRY.variants(name))
    return tuple(sorted({*_REGISTRY.names(), *variants}))


def exists(name: str) -> bool:
    """Whether a name means an agent, and not a model, which may contain a colon too."""
    package = name.partition(":")[0]
    return name in names() or (package in own_names() and bool(_REGISTRY.variants(package)))


def hook_of(name: str) -> HookSide:
    """How the agent calls its stop hook. Raises UsageError if it has none."""
    hook = find(name).hook
    if hook is None:
        raise UsageError(
            f"{name} has no hook that is asked before it stops.", f"choose one of: {', '.join(hooked_names())}"
        )
    return hook


def steering_files() -> tuple[str, ...]:
    """Files of a workspace that steer any of the agents: programs read each other's."""
    return tuple(sorted({name for agent in own_names() for name in find(agent).steering_files}))


def steers(path: str, names: tuple[str, ...]) -> bool:
    """Whether a path is one of these files, or lies in one of these folders, at any depth."""
    inside = f"/{path}/".casefold()
    return any(inside.find(f"/{name.rstrip('/')}/".casefold()) >= 0 for name in names)


def hooked_names() -> tuple[str, ...]:
    """The agents of this folder that have a stop hook, sorted."""
    return tuple(name for name in own_names() if find(name).hook is not None)
