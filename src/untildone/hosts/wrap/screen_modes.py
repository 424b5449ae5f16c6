"""Tracks the terminal modes that a program has switched on, so that they can be reset if the program does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SEQUENCE = re.compile(
    rb"\x1b(?:\[\?(?P<modes>[0-9;]+)(?P<switch>[hl])|\[(?P<stack>[<>])(?P<depth>[0-9;]*)u|\[>4(?P<keys>;[0-9]*)?m"
    rb"|\[(?P<margins>[0-9;]*)r|(?P<keypad>[=>])|(?P<reset>c|\[!p))"
)
_NOTABLE = re.compile(rb"\x1b(?!\[[0-9;]*+[A-Zm])")
"""Where the first such sequence may be. Colours and cursor moves are no such sequences, so most output is skipped."""
_PART = re.compile(rb"\x1b(?:\[[?<>!]?[0-9;]*)?\Z")
LONGEST_PART = 64
"""Bytes of a sequence that may be split over two chunks."""
_ON_BY_ITSELF = frozenset({7, 25})
"""Autowrap and the visible cursor: on in a fresh terminal."""
_SCREENS = frozenset({47, 1047, 1049})
_KEYS_AND_REPORTS = frozenset({1, 5, 6, 9, 66, 1004, 2004, 2026, 2031, 2048})
_MOUSE = frozenset({1000, 1001, 1002, 1003, 1005, 1006, 1015, 1016})
_KNOWN = _KEYS_AND_REPORTS | _MOUSE | _SCREENS | _ON_BY_ITSELF
_PLAIN_COLOURS = b"\x1b[0m"


@dataclass(slots=True)
class _Left:
    """The modes that differ from those of a fresh terminal."""

    modes: dict[int, bool] = field(default_factory=dict)
    keypad: bool = False
    margins: bool = False
    key_reports: int = 0
    other_keys: bool = False

    def undoing(self) -> bytes:
        parts = [b"\x1b[?%d%c" % (mode, b"hl"[on]) for mode, on in self.modes.items() if mode not in _SCREENS]
        parts += [b"\x1b>"] if self.keypad else []
        parts += [b"\x1b[<%du" % self.key_reports] if self.key_reports else []
        parts += [b"\x1b[>4m"] if self.other_keys else []
        parts += [b"\x1b7\x1b[r\x1b8"] if self.margins else []
        parts += [b"\x1b[?%dl" % mode for mode in self.modes if mode in _SCREENS]
        return b"".join((*parts, _PLAIN_COLOURS)) if parts else b""


class ScreenModes:
    """Watches the output of a program. `undoing` is the sequence that resets the terminal; empty if nothing is left on."""

    def __init__(self) -> None:
        self.undoing = b""
        self._part = b""
        self._left = _Left()

    def watch(self, chunk: bytes) -> bool:
        """Read a chunk of output. True: `undoing` has changed."""
        if self._part:
            chunk, self._part = self._part + chunk, b""
        last = chunk.rfind(b"\x1b")
        if last < 0:
            return False
        if len(chunk) - last < LONGEST_PART and _PART.match(chunk, last):
            self._part = chunk[last:]
        notable = _NOTABLE.search(chunk)
        if notable is None or not sum(
            1 for sequence in _SEQUENCE.finditer(chunk, notable.start()) if self._take(sequence)
        ):
            return False
        before, self.undoing = self.undoing, self._left.undoing()
        return before != self.undoing

    def _take(self, sequence: re.Match[bytes]) -> bool:
        match sequence.lastgroup:
            case "switch":
                self._switch(sequence["modes"], on=sequence["switch"] == b"h")
            case "depth":
                self._report_keys(sequence["stack"], sequence["depth"])
            case "margins":
                self._left.margins = bool(sequence["margins"])
            case "keypad":
                self._left.keypad = sequence["keypad"] == b"="
            case "reset":
                self._left = _Left()
            case _:
                self._left.other_keys = (sequence["keys"] or b";0") not in (b";", b";0")
        return True

    def _switch(self, modes: bytes, *, on: bool) -> None:
        for mode in (int(word) for word in modes.split(b";") if word):
            if mode in _KNOWN and on != (mode in _ON_BY_ITSELF):
                self._left.modes[mode] = on
            else:
                self._left.modes.pop(mode, None)

    def _report_keys(self, stack: bytes, depth: bytes) -> None:
        """Track the stack of the keyboard protocol: `>` pushes, `<` pops."""
        popped = int(depth.partition(b";")[0] or b"1")
        self._left.key_reports = max(0, self._left.key_reports + (1 if stack == b">" else -popped))
