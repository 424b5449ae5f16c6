"""Creates loops. Settings that cannot work are reported before anything is written."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from untildone import modes
from untildone.core.answers import rounds
from untildone.core.errors import UsageError
from untildone.core.events import LoopCreated, StartRequested
from untildone.core.judging.project_tests.keeping_back import share_of
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Budget, LoopSettings, Role, TestsRule
from untildone.core.receipts import proving
from untildone.core.values.value import dataclass, replace
from untildone.engine import archiving
from untildone.operations import trust
from untildone.operations.creating import proofs
from untildone.operations.creating.loop_settings import loop_budget, loop_settings
from untildone.operations.driving.cluster import poke
from untildone.operations.inside import refuse
from untildone.settings import Settings, guidance
from untildone.store import Store, layout
from untildone.system import disk
from untildone.system.box import sandbox
from untildone.system.box.sandbox import Box
from untildone.workspace.git import never
from untildone.workspace.person_git.worktrees import create_worktree, fill_submodules

TITLE_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Created:
    """A new loop."""

    loop: Loop
    notices: tuple[str, ...]
    """Sentences for the person: about the round controls at the start of the task, about how checks are judged, and about files that
    do not count as they are."""


def create(
    store: Store,
    task: str,
    chosen: Settings,
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    *,
    tidies: bool = True,
    hook_session: str = "",
    reviewed: bool | None = None,
    host: Host = Host.NONE,
    starts: bool = False,
    title: str = "",
) -> Created:
    """Create a loop.

    `hook_session` is the id of the agent's own session in which the loop begins. `reviewed` overrules the mode's choice
    whether a supervisor reviews. `host` is the kind of host that will drive it, if that is known: in a cluster, agents and
    folders are on other machines. With `starts`, the loop is started as well. `title` is its name; without one, the beginning of the task.
    """
    refuse(store, "run")
    files = guidance.from_files(modes.find(chosen.mode), folder)
    budget = loop_budget(chosen, files)
    opening = _opening(task, budget)
    in_cluster = host is Host.CLUSTER
    if not in_cluster and not os.access(folder, os.W_OK):
        raise UsageError(f"The folder {folder} cannot be written.", "choose another with --dir")
    if tidies:
        archiving.recover(store, *store.live_ids())
    loop_id = new_id(time.time())
    elsewhere = tuple(Role) if in_cluster else (Role.WORKER,) if hook_session else ()
    kept = loop_settings(chosen, str(folder), environment, files=files, elsewhere=elsewhere, reviewed=reviewed)
    kept = replace(kept, hook_session=hook_session)
    if in_cluster:
        kept = _for_cluster(kept, chosen, store)
    if not in_cluster:
        _check_sandbox(kept, environment)
    judged = _how_judged_in_cluster(kept) if in_cluster else _how_judged_here(kept, chosen, opening.rest, environment)
    judged += proofs.notices(kept, in_session=bool(hook_session))
    empty: tuple[str, ...] = ()
    if kept.worktree:
        place, empty = _worktree(kept, folder, folder, loop_id, environment)
        kept = replace(kept, workspace=place)
    title = title or title_of(opening.rest)
    event = LoopCreated(loop_id, title, opening.rest, kept, replace(budget, iterations=opening.remaining))
    first = (StartRequested(host),) if starts else ()
    loop = _created_in_cluster(store, event, *first) if in_cluster else store.create(event, *first)
    if starts and in_cluster:
        poke(store, loop, environment)
    return Created(loop, (*opening.notices, *judged, *empty, *trust.notices(folder, environment)))


def _how_judged_here(
    kept: LoopSettings, chosen: Settings, task: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """Sentences about the checks on this machine: their rooms, programs that are missing, variables that do not pass."""
    return (*_how_judged(kept, task), *_missing_programs(kept, environment), *_left_out(kept, chosen, environment))


def title_of(task: str) -> str:
    """The title of a loop that was given none: the beginning of its task."""
    return _shortened(" ".join(task.split()))


def worktree_for(
    kept: LoopSettings,
    folder: Path,
    home: Path,
    loop_id: str,
    environment: Mapping[str, str],
    wants_out: Callable[[], bool] = never,
) -> str:
    """A new worktree of the repository at `folder`, from its last commit, with the files of the loops in `home`.

    UsageError once `wants_out` returns True: filters of the repository may be slow."""
    return _worktree(kept, folder, home, loop_id, environment, wants_out)[0]


def _worktree(
    kept: LoopSettings,
    folder: Path,
    home: Path,
    loop_id: str,
    environment: Mapping[str, str],
    wants_out: Callable[[], bool] = never,
) -> tuple[str, tuple[str, ...]]:
    """The folder to work in, and sentences about submodules that are empty there."""
    box = _box(kept, environment, os.path.join(loop_id, "worktree"))
    place = create_worktree(str(folder), loop_id, _worktrees(home) / loop_id, box, wants_out)
    return place, fill_submodules(str(folder), place, box, wants_out)


def _box(kept: LoopSettings, environment: Mapping[str, str], name: str) -> Box | None:
    """The box for programs that git starts in the workspace, if agents of the loop run in one."""
    from untildone.engine import boxes
    from untildone.engine.boxes import planning

    if not boxes.containment(kept).boxed:
        return None
    return boxes.box_of(planning.plan_for(kept, kept.workspace, None, environment, name))


def _check_sandbox(kept: LoopSettings, environment: Mapping[str, str]) -> None:
    """UsageError if this machine lacks the sandbox that the person wants, or if a path that they allow does not exist."""
    from untildone.engine import boxes
    from untildone.engine.boxes import planning

    if boxes.containment(kept).boxed:
        boxes.check(planning.plan_for(kept, kept.workspace, None, environment, "new"))


def _how_judged(kept: LoopSettings, task: str) -> tuple[str, ...]:
    """What holds for the checks of the loop. UsageError if this machine lacks the room that the person wants."""
    if not kept.checks:
        return ()
    from untildone.core.judging import wording
    from untildone.workspace import rooms

    kind = rooms.best(kept.room)
    problem = sandbox.problem() if kept.room is None else None
    lacking = f" {problem.sentence} hint: {problem.hint}" if problem else ""
    asks = kept.tests is TestsRule.ADD and wording.asks_to_change_tests(task)
    return (f"Checks run in a {kind.value} room.{lacking}", *((wording.HINT_FREE,) if asks else ()))


def _missing_programs(kept: LoopSettings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Sentences about checks whose programs are not there: the agent may still bring them."""
    from untildone.operations.creating import check_programs

    notices = (check_programs.notice(check, kept.workspace, environment) for check in kept.checks)
    return tuple(notice for notice in notices if notice)


