"""Journal entries to lines of JSON with checksums, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable

from untildone.core.events import KINDS, Entry, Event, level_of, name_of
from untildone.core.values.codec import CodecError, epoch, from_json, timestamp, to_json
from untildone.core.values.hints import Any

_SUM = b',"sum":"'


class DamagedLine(ValueError):
    """A line of the journal was changed after it was written."""


class ForeignLine(DamagedLine):
    """A line is whole, but untildone did not write it here: it has no valid seal."""


def as_fields(entry: Entry, loop_id: str, text: Callable[[str], str] = str) -> dict[str, Any]:
    """The JSON fields of an entry, in the journal and with --json. `text` is applied to all free text."""
    return {
        "seq": entry.seq,
        "ts": timestamp(entry.at),
        "level": level_of(entry.event),
        "event": name_of(entry.event),
        "loop_id": loop_id,
        **({"who": text(entry.who)} if entry.who else {}),
        **to_json(entry.event, text),
    }


def entry_of(fields: dict[str, Any], loop_id: str | None = None) -> Entry:
    """The entry with these JSON fields. Raises DamagedLine if they are invalid or, with `loop_id`, of another loop."""
    if loop_id is not None and fields.get("loop_id") != loop_id:
        raise DamagedLine("the entry belongs to another loop")
    try:
        event: Event = from_json(KINDS[fields["event"]], fields)
        return Entry(from_json(int, fields["seq"]), epoch(fields["ts"]), event, from_json(str, fields.get("who", "")))
    except KeyError as problem:
        raise DamagedLine(f"{problem} is missing or unknown") from None
    except (TypeError, ValueError, OverflowError, CodecError) as problem:
        raise DamagedLine(str(problem)) from None


def with_checksum(body: bytes) -> bytes:
    """A JSON object with the checksum of its bytes as the last field. `body` is the object without its closing brace."""
    return body + _SUM + b'%08x"}' % zlib.crc32(body)


def without_checksum(line: bytes) -> bytes:
    """The body of a JSON object with a checksum. Raises DamagedLine if the checksum does not match."""
    body, mark, rest = line.rpartition(_SUM)
    if not mark or rest != b'%08x"}' % zlib.crc32(body):
        raise DamagedLine("the checksum does not match")
    return body


def fields_of(body: bytes) -> dict[str, Any]:
    """The fields of a JSON object without its closing brace. Raises DamagedLine if it is none."""
    try:
        fields = json.loads(body + b"}")
    except (ValueError, RecursionError) as problem:
        raise DamagedLine(str(problem)) from None
    if not isinstance(fields, dict):
        raise DamagedLine("it is not a JSON object")
    return fields


def encoded(fields: dict[str, Any]) -> bytes:
    """A JSON object without spaces and without its closing brace."""
    return compact(fields).encode("utf-8", "replace")[:-1]


def compact(fields: dict[str, Any]) -> str:
    """JSON without spaces."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
