"""What a program left switched on in its terminal, however its output is cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.hosts.wrap.screen_modes import ScreenModes

COLOURS = b"\x1b[0m"
CASES = {
    "nothing": (b"", b""),
    "text and colours": (b"\x1b[1;31mred\x1b[0m \x1b[2J\x1b[10;20H\x1b]0;title\x07", b""),
    "paste": (b"\x1b[?2004h", b"\x1b[?2004l" + COLOURS),
    "paste, undone": (b"\x1b[?2004h text \x1b[?2004l", b""),
    "cursor": (b"\x1b[?25l", b"\x1b[?25h" + COLOURS),
    "cursor shown": (b"\x1b[?25l\x1b[?25h", b""),
    "shown as it is": (b"\x1b[?25h\x1b[?7h", b""),
    "several at once": (b"\x1b[?1000;1006h", b"\x1b[?1000l\x1b[?1006l" + COLOURS),
    "the screen goes last": (b"\x1b[?1049h\x1b[?1002h", b"\x1b[?1002l\x1b[?1049l" + COLOURS),
    "keyboard, twice": (b"\x1b[>1u\x1b[>5u", b"\x1b[<2u" + COLOURS),
    "keyboard, popped": (b"\x1b[>1u\x1b[>5u\x1b[<2u", b""),
    "keyboard, popped too often": (b"\x1b[<u\x1b[<99u", b""),
    "where the cursor was": (b"\x1b[s\x1b[u", b""),
    "other keys": (b"\x1b[>4;2m", b"\x1b[>4m" + COLOURS),
    "other keys, off": (b"\x1b[>4;2m\x1b[>4m", b""),
    "other keys, off too": (b"\x1b[>4;2m\x1b[>4;0m", b""),
    "keypad": (b"\x1b=", b"\x1b>" + COLOURS),
    "keypad, off": (b"\x1b=\x1b>", b""),
    "margins": (b"\x1b[2;20r", b"\x1b7\x1b[r\x1b8" + COLOURS),
    "margins, off": (b"\x1b[2;20r\x1b[r", b""),
    "all reset": (b"\x1b[?1049h\x1b[?25l\x1b=\x1bc", b""),
    "softly reset": (b"\x1b[?25l\x1b[!p", b""),
    "unknown": (b"\x1b[?9999h", b""),
    "no number at all": (b"\x1b[?h\x1b[?;;h\x1b[?25", b""),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_undone(case: str) -> None:
    shown, undoing = CASES[case]
    modes = ScreenModes()
    modes.watch(shown)
    assert modes.undoing == undoing


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_missed_amid_colours_and_moves(case: str) -> None:
    shown, undoing = CASES[case]
    around = b"\x1b[1;31mred\x1b[0m\x1b[K and \x1b[2;3H\x1b[mplain" * 20
    modes = ScreenModes()
    modes.watch(around + shown + around)
    assert modes.undoing == undoing


@given(st.lists(st.sampled_from([shown for shown, _ in CASES.values()])), st.lists(st.integers(0, 200)))
def test_pieces_mean_what_the_whole_means(parts: list[bytes], cuts: list[int]) -> None:
    content = b"".join(parts)
    whole, pieces = ScreenModes(), ScreenModes()
    whole.watch(content)
    places = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    for start, end in pairwise(places):
        pieces.watch(content[start:end])
    assert pieces.undoing == whole.undoing


@given(st.binary(max_size=2000))
def test_what_undoes_it_leaves_nothing(content: bytes) -> None:
    modes = ScreenModes()
    modes.watch(content)
    modes.watch(b" " + modes.undoing)
    assert modes.undoing == b""


@given(st.binary(max_size=300))
def test_it_says_whether_something_changed(content: bytes) -> None:
    modes = ScreenModes()
    for byte in content:
        before = modes.undoing
        assert modes.watch(bytes([byte])) == (before != modes.undoing)
