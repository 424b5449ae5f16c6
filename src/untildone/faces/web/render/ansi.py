"""The colours of a terminal as classes. Other escape sequences are dropped; text that a carriage return overwrote as well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from markupsafe import Markup

from untildone.faces.web.render.bidi import marked

_ESCAPE = re.compile(
    r"\x1b\[(?P<codes>[0-9;:]*)m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}


@dataclass(frozen=True, slots=True)
class _Pen:
    colour: str = ""
    ground: str = ""
    styles: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        styles = sorted(f"ansi-{style}" for style in self.styles)
        return " ".join(filter(None, (self.colour, self.ground, *styles)))


def coloured(text: str) -> Markup:
    """Terminal output as markup: a span of classes for each run of one colour."""
    clean = "\n".join(map(_last_written, text.split("\n")))
    return Markup("").join(_span(pen, part) for pen, part in _runs(clean) if part)


def _last_written(line: str) -> str:
    """What a terminal shows of a line in the end: carriage returns go back to its beginning."""
    return line.rstrip("\r").rpartition("\r")[2]


def _span(pen: _Pen, text: str) -> Markup:
    shown = marked(text)
    return Markup('<span class="{}">{}</span>').format(pen.classes, shown) if pen.classes else shown


def _runs(text: str) -> Iterator[tuple[_Pen, str]]:
    pen, end = _Pen(), 0
    for escape in _ESCAPE.finditer(text):
        yield pen, text[end : escape.start()]
        end = escape.end()
        if escape["codes"] is not None:
            pen = _dipped(pen, _numbers(escape["codes"]))
    yield pen, text[end:]


def _numbers(codes: str) -> list[int]:
    return [int(code[:4]) if code else 0 for code in re.split("[;:]", codes)[:32]]


def _dipped(pen: _Pen, codes: list[int]) -> _Pen:
    while codes:
        code, *codes = codes
        if code in (38, 48):
            chosen, codes = _extended(codes)
            pen = replace(pen, ground=f"ansi-bg-{chosen}") if code == 48 else replace(pen, colour=f"ansi-fg-{chosen}")
        else:
            pen = _with_code(pen, code)
    return pen


def _with_code(pen: _Pen, code: int) -> _Pen:
    if code == 0:
        return _Pen()
    if code in _STYLES:
        return replace(pen, styles=pen.styles | {_STYLES[code]})
    if code in _ENDS:
        return replace(pen, styles=pen.styles - set(_ENDS[code]))
    if code == 39:
        return replace(pen, colour="")
    if code == 49:
        return replace(pen, ground="")
    if 30 <= code <= 37 or 90 <= code <= 97:
        return replace(pen, colour=f"ansi-fg-{_COLOURS[code % 10]}")
    if 40 <= code <= 47 or 100 <= code <= 107:
        return replace(pen, ground=f"ansi-bg-{_COLOURS[code % 10]}")
    return pen


def _extended(codes: list[int]) -> tuple[str, list[int]]:
    """The nearest of the eight colours for `5;n` or `2;r;g;b`, and the codes after it."""
    if codes[:1] == [5] and len(codes) > 1:
        return _of_256(codes[1]), codes[2:]
    if codes[:1] == [2] and len(codes) > 3:
        return _nearest(codes[1], codes[2], codes[3]), codes[4:]
    return _COLOURS[7], []


def _of_256(number: int) -> str:
    if number < 16:
        return _COLOURS[number % 8]
    if number >= 232:
        return _COLOURS[0] if number < 244 else _COLOURS[7]
    red, rest = divmod(number - 16, 36)
    green, blue = divmod(rest, 6)
    return _nearest(red * 51, green * 51, blue * 51)


def _nearest(red: int, green: int, blue: int) -> str:
    most = max(red, green, blue)
    if most < 64:
        return _COLOURS[0]
    bits = [part > most * 0.66 for part in (red, green, blue)]
    return _COLOURS[bits[0] + 2 * bits[1] + 4 * bits[2]]
