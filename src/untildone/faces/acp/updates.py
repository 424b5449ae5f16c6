"""Journal entries as updates of an editor: rounds and gates are tool calls, subtasks and checks the plan, the rest is text."""

from __future__ import annotations

from collections.abc import Iterator

from acp import helpers
from acp.schema import PlanEntry, PlanEntryStatus, ToolKind

from untildone.core.answers import rounds
from untildone.core.apply import apply
from untildone.core.events import (
    AnswerRead,
    Entry,
    GatesRan,
    GateStarted,
    LoopCreated,
    Rested,
    SubtasksChanged,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
)
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Role, SubtaskStatus
from untildone.core.plugins.agent_io import AgentEvent, Said, Thought, ToolEnded, ToolStarted
from untildone.core.receipts import proof
from untildone.faces.text import gate_lines, loop_lines, turn_lines
from untildone.faces.text.line import Kind

Update = helpers.SessionUpdate
_TOOL = "tool of the agent: "
MOST_CALLS = 1000
"""Tool calls of the agent without an end. The oldest one ends when there are more."""
LONGEST_SAID = 400_000
"""Characters that are kept of what the worker said: an answer is shorter."""


def _of_tool(call: str) -> str:
    return f"{_TOOL}{call}"


class Updates:
    """Turns the entries of a loop into updates, in their order. Entries up to `after` are known to the editor."""

    def __init__(self, after: int = 0) -> None:
        self._after = after
        self._loop: Loop | None = None
        self._running: dict[str, str] = {}
        """Tool calls that have begun, by what they do."""
        self._said = ""
        """What the worker said in the running turn, as far as it was sent."""
        self._calls = 0
        """How many tool calls of agents were sent."""

    @property
    def loop(self) -> Loop | None:
        """The loop after the last entry."""
        return self._loop

    def of(self, entry: Entry) -> tuple[Update, ...]:
        """The updates for an entry."""
        if self._loop is None and not isinstance(entry.event, LoopCreated):
            return ()
        loop = self._loop = apply(self._loop, entry)
        updates = tuple(self._of(entry, loop))
        return updates if entry.seq > self._after else ()

    def _of(self, entry: Entry, loop: Loop) -> Iterator[Update]:
        event = entry.event
        match event:
            case TurnStarted(role=role, iteration=iteration):
                self._said = ""
                yield self._begin(f"{role}", f"{loop.loop_id}-{entry.seq}", _title(loop, role, iteration), "think")
                yield _plan(loop)
            case TurnEnded(role=role, answer=answer):
                failed = answer.failure is not None
                text = answer.failure.message if answer.failure is not None else ""
                yield from self._end_tools()
                yield from self._end(f"{role}", text, failed=failed)
                if role is Role.WORKER and answer.text.strip() and not failed and not self._was_said(answer.text):
                    yield helpers.update_agent_message_text(f"{answer.text.strip()}\n\n")
            case TurnInterrupted(role=role):
                yield from self._end_tools()
                yield from self._end(f"{role}", turn_lines.WHY_INTERRUPTED[event.reason], failed=True)
            case GateStarted(command=command):
                yield self._begin(command, f"{loop.loop_id}-{entry.seq}", command, "execute")
            case GatesRan(results=results):
                for number, result in enumerate(results):
                    yield from self._judged(result, f"{loop.loop_id}-{entry.seq}-{number}")
                yield _plan(loop)
            case AnswerRead() | SubtasksChanged() if loop.tasks:
                yield _plan(loop)
            case Rested():
                yield _plan(loop)
                yield helpers.update_agent_message_text(ending(loop))
            case _:
                for line in loop_lines.of_entry(entry, loop, live=False):
                    if line.kind in (Kind.BAD, Kind.WARNING):
                        yield helpers.update_agent_thought_text(f"{line.text.strip()}\n")

    def of_agent(self, event: AgentEvent) -> tuple[Update, ...]:
        """The updates for what the agent of the running turn printed. Words of reviewers are thoughts here."""
        loop = self._loop
        if loop is None or loop.turn is None:
            return ()
        match event:
            case Said(text=text) if text.strip() and loop.turn.role is Role.WORKER:
                self._said = f"{self._said}{text}\n"[-LONGEST_SAID:]
                return (helpers.update_agent_message_text(f"{text}\n"),)
            case Said(text=text) | Thought(text=text) if text.strip():
                return (helpers.update_agent_thought_text(f"{text}\n"),)
            case ToolStarted(tool=tool, summary=summary):
                self._calls += 1
                call = f"{loop.loop_id}-{loop.seq}-tool-{self._calls}"
                ended = self._end_first("", failed=False) if len(self._running) > MOST_CALLS else ()
                return (*ended, self._begin(_of_tool(call), call, f"{tool} {summary}".strip(), "other"))
            case ToolEnded(ok=ok, summary=summary):
                return self._end_first(summary, failed=not ok)
            case _:
                return ()

    def _end_first(self, text: str, *, failed: bool) -> tuple[Update, ...]:
        """End the oldest tool call of the agent."""
        first = next((what for what in self._running if what.startswith(_TOOL)), None)
        return tuple(self._end(first, text, failed=failed)) if first else ()

    def _end_tools(self) -> Iterator[Update]:
        """End the tool calls of which the agent reported no end."""
        for what in [each for each in self._running if each.startswith(_TOOL)]:
            yield from self._end(what, "", failed=False)

    def _was_said(self, answer: str) -> bool:
        """Whether the editor has the words of an answer already."""
        return " ".join(answer.split()) in " ".join(self._said.split())

    def _begin(self, what: str, call: str, title: str, kind: ToolKind) -> Update:
        self._running[what] = call
        return helpers.start_tool_call(call, title, kind=kind, status="in_progress")

    def _end(self, what: str, text: str, *, failed: bool) -> Iterator[Update]:
        call = self._running.pop(what, None)
        if call is not None:
            content = [helpers.tool_content(helpers.text_block(text))] if text else None
            yield helpers.update_tool_call(call, status="failed" if failed else "completed", content=content)

    def _judged(self, result: GateResult, call: str) -> Iterator[Update]:
        what = result.command or result.gate.replace("_", " ")
        if what not in self._running:
            yield self._begin(what, call, what, "execute")
        text = "\n".join(line.text for line in gate_lines.of_gate(result))
        yield from self._end(what, text, failed=not result.passed)


