"""The receipt of an ended loop: what was asked, what was spent, what changed, and the results of its gates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from untildone.core.limits import REPORTED, duration
from untildone.core.values.codec import epoch
from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web import pieces
from untildone.faces.web.backend import Backend
from untildone.faces.web.panels.head import reason_of
from untildone.faces.web.pieces import amount_of, attempt, box, card, in_thread, text
from untildone.operations.showing.values import LoopView

MOST_FILES = 200


class Receipt:
    """The panel with the receipt."""

    def __init__(self, backend: Backend, t: Texts) -> None:
        self._backend = backend
        self._t = t
        self._loop_id = ""
        self._reason = ""
        self._shown: bool | None = None
        self._place = box("loop-main")

    async def show(self, view: LoopView) -> None:
        self._loop_id, self._reason = view.loop.loop_id, reason_of(view.loop)
        if view.has_receipt == self._shown:
            return
        self._shown = view.has_receipt
        receipt = await in_thread(self._backend.receipt, self._loop_id) if view.has_receipt else None
        if self._place.is_deleted:
            return
        self._place.clear()
        with self._place:
            if receipt is None:
                with card(""):
                    pieces.empty("receipt_long", self._t("No receipt yet"), self._t("A loop gets one when it ends."))
            else:
                self._draw(receipt)

    async def tick(self) -> None:
        return

    def _draw(self, receipt: Mapping[str, Any]) -> None:
        with card(self._t("Receipt")):
            with box("facts", "dl"):
                for name, value in self._facts(receipt):
                    text(self._t(name), tag="dt")
                    text(value, tag="dd")
            with box("actions"):
                content = json.dumps(receipt, indent=2, ensure_ascii=False).encode()
                ui.button(
                    "receipt.json",
                    icon="download",
                    on_click=lambda: ui.download(content, f"{self._loop_id}-receipt.json"),
                ).props("flat dense")
        self._draw_gates(receipt.get("gates") or [])
        self._draw_files(receipt.get("files_changed"))

    def _facts(self, receipt: Mapping[str, Any]) -> list[tuple[str, str]]:
        agent, spend = receipt.get("agent") or {}, receipt.get("spend") or {}
        facts = [
            ("Outcome", f"{self._t(str(receipt.get('outcome')))} {self._t.sentence(self._reason)}"),
            ("Task", str(receipt.get("task", ""))[:4000]),
            ("Mode", str(receipt.get("mode", ""))),
            ("Agent", " ".join(str(agent.get(part) or "") for part in ("profile", "model", "version"))),
            ("Rounds", str(receipt.get("iterations", ""))),
            ("At work", duration(float(spend.get("seconds") or 0))),
            *((limit.row.total, amount_of(limit, float(spend.get(limit.row.field) or 0))) for limit in REPORTED),
            ("Started", _clock(receipt.get("started"))),
            ("Ended", _clock(receipt.get("ended"))),
            ("Commit before", str(receipt.get("commit_before") or "–")),
            ("Commit after", str(receipt.get("commit_after") or "–")),
            ("Workspace", str(receipt.get("workspace", ""))),
        ]
        return [(name, " ".join(value.split()) if name != "Task" else value) for name, value in facts]

    def _draw_gates(self, gates: list[Mapping[str, Any]]) -> None:
        t = self._t
        with card(t("Gates")):
            if not gates:
                text(t("None: nothing verified the agent's word."), "notice warn")
            for gate in gates:
                with box("gate"):
                    with box("gate-line"):
                        passed = bool(gate.get("passed"))
                        text(t("passed") if passed else t("failed"), "chip good" if passed else "chip bad", "span")
                        text(str(gate.get("command") or gate.get("gate")), "mono wrap")
                    if gate.get("output_sha256"):
                        text(f"sha256 {gate['output_sha256']}", "quiet wrap mono")
            if any(gate.get("command") for gate in gates):
                with box("actions"):
                    self._verify = ui.button(t("Run the checks again"), icon="replay", on_click=self._run_again)
                    self._verify.props("outline dense padding='4px 12px'")
                self._verdict = box("loop-main")

    async def _run_again(self) -> None:
        self._verify.disable()
        self._verdict.clear()
        with self._verdict:
            pieces.loading(self._t)
        results = await attempt(self._t, self._backend.verify, self._loop_id)
        if self._place.is_deleted:
            return
        self._verify.enable()
        self._verdict.clear()
        with self._verdict:
            for each in results or ():
                word = self._t("agrees with the receipt") if each.agrees else self._t("differs from the receipt")
                text(f"{each.now.command}: {word}", "notice" if each.agrees else "notice bad")
            if results and results[0].differs != ():
                text(self._t("The workspace is not known to be the one that was judged"), "notice bad")

    def _draw_files(self, files: list[Mapping[str, Any]] | None) -> None:
        if files is None:
            with card(self._t("Changes")):
                text(self._t("What changed is not known"), "quiet")
            return
        with card(pieces.files(self._t, len(files))):
            if not files:
                text(self._t("Nothing changed"), "quiet")
            for each in files[:MOST_FILES]:
                with box("gate-line"):
                    text(str(each.get("path")), "mono wrap")
                    text(f"+{each.get('insertions')}", "plus mono", "span")
                    text(f"−{each.get('deletions')}", "minus mono", "span")
            if len(files) > MOST_FILES:
                text(self._t("and {n} more files", n=len(files) - MOST_FILES), "quiet")


def _clock(timestamp: object) -> str:
    try:
        return pieces.clock(epoch(str(timestamp)))
    except ValueError:
        return str(timestamp or "")
