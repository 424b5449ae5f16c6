"""The dashboard does nothing that the documented API cannot: both call the same operations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from untildone.faces import api, web

CHANGES = {"app.post", "app.put", "app.patch", "app.delete"}
ELSEWHERE = {
    "operations.setup.agents.missing": "/agents",  # which agents are not installed, without starting the others
    "operations.control.leader_of": "/loops/{loop_id}/resume",  # its 409 if the budget is used up
    "operations.creating.duplicating.chosen_for": "/loops/{loop_id}",  # its `settings`, as a form
    "operations.creating.duplicating.folder_of": "/loops/{loop_id}",
    "operations.output.agent_names": "/agents",
    "operations.output.mode": "/loops/{loop_id}",  # whether its `promise` counts
    "operations.showing.inbox.Inboxes": "/loops",  # by `needs`, `status` and `outcome`
    "operations.showing.selecting.LoopFilter": "/loops",
    "operations.showing.selecting.Sort": "/loops",
    "operations.showing.timeline.interrupted": "/loops/{loop_id}/rounds/{number}",  # words for `interrupted`
    "operations.showing.values.LogLine": "/loops/{loop_id}/events",  # an entry in words
    "operations.showing.waiting.of_row": "/loops",  # its `waits`
}
"""Operations that only pages call, each with the address of the API that has the same."""


def called(folder: Path) -> set[str]:
    """The functions and classes of `operations` that are called in a folder."""
    return {name for path in folder.rglob("*.py") for name in _called(ast.parse(path.read_text()))}


def _called(tree: ast.Module) -> Iterator[str]:
    known = {
        each.asname or each.name: f"{node.module}.{each.name}".removeprefix("untildone.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("untildone.operations")
        for each in node.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in known:
                yield known[name]
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)) if name in known:
                yield f"{known[name]}.{attribute}"


def addresses() -> set[str]:
    """The addresses of the API."""
    modules = (import_module(found.name) for found in walk_packages(api.__path__, f"{api.__name__}."))
    routers = [module.router for module in modules if hasattr(module, "router")]
    return {route.path.removeprefix("/api/v1") for router in routers for route in router.routes}


def test_pages_call_what_the_api_calls() -> None:
    pages, routes = called(Path(web.__file__).parent), called(Path(api.__file__).parent)
    assert "operations.look.diff" in pages & routes
    assert pages - routes == set(ELSEWHERE)
    assert set(ELSEWHERE.values()) - addresses() == set()


def test_pages_change_nothing_by_themselves() -> None:
    """All but the reply to a notification, which works without script: the API has that too."""
    for path in sorted((Path(web.__file__).parent / "pages").glob("*.py")):
        calls = (node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        found = {ast.unparse(each) for each in calls} & CHANGES
        assert found == ({"app.post"} if path.name == "reply.py" else set()), path.name
    assert "/loops/{loop_id}/reply" in addresses()
