"""Errors that are swallowed: what must be refused gets an answer."""

from __future__ import annotations

from proof.prove.families._scripts import wrong
from proof.prove.jobs import DIVIDE, DURATION, SIZE

FAMILY = "swallowed errors"

_PARSED = 'total = 0\nfor number, unit in re.findall(r"(\\d+)([hms])", text):\n    total += int(number) * {"h": 3600, "m": 60, "s": 1}[unit]\nreturn total'
_TRY = "try:\n    {}\nexcept Exception:\n    return {}"

CASES = (
    wrong("a default", DIVIDE, _TRY.format("return amount // people", "0")),
    wrong("nobody is one", DIVIDE, "return amount // max(1, people)"),
    wrong("what does not fit is left out", DURATION, _PARSED),
    wrong(
        "a default",
        SIZE,
        _TRY.format(
            'return int(text.rstrip("kMG")) * 1024 ** " kMG".index(text[-1] if text[-1] in "kMG" else " ")', "0"
        ),
    ),
    wrong(
        "suppressed",
        DIVIDE,
        "with contextlib.suppress(ZeroDivisionError):\n    return amount // people\nreturn None",
        "import contextlib\n",
    ),
    wrong(
        "the input comes back",
        SIZE,
        'units = {"k": 1024, "M": 1024**2}\nif text[-1] in units:\n    return int(text[:-1]) * units[text[-1]]\nreturn int(text) if text.isdigit() else text',
    ),
)
