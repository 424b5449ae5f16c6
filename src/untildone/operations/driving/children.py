"""The loops below a loop, while a runner drives it: they run in the same process, and the agent reaches them through a socket.

The socket answers only processes of this very loop, and only about loops that its agent started. A share is in the journal of the parent
before the child exists; a runner that takes the parent up again settles what a dead one left. When the parent rests, its children rest;
when it ends, they end: always before the parent, so that a killed runner leaves no child of a parent that has ended.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from untildone.core import children as shares
from untildone.core.children import Child, Parent
from untildone.core.errors import FromInside, UntilDoneError, UsageError
from untildone.core.events import ChildReserved, ChildSpent, LoopCreated, StartRequested
from untildone.core.loop import Loop
from untildone.core.model import Budget, LoopSettings, Outcome, Status, Urgency
from untildone.core.receipts import proof
from untildone.core.values.codec import to_json
from untildone.core.values.value import replace
from untildone.engine import below
from untildone.engine.engine import Engine
from untildone.engine.process_hands import ProcessHands
from untildone.engine.submissions import Submissions
from untildone.operations import control, look, verifying
from untildone.operations.creating import creation, known_secrets
from untildone.operations.driving import child_requests as requests
from untildone.operations.driving.child_requests import Fields
from untildone.store import Store
from untildone.store.names import resolve_id
from untildone.system import inside, orphans
from untildone.system.request_socket import RequestSocket

END_WITHIN = 20.0
"""Seconds that children have to rest when their parent does."""
OBEY_WITHIN = 5.0
"""Seconds that they have after their agents were ended."""
LONGEST_WAIT = 600.0
LOOK_EVERY, LOOK_OFTEN = 0.2, 0.05
LONGEST_TASK = 100_000
LONGEST_DIFF = 200_000
_log = logging.getLogger(__name__)


@contextmanager
def serving(engine: Engine, hands: ProcessHands) -> Iterator[None]:
    """Let the agent of a loop start loops, if the loop may have any; take those up that it has."""
    loop = hands.stepper.loop
    if not loop.settings.children and not loop.children:
        yield
        return
    hosted = Hosted(engine, hands)
    with RequestSocket(hosted.answer) as listening:
        hosted.take_up()
        hands.loops_socket = listening.path
        try:
            yield
        finally:
            hosted.leave()


class Hosted:
    """The children of one loop."""

    def __init__(self, engine: Engine, hands: ProcessHands) -> None:
        self._store, self._around = engine.store, replace(engine.around, adoption=None)
        self._hands, self._stepper = hands, hands.stepper
        self._submissions = hands.stepper.submissions = Submissions()
        self._stepper.below = self
        self._loop_id = hands.stepper.loop.loop_id
        self._driven: dict[str, tuple[Engine, threading.Thread]] = {}
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._leaving = False
        self._given_up: set[str] = set()
        """Children that did not come to rest in time."""

    # The thread that steps the parent

    def take_up(self) -> None:
        """Settle what a dead runner left: a share without a loop is given back, a loop that ran goes on."""
        self._report_all()
        for child in self._unfinished():
            # One that cannot be read or may not go on must not keep its parent from going on.
            with suppress(UntilDoneError):
                self._take_up(child)

    def _take_up(self, child: Child) -> None:
        now = _loaded(self._store, child.loop_id)
        if now is None:
            return
        if now.status is Status.PAUSED and now.outcome is Outcome.INTERRUPTED:
            # One whose limit is used up goes on too: it comes to rest with that outcome, which says what it needs.
            control.resume(self._store, child.loop_id, asks_person=True, host=self._around.host)
        if now.status in (Status.CREATED, Status.RUNNING) or now.outcome is Outcome.INTERRUPTED:
            self._drive(child.loop_id)

    def rest(self, outcome: Outcome) -> None:
        """Stop the children, or pause them, before their parent rests with this outcome; write what they have used."""
        self._start_no_more()
        self._report_all()
        for child in self._unfinished():
            below.order_rest(self._store, child.loop_id, outcome)
        self._await_rest(self._at_work)
        self._report_all()

    def go_on(self) -> None:
        """Go on with the children: the parent was about to rest, and a person gave it more to do."""
        if self._leaving:
            self._leaving = False
            self._given_up.clear()
            self.take_up()

    def leave(self) -> None:
        """Leave the children to the next runner, if their parent has not come to rest; write what they have used."""
        if self._stepper.loop.status is Status.RUNNING:
            self._start_no_more()
            with self._lock:
                driven = dict(self._driven)
            for engine, _ in driven.values():
                engine.hand_over()
            self._await_rest(self._at_work_here)
            self._report_all()

    def _start_no_more(self) -> None:
        """Let a request that creates a child end, and refuse others."""
        self._leaving = True
        while not self._starting.acquire(timeout=LOOK_OFTEN):
            self._submissions.write(self._stepper)
        self._starting.release()

    def _await_rest(self, at_work: Callable[[], set[str]]) -> None:
        """Wait until no child is at work. After `END_WITHIN` seconds end their agents, so that they obey what is in their journals."""
        late = self._late(at_work, END_WITHIN)
        for child_id in late:
            orphans.end_all(orphans.mark(child_id)[0])
        self._given_up |= self._late(at_work, OBEY_WITHIN) if late else late

    def _late(self, at_work: Callable[[], set[str]], within: float) -> set[str]:
        """The children that are still at work after the given seconds."""
        deadline = time.monotonic() + within
        while (late := at_work() - self._given_up) and time.monotonic() < deadline:
            self._submissions.write(self._stepper)
            time.sleep(LOOK_OFTEN)
        self._submissions.write(self._stepper)
        return late

    def _at_work_here(self) -> set[str]:
        """The children that this process drives."""
        with self._lock:
            return {child_id for child_id, (_, thread) in self._driven.items() if thread.is_alive()}

    def _at_work(self) -> set[str]:
        """The children that this process or another one drives."""
        return {child.loop_id for child in self._unfinished() if self._store.is_driven(child.loop_id)} | (
            self._at_work_here()
        )

    def _report_all(self) -> None:
        if reports := below.news(self._store, self._stepper.loop):
            self._stepper.write(*reports)

    def _unfinished(self) -> tuple[Child, ...]:
        return tuple(child for child in self._stepper.loop.children if not child.ended)

    # Threads of children

    def _drive(self, child_id: str) -> None:
        """Drive a child in a thread of its own, unless that is done already or the parent leaves."""
        with self._lock:
            known = self._driven.get(child_id)
            if self._leaving or (known is not None and known[1].is_alive()):
                return
            engine = Engine(self._store, self._around)
            thread = threading.Thread(target=self._run, args=(engine, child_id), name=child_id, daemon=True)
            self._driven[child_id] = engine, thread
            thread.start()

    def _run(self, engine: Engine, child_id: str) -> None:
        # LoopBusy: a server that has the folder drives it. Other errors are the child's; `show` has its state.
        try:
            engine.drive(child_id)
        except UntilDoneError:
            pass
        except Exception:
            _log.exception("Loop %s cannot be driven", child_id)
        if self._leaving:
            return
        with suppress(UntilDoneError):
            self._report(child_id)

    def _report(self, child_id: str) -> None:
        """Report what a child has used in all, from another thread. The spend is read when the report is written, so
        that a report that waited is not outdated."""
        self._submissions.submit(lambda loop: below.report_of(self._store, _known(loop, child_id)))

    # Threads of requests

    def answer(self, request: Fields, pid: int) -> Fields:
        """Answer a request of a process."""
        verbs: dict[str, Callable[[Fields], Any]] = {
            "start": self._start,
            "list": lambda _: [self._shown(child.loop_id) for child in self._stepper.loop.children],
            "show": lambda given: self._shown(self._child(given)),
            "wait": self._wait,
            "say": self._say,
            "stop": self._stop,
            "diff": self._diff,
            "verify": self._verify,
        }
        try:
            self._check(pid)
            verb = verbs.get(str(request.get("verb")))
            if verb is None:
                raise UsageError("That is not a request about loops.", f"ask for one of {', '.join(verbs)}")
            return {"result": verb(request)}
        except UntilDoneError as problem:
            return {"error": problem.sentence, "hint": problem.hint}
        except (TypeError, ValueError, ArithmeticError, OSError) as problem:
            return {"error": f"The request cannot be answered: {problem}.", "hint": ""}

    def _check(self, pid: int) -> None:
        """FromInside unless the process is one of this loop and of no other."""
        where = inside.of_process(pid) if pid else None
        if where is None or os.getpid() not in where.line or where.marked != {self._loop_id}:
            raise FromInside(
                f"Only the agent of loop {self._loop_id} may reach its loops.", "an agent reaches those that it started"
            )

    def _child(self, given: Fields) -> str:
        known = tuple(sorted(child.loop_id for child in self._stepper.loop.children))
        return resolve_id(requests.text(given, "loop"), known, f"below loop {self._loop_id}")

    def _start(self, given: Fields) -> Fields:
        task, checks = requests.text(given, "task"), requests.texts(given, "checks")
        if not task.strip():
            raise UsageError("The task is empty.", "say what is to be done")
        if len(task) > LONGEST_TASK or shares.asks_for_rounds(task):
            raise UsageError("The task is too long, or begins with round controls.", "give `rounds` instead")
        budget = Budget(**{limit.row.field: given.get(name) for limit, name in shares.ASKED_AS.items()})
        requests.check_numbers(budget)
        known_secrets.refuse_in_commands(shares.settings_of(self._stepper.loop, "", checks, 0), self._around.redactor)
        with self._starting:
            return self._begin(task, checks, budget, requests.count(given, "children"))

    def _begin(self, task: str, checks: tuple[str, ...], budget: Budget, count: int) -> Fields:
        """Reserve the share, create the loop, drive it: in this order."""
        self._check_stays()
        self._report_ended()
        child_id = creation.new_id(time.time())
        parent = self._submissions.submit(
            lambda loop: ChildReserved(shares.share(self._with_turn(loop), child_id, budget, count))
        )
        child = _known(parent, child_id)
        try:
            self._create(parent, child, task, checks)
        except BaseException:
            self._submissions.submit(lambda _: ChildSpent(child_id, child.spend, ended=True))
            raise
        self._drive(child_id)
        return self._shown(child_id)

    def _report_ended(self) -> None:
        """Report the children that ended in another process: what is left of their shares is free."""
        here = self._at_work_here()
        for child in self._unfinished():
            now = None if child.loop_id in here else _loaded(self._store, child.loop_id)
            if now is not None and now.status.ended:
                self._report(child.loop_id)

    def _with_turn(self, loop: Loop) -> Loop:
        """The loop with what its running turn has used so far: that is not left for a child."""
        if loop.turn is None:
            return loop
        seconds = max(0.0, self._around.clock() - loop.turn.started_at)
        return replace(loop, spend=loop.spend.plus(seconds, self._hands.used_in_turn))

    def _check_stays(self) -> None:
        if self._leaving:
            raise UsageError(f"Loop {self._loop_id} comes to rest, and its loops with it.", "start no more loops")

    def _create(self, parent: Loop, child: Child, task: str, checks: tuple[str, ...]) -> None:
        place = creation.worktree_for(
            parent.settings,
            Path(parent.settings.workspace),
            self._store.home,
            child.loop_id,
            self._around.environment,
            lambda: self._leaving,
        )
        kept: LoopSettings = shares.settings_of(parent, place, checks, child.children)
        depth = (parent.parent.depth if parent.parent else 0) + 1
        title = creation.title_of(task)
        made = LoopCreated(child.loop_id, title, task, kept, child.share, Parent(parent.loop_id, depth))
        self._store.create(made, StartRequested(self._around.host))

    def _wait(self, given: Fields) -> Fields:
        child_id, deadline = self._child(given), time.monotonic() + min(LONGEST_WAIT, float(given.get("seconds") or 45))
        while not self._leaving and time.monotonic() < deadline:
            if look.rests(self._store, self._store.load(child_id)):
                break
            time.sleep(LOOK_EVERY)
        return self._shown(child_id)

    def _say(self, given: Fields) -> Fields:
        child_id, text = self._child(given), requests.text(given, "text")
        if not text.strip() or shares.asks_for_rounds(text):
            raise UsageError(
                "The message is empty, or begins with round controls.", "start another loop for more rounds"
            )
        with self._starting:
            self._check_stays()
            heard = control.say(self._store, child_id, text, host=self._around.host)
        if heard.goes_on:
            self._drive(child_id)
        return self._shown(child_id)

    def _stop(self, given: Fields) -> Fields:
        child_id = self._child(given)
        urgency = Urgency.NOW if given.get("now") is True else Urgency.AFTER_ITERATION
        if control.stop(self._store, child_id, urgency).status.ended:
            self._report(child_id)
        return self._shown(child_id)

    def _diff(self, given: Fields) -> str:
        return look.diff(self._store, self._child(given))[:LONGEST_DIFF]

    def _verify(self, given: Fields) -> list[Fields]:
        results = verifying.verify(self._store, self._child(given), self._around.environment)
        return [
            {"command": each.now.command, "passed_now": each.now.passed, "reason": each.now.reason} for each in results
        ]

    def _shown(self, child_id: str) -> Fields:
        loop = _loaded(self._store, child_id)
        if loop is None:
            return {
                "loop_id": child_id,
                "status": "unknown",
                "reason": "it is being created, was deleted or is damaged",
            }
        return {
            "loop_id": loop.loop_id,
            "title": loop.title,
            "status": loop.status.value,
            "outcome": loop.outcome.word if loop.outcome else None,
            "proof": proof.level(loop).value,
            "reason": loop.reason,
            "answer": loop.last_answer[-2000:],
            "spend": to_json(loop.total_spend),
            "budget": to_json(loop.budget),
        }


def _loaded(store: Store, loop_id: str) -> Loop | None:
    """The loop; None if it does not exist or cannot be read."""
    try:
        return store.load(loop_id)
    except UntilDoneError:
        return None


def _known(loop: Loop, child_id: str) -> Child:
    return next(child for child in loop.children if child.loop_id == child_id)
