"""One block of an agent's output on the page. It grows in place, so that an unfolded block stays unfolded."""

from __future__ import annotations

from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web.pieces import box, set_classes, set_text, text
from untildone.operations.showing.output_window import Block, Call, Kind

LONGEST_SUMMARY = 120
_SIGNS = {None: "▸", True: "✓", False: "✗"}


class BlockView:
    """The elements of one block."""

    def __init__(self, t: Texts, block: Block) -> None:
        self._t = t
        self.block = block
        self._calls: list[TextElement] = []
        if block.kind in (Kind.SAID, Kind.NOTICE):
            self._words = text(block.text, "said" if block.kind is Kind.SAID else "notice warn")
            self.element: Element = self._words
            return
        with box("aside", "details") as self.element:
            self._summary = text("", tag="summary")
            self._inside = box("words" if block.kind is Kind.THOUGHT else "calls")
            with self._inside:
                self._words = text("")
        self.show(block)

    def grows_into(self, block: Block) -> bool:
        """Whether the other block is this one with more content."""
        same = block.at == self.block.at and block.kind is self.block.kind
        return same and len(block.calls) >= len(self.block.calls)

    def show(self, block: Block) -> None:
        self.block = block
        match block.kind:
            case Kind.SAID | Kind.NOTICE:
                set_text(self._words, block.text)
            case Kind.THOUGHT:
                set_text(self._summary, self._t("Thinking: {words}", words=_first_line(block.text)))
                set_text(self._words, block.text)
            case Kind.TOOLS:
                set_text(self._summary, self._calls_line(block.calls))
                self._show_calls(block.calls)

    def delete(self) -> None:
        self.element.delete()

    def _show_calls(self, calls: tuple[Call, ...]) -> None:
        with self._inside:
            self._calls += [text("", "call") for _ in calls[len(self._calls) :]]
        for element, call in zip(self._calls, calls, strict=True):
            set_text(element, _line(call))
            set_classes(element, "call bad" if call.ok is False else "call")

    def _calls_line(self, calls: tuple[Call, ...]) -> str:
        """All calls in one line."""
        last = calls[-1]
        words = _first_line(f"{last.tool} {last.summary or last.result}")
        if len(calls) > 1:
            words = self._t("{n} tool calls, last: {what}", n=len(calls), what=words)
        failed = sum(call.ok is False for call in calls)
        return f"{words} ({self._t('{n} failed', n=failed)})" if failed else words


def _line(call: Call) -> str:
    result = f" → {call.result}" if call.result else ""
    return f"{_SIGNS[call.ok]} {call.tool} {call.summary}{result}"


def _first_line(words: str) -> str:
    first = words.strip().partition("\n")[0]
    return first if len(first) <= LONGEST_SUMMARY else f"{first[: LONGEST_SUMMARY - 1]}…"
