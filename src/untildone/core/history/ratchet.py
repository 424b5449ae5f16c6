"""`--ratchet`: after each round the checks run, and a round after which fewer of them hold than before is undone."""

from __future__ import annotations

from untildone.core.actions import RunCommand, RunGates
from untildone.core.events import GatesRan
from untildone.core.history.position import Held, Restoring
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.values.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.plugins.gate import GatesOf

LONGEST_TAIL = 2_000


def due(loop: Loop, gates_of: GatesOf) -> RunGates | None:
    """The action that runs the checks; None: their results in the present workspace are known, or the ratchet is off."""
    is_known = loop.changes.fingerprint == loop.weighed
    if not loop.settings.ratchet or is_known or not loop.changes.tree or loop.host is Host.HOOK:
        return None
    steps = (step for gate in gates_of(loop.settings) for step in gate.steps(loop) if isinstance(step.need, RunCommand))
    steps_of_checks = tuple(steps)
    return RunGates(steps_of_checks, weighs=True) if steps_of_checks else None


def weighed(loop: Loop, event: GatesRan) -> Loop:
    """The loop after its checks have run. If fewer hold than before, the workspace is to be put back, and the next prompt says so."""
    held = tuple(result.command for result in event.results if result.passed)
    loop = replace(loop, weighed=event.seen, gate=None)
    if loop.held is not None and len(held) < len(loop.held.commands):
        undo = Restoring(loop.held.tree, loop.changes.tree or "")
        return replace(loop, restoring=undo, account=_account(loop, event.results, loop.held.commands))
    return replace(loop, held=Held(held, loop.changes.tree or ""))


def _account(loop: Loop, results: tuple[GateResult, ...], before: tuple[str, ...]) -> str:
    broken = [result for result in results if not result.passed and result.command in before]
    now = sum(result.passed for result in results)
    names = "; ".join(result.command for result in broken)
    words = (
        f"Round {loop.spend.iterations} was undone, and the files are as they were before it: after it only {now} of {len(results)} "
        f"checks hold, before it {len(before)}. It broke: {names}. Go on in another way."
    )
    tails = (f"{result.command} ({result.reason}):\n{result.tail[-LONGEST_TAIL:].strip()}" for result in broken)
    return "\n\n".join((words, *tails))
