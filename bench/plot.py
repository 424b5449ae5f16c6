"""Draws curves as SVG: a logarithmic size axis, and costs as multiples of the median size. Readable on light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from figures import FLAT, Curve

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 40, 72, 76
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f } .title { font-size: 15px; font-weight: 600 }
  .paper { fill: #ffffff } .grid { stroke: #d0d7de } .axis { stroke: #57606a } .band { fill: #2da44e; opacity: .14 }
  .line { fill: none; stroke-width: 2.5 } .dot { stroke: none }
  .c0 { stroke: #0969da; fill: #0969da } .c1 { stroke: #bc4c00; fill: #bc4c00 } .c2 { stroke: #8250df; fill: #8250df }
  .c3 { stroke: #1a7f37; fill: #1a7f37 } .line { fill: none !important }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .paper { fill: #0d1117 } .grid { stroke: #30363d } .axis { stroke: #8b949e }
    .c0 { stroke: #58a6ff; fill: #58a6ff } .c1 { stroke: #ffa657; fill: #ffa657 } .c2 { stroke: #d2a8ff; fill: #d2a8ff }
    .c3 { stroke: #56d364; fill: #56d364 }
  }"""
COLOURS, MARKS = 4, ("circle", "square", "diamond", "circle")


def svg(curve: Curve) -> str:
    frame = _Frame(curve)
    parts = [*frame.paper(), *frame.up(), *frame.along(), *frame.lines(), *frame.legend()]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    return "\n".join((head, f"<title>{escape(curve.title)}</title>", f"<style>{STYLE}\n</style>", *parts, "</svg>\n"))


class _Frame:
    """Where values come to lie."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self.relative = {name: curve.relative(name) for name in curve.series}
        highest = max((value for values in self.relative.values() for value in values), default=1.0)
        self.step = 0.5 if highest <= 3 else 10 ** math.floor(math.log10(highest))
        self.top = max(2.0, math.ceil(highest / self.step) * self.step)
        self.first, self.last = math.log10(curve.sizes[0]), math.log10(curve.sizes[-1])

    def x(self, size: float) -> float:
        share = (math.log10(size) - self.first) / ((self.last - self.first) or 1.0)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM)

    def paper(self) -> Iterator[str]:
        yield f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
        yield _text(self.curve.title, LEFT - 40, 28, "title")
        yield _text("as a multiple of the median size; the band is ten percent above and below", LEFT - 40, 50)
        high, low = self.y(FLAT), self.y(2 - FLAT)
        yield f'<rect class="band" x="{LEFT}" y="{high:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{low - high:.1f}"/>'

    def up(self) -> Iterator[str]:
        for number in range(round(self.top / self.step) + 1):
            value = number * self.step
            yield _line("axis" if number == 0 else "grid", LEFT, self.y(value), WIDTH - RIGHT, self.y(value))
            yield _text(f"{value:g}×", LEFT - 8, self.y(value) + 4, anchor="end")

    def along(self) -> Iterator[str]:
        for size in self.curve.sizes:
            yield _line("axis", self.x(size), HEIGHT - BOTTOM, self.x(size), HEIGHT - BOTTOM + 5)
            yield _text(f"{size:,g}", self.x(size), HEIGHT - BOTTOM + 20, anchor="middle")
        yield _text(self.curve.grows, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 40, anchor="middle")

    def lines(self) -> Iterator[str]:
        for number, values in enumerate(self.relative.values()):
            places = [(self.x(size), self.y(value)) for size, value in zip(self.curve.sizes, values, strict=True)]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            yield f'<polyline class="line c{number % COLOURS}" points="{points}"/>'
            yield from (_mark(number, x, y) for x, y in places)

    def legend(self) -> Iterator[str]:
        room = (WIDTH - LEFT - RIGHT) / max(1, len(self.relative))
        for number, name in enumerate(self.relative):
            left = LEFT + number * room
            yield _mark(number, left, HEIGHT - 18)
            yield _text(name, left + 12, HEIGHT - 14)


def _mark(number: int, x: float, y: float) -> str:
    """Each series has its own shape too: colours are not for everybody."""
    kind = f'class="dot c{number % COLOURS}"'
    match MARKS[number % len(MARKS)]:
        case "square":
            return f'<rect {kind} x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
        case "diamond":
            return f'<rect {kind} x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" transform="rotate(45 {x:.1f} {y:.1f})"/>'
        case _:
            return f'<circle {kind} cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(words: str, x: float, y: float, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
