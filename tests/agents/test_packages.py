"""covers: what holds for every agent's package: its parts, what importing it costs, and that no other file names it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.plugins.hook import ALLOW, PROMPT, STOP, HookCall, Reply

SOURCE = Path(agents.__file__).parents[1]
ORDINARY_WORDS = ("acp", "command")
"""Names of agents that are words of their own: faces speak the protocol too."""
EXCEPTIONS = {
    "testing": "fake agents and the services behind them",
    "faces/cli/commands/runs/demo.py": "the demo is played by the agent that needs no account",
    "faces/api/schemas/models.py": "an example of a request that works without an account",
    "core/prices.py": "a table of models, whose names begin like those of agents",
    "core/live_file.py": "the folder of the live state file is part of its format",
}
"""Files and folders outside `agents` that may name an agent, each with the reason."""


def test_no_other_file_names_an_agent() -> None:
    names = re.compile("|".join(name for name in agents.own_names() if name not in ORDINARY_WORDS), re.IGNORECASE)
    others = [path for path in SOURCE.rglob("*.py") if not path.is_relative_to(SOURCE / "agents")]
    naming = {path.relative_to(SOURCE) for path in others if names.search(path.read_text(encoding="utf-8"))}
    assert {str(path) for path in naming if not any(path.is_relative_to(allowed) for allowed in EXCEPTIONS)} == set()


@pytest.mark.parametrize("name", agents.own_names())
def test_an_agent_is_found_by_its_own_name(name: str) -> None:
    agent = agents.find(name)
    assert agent.name == name
    assert agent.install


def test_an_agent_without_a_hook_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match="opencode has no hook that is asked before it stops") as refused:
        agents.hook_of("opencode")
    assert all(name in refused.value.hint for name in agents.hooked_names())


@pytest.mark.parametrize("name", agents.hooked_names())
def test_the_stop_hook_imports_only_the_hook_side(name: str) -> None:
    """Run as the hook is: every further module costs each stop of the agent."""
    look = f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); from untildone import agents"
    code = f"{look}; agents.hook_of({name!r}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    loaded = set(ran.stdout.split())
    own = {module for module in loaded if module.startswith("untildone.agents.")}
    assert own == {f"untildone.agents.{part}" for part in (name, f"{name}.hook", "_hooks")}
    assert not loaded & {"typing", "enum", "re", "json", "importlib.metadata", "pathlib", "untildone.core.model"}


@pytest.mark.parametrize("name", agents.hooked_names())
def test_every_hook_reads_its_events_and_writes_replies(name: str) -> None:
    hook = agents.hook_of(name)
    assert sorted(hook.events.values()) == [PROMPT, STOP]
    for event, kind in hook.events.items():
        fields = {"hook_event_name": event, "session_id": "s1", "cwd": "/w", "prompt": "p"}
        read = hook.read(fields, HookCall(name, STOP, {}, 1.0))
        assert (read.agent, read.kind, read.session_id, read.folders) == (name, kind, "s1", ("/w",))
    assert hook.read({}, HookCall(name, PROMPT, {}, 1.0)).kind == PROMPT, "the kind that the hook was installed for"
    assert hook.reply(ALLOW) == {}
    written = hook.reply(Reply("go on", "a line", "more"))
    assert (written["reason"], written["systemMessage"]) == ("go on", "a line")
    assert "more" in str(written)


@pytest.mark.parametrize("name", agents.hooked_names())
def test_where_the_hook_is_installed_and_how(name: str) -> None:
    setup = agents.hook_of(name).setup
    for for_person in (False, True):
        assert setup.location(Path("/w"), Path("/h"), {}, for_person=for_person).file.name.endswith(".json")
    assert "program" in str(setup.entry(STOP, "program", 60))
    assert all(setting.path and setting.warning for setting in setup.settings)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "untildone":
            yield from (f"untildone.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("name", agents.own_names())
def test_an_agent_imports_core_and_what_agents_share_and_nothing_else(name: str) -> None:
    allowed = ("untildone.core", f"untildone.agents.{name}", "untildone.agents._")
    imported = {module for path in (SOURCE / "agents" / name).rglob("*.py") for module in imports_of(path)}
    ours = {module for module in imported if module.startswith("untildone")}
    assert {module for module in ours if not module.startswith(allowed)} == set()
    assert {module for module in imported - ours if module.split(".")[0] not in sys.stdlib_module_names} == set()
