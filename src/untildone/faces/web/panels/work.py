"""The rounds of a loop as a timeline, and the live output of the selected round."""

from __future__ import annotations

from nicegui import ui
from nicegui.element import Element

from untildone.core.limits import duration
from untildone.core.model import Status
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.panels.output import OutputView
from untildone.faces.web.pieces import box, card, money, text
from untildone.operations.showing.timeline import LIMIT, Round
from untildone.operations.showing.values import LoopView

SHOWN = 40
"""How many rounds are shown at once; a button shows more."""


class Work:
    """The panel with the rounds."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._view: LoopView | None = None
        self._chosen: int | None = None
        """The selected round; None selects the last one."""
        self._until: int | None = None
        """The last round on the page; None for the last of the loop."""
        self._shown: list[tuple[Round, Element]] = []
        self._titles: tuple[object, ...] = ()
        with box("work"):
            with card(t("Rounds")):
                self._timeline = box("timeline")
                self._rewind = ui.button(t("Take back to here"), icon="history", on_click=self._ask_rewind)
                self._rewind.props("outline dense no-caps padding='4px 14px'").set_visibility(False)
                self._undo = ui.button(t("Undo the taking back"), icon="undo", on_click=self._on_undo)
                self._undo.props("outline dense no-caps padding='4px 14px'").set_visibility(False)
                self._bisect = ui.button(
                    t("Which round broke the checks?"), icon="troubleshoot", on_click=self._on_bisect
                )
                self._bisect.props("flat dense no-caps padding='4px 14px'").set_visibility(False)
            self._output = OutputView(backend, t)
        self._dialog = self._build_rewind()

    def _build_rewind(self) -> ui.dialog:
        t = self._t
        with ui.dialog() as dialog, box("card dialog"):
            text(t("Take the loop back to this round?"), "card-title", "h2")
            text(
                t("Files, state and sessions become as they were after it. What is there now is kept in a snapshot."),
                "quiet",
            )
            with box("actions end"):
                ui.button(t("Cancel"), on_click=dialog.close).props("flat")
                ui.button(t("Take back"), on_click=self._on_rewind).props("unelevated color=negative")
        return dialog

    async def show(self, view: LoopView) -> None:
        self._view = view
        self._show_timeline(view)
        chosen = self._round(view)
        number = chosen.number if chosen else None
        self._rewind.set_visibility(_may_rewind(view, chosen))
        self._undo.set_visibility(_rests(view) and view.timeline.is_taken_back)
        self._bisect.set_visibility(_rests(view) and bool(view.loop.settings.checks) and len(view.timeline.rounds) > 1)
        await self._output.choose(view.loop, number, is_going=_is_going(view, chosen))

    async def tick(self) -> None:
        await self._output.tick()

    def _round(self, view: LoopView) -> Round | None:
        rounds = view.timeline
        return rounds.last if self._chosen is None else rounds.round(self._chosen)

    def _show_timeline(self, view: LoopView) -> None:
        rounds = view.timeline.rounds
        end = len(rounds) if self._until is None else max(1, min(self._until, len(rounds)))
        start = max(0, end - SHOWN)
        chosen = self._round(view)
        state = (rounds[start:end], start, end == len(rounds), chosen.number if chosen else None, view.gate)
        if state == self._titles:
            return
        self._titles = state
        self._timeline.clear()
        with self._timeline:
            if not rounds:
                pieces.empty("hourglass_empty", self._t("No round yet"), self._t("The first one shows up here."))
            if end < len(rounds):
                self._button(self._t("Later rounds"), min(len(rounds), end + SHOWN))
            for each in reversed(rounds[start:end]):
                is_judged = view.gate is not None and each is view.timeline.last
                self._entry(each, chosen=chosen is not None and each.number == chosen.number, is_judged=is_judged)
            if start:
                self._button(self._t("Earlier rounds"), start)

    def _button(self, name: str, until: int) -> None:
        ui.button(name, on_click=lambda: self._page(until)).props("flat dense no-caps")

    def _page(self, until: int) -> None:
        if self._view is not None:
            self._until = None if until >= len(self._view.timeline.rounds) else until
            self._show_timeline(self._view)

    def _entry(self, each: Round, *, chosen: bool, is_judged: bool) -> None:
        icon, colour = _sign(each)
        button = box("round chosen" if chosen else "round", "button").on("click", lambda: self._choose(each.number))
        button.props["aria-pressed"] = "true" if chosen else "false"
        with button:
            if each.is_going or is_judged:
                ui.spinner(size="16px").classes("round-icon")
            else:
                ui.icon(icon).classes(f"round-icon {colour}")
            with box():
                text(_name(self._t, each), "round-name")
                judging = [self._t("being checked …")] if is_judged else []
                text(" · ".join([*_about(self._t, each), *judging]), "round-about")
            for words in each.messages[-3:]:
                text(words[:300], "said-by-person")

    def _ask_rewind(self) -> None:
        self._dialog.open()

    async def _on_rewind(self) -> None:
        self._dialog.close()
        chosen = self._round(self._view) if self._view else None
        if self._view is not None and chosen is not None:
            await pieces.attempt(self._t, self._backend.rewind, self._view.loop.loop_id, chosen.number)

    async def _on_undo(self) -> None:
        if self._view is not None:
            await pieces.attempt(self._t, self._backend.undo_rewind, self._view.loop.loop_id)

    async def _on_bisect(self) -> None:
        if self._view is None:
            return
        self._bisect.disable()
        try:
            found = await pieces.attempt(self._t, self._backend.bisect, self._view.loop.loop_id)
        finally:
            self._bisect.enable()
        if found is not None:
            await self._choose(found.broke)
            with ui.context.client:
                ui.notify(self._t("Round {n} broke the checks.", n=found.broke), timeout=0, close_button=True)

    async def _choose(self, number: int) -> None:
        if self._view is None:
            return
        last = self._view.timeline.last
        self._chosen = None if last is not None and number == last.number else number
        await self.show(self._view)


def _may_rewind(view: LoopView, chosen: Round | None) -> bool:
    """Whether the loop rests and can be taken back to a round: one that has a snapshot."""
    return _rests(view) and chosen is not None and bool(chosen.after) and not chosen.trouble


def _rests(view: LoopView) -> bool:
    """Whether nobody drives the loop, and its snapshots are on this machine."""
    return view.loop.status not in (Status.CREATED, Status.RUNNING) and view.loop.settings.remote is None


def _is_going(view: LoopView, chosen: Round | None) -> bool:
    """Whether the output may still grow: the worker is at work, or another role about this round."""
    return chosen is not None and chosen is view.timeline.last and view.loop.turn is not None


def _sign(each: Round) -> tuple[str, str]:
    if each.trouble:
        return "error_outline", "warn" if each.trouble.startswith(("interrupted", LIMIT)) else "bad"
    if any(not gate.passed for gate in each.gates):
        return "gpp_bad", "bad"
    if each.claimed:
        return ("verified", "good") if each.gates else ("flag", "warn")
    return "check_circle_outline", ""


def _name(t: Texts, each: Round) -> str:
    label = f": {each.label}" if each.label else ""
    return t("Round {n}", n=each.number) + label


def _about(t: Texts, each: Round) -> list[str]:
    parts = [t("at work …")] if each.is_going else []
    parts += [duration(each.seconds)] if each.seconds is not None else []
    parts += [money(each.usage.cost_usd)] if each.usage.cost_usd else []
    parts += [t("{n} tokens", n=f"{each.usage.tokens:,}")] if each.usage.tokens and not each.usage.cost_usd else []
    parts += [t("attempt {n}", n=each.attempts)] if each.attempts > 1 else []
    parts += [_changed(t, each)] if each.changes is not None and each.changes.files else []
    parts += [_trouble(t, each.trouble)] if each.trouble else []
    parts += [t("says that it is done")] if each.claimed else []
    failed = sum(not gate.passed for gate in each.gates)
    if each.gates:
        parts.append(t("{n} of {all} gates failed", n=failed, all=len(each.gates)) if failed else t("all gates passed"))
    return parts


def _trouble(t: Texts, trouble: str) -> str:
    """The kind of the trouble is translated; the agent's own message is not."""
    kind, colon, words = trouble.partition(": ")
    return t(kind) + colon + words


def _changed(t: Texts, each: Round) -> str:
    assert each.changes is not None
    return pieces.files(t, each.changes.files) + f" +{each.changes.insertions} −{each.changes.deletions}"
