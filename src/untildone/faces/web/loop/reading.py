"""Reads what the pages of a loop show: its outputs, its diffs, its branch."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from untildone.core.loop import output_name
from untildone.core.model import Status
from untildone.faces.web.loop.head import Head, head
from untildone.faces.web.render.diffs import FileDiff, parsed
from untildone.faces.web.site import Site
from untildone.faces.web.translations.texts import Texts
from untildone.operations import look
from untildone.operations.showing import branches
from untildone.operations.showing.outputs import FollowedOutput, Outputs, going
from untildone.operations.showing.timeline import Round
from untildone.operations.showing.values import LoopView

MOST_DIFFS = 16


@dataclass
class LoopReader:
    """Reads for the pages of one loop, over the loops of a site."""

    site: Site
    outputs: Outputs = field(default_factory=Outputs)
    _diffs: OrderedDict[tuple[object, ...], tuple[FileDiff, ...]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def head(self, t: Texts, view: LoopView) -> Head:
        """The head of the page."""
        store = self.site.service.store_of(view.loop.loop_id)
        branch = branches.branch(store, view.loop)
        merge = branches.merge_of(store, branch) if branch else ""
        return head(t, view, self._printed_at(view), branch, merge)

    def _printed_at(self, view: LoopView) -> float | None:
        turn = view.loop.turn
        if turn is None:
            return None
        name = output_name(turn.role, turn.iteration)
        return self.site.service.store_of(view.loop.loop_id).spool(view.loop.loop_id, name).written_at()

    def output(self, view: LoopView, name: str) -> FollowedOutput:
        """The output of a turn."""
        return self.outputs.follow(self.site.service.store_of(view.loop.loop_id), view, name)

    def is_going(self, view: LoopView, name: str) -> bool:
        """Whether an output may still grow."""
        return name in going(view)

    def changes(self, view: LoopView, of: Round | None) -> tuple[FileDiff, ...]:
        """The files that a round changed, or the whole loop. Nothing, if it has not begun. What cannot change any more is kept."""
        loop = view.loop
        if loop.start.tree is None or (of is not None and not of.before):
            return ()
        final = loop.status.ended if of is None else bool(of.after)
        key = (
            loop.loop_id,
            of and of.number,
            loop.changes.tree if of is None else of.after,
            loop.seq if not final else 0,
        )
        with self._lock:
            known = self._diffs.get(key) if final else None
        if known is not None:
            return known
        files = parsed(self._diff(view, of))
        with self._lock:
            self._diffs[key] = files
            while len(self._diffs) > MOST_DIFFS:
                self._diffs.popitem(last=False)
        return files

    def _diff(self, view: LoopView, of: Round | None) -> str:
        loop_id = view.loop.loop_id
        store = self.site.service.store_of(loop_id)
        if of is None:
            return look.diff(store, loop_id)
        end = None if of.is_going and view.loop.status is Status.RUNNING else of.after or None
        return look.diff_between(store, loop_id, of.before or "", end)
