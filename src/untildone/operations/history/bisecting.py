"""`bisect`: which round of a loop broke its checks, found by running them on snapshots of the rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from untildone.core.errors import LoopBusy, NotOurs, UsageError
from untildone.core.history import bisecting
from untildone.core.history.bisecting import Snapshot
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.values.value import replace
from untildone.operations import pass_env
from untildone.operations.creating import known_secrets
from untildone.settings import load
from untildone.store import Store


@dataclass(frozen=True, slots=True)
class Bisected:
    """The round that broke the checks."""

    loop: Loop
    broke: int
    """Its number."""
    before: int
    """The last round after which they hold; 0: the start."""
    failed: tuple[GateResult, ...]
    """What fails after it."""
    checked: tuple[int, ...]
    """The rounds whose snapshots were checked, in order."""


Report = Callable[[int, bool], None]
"""Called with each round that was checked, and whether its checks hold."""


def bisect(
    store: Store,
    loop_id: str,
    environment: Mapping[str, str],
    checks: tuple[str, ...] = (),
    good: int | None = None,
    bad: int | None = None,
    report: Report = lambda _round, _holds: None,
) -> Bisected:
    """The round between `good` (the start) and `bad` (the last) that broke the checks: those of the loop, or others.

    UsageError if they fail at the start already, hold at the end, or if there is nothing to compare. The workspace is not touched."""
    loop = _loop(store, loop_id, checks)
    rounds = _rounds(store, loop, good, bad)
    from untildone.system.guard import guarded

    with guarded(f"bisect-{loop_id}") as watched:
        runs = _Runs(store, loop, environment, watched.mark, watched.groups, report)
        bad_round = bisecting.first_bad(rounds, runs.holds)
        _check_ends(rounds[bad_round - 1], rounds[bad_round], runs)
    before, broke = rounds[bad_round - 1].iteration, rounds[bad_round].iteration
    failed = tuple(result for result in runs.known[broke] if not result.passed)
    return Bisected(loop, broke, before, failed, tuple(runs.known))


def _loop(store: Store, loop_id: str, checks: tuple[str, ...]) -> Loop:
    loop = store.load(loop_id)
    if loop.not_ours:
        raise NotOurs(f"Loop {loop_id} is not ours: {loop.not_ours}.", "nothing in it is trusted")
    if store.is_driven(loop_id):
        raise LoopBusy(f"Loop {loop_id} is at work.", "pause it first")
    if loop.settings.remote is not None:
        raise UsageError(f"The work of loop {loop_id} is on a branch.", "use `git bisect` on it")
    loop = replace(loop, settings=replace(loop.settings, checks=checks or loop.settings.checks))
    if not loop.settings.checks:
        raise UsageError(f"Loop {loop_id} has no checks.", "name one with --check")
    return loop


def _rounds(store: Store, loop: Loop, good: int | None, bad: int | None) -> tuple[Snapshot, ...]:
    journal = store.open(loop.loop_id)
    try:
        known = bisecting.snapshots(journal.entries())
    finally:
        journal.close()
    first = 0 if good is None else good
    chosen = tuple(each for each in known if first <= each.iteration and (bad is None or each.iteration <= bad))
    if len(chosen) < 2:
        raise UsageError(
            f"There are no two snapshots of loop {loop.loop_id} to compare.",
            "choose other rounds with --good and --bad",
        )
    return chosen


def _check_ends(before: Snapshot, broke: Snapshot, runs: _Runs) -> None:
    """Raise UsageError unless the checks hold before the round that was found and fail after it: the search assumes that of both ends."""
    if not runs.holds(before):
        raise UsageError(
            f"The checks fail after round {before.iteration} already.",
            "choose a round after which they hold with --good",
        )
    if runs.holds(broke):
        raise UsageError(
            f"The checks hold after round {broke.iteration}: nothing is broken.",
            "name another check with --check, or another round with --bad",
        )


@dataclass
class _Runs:
    """Runs the checks on snapshots, each once."""

    store: Store
    loop: Loop
    environment: Mapping[str, str]
    mark: Mapping[str, str]
    groups: set[int]
    report: Report
    known: dict[int, tuple[GateResult, ...]] = field(default_factory=dict)

    def holds(self, snapshot: Snapshot) -> bool:
        if snapshot.iteration not in self.known:
            self.known[snapshot.iteration] = self._run(snapshot.tree)
            self.report(snapshot.iteration, self._holds(snapshot.iteration))
        return self._holds(snapshot.iteration)

    def _holds(self, iteration: int) -> bool:
        return all(result.passed for result in self.known[iteration])

    def _run(self, tree: str) -> tuple[GateResult, ...]:
        from untildone.engine import environments
        from untildone.engine.verdicts import gating, snapshot_checks
        from untildone.workspace.look import Workspace

        place, loop = self.loop.settings.workspace, self.loop
        redactor = known_secrets.redactor(self.environment, load(self.store.home, {}, self.environment))
        outside = environments.without_database(self.environment) if self.store.root is None else self.environment
        more = pass_env.now(self.store, self.environment)
        env = {**environments.for_checks(outside, loop, more), **self.mark}
        left_out = environments.not_passed(outside, loop, more)
        base = gating.Room(place, env, lambda: False, redactor, self.groups, left_out=left_out)
        hidden = () if self.store.root is None else (str(self.store.root),)
        return snapshot_checks.run(loop, Workspace(place, loop.loop_id, start=loop.start), hidden, base, tree)
