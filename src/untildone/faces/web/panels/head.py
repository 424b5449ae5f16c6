"""The head of a loop's page: title, status and controls; and the facts that do not change."""

from __future__ import annotations

from nicegui import ui

from untildone.core import budget as budgets
from untildone.core.kinds import Host
from untildone.core.limits import duration
from untildone.core.loop import Loop
from untildone.core.model import Status, Urgency
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import attempt, box, card, set_classes, set_text, text
from untildone.faces.web.status_chip import chip_classes, status_chip
from untildone.operations import output
from untildone.operations.showing.values import LoopView


class Head:
    """The title, the status and the buttons."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._loop: Loop | None = None
        with box("loop-head"):
            self._title = text("", "loop-title", "h1")
            with box("loop-line"):
                self._chip = text("", "chip", "span").props("role=status")
                self._about = text("", "quiet wrap")
            self._reason = text("", "notice hidden").props("role=status")
            with box("actions"):
                self._build_controls()
        self._stop_dialog = self._build_stop()
        self._delete_dialog = self._build_delete()

    def _build_controls(self) -> None:
        t = self._t
        self._start = ui.button(t("Start"), icon="play_arrow", on_click=self._on_start).props(
            "unelevated dense padding='4px 14px'"
        )
        self._resume = ui.button(t("Resume"), icon="play_arrow", on_click=self._on_resume)
        self._resume.props("unelevated dense padding='4px 14px'")
        self._pause = ui.dropdown_button(t("Pause"), icon="pause", split=True, on_click=self._on_pause)
        self._pause.props("outline dense padding='4px 14px'")
        with self._pause:
            ui.item(t("Pause after this round"), on_click=self._on_pause)
            ui.item(t("Pause now"), on_click=self._on_pause_now)
        self._stop = ui.button(t("Stop"), icon="stop", on_click=lambda: self._stop_dialog.open())
        self._stop.props("outline dense color=negative padding='4px 14px'")
        self._retry = ui.dropdown_button(t("Retry"), icon="replay", split=True, on_click=self._on_retry)
        self._retry.props("unelevated dense padding='4px 14px'")
        with self._retry:
            ui.item(t("Go on from where it was"), on_click=self._on_retry)
            ui.item(t("Take everything back and begin again"), on_click=self._on_begin_again)
        self._duplicate = ui.button(t("Duplicate"), icon="content_copy", on_click=self._on_duplicate)
        self._duplicate.props("outline dense padding='4px 14px'")
        self._delete = ui.button(t("Delete"), icon="delete_outline", on_click=lambda: self._delete_dialog.open())
        self._delete.props("outline dense color=negative padding='4px 14px'")

    def _build_stop(self) -> ui.dialog:
        t = self._t
        with ui.dialog() as dialog, box("card dialog"):
            text(t("Stop this loop?"), "card-title", "h2")
            text(
                t("What it did in the workspace stays. To go on later, pause it; a stopped loop can be retried."),
                "quiet",
            )
            with box("actions end"):
                ui.button(t("Cancel"), on_click=dialog.close).props("flat")
                ui.button(t("Stop after this round"), on_click=lambda: self._on_stop(Urgency.AFTER_ITERATION)).props(
                    "outline color=negative"
                )
                ui.button(t("Stop now"), on_click=lambda: self._on_stop(Urgency.NOW)).props("unelevated color=negative")
        return dialog

    def _build_delete(self) -> ui.dialog:
        t = self._t
        with ui.dialog() as dialog, box("card dialog"):
            text(t("Delete this loop?"), "card-title", "h2")
            text(t("Its journal, output and receipt are removed. What it did in the workspace stays."), "quiet")
            with box("actions end"):
                ui.button(t("Cancel"), on_click=dialog.close).props("flat")
                ui.button(t("Delete"), on_click=self._on_delete).props("unelevated color=negative")
        return dialog

    async def show(self, view: LoopView) -> None:
        loop, t = view.loop, self._t
        self._loop = loop
        set_text(self._title, loop.title)
        chip = status_chip(t, loop.status, loop.outcome, undriven=not view.driven, not_ours=loop.not_ours)
        set_text(self._chip, chip.word)
        set_classes(self._chip, chip_classes(chip))
        about = (_now(t, loop), loop.settings.mode, loop.settings.worker.profile, _machine(loop))
        set_text(self._about, " · ".join(part for part in about if part))
        self._show_reason(view)
        self._show_controls(loop.status)

    def _show_reason(self, view: LoopView) -> None:
        words, colour = _reason(self._t, view)
        set_text(self._reason, words)
        set_classes(self._reason, f"notice {colour}".strip() if words else "notice hidden")

    def _show_controls(self, status: Status) -> None:
        self._start.set_visibility(status is Status.CREATED)
        self._resume.set_visibility(status is Status.PAUSED)
        self._pause.set_visibility(status is Status.RUNNING)
        self._stop.set_visibility(not status.ended)
        self._delete.set_visibility(status.ended)
        self._retry.set_visibility(status is Status.FAILED)
        self._duplicate.set_visibility(status.ended)

    async def tick(self) -> None:
        return

    async def pressed(self, key: str) -> None:
        if self._loop is None:
            return
        if key == "p" and self._loop.status is Status.RUNNING:
            await self._on_pause()
        elif key == "r" and self._loop.status is Status.PAUSED:
            await self._on_resume()
        elif key == "r" and self._loop.status is Status.CREATED:
            await self._on_start()

    @property
    def _loop_id(self) -> str:
        return self._loop.loop_id if self._loop else ""

    async def _on_start(self) -> None:
        await attempt(self._t, self._backend.start, self._loop_id)

    async def _on_resume(self) -> None:
        await attempt(self._t, self._backend.resume, self._loop_id)

    async def _on_pause(self) -> None:
        await attempt(self._t, self._backend.pause, self._loop_id, Urgency.AFTER_ITERATION)

    async def _on_pause_now(self) -> None:
        await attempt(self._t, self._backend.pause, self._loop_id, Urgency.NOW)

    async def _on_stop(self, urgency: Urgency) -> None:
        self._stop_dialog.close()
        await attempt(self._t, self._backend.stop, self._loop_id, urgency)

    async def _on_retry(self) -> None:
        await attempt(self._t, self._backend.retry, self._loop_id)

    async def _on_begin_again(self) -> None:
        await attempt(self._t, self._backend.retry, self._loop_id, 1)

    async def _on_duplicate(self) -> None:
        try:
            new = await pieces.in_thread(self._backend.duplicate, self._loop_id)
        except Exception as problem:
            pieces.notify_error(self._t, problem)
        else:
            ui.navigate.to(f"/loops/{new}")

    async def _on_delete(self) -> None:
        self._delete_dialog.close()
        with ui.context.client:  # the dialog goes once the page sees that the loop is gone
            try:
                await pieces.in_thread(self._backend.delete, self._loop_id)
            except Exception as problem:
                pieces.notify_error(self._t, problem)
            else:
                ui.navigate.to("/")


def _place(t: Texts, loop: Loop) -> list[tuple[str, str]]:
    """Where the work is: a folder, or, for a loop of a cluster, a branch of a git remote."""
    chosen = loop.settings
    if loop.host is not Host.CLUSTER or not chosen.remote:
        return [(t("Workspace"), chosen.workspace)]
    return [(t("Remote"), chosen.remote), (t("Branch"), chosen.branch or f"untildone/{loop.loop_id}")]


def _machine(loop: Loop) -> str:
    """The machine of a cluster that drives the loop, or did last; empty for a loop of this machine."""
    return loop.runner.machine if loop.runner and loop.host is Host.CLUSTER else ""


def _now(t: Texts, loop: Loop) -> str:
    most, done = loop.budget.iterations, loop.spend.iterations
    if most is None or loop.status.ended:
        return t("Round {n}", n=done)
    return t("Round {n} ({left} left)", n=done, left=max(0, most - done))


def _reason(t: Texts, view: LoopView) -> tuple[str, str]:
    """A sentence about the current state of the loop, and its colour."""
    loop = view.loop
    if view.problem:
        return view.problem, "bad"
    if loop.status is Status.RUNNING:
        return _running(t, view)
    if loop.outcome is None:
        return "", ""
    colour = {"verified": "good", "failed": "bad"}.get(loop.outcome.word, "warn")
    return f"{t(loop.outcome.sentence)} {t.sentence(reason_of(loop))}".strip(), colour


def reason_of(loop: Loop) -> str:
    """Why the loop rests. The journal holds an English sentence. If the limits of the loop give the same
    sentence, that one is returned: it can be translated."""
    made = (gauge.used_up_sentence() for gauge in budgets.gauges(loop.budget, loop.spend))
    return next((sentence for sentence in made if sentence == loop.reason), loop.reason)


def _running(t: Texts, view: LoopView) -> tuple[str, str]:
    loop = view.loop
    if loop.stop is not None:
        return t("It stops after this round."), "warn"
    if loop.pause is not None:
        return t("It pauses after this round."), "warn"
    for profile, limit in loop.limits.items():
        if loop.turn is None:
            until = pieces.clock(limit.until)
            return t(
                "{agent} is at its limit until {time}: {why}", agent=profile, time=until, why=limit.message
            ), "warn"
    if not view.driven:
        return t("It waits for a free place: other loops are running, or its runner is gone."), "warn"
    if view.gate is not None:
        since = pieces.clock(view.gate.started_at)
        return t("Since {time}, this check runs: {command}", time=since, command=view.gate.command), ""
    return "", ""


class Facts:
    """The settings that were chosen when the loop was created."""

    def __init__(self, t: Texts) -> None:
        self._t = t
        with card(t("About")):
            self._list = box("facts", "dl")
        self._shown: tuple[tuple[str, str], ...] = ()

    async def show(self, view: LoopView) -> None:
        facts = tuple(self._facts(view.loop))
        if facts == self._shown:
            return
        self._shown = facts
        self._list.clear()
        with self._list:
            for name, value in facts:
                text(name, tag="dt")
                text(value, tag="dd")

    def _facts(self, loop: Loop) -> list[tuple[str, str]]:
        t, chosen = self._t, loop.settings
        by_promise = output.mode(chosen.mode).claims_by_promise
        facts = [(t("Loop"), loop.loop_id), (t("Task"), loop.description[:2000])]
        facts += [*_place(t, loop), (t("Agent"), _agent(loop))]
        facts += [(t("Machine"), machine)] if (machine := _machine(loop)) else []
        facts += [(t("Supervisor"), chosen.supervisor.profile)] if chosen.supervisor else []
        facts += [(t("Instructor"), chosen.instructor.profile)] if chosen.instructor else []
        facts += [(t("Checks"), "\n".join(chosen.checks))] if chosen.checks else []
        facts += [(t("Promise"), chosen.promise)] if chosen.promise and by_promise else []
        facts += [(t("Created"), pieces.clock(loop.created_at)), (t("Changed"), pieces.clock(loop.updated_at))]
        return [*facts, (t("At work"), duration(loop.spend.seconds))]

    async def tick(self) -> None:
        return


def _agent(loop: Loop) -> str:
    worker = loop.settings.worker
    return " ".join(part for part in (worker.profile, worker.model or "", loop.agent_version) if part)
