"""Journal entries as lines of JSON, each with its checksum, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable

from untildone.core.codec import CodecError, epoch, from_json, timestamp, to_json
from untildone.core.events import KINDS, Entry, Event, level_of, name_of
from untildone.core.hints import Any

_SUM = b',"sum":"'


class DamagedLine(ValueError):
    """A line of the journal is not what was written."""


def as_fields(entry: Entry, loop_id: str, text: Callable[[str], str] = str) -> dict[str, Any]:
    """An entry as programs see it, in the journal and with --json. `text` goes over everything that is free text."""
    return {
        "seq": entry.seq,
        "ts": timestamp(entry.at),
        "level": level_of(entry.event),
        "event": name_of(entry.event),
        "loop_id": loop_id,
        **to_json(entry.event, text),
    }


def entry_of(fields: dict[str, Any], loop_id: str | None = None) -> Entry:
    """The entry that the fields tell; with `loop_id`, only one of that loop."""
    if loop_id is not None and fields.get("loop_id") != loop_id:
        raise DamagedLine("it belongs to another loop")
    try:
        event: Event = from_json(KINDS[fields["event"]], fields)
        return Entry(from_json(int, fields["seq"]), epoch(fields["ts"]), event)
    except KeyError as problem:
        raise DamagedLine(f"{problem} is missing or unknown") from None
    except (TypeError, ValueError, OverflowError, CodecError) as problem:
        raise DamagedLine(str(problem)) from None


def sealed(text: str) -> bytes:
    """A JSON object's text with the checksum of its bytes as last field."""
    body = text.encode("utf-8", "replace")[:-1]
    return body + _SUM + b'%08x"}' % zlib.crc32(body)


def unsealed(line: bytes) -> dict[str, Any]:
    body, mark, rest = line.rpartition(_SUM)
    if not mark or rest != b'%08x"}' % zlib.crc32(body):
        raise DamagedLine("the checksum does not match")
    try:
        fields = json.loads(body + b"}")
    except (ValueError, RecursionError) as problem:
        raise DamagedLine(str(problem)) from None
    if not isinstance(fields, dict):
        raise DamagedLine("not an object")
    return fields


def compact(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
