"""Every value survives encoding and decoding, and a record of a wrong shape is refused with a message."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from untildone.core.events import Entry, Event, LoopCreated, MessageSent, PauseRequested, TurnEnded
from untildone.core.kinds import Source
from untildone.core.loop import Loop, UsageLimit
from untildone.core.model import EMPTY, AgentChoice, LoopSettings, Outcome
from untildone.core.values.codec import CodecError, epoch, from_json, timestamp, to_json
from untildone.store.lines import DamagedLine, as_fields, encoded, entry_of, fields_of, with_checksum, without_checksum

# A lone surrogate is no text that a file can hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    Any: JSON,
    types.NoneType: st.none(),
}
KINDS: tuple[type, ...] = (*get_args(Event), Loop)
# CI tries the same ones each time, other runs others.
QUICK = settings(
    max_examples=20 if settings().derandomize else 8, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type, built from its hints."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=3)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values(hints[field.name]) for field in dataclasses.fields(kind)})


def test_a_message_of_anybody_but_a_person_is_refused() -> None:
    fields = {"seq": 2, "ts": timestamp(0), "event": "message", "loop_id": "loop-1", "text": "all is well"}
    for source in ("agent", "worker", "", "persons"):
        with pytest.raises(DamagedLine):
            entry_of({**fields, "source": source}, "loop-1")
    assert entry_of({**fields, "source": "api"}, "loop-1").event == MessageSent("all is well", Source.API)


def through_text(value: Any) -> Any:
    return json.loads(json.dumps(to_json(value)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@QUICK
@given(drawn=st.data())
def test_every_value_comes_back_as_it_was(kind: type, drawn: st.DataObject) -> None:
    value = drawn.draw(values(kind))
    assert from_json(kind, through_text(value)) == value


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
@QUICK
@given(drawn=st.data())
def test_every_entry_comes_back_from_its_line(kind: type, drawn: st.DataObject) -> None:
    entry = Entry(drawn.draw(st.integers(1, 10**9)), epoch("2026-03-04T05:06:07.891011Z"), drawn.draw(values(kind)))
    loop_id = entry.event.loop_id if isinstance(entry.event, LoopCreated) else "loop-1"
    line = with_checksum(encoded(as_fields(entry, loop_id)))
    assert b"\n" not in line
    assert entry_of(fields_of(without_checksum(line)), loop_id) == entry


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@QUICK
@given(drawn=st.data())
def test_a_wrong_shape_is_a_codec_error(kind: type, drawn: st.DataObject) -> None:
    """Replace some part of a valid record: it is read, or refused with CodecError."""
    record = through_text(drawn.draw(values(kind)))
    spoiled = drawn.draw(with_one_part_changed(record))
    with suppress(CodecError):
        assert isinstance(from_json(kind, spoiled), kind)


def with_one_part_changed(record: Any) -> st.SearchStrategy[Any]:
    hostile = JSON | st.just(10**400) | st.just(10**5000)
    if not isinstance(record, dict) or not record:
        return hostile
    names = st.sampled_from(sorted(record))
    deeper = names.flatmap(
        lambda name: with_one_part_changed(record[name]).map(lambda changed: {**record, name: changed})
    )
    shallow = st.builds(lambda name, value: {**record, name: value}, names, hostile)
    fewer = names.map(lambda name: {key: value for key, value in record.items() if key != name})
    return deeper | shallow | fewer | hostile


@pytest.mark.parametrize(
    ("kind", "record", "message"),
    [
        (PauseRequested, [], "list where dict belongs"),
        (PauseRequested, {"urgency": "soon"}, "urgency: 'soon' is no Urgency"),
        (PauseRequested, {"urgency": 10**5000}, "urgency: int where str belongs"),
        (TurnEnded, {"seconds": True}, "seconds: bool where a number belongs"),
        (TurnEnded, {"seconds": 10**400}, "seconds: the number is too large"),
        (TurnEnded, {"answer": {"usage": {"tokens": 1.5}}}, "answer: usage: tokens: float where int belongs"),
        (TurnEnded, {"answer": {"denials": ["a", 2]}}, "answer: denials: int where str belongs"),
        (LoopCreated, {"loop_id": "x"}, "title"),
    ],
)
def test_an_error_says_what_and_where(kind: type, record: Any, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        from_json(kind, record)
    assert message in str(caught.value)


def test_fields_of_a_later_version_are_ignored_and_missing_ones_take_their_default() -> None:
    assert from_json(PauseRequested, {"mood": "bad"}) == PauseRequested()


def test_outcomes_are_written_as_words() -> None:
    assert [to_json(outcome) for outcome in Outcome] == [outcome.word for outcome in Outcome]


def test_the_text_filter_does_not_change_enums_and_identifiers() -> None:
    event = PauseRequested()
    assert to_json(event, lambda _: "[hidden]") == to_json(event)
    assert to_json({"a": ("b", Outcome.PAUSED, 1)}, str.upper) == {"A": ["B", "paused", 1]}
    assert to_json(EMPTY) == {}


@given(st.floats(0, 4e9))
def test_times_are_kept_to_the_microsecond(at: float) -> None:
    text = timestamp(at)
    assert text.endswith("Z")
    assert timestamp(epoch(text)) == text
    assert abs(epoch(text) - at) < 1e-6


def test_times_are_written_as_rfc_3339_and_numbers_are_still_read() -> None:
    limit = UsageLimit(1_767_268_800.25, "limit")
    assert to_json(limit)["until"] == "2026-01-01T12:00:00.250000Z"
    assert from_json(UsageLimit, to_json(limit)) == limit
    assert from_json(UsageLimit, {"until": 1_767_268_800.25, "message": "limit"}) == limit
    with pytest.raises(CodecError):
        from_json(UsageLimit, {"until": "soon", "message": "limit"})


@given(st.binary(max_size=60))
def test_an_invalid_line_is_a_damaged_line(line: bytes) -> None:
    with pytest.raises(DamagedLine):
        entry_of(fields_of(without_checksum(line)))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"event": "loop_paused"},
        {"event": "wedding", "seq": 1, "ts": "2026-01-01T00:00:00Z"},
        {"event": "start_requested", "seq": "1", "ts": "2026-01-01T00:00:00Z"},
        {"event": "start_requested", "seq": 1, "ts": "yesterday"},
        {"event": "start_requested", "seq": 1, "ts": 5},
        {"event": ["start_requested"], "seq": 1, "ts": "2026-01-01T00:00:00Z"},
    ],
)
def test_a_line_with_a_checksum_and_without_an_entry_is_a_damaged_line(fields: dict[str, Any]) -> None:
    with pytest.raises(DamagedLine):
        entry_of(fields_of(without_checksum(with_checksum(encoded(fields)))))


def test_the_supervisors_prompt_and_the_session_are_written_among_the_options() -> None:
    chosen = LoopSettings(
        "m", AgentChoice("a", "a"), "/w", supervisor_prompt="Look.", hook_session="s1", options={"x": 1}
    )
    written = to_json(chosen)
    assert written["options"] == {"x": 1, "supervisor_prompt": "Look.", "hook_session": "s1"}
    assert not {"supervisor_prompt", "hook_session"} & written.keys()
    assert from_json(LoopSettings, written) == chosen
    assert to_json(LoopSettings("m", AgentChoice("a", "a"), "/w"))["options"] == {}
