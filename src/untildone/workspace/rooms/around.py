"""What lies around the tree of a claim, compared with the start of the loop.

It is compared once for a claim, because nothing of the agent runs while it is judged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from untildone.workspace.rooms.claimed import Claimed
from untildone.workspace.rooms.ignored import beside
from untildone.workspace.rooms.ignored.beside import Start
from untildone.workspace.rooms.ignored.comparing import Comparison, Surroundings
from untildone.workspace.rooms.ignored.dependencies import Dependencies
from untildone.workspace.rooms.room import Site, Trees
from untildone.workspace.rooms.toolchain import outside
from untildone.workspace.rooms.toolchain.libraries import Compared, Libraries
from untildone.workspace.rooms.toolchain.library_folders import libraries
from untildone.workspace.rooms.toolchain.searching import Search


class Around:
    """Compares what lies around the tree of one claim. Several threads may use it at once."""

    def __init__(self, trees: Trees, site: Site, claimed: Claimed, start: Callable[[], Start]) -> None:
        """`start` returns what was written down at the start of the loop."""
        self._trees = trees
        self._site = site
        self._claimed = claimed
        self._start = start
        self._search: Search | None = None
        self._workspace: Surroundings | None = None
        """Compared without libraries."""
        self._whole: Surroundings | None = None
        self._comparing = threading.Lock()

    @property
    def signs(self) -> tuple[str, ...]:
        """Sentences for the tampering report, as far as it was compared."""
        return self._workspace.signs if self._workspace else ()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Look for changes in libraries, beside everything else."""
        site, start = self._site, self._start()
        found = libraries(site.environment, site.root, self._trees.files(self._claimed.tree))
        self._search = search = Search(found.values(), start)
        try:
            yield
        finally:
            search.close()

    @property
    def is_searched(self) -> bool:
        """Whether the search for changes in libraries is over, so that `compared` need not wait for it."""
        return self._search is None or self._search.is_over

    def compared(self, *, can_hide: bool) -> Surroundings:
        """What a room shows. `can_hide`: whether it can show a folder without some of its files. Raises RoomRefused."""
        with self._comparing:
            if self._whole is None:
                beside_tree, found = self._beside_tree(can_hide=can_hide), self._libraries(can_hide=can_hide)
                notes = (*beside_tree.notes, *found.notes)
                self._whole = replace(beside_tree, hidden=found.hidden, notes=notes)
            return self._whole

    def so_far(self, *, can_hide: bool) -> Surroundings:
        """As `compared`, as if all libraries were those of the start. `compared` says later whether they are."""
        with self._comparing:
            return self._whole or self._beside_tree(can_hide=can_hide)

    def _beside_tree(self, *, can_hide: bool) -> Surroundings:
        if self._workspace is None:
            site, start, claimed = self._site, self._start(), self._claimed
            now = outside.listed(site.root, site.environment, site.scripts)
            outside.refuse_changes(start.outside, now, claimed.approved)
            comparison = Comparison(site.start, start, self._asks, claimed.approved, can_hide=can_hide)
            self._workspace = comparison.surroundings(beside.packages(site.root, self._trees.files(claimed.tree)))
        return self._workspace

    def _libraries(self, *, can_hide: bool) -> Compared:
        if self._search is None:
            return Compared()
        site, start, claimed = self._site, self._start(), self._claimed
        record = Libraries(
            site.start,
            start.libraries,
            start.began,
            site.root,
            self._asks.declared,
            claimed.approved,
            self._search.unchanged,
        )
        return record.compare(self._search.libraries, can_hide=can_hide)

    @cached_property
    def _asks(self) -> Dependencies:
        return Dependencies(self._trees, self._claimed.start_tree, self._claimed.tree)
