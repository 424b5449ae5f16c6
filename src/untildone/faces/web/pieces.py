"""Small elements for all pages. All text becomes text nodes: no function here accepts markup."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from untildone.core.errors import UntilDoneError
from untildone.core.limits import Limit, duration
from untildone.faces.dashboard.translations.texts import Texts

_log = logging.getLogger(__name__)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def text(words: str, classes: str = "", tag: str = "div") -> TextElement:
    """An element with text."""
    return TextElement(tag=tag, text=words).classes(classes)


def box(classes: str = "", tag: str = "div") -> Element:
    """An empty element; enter it to fill it."""
    return Element(tag).classes(classes)


def card(title: str, classes: str = "", icon: str = "") -> Element:
    """A titled box; enter it to fill it."""
    outer = box(f"card {classes}", "section")
    with outer:
        if title:
            with box("card-title", "h2"):
                if icon:
                    ui.icon(icon).classes("card-icon")
                text(title, tag="span")
    return outer


def set_text(element: TextElement, words: str) -> None:
    """Change the text; nothing is sent to the browser if it is the same."""
    if element.text != words:
        element.set_text(words)


def set_classes(element: Element, classes: str) -> None:
    """Change the classes; nothing is sent to the browser if they are the same."""
    if list(element.classes) != classes.split():
        element.classes(replace=classes)


def set_property(element: Element, name: str, value: object) -> None:
    """Change a property; nothing is sent to the browser if it is the same."""
    if element.props.get(name) != value:
        element.props[name] = value


def loading(t: Texts) -> Element:
    """A spinner."""
    with box("state") as shown:
        ui.spinner(size="2rem")
        text(t("Loading…"), "quiet")
    return shown


def empty(icon: str, title: str, hint: str = "") -> Element:
    """A placeholder for an empty list, with a reason."""
    with box("state") as shown:
        ui.icon(icon).classes("state-icon")
        text(title, "state-title")
        if hint:
            text(hint, "quiet")
    return shown


def failed(t: Texts, problem: Exception) -> Element:
    """An error in place of the content."""
    sentence, hint = error_texts(t, problem)
    with box("state state-bad").props("role=alert") as shown:
        ui.icon("error_outline").classes("state-icon")
        text(sentence, "state-title")
        text(hint, "quiet")
    return shown


def error_texts(t: Texts, problem: Exception) -> tuple[str, str]:
    """The sentence and the hint of an error. An unexpected exception is logged and called a defect."""
    if isinstance(problem, UntilDoneError):
        return problem.sentence, problem.hint
    _log.error("The dashboard failed", exc_info=problem)
    return t("This is a defect of untildone: {what}", what=type(problem).__name__), t("The server's log says more.")


def notify_error(t: Texts, problem: Exception) -> None:
    """Show an error as a notification."""
    sentence, hint = error_texts(t, problem)
    ui.notify(f"{sentence} {hint}".strip(), type="negative", multi_line=True, timeout=8000, close_button=True)


async def in_thread(work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
    """Run a blocking call in a thread, so that other pages are not delayed."""
    return await asyncio.to_thread(work, *args, **kwargs)


async def attempt(
    t: Texts, work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result | None:
    """Run a blocking call in a thread. If it fails, show the error and return None."""
    with ui.context.client:  # the element that was pressed may be gone by then
        try:
            return await in_thread(work, *args, **kwargs)
        except Exception as problem:
            notify_error(t, problem)
            return None


def age(t: Texts, at: float, now: float | None = None) -> str:
    """The time since `at`, in words."""
    seconds = max(0.0, (time.time() if now is None else now) - at)
    if seconds < 60:
        return t("just now")
    if seconds < 3600:
        return t("{n} min ago", n=int(seconds // 60))
    return t("{n} h ago", n=int(seconds // 3600)) if seconds < 2 * 86400 else t("{n} days ago", n=int(seconds // 86400))


def files(t: Texts, number: int) -> str:
    """A number of files, in words."""
    return t("1 file") if number == 1 else t("{n} files", n=f"{number:,}")


def clock(at: float) -> str:
    """The local date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def amount_of(limit: Limit, amount: float) -> str:
    """An amount of what a limit counts, without the unit."""
    match limit:
        case Limit.COST:
            return money(amount)
        case Limit.MINUTES:
            return duration(amount * 60)
        case _:
            return f"{amount:,.0f}"


def money(amount: float) -> str:
    """An amount of dollars."""
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}".rstrip("0").rstrip(".") if amount else "$0"
