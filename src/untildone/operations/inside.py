"""Refuses controls that come from inside a loop: an agent must not steer the loop that judges it, nor others of its store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from untildone.core.errors import FromInside
from untildone.core.loop import Loop
from untildone.store import Store
from untildone.store.names import is_id
from untildone.system import inside, orphans, runners, running
from untildone.system.inside import Inside
from untildone.system.running import Running

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.system.peers import Address

HINT = "a person does that, outside of the loop; an agent says in its answer what it needs"


def refuse(store: Store, what: str, loop: Loop | None = None) -> None:
    """Raise FromInside if this process runs inside a loop of the store. `what` names the refused control, `loop` its loop.

    In a session of the person, the agent calls the stop hook for the person who types there: what the hook starts is not refused.
    """
    where = inside.of_process()
    name = _around(where, store, loop)
    if name and not _speaks_for_person(where):
        raise _refusal(what, name)


def refuse_order(entry: Running, what: str) -> None:
    """Raise FromInside if this process runs inside a loop of the same store as a registered loop."""
    where = inside.of_process()
    same = [each for each in where.entries if (each.root, each.database) == (entry.root, entry.database)]
    if same and not _speaks_for_person(where):
        raise _refusal(what, f"loop {same[0].loop_id}")


def _refusal(what: str, name: str) -> FromInside:
    return FromInside(f"`{what}` is refused: this process runs inside {name}, and may not steer loops.", HINT)


def refuse_token(environment: Mapping[str, str] = os.environ) -> None:
    """Raise FromInside if this process runs inside a loop of the user whose token would be read."""
    if name := _loop_of_user(environment):
        raise FromInside(
            f"The token is not for a process inside loop {name}.", "set UNTILDONE_TOKEN to a token of your own"
        )


def refuse_acceptance(environment: Mapping[str, str] = os.environ) -> None:
    """Raise FromInside if this process runs inside a loop of the user who is to accept changed settings."""
    if name := _loop_of_user(environment):
        raise _refusal("accept", f"loop {name}")


def _loop_of_user(environment: Mapping[str, str]) -> str:
    """A loop in the registry of this environment inside which this process runs; empty: there is none."""
    known = {entry.loop_id for entry in running.entries(environment)}
    around = inside.of_process(environment=environment).entries
    return next((entry.loop_id for entry in around if entry.loop_id in known), "")


def around_client(stores: Iterable[Store], client: Address, server: Address) -> str:
    """The loop of these stores inside which the client of a connection runs; empty: none, or that is not known."""
    from untildone.system import peers

    entries = running.entries()
    if not entries:
        return ""
    pid = peers.process_at(client, server, _processes_of(entries))
    where = None if pid is None else inside.of_process(pid)
    names = () if where is None else (_around(where, store, None) for store in stores)
    return next((name for name in names if name), "")


def _processes_of(entries: Iterable[Running]) -> list[int]:
    """The processes that carry a mark, or descend from one that does or from a runner, without the runners."""
    processes, _ = orphans.scan()
    runners_of = {entry.pid for entry in entries}
    inside_loops = {pid for pid, process in processes.items() if process.marks} - runners_of
    # A marked process may start one without the mark, so that its children count as well.
    above = inside_loops | runners_of
    while fresh := {pid for pid, process in processes.items() if process.parent in above} - inside_loops - runners_of:
        inside_loops |= fresh
        above = fresh
    return sorted(inside_loops, reverse=True)


def _around(where: Inside, store: Store, loop: Loop | None) -> str:
    """The loop of the store, or the wrapped agent in its folder, that the process runs inside of; empty: there is none."""
    entry = next((entry for entry in where.entries if _is_in(entry, store)), None)
    if entry is not None:
        return "a wrapped agent" if entry.host == running.WRAP else f"loop {entry.loop_id}"
    name = next((name for name in sorted(where.marked) if is_id(name) and store.signature(name) is not None), "")
    if not name and loop is not None and _is_driven_above(loop, store, where):
        name = loop.loop_id
    return name and f"loop {name}"


def _is_in(entry: Running, store: Store) -> bool:
    """Whether a loop of the registry is in the store."""
    if store.root is None:
        return entry.database == store.name
    return bool(entry.root) and os.path.realpath(entry.root) == os.path.realpath(store.root)


def _is_driven_above(loop: Loop, store: Store, where: Inside) -> bool:
    """Whether the runner that the journal names is an ancestor: the registry may be out of sight."""
    runner = loop.runner
    is_above = runner is not None and runner.machine == runners.machine() and runner.pid in where.line[1:]
    return is_above and store.is_driven(loop.loop_id)


def _speaks_for_person(where: Inside) -> bool:
    """Whether the stop hook of a person's own session started this process. An agent of a runner has no person at its terminal."""
    return _is_called_by_hook(where) and not inside.of_runner()


def _is_called_by_hook(where: Inside) -> bool:
    """Whether the parent of this process is the program of the stop hook."""
    from untildone.hosts.hook import program

    words = orphans.command_of(where.line[1])[1:] if len(where.line) > 1 else []
    script = next((word for word in words if not word.startswith("-")), "")
    return script == os.path.abspath(program.__file__)
