"""Which scope a request needs. What is not named here needs the scope `admin`, so that a new route is never open by oversight."""

from __future__ import annotations

import re

from untildone.operations.access.scopes import Scope

API = "/api/v1"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN = frozenset({"/login", "/login.css", "/login.js", f"{API}/health", f"{API}/ready", f"{API}/sessions"})
_REPLY = re.compile(rf"{API}/loops/[^/]+/reply|/reply/[^/]+")
_STEERS = re.compile(rf"{API}/(loops|groups|clean)(/.*)?", re.DOTALL)
_OF_ADMIN = re.compile(rf"{API}/(tokens|login-links)(/.*)?", re.DOTALL)
MCP = "/mcp"
"""Loops as tools. Each tool that steers needs the scope `control`, and checks that itself."""
_OWN_SESSION = f"{API}/sessions/current"


def is_open(method: str, path: str) -> bool:
    """Whether a request needs no token: login, health, the dashboard's files, and replies, whose routes check a token of one loop."""
    return path in _OPEN or is_reply(path) or (path.startswith("/assets/") and method in SAFE_METHODS)


def is_reply(path: str) -> bool:
    """Whether the request may come with the token of one loop."""
    return _REPLY.fullmatch(path) is not None


def is_stream(path: str) -> bool:
    """Whether the response goes on for as long as the client listens."""
    return path.startswith(f"{API}/") and path.endswith("/events")


def needs_no_key(method: str, path: str) -> bool:
    """Whether a session sends it without its key: what changes nothing, and the log-out."""
    return method in SAFE_METHODS or path == _OWN_SESSION


def needed(method: str, path: str) -> Scope:
    """The scope that a request needs."""
    if _OF_ADMIN.fullmatch(path):
        return Scope.ADMIN
    if method in SAFE_METHODS or path in (_OWN_SESSION, MCP):
        return Scope.READ
    return Scope.CONTROL if _STEERS.fullmatch(path) else Scope.ADMIN