def _left_out(kept: LoopSettings, chosen: Settings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence about variables of the person that agents and checks do not get, although they seem to need them."""
    from untildone.engine import environments
    from untildone.operations.creating import left_out

    sentence = left_out.notice(kept, environments.without_database(environment) if chosen.store else environment)
    return (sentence,) if sentence else ()


def _how_judged_in_cluster(kept: LoopSettings) -> tuple[str, ...]:
    """What holds for the checks of a loop that goes from machine to machine."""
    if not kept.checks:
        return ()
    where = "the best room that each machine has" if kept.room is None else f"a {kept.room} room"
    return (f"Checks run in {where}, on the machine that has the loop then.",)


def _created_in_cluster(store: Store, event: LoopCreated, *first: StartRequested) -> Loop:
    """Create a loop. Its held-out tests are in the store before it starts: the folder is on this machine only."""
    folder = event.settings.options.get(proving.HELD_OUT)
    if not folder or share_of(folder) is not None:
        return store.create(event, *first)
    from untildone.engine.verdicts.proving import HELD_OUT, packed

    text = packed(str(folder))
    loop = store.create(event)
    store.carry(loop.loop_id, HELD_OUT, text)
    if first:
        with closing(store.open(loop.loop_id)) as journal:
            journal.append(*first)
    return store.load(loop.loop_id)


def start_over(store: Store, loop: Loop) -> Loop:
    """A new loop with the task, settings and budget of another one."""
    from untildone.engine.verdicts.proving import HELD_OUT

    event = LoopCreated(new_id(time.time()), loop.title, loop.description, loop.settings, loop.budget)
    made = store.create(event)
    if carried := store.carried(loop.loop_id, HELD_OUT):
        store.carry(made.loop_id, HELD_OUT, carried)
    return made


def new_id(now: float) -> str:
    at = datetime.fromtimestamp(now, UTC)
    return f"loop-{at:%Y%m%d-%H%M%S}{at.microsecond // 1000:03d}-{secrets.token_hex(3)}"


def _opening(task: str, budget: Budget) -> rounds.Parsed:
    """The task without the round controls at its start, and the rounds that they leave."""
    opening = rounds.parse(task, budget.iterations)
    if not opening.rest.strip():
        sentence = f"{rounds.NO_INSTRUCTION}." if opening.changes else "The task is empty."
        raise UsageError(sentence, "say what is to be done, in quotes")
    if "\0" in opening.rest:
        raise UsageError("The task has a NUL character.", "remove it: agents take text")
    return opening


def _for_cluster(kept: LoopSettings, chosen: Settings, store: Store) -> LoopSettings:
    from untildone.hosts.cluster import ownership, reading

    if store.root is not None:
        raise UsageError("A cluster keeps its loops in Postgres.", "name the database with --store")
    if kept.worktree or kept.interactive or kept.children:
        what = "--worktree" if kept.worktree else "--interactive" if kept.interactive else "--children"
        raise UsageError(f"{what} makes no sense in a cluster.", "leave it out")
    remote = ownership.checked_remote(chosen.remote or reading.remote_of(kept.workspace))
    return replace(kept, remote=remote, branch=chosen.branch and ownership.checked_branch(chosen.branch))


def _shortened(title: str) -> str:
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"


def _worktrees(folder: Path) -> Path:
    root = folder / layout.FOLDER
    with disk.as_store_error(root):
        layout.prepare(root)
    return root / "worktrees"
