"""Reads the answers of a server: an error becomes the exception that the same verb raises without a server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from untildone.core.errors import (
    AgentMissing,
    BudgetUsedUp,
    FromInside,
    LoopBusy,
    LoopNotFound,
    NotOurs,
    ReplyRefused,
    ServerError,
    StoreError,
    UntilDoneError,
    UsageError,
    WrongMove,
)
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.values.codec import CodecError, epoch, from_json
from untildone.faces.client.values import LoopLine
from untildone.operations import look
from untildone.operations.showing.branches import Branch
from untildone.operations.showing.money import Money
from untildone.operations.verifying import Verification

PROBLEM = "application/problem+json"
IN_USE = "idempotency-key-in-use"
LONGEST_SENTENCE = 2000
MOST_FIELDS = 10
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_KINDS: Mapping[str, type[UntilDoneError]] = {
    "loop-not-found": LoopNotFound,
    "from-inside": FromInside,
    "reply-refused": ReplyRefused,
    "wrong-state": WrongMove,
    "budget-used-up": BudgetUsedUp,
    "loop-busy": LoopBusy,
    "not-ours": NotOurs,
    "agent-missing": AgentMissing,
    "unavailable": StoreError,
}
_FOR_A_WHILE = frozenset({408, 429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that was read to its end."""

    server: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    @property
    def is_problem(self) -> bool:
        """Whether it is an error in the form that untildone has for them."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower() == PROBLEM

    @property
    def again_in(self) -> float | None:
        """Seconds after which the same request may be answered in another way; None: it is final."""
        wait = self.headers.get("retry-after", "")
        is_busy = self.status in _FOR_A_WHILE or self.problem().get("code") == IN_USE
        if not is_busy or (self.is_problem and not wait):
            return None
        return float(wait) if wait.isascii() and wait.isdigit() else 0.0

    def problem(self) -> dict[str, Any]:
        """The fields of the error; empty if it has none."""
        try:
            return self.fields() if self.is_problem else {}
        except ServerError:
            return {}

    def fields(self) -> dict[str, Any]:
        """The JSON object of the body. ServerError if it is none."""
        try:
            fields = json.loads(self.content)
        except (ValueError, RecursionError):
            raise self.nonsense("it is not JSON") from None
        if not isinstance(fields, dict):
            raise self.nonsense("it is not a JSON object")
        return fields

    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def nonsense(self, why: str) -> ServerError:
        """The error about an answer that untildone does not give."""
        return nonsense(self.server, why)


def nonsense(server: str, why: str) -> ServerError:
    """The error about an answer that untildone does not give."""
    sentence = f"The server at {server} does not answer as untildone does: {_plain(why)}."
    return ServerError(sentence, "check the URL; client and server may be of different versions")


def error(answer: Answer) -> UntilDoneError | None:
    """The exception for an answer; None if it is a success."""
    if 200 <= answer.status < 300:
        return None
    if 300 <= answer.status < 400:
        return _redirected(answer)
    problem = answer.problem()
    sentence, hint = _sentence(problem), _plain(str(problem.get("hint", "")))
    if not sentence and answer.status in (401, 403):
        return UsageError(f"The server at {answer.server} does not accept the token.", "give one that it accepts")
    if not sentence:
        return answer.nonsense(f"its status is {answer.status}")
    general = UsageError if answer.status < 500 else ServerError
    return _KINDS.get(str(problem.get("code")), general)(sentence, hint)


def _redirected(answer: Answer) -> ServerError:
    target = urlsplit(answer.headers.get("location", "")).netloc or "another address"
    sentence = f"The server at {answer.server} redirects to {_plain(target)}."
    return ServerError(sentence, "connect to the URL that the server has itself: the token is sent nowhere else")


def _sentence(problem: Mapping[str, Any]) -> str:
    """What is wrong: all fields that are, if there are several."""
    errors = problem.get("errors")
    wrong = (
        [str(each.get("message", "")) for each in errors if isinstance(each, dict)] if isinstance(errors, list) else []
    )
    return _plain(" ".join(wrong[:MOST_FIELDS]) if len(wrong) > 1 else str(problem.get("detail", "")))


def _plain(text: str) -> str:
    """The text without control characters, which a server could send to steer a terminal."""
    return "".join(mark if mark.isprintable() else " " for mark in text[:LONGEST_SENTENCE]).strip()


def loop_id(loop: object) -> str:
    """The id of a loop that is named by a value or by its id. LoopNotFound if no loop can have it."""
    name = str(getattr(loop, "loop_id", loop))
    if not _ID.fullmatch(name):
        raise LoopNotFound(f"There is no loop '{_plain(name)[:100]}'.", "name a loop of a server by its whole id")
    return name


def created(answer: Answer) -> str:
    """The id of the loop in an answer."""
    name = answer.fields().get("loop_id")
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise answer.nonsense("it names no loop")
    return name


def shown(answer: Answer) -> tuple[Loop, bool]:
    """The loop in an answer, and whether a runner drives it."""
    fields = answer.fields()
    try:
        return look.loop_of(fields), fields["driven"] is True
    except (ValueError, KeyError) as problem:
        raise answer.nonsense(f"the state of the loop cannot be read, {problem}") from None


def page(answer: Answer) -> tuple[tuple[LoopLine, ...], str | None]:
    """The loops in an answer, and the cursor of the next page."""
    fields = answer.fields()
    try:
        cursor = fields.get("next")
        return tuple(map(_line, fields["loops"])), cursor if isinstance(cursor, str) else None
    except (ValueError, KeyError, TypeError, OverflowError, AttributeError) as problem:
        raise answer.nonsense(f"the list of loops cannot be read, {problem}") from None


def _line(fields: Any) -> LoopLine:
    times = {name: epoch(fields[name]) for name in ("created_at", "updated_at")}
    status = None if fields["status"] == "damaged" else fields["status"]
    return from_json(LoopLine, {**fields, **times, "status": status})


def heard(answer: Answer) -> tuple[tuple[str, ...], bool]:
    """The notices about a message, and whether the loop goes on."""
    fields = answer.fields()
    try:
        return from_json(tuple[str, ...], fields["notices"]), from_json(bool, fields["goes_on"])
    except (KeyError, CodecError) as problem:
        raise answer.nonsense(f"what became of the message cannot be read, {problem}") from None


def verified(answer: Answer) -> tuple[Verification, ...]:
    """The checks of an ended loop, as they were and as they are now."""
    fields = answer.fields()
    try:
        differs = None if fields["same_workspace"] is None else from_json(tuple[str, ...], fields["differs"])
        return tuple(
            Verification({"passed": None, **check["before"]}, from_json(GateResult, check["now"]), differs)
            for check in fields["checks"]
        )
    except (ValueError, KeyError, TypeError) as problem:
        raise answer.nonsense(f"the results of the checks cannot be read, {problem}") from None


def broke(answer: Answer) -> int:
    """The round that broke the checks."""
    number = answer.fields().get("broke")
    if not isinstance(number, int):
        raise answer.nonsense("it names no round")
    return number


def cleaned(answer: Answer, *, dry_run: bool) -> tuple[str, ...]:
    """The ids of the loops that were deleted, or would be."""
    try:
        return from_json(tuple[str, ...], answer.fields()["found" if dry_run else "deleted"])
    except (KeyError, CodecError) as problem:
        raise answer.nonsense(f"the deleted loops cannot be read, {problem}") from None


def branch(answer: Answer) -> Branch | None:
    """The branch of a loop; None: it works in the folder itself."""
    fields = answer.fields()
    try:
        return None if fields["name"] is None else from_json(Branch, fields)
    except (KeyError, CodecError) as problem:
        raise answer.nonsense(f"the branch cannot be read, {problem}") from None


def spend(answer: Answer) -> Money:
    """What the loops of the server have spent."""
    try:
        return from_json(Money, answer.fields())
    except CodecError as problem:
        raise answer.nonsense(f"what was spent cannot be read, {problem}") from None


def entry(server: str, data: str, of_loop: str) -> Entry:
    """The journal entry in a message of the stream."""
    try:
        fields = json.loads(data)
        return look.entry_of(fields, of_loop)
    except (ValueError, RecursionError, AttributeError) as problem:
        raise nonsense(server, f"an entry of the journal cannot be read, {problem}") from None
