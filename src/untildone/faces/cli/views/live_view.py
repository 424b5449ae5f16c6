"""The live view at a terminal: scrolling lines above a panel with the current state. Drawn with Rich."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from untildone.core import budget as budgets
from untildone.core import limits
from untildone.core.answers import rounds
from untildone.core.events import Entry, TurnEnded, TurnInterrupted, TurnStarted
from untildone.core.limits import duration
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Spend, SubtaskStatus
from untildone.core.plugins.agent_io import AgentEvent, Said, SessionKnown, ToolEnded
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import replace
from untildone.faces.cli import wrapping
from untildone.faces.cli.streams import Output
from untildone.faces.cli.views import speech
from untildone.faces.cli.views.plain_view import PlainView
from untildone.faces.text import loop_lines
from untildone.faces.text.line import Kind, Line, clock
from untildone.faces.text.plain import one_line
from untildone.operations import output

FRAMES_A_SECOND = 6
RECENT = 4
TOGETHER = 0.4
"""Seconds after which words of an agent are shown: lines that come together are drawn as one piece of Markdown."""
MOST_SUBTASKS = 6
BAR_WIDTH = 24
STYLES = {
    Kind.HEADER: "bold cyan",
    Kind.SAID: "",
    Kind.DONE: "cyan",
    Kind.QUIET: "dim",
    Kind.GOOD: "bold green",
    Kind.BAD: "bold red",
    Kind.WARNING: "yellow",
    Kind.PLAIN: "",
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A wait of the loop, until a time."""

    until: float
    reason: str
    seq: int
    """The last entry of the loop when the wait began; a later entry ends the wait."""


