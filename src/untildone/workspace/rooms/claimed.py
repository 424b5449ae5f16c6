"""A claim that is to be judged, as rooms know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim that is to be judged."""

    start_tree: str
    tree: str
    """The workspace as the agent left it."""
    record: str = ""
    """The hash that `Rooms.begin` returned; empty: it is not known."""
    is_judge: Callable[[str], bool] = lambda _path: False
    """Whether a path is one of a judge file."""
    watched: Callable[[Iterable[str]], Iterable[str]] = lambda _paths: ()
    """Those of the files of a tree to which no command may write while it judges."""
    approved: frozenset[str] = frozenset()
    """Changed files outside of the tree that a person accepted."""
