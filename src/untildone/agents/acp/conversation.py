"""One turn over the Agent Client Protocol: open a session, prompt, answer what the program asks, until the prompt is answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from untildone.agents._conversing import JsonConversation
from untildone.agents._lines import (
    Object,
    ended_without_answer,
    field,
    first_line,
    object_field,
    objects_field,
    session_to_use,
    status_field,
    text_field,
    tokens_field,
    with_system_prompt,
)
from untildone.agents.acp import messages, permissions
from untildone.agents.acp.known import Counts, Program
from untildone.agents.acp.updates import Updates, summary
from untildone.core.answers.failures import classify, limit_in_answer
from untildone.core.model import Answer, Failure, FailureKind, Permissions, SessionUse, Usage
from untildone.core.plugins.agent_io import AgentEvent, Notice, Request, SessionKnown
from untildone.core.prices import TokenCount
from untildone.core.values.value import dataclass

MOST_DENIALS = 100
MOST_REQUESTS = 10_000
"""Requests of the program in one turn. One that sends more, and perhaps reads no answer, is ended."""
LONGEST_NAME = 1000
"""Characters of an id or a version. An id is sent back, and both are kept."""
_ERROR_TEXT = re.compile(r"\s*(?:API )?Error: |\s*exceeded retry limit, last status")
"""How an answer begins in which a program reports an error of its model, as if the model had said it."""
_LONGEST_ERROR = 2000
_HTTP = range(400, 600)
_JSON_RPC = "Internal error: "
"""Before the message of an error, whatever its kind."""


@dataclass(frozen=True, slots=True)
class Past:
    """The state that a process brings from its earlier turns into the next one."""

    turns: int
    session: str
    version: str
    cost: float | None
    """The dollars of the session so far; None: not reported."""
    tokens: int
    """By its own count since its start."""


class AcpConversation(JsonConversation):
    def __init__(
        self, program: Program, request: Request, past: Past | None = None, unanswered: Sequence[bytes] = ()
    ) -> None:
        """`past`: the last conversation of the process, whose session goes on; None: the process begins with this turn. `unanswered` are
        answers to requests that the process made since its last turn."""
        self._program, self._request = program, request
        self._turn = past.turns + 1 if past else 1
        self._prompt_id = f"{messages.PROMPT}/{request.fresh_id or self._turn}" if past else messages.PROMPT
        self._name = program.words[0].rpartition("/")[2]
        super().__init__(self._name, messages.initialize())
        self._permissions = Permissions.READ if request.reviews else request.permissions
        self._updates = Updates(marks_messages=program.marks_messages)
        self._settings: list[bytes] = []
        """Requests that follow the opening of the session, before the prompt."""
        self._session = ""
        self._is_greeted = self._is_open = self._has_ended = self._prompted = self._is_interrupted = False
        self._result: Object | None = None
        """The answer to the prompt; None: there is none."""
        self._error: tuple[str, Object] | None = None
        """The request that failed, and the error."""
        self._problem: Failure | None = None
        self._denials: list[str] = []
        self._requests = 0
        self._version = ""
        self._tokens_before = past.tokens if past else 0
        """What the process had used when the turn began, by its own count."""
        if past is not None:
            self._session, self._version, self._updates.cost = past.session, past.version, past.cost
            self._is_greeted = self._is_open = True
            self._out.clear()
            self._out.extend(unanswered)
            self._go_on()

    def next_turn(self, request: Request) -> AcpConversation | None:
        use, session_id = session_to_use(request)
        if use is not SessionUse.RESUME or session_id != self._session or self._result is None:
            return None
        past = Past(self._turn, self._session, self._version, self._updates.cost, self._tokens_so_far())
        return AcpConversation(self._program, request, past, tuple(self._out))

    @property
    def session(self) -> str:
        return self._session

    @property
    def is_open(self) -> bool:
        """Whether the session is open and set up, so that the program has its prompt."""
        return self._prompted

    @property
    def has_ended(self) -> bool:
        return self._has_ended

    def interrupt(self) -> None:
        self._is_interrupted = True
        if self._prompted:
            self._out.append(messages.notification(messages.CANCEL, {"sessionId": self._session}))
        else:
            self._has_ended = True

    def give_up(self, seconds: float) -> None:
        self._fail(FailureKind.TIMEOUT, f"{self._name} did not open a session within {seconds:g} s")

    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        method, request_id = text_field(fields, "method"), field(fields, "id")
        if method == messages.UPDATE:
            yield from self._take_update(object_field(fields, "params", "update"))
        elif method and "id" in fields:
            yield from self._answer(method, request_id, object_field(fields, "params"))
        elif not method and isinstance(request_id, str) and not self._has_ended:
            yield from self._take_response(request_id, fields)

    def _take_update(self, update: Object) -> Iterator[AgentEvent]:
        """Take a notification. After the end of the turn, only its cost counts. Between the greeting and the opening of the session,
        they are the history of an earlier one and do not count; without a greeting, the process went on from its last turn."""
        if self._has_ended:
            self._updates.take_cost(update)
        elif self._is_open or not self._is_greeted:
            yield from self._updates.take(update)

    def _answer(self, method: str, request_id: object, params: Object) -> Iterator[AgentEvent]:
        """Answer a request of the program. It can ask for permission only, and gets none after the end of its turn, or after the request
        to end it."""
        self._requests += 1
        if problem := self._why_unanswerable(request_id):
            if not self._has_ended:
                self._fail(FailureKind.MALFORMED, problem)
            return
        if method != messages.PERMISSION:
            self._out.append(messages.unknown_method(request_id, method[:LONGEST_NAME]))
            return
        if self._has_ended or self._is_interrupted:
            self._out.append(messages.chosen(request_id, None))
            return
        call = object_field(params, "toolCall")
        yield from self._updates.flush()
        yield from self._updates.announce(call)
        granted = permissions.grants(self._permissions, self._updates.kind(call))
        self._out.append(
            messages.chosen(request_id, permissions.option(objects_field(params, "options"), granted=granted))
        )
        if not granted:
            yield from self._deny(f"{self._updates.kind(call)}: {summary(call)}")

    def _why_unanswerable(self, request_id: object) -> str:
        """Why a request gets no answer, and ends the turn; empty: it gets one."""
        if self._requests > MOST_REQUESTS:
            return f"{self._name} sent more than {MOST_REQUESTS} requests in one turn"
        is_id = request_id is None or (isinstance(request_id, str | int) and len(str(request_id)) <= LONGEST_NAME)
        return "" if is_id else f"{self._name} sent a request whose id is neither a short text nor a number"

    def _deny(self, what: str) -> Iterator[AgentEvent]:
        if len(self._denials) < MOST_DENIALS:
            self._denials.append(what)
            yield Notice(f"not permitted: {what}")

    def _take_response(self, request_id: str, fields: Object) -> Iterator[AgentEvent]:
        result = object_field(fields, "result")
        if not self._is_awaited(request_id):
            return
        if "error" in fields:
            self._take_error(request_id, object_field(fields, "error"))
        elif request_id == messages.INITIALIZE:
            self._open(result)
        elif request_id in messages.OPENING:
            yield from self._opened(request_id, result)
        elif request_id.startswith(messages.PROMPT):
            yield from self._updates.flush()
            self._result, self._has_ended = result, True
        else:
            self._go_on()

    def _is_awaited(self, request_id: str) -> bool:
        """Whether an answer is not one more to a request that was answered, or to the prompt of an earlier turn. The output alone,
        without a greeting, does not say which turn of its process it is of."""
        if request_id == messages.INITIALIZE:
            return not self._is_greeted
        if request_id in messages.OPENING:
            return self._is_greeted and not self._is_open
        return not (request_id.startswith(messages.PROMPT) and self._is_greeted and request_id != self._prompt_id)

    def _take_error(self, request_id: str, error: Object) -> None:
        self._error, self._has_ended = (request_id, error), True

    def _open(self, result: Object) -> None:
        """Open the session that the request asks for, with what the program can do."""
        self._is_greeted = True
        # What it printed before that was no answer.
        self._updates = Updates(marks_messages=self._program.marks_messages)
        self._version = text_field(result, "agentInfo", "version")[:LONGEST_NAME]
        if status_field(result, "protocolVersion") != messages.VERSION:
            spoken = f"version {status_field(result, 'protocolVersion')} of the Agent Client Protocol"
            self._fail(FailureKind.UNAVAILABLE, f"{self._name} speaks {spoken}; untildone speaks {messages.VERSION}")
            return
        use, session_id = session_to_use(self._request)
        method = self._method(use, object_field(result, "agentCapabilities"))
        if method is None:
            self._fail(FailureKind.UNAVAILABLE, f"{self._name} cannot {use.value} a session of an earlier process")
            return
        self._session = "" if use is SessionUse.NEW else session_id
        known = {"sessionId": session_id} if self._session else {}
        self._out.append(messages.request(method, {**known, "cwd": self._request.folder, "mcpServers": []}))

    def _method(self, use: SessionUse, capabilities: Object) -> str | None:
        """The method that opens the session; None: the program has none that can be trusted."""
        offered = object_field(capabilities, "sessionCapabilities")
        if use is SessionUse.NEW:
            return messages.NEW
        if use is SessionUse.FORK:
            return messages.FORK if "fork" in offered else None
        if not self._program.resumes:
            return None
        if "resume" in offered:
            return messages.RESUME
        return messages.LOAD if field(capabilities, "loadSession") is True else None

    def _opened(self, method: str, result: Object) -> Iterator[AgentEvent]:
        self._session = text_field(result, "sessionId") or self._session
        if len(self._session) > LONGEST_NAME:
            self._session = ""
            self._fail(
                FailureKind.MALFORMED,
                f"{self._name} opened a session with an id of more than {LONGEST_NAME} characters",
            )
            return
        self._is_open = True
        if self._session:
            yield SessionKnown(self._session)
        if method in (messages.NEW, messages.FORK) and not self._session:
            self._fail(FailureKind.MALFORMED, f"{self._name} opened a session without an id")
            return
        self._settings = [*self._mode(result), *self._model(result)]
        self._go_on()

    def _mode(self, result: Object) -> Iterator[bytes]:
        mode = self._program.modes.get(self._permissions, "")
        if mode in {text_field(each, "id") for each in objects_field(result, "modes", "availableModes")} - {""}:
            yield messages.request(messages.SET_MODE, {"sessionId": self._session, "modeId": mode})

    def _model(self, result: Object) -> Iterator[bytes]:
        """The request that chooses the model, if the program has such an option."""
        model = self._request.model
        if not model or self._program.model_flag:
            return
        options = [each for each in objects_field(result, "configOptions") if text_field(each, "category") == "model"]
        if options:
            chosen = {"sessionId": self._session, "configId": text_field(options[0], "id"), "value": model}
            yield messages.request(messages.SET_OPTION, chosen)
        else:
            self._fail(
                FailureKind.UNAVAILABLE, f"{self._name} takes no model from untildone; name it in its own arguments"
            )

    def _go_on(self) -> None:
        """Send the next setting, or the prompt after the last one."""
        if self._has_ended or self._prompted:
            return
        if self._settings:
            self._out.append(self._settings.pop(0))
            return
        self._prompted = True
        text = with_system_prompt(self._request.prompt, self._request.system_prompt)
        self._out.append(messages.prompt(self._prompt_id, self._session, _disarmed(text)))

    def _fail(self, kind: FailureKind, message: str) -> None:
        self._problem, self._has_ended = Failure(kind, message), True

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        failure = self._failure(exit_code, stderr_tail, now)
        usage, model = self._usage()
        cost = self._updates.cost if self._program.totals_cost else None
        return Answer(
            text="" if failure else self._updates.text,
            session_id=self._session if self._is_open and self._session else None,
            usage=usage,
            session_total=None if cost is None else Usage(cost_usd=cost),
            priced=self._request.prices.date if usage.cost_usd else "",
            failure=failure,
            denials=tuple(self._denials),
            exit_code=exit_code,
            agent_version=self._version or None,
            model=model or None,
        )

    def _failure(self, exit_code: int, stderr_tail: str, now: float) -> Failure | None:
        if self._problem is not None:
            return self._problem
        if self._error is not None:
            return self._request_failed(*self._error, now)
        if self._result is None:
            return ended_without_answer(self._name, exit_code, stderr_tail, now, stray=self._lines.stray)
        return self._stopped(text_field(self._result, "stopReason"), now)

    def _stopped(self, reason: str, now: float) -> Failure | None:
        """Why the end of a turn is no answer; None: it is one."""
        text = self._updates.text
        match reason:
            case "refusal":
                return Failure(FailureKind.REFUSED, f"the model refused to answer: {first_line(text)}".rstrip(": "))
            case "cancelled":
                return Failure(FailureKind.CRASHED, f"{self._name} cancelled its turn")
            case "end_turn" | "max_tokens" | "max_turn_requests":
                return limit_in_answer(text, now) or self._error_as_text(text, now)
            case _:
                return Failure(FailureKind.MALFORMED, f"{self._name} ended its turn for an unknown reason: {reason!r}")

    def _error_as_text(self, text: str, now: float) -> Failure | None:
        """The error of the model that a program reports as an answer. A model may write such words too, but then it was counted."""
        counted = self._program.counts is not Counts.UNKNOWN and bool(self._usage()[0].tokens)
        if not text and self._updates.note and not counted:
            return classify(self._updates.note, status=None, now=now)
        if not _ERROR_TEXT.match(text) or len(text) > _LONGEST_ERROR:
            return None
        failure = classify(text, status=None, now=now)
        return None if failure.kind is FailureKind.CRASHED and counted else failure

    def _request_failed(self, method: str, error: Object, now: float) -> Failure:
        details = (
            text_field(error, "message"),
            text_field(error, "data", "details"),
            text_field(error, "data", "message"),
        )
        words = (part.removeprefix(_JSON_RPC) for part in details)
        text = ": ".join(dict.fromkeys(part for part in words if part)) or f"{self._name} refused {method}"
        code = status_field(error, "code")
        if code == messages.AUTH_REQUIRED:
            return Failure(FailureKind.AUTH, text)
        kind = text_field(error, "data", "errorKind").replace("_", " ")
        failure = classify(f"{text} ({kind})" if kind else text, status=code if code in _HTTP else None, now=now)
        if failure.kind is FailureKind.CRASHED and not method.startswith(messages.PROMPT):
            # The session is gone, or the program does not know the mode or the model.
            return Failure(FailureKind.UNAVAILABLE, f"{self._name} refused {method}: {text}")
        return failure

    def _usage(self) -> tuple[Usage, str]:
        """What the turn used, with the model if it is named."""
        result = self._result or {}
        if self._program.counts is Counts.TURN:
            return Usage(tokens=tokens_field(object_field(result, "usage"), "totalTokens")), ""
        if self._program.counts is Counts.PROCESS:
            return Usage(tokens=max(0, self._tokens_so_far() - self._tokens_before)), ""
        if self._program.counts is Counts.QUOTA:
            return self._quota(object_field(result, "_meta", "quota"))
        return Usage(tokens=self._updates.tokens if self._program.counts is Counts.CHUNKS else None), ""

    def _tokens_so_far(self) -> int:
        """The tokens of the process since its start, by its last count."""
        total = tokens_field(object_field(self._result or {}, "usage"), "totalTokens")
        return self._tokens_before if total is None else total

    def _quota(self, quota: Object) -> tuple[Usage, str]:
        models = {text_field(each, "model"): _count(each) for each in objects_field(quota, "model_usage")}
        costs = [self._request.prices.cost(name, count) for name, count in models.items()]
        known = [cost for cost in costs if cost is not None]
        dollars = sum(known) if known and len(known) == len(costs) else None
        tokens = _count(quota).total if object_field(quota, "token_count") else None
        return Usage(dollars, tokens), next(iter(models), "")


def _count(source: Object) -> TokenCount:
    counted = object_field(source, "token_count")
    return TokenCount(tokens_field(counted, "input_tokens") or 0, tokens_field(counted, "output_tokens") or 0)


def _disarmed(prompt: str) -> str:
    """The prompt, with words before a leading slash: programs take it as one of their own commands."""
    return f"The task: {prompt}" if prompt.lstrip().startswith("/") else prompt