class LiveView(PlainView):
    """An observer that shows events as lines and the state of the loop in a panel."""

    def __init__(self, talk: Output, redactor: Redactor) -> None:
        super().__init__(talk, redactor)
        self._console = Console(stderr=True, highlight=False)
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None
        self._started = time.monotonic()
        self._heard_at = self._started
        self._loop: Loop | None = None
        self._now: deque[AgentEvent] = deque(maxlen=RECENT)
        self._gates: dict[str, GateResult | None] = {}
        self._trial: tuple[str, int, int, str] | None = None
        """The proof that runs now, the number of its last trial, how many there are, and what it is about."""
        self._waiting: Waiting | None = None
        self._spinner = Spinner("dots")
        self._live = self._new_live()

    def __enter__(self) -> LiveView:
        self._resume()
        return self

    def _new_live(self) -> Live:
        return Live(
            console=self._console,
            get_renderable=self._panel,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def _resume(self) -> None:
        # A new one each time: a restarted `Live` would overwrite as many lines as it had when it was stopped.
        self._live = self._new_live()
        self._over.clear()
        self._draw(self._live.start)
        self._ticker = threading.Thread(target=self._tick, name="live view", daemon=True)
        self._ticker.start()

    def _suspend(self) -> None:
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
        self._draw(self._live.stop)

    def _tick(self) -> None:
        while not self._over.wait(1 / FRAMES_A_SECOND):
            with self._lock:
                if self._loop is not None and time.monotonic() > self._heard_at + TOGETHER:
                    self._speak(self._loop)
            self._draw(self._live.refresh)

    def _draw(self, step: Callable[[], None]) -> None:
        """Draw under the lock: two threads that move the cursor would overwrite each other's lines."""
        with self._lock:
            if self._talk.gone:
                return
            try:
                step()
            except (OSError, ValueError):
                self._talk.gone = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._suspend()

    @contextmanager
    def aside(self) -> Iterator[None]:
        self._suspend()
        try:
            yield
        finally:
            self._resume()

    def line(self, line: Line) -> None:
        rows = wrapping.rows(self._redactor.text(line.text), self._console.width)
        text = _text(Line("\n".join(rows), line.kind))
        self._draw(lambda: self._console.print(text, overflow="fold"))

    def speech(self, text: str) -> None:
        drawn = speech.markdown(self._redactor.text(text))
        self._draw(lambda: self._console.print(drawn))

    def entry(self, entry: Entry, loop: Loop) -> None:
        self._loop = loop
        if isinstance(entry.event, TurnStarted | TurnEnded | TurnInterrupted):
            self._now.clear()
        if isinstance(entry.event, TurnStarted):
            self._gates = {}
        with self._lock:
            super().entry(entry, loop)

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        """Text of the agent becomes a line; its tools appear in the panel while they run."""
        self._loop = loop
        if not isinstance(event, ToolEnded | SessionKnown) or (isinstance(event, ToolEnded) and not event.ok):
            self._now.append(event)
        if isinstance(event, Said):
            with self._lock:
                self._heard.append(event.text)
                self._heard_at = time.monotonic()
        else:
            with self._lock:
                self._speak(loop)

    def gate(self, command: str, result: GateResult | None) -> None:
        self._gates[command] = result
        self._trial = None
        if result is not None:
            super().gate(command, result)

    def trying(self, proof: str, number: int, total: int, about: str) -> None:
        self._trial = (proof, number, total, about)

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        self._waiting = Waiting(until, reason, loop.seq)

    def _panel(self) -> RenderableType:
        loop = self._loop
        if loop is None:
            return Text("starting …", style="dim")
        room = max(4, self._console.height - 2)
        rows = [
            Rule(style="dim"),
            *self._head(loop),
            *self._rows(loop_lines.standing(loop), "dim"),
            *_subtasks(loop),
            *self._doing(loop),
            *self._gate_rows(loop),
            *self._trial_rows(),
            *self._bars(loop),
        ]
        return Group(*rows[:room])

    def _head(self, loop: Loop) -> list[RenderableType]:
        """The round, and what was spent: beside it, or in rows of their own where that does not fit."""
        left = budgets.rounds_left(loop.budget, loop.spend)
        spend = loop.spend
        facts = " · ".join((duration(time.monotonic() - self._started), *limits.shown(spend)))
        name = output.mode(loop.settings.mode).heading(loop, loop.turn.label) if loop.turn is not None else ""
        header = rounds.header(spend.iterations, left, name) if spend.iterations else "starting"
        head = Text(header, style=STYLES[Kind.HEADER])
        if cell_len(header) + 2 + cell_len(facts) > self._console.width:
            return [head, *self._rows(facts, "dim")]
        head.append(f"  {facts}", style="dim")
        return [head]

    def _rows(self, text: str, style: str) -> list[RenderableType]:
        """The words in rows that fit; nothing for no words."""
        return [Text(row, style=style) for row in wrapping.rows(text, self._console.width) if row]

    def _doing(self, loop: Loop) -> list[RenderableType]:
        waiting = self._waiting
        if waiting is not None and waiting.seq == loop.seq and (left := waiting.until - time.time()) > 0:
            text = f"waiting {duration(left)}, until {clock(waiting.until)}: {one_line(waiting.reason)}"
            return self._rows(f"⏳ {text}", STYLES[Kind.WARNING])
        lines: list[RenderableType] = [
            _one_row(_text(line)) for event in tuple(self._now) if (line := loop_lines.of_agent(event)) is not None
        ]
        if loop.turn is not None:
            turn = f"{loop.turn.role.value} {loop.turn.profile} at work {duration(time.time() - loop.turn.started_at)}"
            self._spinner.update(text=Text(turn, style="dim"))
            lines.append(self._spinner)
        return lines

    def _gate_rows(self, loop: Loop) -> list[RenderableType]:
        return [_one_row(_gate(command, self._gates, loop)) for command in loop.settings.checks]

    def _trial_rows(self) -> list[RenderableType]:
        """The progress of the proof that runs now."""
        if self._trial is None:
            return []
        proof, number, total, about = self._trial
        table = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=total, completed=number, width=max(6, min(BAR_WIDTH, self._console.width - 36)))
        table.add_row(Text(proof.replace("_", " "), style="dim"), bar, Text(f"{number} of {total}", style="dim"))
        return [table, _one_row(Text(f"  {one_line(about)}", style="dim"))]

    def _bars(self, loop: Loop) -> list[RenderableType]:
        table = Table.grid(padding=(0, 1))
        width = max(6, min(BAR_WIDTH, self._console.width - 36))
        for gauge in budgets.gauges(loop.budget, _spend_now(loop)):
            style = "red" if gauge.used_up else "yellow" if gauge.share >= budgets.WARN_AT else "green"
            bar = ProgressBar(total=1.0, completed=gauge.share, width=width, complete_style=style, finished_style=style)
            used = budgets.number(gauge.used)
            table.add_row(
                Text(gauge.limit.row.unit, style="dim"), bar, Text(f"{used} of {gauge.allowed:,.10g}", style="dim")
            )
        return [table] if table.row_count else []


def _subtasks(loop: Loop) -> list[RenderableType]:
    """The subtasks around the first one that is not done."""
    first = next((at for at, task in enumerate(loop.tasks) if task.status is not SubtaskStatus.COMPLETED), 0)
    start = max(0, min(first - 1, len(loop.tasks) - MOST_SUBTASKS))
    return [_one_row(_text(loop_lines.of_subtask(task))) for task in loop.tasks[start : start + MOST_SUBTASKS]]


def _spend_now(loop: Loop) -> Spend:
    """The spend of the loop, with the time of the running turn."""
    running = max(0.0, time.time() - loop.turn.started_at) if loop.turn is not None and loop.answer is None else 0.0
    return replace(loop.spend, seconds=loop.spend.seconds + running)


def _gate(command: str, gates: dict[str, GateResult | None], loop: Loop) -> Text:
    name = one_line(command)
    if command in gates:
        result = gates[command]
        if result is None:
            return Text(f"◌ {name} runs", style="yellow")
    else:
        result = next((old for old in loop.gates if old.command == command), None)
    if result is None:
        return Text(f"○ {name}", style="dim")
    return Text(f"{'✓' if result.passed else '✗'} {name}", style="green" if result.passed else "red")


def _text(line: Line) -> Text:
    return Text(line.text, style=STYLES[line.kind])


def _one_row(text: Text) -> Text:
    text.no_wrap = True
    text.overflow = "ellipsis"
    return text
