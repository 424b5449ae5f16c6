"""The results of the gates for each claim, with the end of their output."""

from __future__ import annotations

from nicegui import ui

from untildone.core.limits import duration
from untildone.core.loop import Loop, RunningGate
from untildone.core.model import GateResult
from untildone.core.values.sentence import Sentence
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import attempt, box, card, text
from untildone.operations.showing.timeline import Round
from untildone.operations.showing.values import LoopView

SHOWN = 20
"""How many of the last claims are shown with their gates."""


class Gates:
    """The panel with the gates."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._loop_id = ""
        self._shown: tuple[object, ...] = ()
        self._place = box("loop-main")

    async def show(self, view: LoopView) -> None:
        judged = tuple(each for each in view.timeline.rounds if each.gates)[-SHOWN:]
        refused = _refused(view.loop, judged)
        if self._shown == (judged, view.gate, refused):
            return
        self._shown = (judged, view.gate, refused)
        self._loop_id = view.loop.loop_id
        self._place.clear()
        with self._place:
            if view.gate is not None:
                self._show_running(view.gate)
            elif not judged:
                self._show_none(view)
            if refused:
                self._show_refused(refused)
            for each in reversed(judged):
                self._show_round(each)

    def _show_refused(self, paths: tuple[str, ...]) -> None:
        t = self._t
        with card(t("Changes that the gates refused")):
            for path in paths:
                with box("gate-line"):
                    text(path, "mono wrap")
                    self._add_button(t("Approve"), path)
            if len(paths) > 1:
                with box("actions"):
                    self._add_button(t("Approve all"), *paths)
            text(t("An approved change counts as it is, and the claim is judged again."), "quiet wrap")

    def _add_button(self, label: str, *paths: str) -> None:
        async def approve() -> None:
            await attempt(self._t, self._backend.approve, self._loop_id, *paths)

        button = ui.button(label, icon="check", on_click=approve).props("flat dense no-caps")
        button.props["aria-label"] = f"{label}: {', '.join(paths)}"

    def _show_none(self, view: LoopView) -> None:
        chosen, t = view.loop.settings, self._t
        gated = chosen.checks or chosen.review or chosen.require_change
        with card(""):
            if gated:
                pieces.empty(
                    "verified", t("No claim yet"), t("When the agent says that it is done, the gates are asked.")
                )
            else:
                pieces.empty("gpp_maybe", t("No gate is set"), t("Nothing will verify what the agent claims."))

    def _show_running(self, gate: RunningGate) -> None:
        with card(self._t("This check runs")), box("gate"), box("gate-line"):
            ui.spinner(size="16px")
            text(gate.command, "mono wrap")
            text(self._t("since {time}", time=pieces.clock(gate.started_at)), "quiet")

    def _show_round(self, each: Round) -> None:
        with card(self._t("Round {n}", n=each.number)):
            for result in each.gates:
                self._show_gate(result)

    def _show_gate(self, result: GateResult) -> None:
        t = self._t
        with box("gate"):
            with box("gate-line"):
                text(
                    t("passed") if result.passed else t("failed"), "chip good" if result.passed else "chip bad", "span"
                )
                text(result.command or t(result.gate.replace("_", " ")), "mono wrap")
            failed = [t.sentence(why_failed(result))] if result.reason and not result.passed else []
            text(" · ".join([*failed, duration(result.seconds)]), "quiet wrap")
            if result.tail.strip():
                with box("aside", "details") as folded:
                    text(t("Output"), tag="summary")
                    text(result.tail, "terminal", "pre")
                if not result.passed:
                    folded.props["open"] = True

    async def tick(self) -> None:
        return


def _refused(loop: Loop, judged: tuple[Round, ...]) -> tuple[str, ...]:
    """The files for which the gates refused the last claim, as far as a person can still approve them."""
    if not judged or loop.status.ended:
        return ()
    paths = dict.fromkeys(path for result in judged[-1].gates for path in result.tampered)
    return tuple(path for path in paths if path not in loop.approved)


def why_failed(result: GateResult) -> str:
    """The reason of a failed gate. The journal holds it in English. A reason with a number is computed again from
    the result, so that it can be translated."""
    made = Sentence("exit code {n}", n=result.exit_code)
    return made if made == result.reason else result.reason
