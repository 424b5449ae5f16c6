"""JSON without the `json` package, whose import takes as long as a whole call of the hook for a session without a loop."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

try:
    from _json import encode_basestring_ascii as _quoted
    from _json import make_scanner as _make_scanner
except ImportError:
    # Not every Python has the accelerator.
    from json.encoder import encode_basestring_ascii as _quoted
    from json.scanner import make_scanner as _make_scanner

_BLANKS = " \t\n\r"


class _ScannerOptions:
    """The options of the scanner: those of `json.loads`."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner needs an ordinary dict

    @staticmethod
    def parse_constant(_name: str) -> None:
        return None


_scanner: Any = _make_scanner(_ScannerOptions())  # type: ignore[arg-type]


def read_object(content: bytes) -> dict[str, Any]:
    """The JSON object in `content`. Raises ValueError if it contains anything else."""
    text = content.decode("utf-8", "replace").lstrip("\ufeff" + _BLANKS)
    try:
        value, end = _scanner(text, 0)
    except StopIteration:
        raise ValueError("it is empty or not JSON") from None
    if not isinstance(value, dict) or text[end:].strip(_BLANKS):
        raise ValueError("it is not a JSON object")
    return value


def written(value: str | Mapping[str, Any]) -> str:
    """The JSON text of a string, or of an object whose values are strings and objects."""
    if isinstance(value, str):
        return str(_quoted(value))
    return "{" + ",".join(f"{_quoted(name)}:{written(entry)}" for name, entry in value.items()) + "}"
