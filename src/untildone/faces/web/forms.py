"""Forms made from the declarations of the settings: a widget for each field, and the changed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.value_element import ValueElement

from untildone.faces.dashboard.translations.texts import Texts
from untildone.faces.web.fields import Field, Kind, parsed, shown
from untildone.faces.web.pieces import box, set_text, text
from untildone.settings import names

MOST_ON_SLIDER = 50
USUAL_ROUNDS = 5
_ONE_A_LINE = (Kind.LINES, Kind.PAIRS)
_WIDE = (*_ONE_A_LINE, Kind.SWITCH, Kind.ROUNDS)


class Form:
    """The fields of one object. `values` are the starting values."""

    def __init__(self, t: Texts, values: Mapping[str, Any]) -> None:
        self._t = t
        self._values = values
        self._fields: dict[str, Field] = {}
        self._contents: dict[str, Callable[[], Any]] = {}
        self._boxes: dict[str, Element] = {}
        self._touched: set[str] = set()

    def add(self, field: Field) -> None:
        """Add a field and its widget."""
        self._fields[field.name] = field
        with box("field wide" if field.kind in _WIDE or field.placeholder else "field") as place:
            self._contents[field.name] = self._widget(field)
        self._boxes[field.name] = place

    def changed(self) -> dict[str, Any]:
        """The values that differ from the start. UsageError if a field is invalid."""
        values = {name: parsed(self._fields[name], self._contents[name]()) for name in self._touched}
        return {name: value for name, value in values.items() if value != self._plain(name)}

    def refresh(self) -> None:
        """Show the fields that have an effect with the current values, and hide the others."""
        now = {name: content() for name, content in self._contents.items()}
        for name, place in self._boxes.items():
            place.set_visibility(self._fields[name].is_shown_with(now))

    def _plain(self, name: str) -> Any:
        value = self._values.get(name)
        return list(value) if isinstance(value, tuple) else value

    def _touch(self, name: str) -> None:
        self._touched.add(name)
        self.refresh()

    def _widget(self, field: Field) -> Callable[[], Any]:
        match field.kind:
            case Kind.SWITCH:
                return self._switch(field)
            case Kind.ROUNDS:
                return self._rounds(field)
            case Kind.CHOICE:
                return self._choice(field)
            case Kind.WHOLE | Kind.NUMBER:
                return self._number(field)
            case Kind.WORDS | Kind.SECRET | Kind.LINES | Kind.PAIRS:
                return self._words(field)
            case Kind.PROFILES:
                return lambda: self._values.get(field.name)

    def _title(self, field: Field) -> str:
        return self._t(field.title)

    def _hint(self, field: Field) -> None:
        words = names.put_in(self._t(field.hint))
        more = self._t(" (one a line)") if field.kind in _ONE_A_LINE else ""
        if words:
            text(words + more, "field-hint")

    def _content(self, field: Field, widget: ValueElement[Any]) -> Callable[[], Any]:
        widget.props["aria-label"] = self._title(field)
        widget.classes(f"setting-{field.name}")
        widget.on_value_change(lambda _: self._touch(field.name))
        return lambda: widget.value

    def _switch(self, field: Field) -> Callable[[], Any]:
        value = self._values.get(field.name)
        # A profile that does not set this follows the settings.
        on = bool(value) if value is not None else field.name == "loop_enabled"
        with box("field-line"):
            with box():
                text(self._title(field), "field-label")
                self._hint(field)
            return self._content(field, ui.switch(value=on))

    def _rounds(self, field: Field) -> Callable[[], Any]:
        """A slider up to 50. A larger value, or no limit, stays as it is until the slider is moved."""
        t, value = self._t, self._values.get(field.name)
        usual = value if isinstance(value, int) else self._values.get("usual_rounds") or USUAL_ROUNDS
        unlimited = value == "none"
        label = text("", "field-label")
        slider = ui.slider(min=1, max=MOST_ON_SLIDER, step=1, value=min(usual, MOST_ON_SLIDER))
        content = self._content(field, slider)
        self._hint(field)
        without = ui.checkbox(t("No limit"), value=unlimited) if field.highest is None else None

        def current() -> Any:
            if without is not None and without.value:
                return "none"
            return content() if field.name in self._touched else value

        def show_value() -> None:
            number = current()
            shown_value = t("no limit") if number == "none" else str(number or usual)
            set_text(label, f"{self._title(field)}: {shown_value}")
            slider.set_enabled(number != "none")

        if without is not None:
            without.on_value_change(lambda _: self._touch(field.name))
            without.on_value_change(show_value)
        slider.on_value_change(show_value)
        show_value()
        return current

    def _choice(self, field: Field) -> Callable[[], Any]:
        value = self._values.get(field.name)
        options = {"": "–"} if field.optional else {}
        options |= {choice: choice for choice in field.choices}
        if value and value not in options:
            options[value] = value
        widget = ui.select(options, label=self._title(field), value=value or "").props("outlined dense options-dense")
        content = self._content(field, widget)
        self._hint(field)
        return lambda: content() or None

    def _number(self, field: Field) -> Callable[[], Any]:
        value = self._values.get(field.name)
        widget = ui.number(self._title(field), value=value, min=field.lowest, max=field.highest).props("outlined dense")
        if field.optional:
            widget.props("clearable")
        content = self._content(field, widget)
        self._hint(field)
        return content

    def _words(self, field: Field) -> Callable[[], Any]:
        value, title = shown(field, self._values.get(field.name)), self._title(field)
        widget: ValueElement[Any]
        if field.kind in _ONE_A_LINE:
            widget = ui.textarea(title, value=value).props("outlined dense autogrow")
        else:
            widget = ui.input(title, value=value, password=field.kind is Kind.SECRET).props("outlined dense")
            if field.placeholder:
                widget.props["placeholder"] = field.placeholder
                widget.props("stack-label")
        content = self._content(field, widget)
        self._hint(field)
        return content
