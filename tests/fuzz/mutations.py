"""What can happen to a file or a stream: strategies that take something sound and hand it on damaged."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from untildone.core.errors import UntilDoneError

Draw = Callable[[st.SearchStrategy[Any]], Any]

ELSEWHERE = 30
"""How many examples of a cheap property a run tries that is neither CI nor `make fuzz`: others each time."""
NASTY_TEXTS = ("", "\x00", "\ud800", "\ufeff", "\u2028", "é😀", "<!--", "```", "\r\n", "x" * 3000)
NASTY_NUMBERS = (0, -1, 2**31, 2**63, 10**400, -(10**30), 0.1, 1e308, float("inf"), float("-inf"), float("nan"))

wrong_values = (
    st.none() | st.booleans() | st.sampled_from(NASTY_NUMBERS) | st.sampled_from(NASTY_TEXTS) | st.text(max_size=8)
)
any_json = st.recursive(
    wrong_values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
sound_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def tried(share: float = 1.0) -> settings:
    """How often a property is tried: as often as CI or `make fuzz` want, elsewhere less; a costly one a share of that."""
    profile = settings()
    most = profile.max_examples if profile.derandomize or "FUZZ_EXAMPLES" in os.environ else ELSEWHERE
    return settings(max_examples=max(5, int(most * share)))


def check_sentence(told: str) -> None:
    """One sentence, on one line, not too long to be read."""
    assert told
    assert not [sign for sign in told if sign in "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"], told
    assert len(told) < 600


def check_error(problem: UntilDoneError) -> None:
    check_sentence(problem.sentence)
    assert problem.sentence.endswith((".", "!", "?")), problem.sentence
    assert problem.hint


def deeply_nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@st.composite
def damaged_bytes(draw: Draw, content: bytes, most: int = 3) -> bytes:
    """Cut, flipped, doubled, taken out, put in, exchanged: up to `most` of these."""
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 400)))
        piece = content[start:end]
        match draw(st.sampled_from(("cut", "flip", "double", "take out", "put in", "exchange"))):
            case "cut":
                content = content[:start]
            case "flip" if start < len(content):
                bit = 1 << draw(st.integers(0, 7))
                content = content[:start] + bytes([content[start] ^ bit]) + content[start + 1 :]
            case "double":
                content = content[:end] + piece + content[end:]
            case "take out":
                content = content[:start] + content[end:]
            case "put in":
                content = content[:start] + draw(st.binary(max_size=12)) + content[start:]
            case "exchange":
                content = content[:start] + content[end : end + len(piece)] + piece + content[end + len(piece) :]
    return content


@st.composite
def shuffled_lines(draw: Draw, lines: list[bytes], foreign: st.SearchStrategy[bytes], most: int = 4) -> list[bytes]:
    """Lost, doubled, exchanged, foreign and damaged lines: up to `most` of these."""
    lines = list(lines)
    for _ in range(draw(st.integers(1, most))):
        at, other = (draw(st.integers(0, max(0, len(lines) - 1))) for _ in range(2))
        match draw(st.sampled_from(("lose", "double", "exchange", "foreign", "damage"))):
            case "lose" if lines:
                del lines[at]
            case "double" if lines:
                lines.insert(other, lines[at])
            case "exchange" if lines:
                lines[at], lines[other] = lines[other], lines[at]
            case "damage" if lines:
                lines[at] = draw(damaged_bytes(lines[at], most=1)).replace(b"\n", b" ")
            case _:
                lines.insert(at, draw(foreign))
    return lines


@st.composite
def misshapen(draw: Draw, value: Any) -> Any:
    """A JSON value with something wrong at one place, however deep that lies."""
    if isinstance(value, dict) and value and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 5)) == 0:
            return {each: entry for each, entry in value.items() if each != name}
        return {**value, name: draw(misshapen(value[name]))}
    if isinstance(value, list) and value and draw(st.integers(0, 3)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], draw(misshapen(value[place])), *value[place + 1 :]]
    return draw(any_json)


@st.composite
def chunks_of(draw: Draw, content: bytes) -> list[bytes]:
    """The same bytes in pieces, cut anywhere: in the middle of a line, of a character, of a line end."""
    cuts = sorted(draw(st.lists(st.integers(0, len(content)), max_size=12)))
    return [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