def _title(loop: Loop, role: Role, iteration: int) -> str:
    limit = loop.budget.iterations
    of_all = f" of {limit}" if limit is not None else ""
    return f"Round {iteration}{of_all}" if role is Role.WORKER else f"Round {iteration}: the {role.value}"


def _plan(loop: Loop) -> Update:
    if loop.tasks:
        entries = [_entry(each.text, done=each.status is SubtaskStatus.COMPLETED) for each in loop.tasks]
    else:
        held = {result.command for result in loop.gates if result.passed}
        done = loop.status.ended and loop.outcome is not None and loop.outcome.exit_code == 0
        checks = [_entry(check, done=check in held) for check in loop.settings.checks]
        entries = [_entry(loop.title, done=done, otherwise="in_progress"), *checks]
    return helpers.update_plan(entries)


def _entry(content: str, *, done: bool, otherwise: PlanEntryStatus = "pending") -> PlanEntry:
    return helpers.plan_entry(content, priority="medium", status="completed" if done else otherwise)


def ending(loop: Loop) -> str:
    """How a loop came to rest, as a paragraph: outcome, reason, what it used, and how to go on."""
    assert loop.outcome is not None
    level = proof.level(loop).value
    head = f"**{loop.outcome.word}**{f' ({level})' if level else ''}: {loop.end_sentence}"
    cost = f", ${loop.spend.cost_usd:.2f}" if loop.spend.cost_usd else ""
    used = f"{rounds.progress(loop.spend.iterations, loop.budget.iterations)} rounds{cost}."
    go_on = "" if loop.status.ended else "Your next message goes on with it."
    return " ".join(part for part in (head, loop.reason, used, go_on, f"Loop {loop.loop_id}.") if part) + "\n"
