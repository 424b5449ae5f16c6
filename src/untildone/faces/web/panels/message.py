"""The box for a message to the agent, with a preview of its round controls."""

from __future__ import annotations

from nicegui import ui

from untildone.core import budget as budgets
from untildone.core.answers import rounds
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.pieces import box, card, text
from untildone.operations.showing.values import LoopView


class MessageBox:
    """The input for a message."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._loop: Loop | None = None
        with card(t("Message")) as self._card:
            self._words = ui.textarea(placeholder=t("Tell the agent something …"), on_change=lambda _: self._preview())
            self._words.props("outlined dense autogrow debounce=150").props('input-style="min-height: 64px"')
            self._words.props["aria-label"] = t("Message")
            self._words.on("keydown.ctrl.enter", self._send).on("keydown.meta.enter", self._send)
            text(
                t("[r+5] at the start adds five rounds, [r=10] leaves ten. The agent sees only the rest."), "field-hint"
            )
            self._notices = box("loop-main").props("role=status aria-live=polite")
            with box("actions end"):
                self._button = ui.button(t("Send"), icon="send", on_click=self._send).props(
                    "unelevated dense padding='4px 14px'"
                )

    async def show(self, view: LoopView) -> None:
        self._loop = view.loop
        self._card.set_visibility(not view.loop.status.ended)

    async def tick(self) -> None:
        return

    def _preview(self) -> None:
        """Show the effect of round controls before the message is sent."""
        words = self._words.value or ""
        if self._loop is None or not words:
            return
        left = budgets.rounds_left(self._loop.budget, self._loop.spend)
        self._show_notices(rounds.parse(words, left).notices, sent=False)

    def _show_notices(self, notices: tuple[str, ...], *, sent: bool) -> None:
        self._notices.clear()
        with self._notices:
            for notice in notices:
                text(self._t.sentence(notice), "notice" if sent else "field-hint")

    async def _send(self) -> None:
        words = (self._words.value or "").strip()
        if not words or self._loop is None:
            return
        self._button.disable()
        try:
            heard = await pieces.in_thread(self._backend.say, self._loop.loop_id, words)
        except Exception as problem:
            pieces.notify_error(self._t, problem)
            return
        finally:
            self._button.enable()
        self._words.set_value("")
        self._show_notices(tuple(heard.notices or (self._confirmation(heard.loop),)), sent=True)

    def _confirmation(self, loop: Loop) -> str:
        if loop.status is Status.RUNNING:
            return self._t("Sent. The agent reads it with its next round.")
        return self._t("Sent. The agent reads it when the loop goes on.")
