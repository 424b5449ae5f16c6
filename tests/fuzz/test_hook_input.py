"""What a hook is told, and the settings files that it is put into: read as the standard library reads them.

The hook has a reader of its own, as importing `json` takes too long for it; the editor of settings has one that keeps every byte.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import check_sentence, damaged_bytes, deeply_nested, misshapen, sound_json, tried

from untildone.core.values import plain_json
from untildone.system import json_text

TOLD = {"hook_event_name": "Stop", "session_id": "s", "cwd": "/w", "stop_hook_active": False, "n": [1.5, {"a": None}]}
objects = st.dictionaries(st.text(max_size=6), sound_json, max_size=5)


def obvious(content: bytes) -> dict[str, Any] | None:
    """The object as `json.loads` has it; None for anything else."""
    try:
        text = content.decode("utf-8", "replace").lstrip("\ufeff \t\n\r")
        value = json.loads(text, strict=False, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read(content: bytes) -> dict[str, Any] | None:
    try:
        return plain_json.read_object(content)
    except (ValueError, RecursionError):
        return None


@tried()
@given(draws=st.data(), told=st.just(TOLD) | objects | misshapen(TOLD), indent=st.none() | st.integers(0, 3))
@example(draws=None, told={"a": float("nan")}, indent=None)
def test_the_hook_reads_as_the_standard_library(draws: st.DataObject | None, told: Any, indent: int | None) -> None:
    content = json.dumps(told, indent=indent, ensure_ascii=indent is None).encode("utf-8", "replace")
    if draws is not None and draws.draw(st.booleans()):
        content = draws.draw(damaged_bytes(content))
    assert repr(read(content)) == repr(obvious(content))


@pytest.mark.parametrize(
    "content", [deeply_nested(100_000), b"", b"\xef\xbb\xbf{}", b"{}\x00", b"[" * 100_000, b"9" * 5000]
)
def test_what_is_hostile_is_read_alike(content: bytes) -> None:
    assert read(content) == obvious(content)


texts = st.recursive(
    st.text(max_size=12), lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=5
).filter(lambda value: isinstance(value, dict))


@tried()
@given(answer=texts)
def test_what_the_hook_answers_is_json(answer: dict[str, Any]) -> None:
    assert json.loads(plain_json.written(answer)) == answer


@tried()
@given(draws=st.data(), told=objects, indent=st.none() | st.integers(0, 8), ending=st.sampled_from(("\n", "\r\n")))
def test_the_editor_reads_what_the_standard_library_reads(
    draws: st.DataObject, told: dict[str, Any], indent: int | None, ending: str
) -> None:
    text = json.dumps(told, indent=indent).replace("\n", ending)
    if draws.draw(st.booleans()):
        place = draws.draw(st.integers(0, len(text)))
        text = (
            text[:place]
            + draws.draw(st.sampled_from(("// a word\n", "/* a {word} */", "//", "/*", ";", ",")))
            + text[place:]
        )
    if draws.draw(st.booleans()):
        text = draws.draw(damaged_bytes(text.encode())).decode("utf-8", "replace")
    try:
        found = json_text.parse(text).plain
    except json_text.Broken as problem:
        check_sentence(str(problem))
        assert not is_settings(without_comments(text)), "what is an object, with each name once, is read"
        return
    assert found == json.loads(without_comments(text.removeprefix("\ufeff")))


def is_settings(text: str) -> bool:
    try:
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=once, parse_constant=refused)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def refused(name: str) -> None:
    raise ValueError(name)


def without_comments(text: str) -> str:
    """Sign by sign: what stands between `//` and the line's end, or `/*` and `*/`, outside of quotes, is a blank."""
    kept, at = "", 0
    while at < len(text):
        end, is_comment = at + 1, False
        if text[at] == '"':
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            end += 1
        elif text[at : at + 2] == "//":
            end, is_comment = (text + "\n").index("\n", at), True
        elif text[at : at + 2] == "/*" and "*/" in text[at + 2 :]:
            end, is_comment = text.index("*/", at + 2) + 2, True
        kept += " " if is_comment else text[at:end]
        at = end
    return kept


@tried()
@given(told=objects, name=st.text(max_size=6), value=sound_json, indent=st.none() | st.integers(0, 4))
def test_what_is_put_in_and_taken_out_leaves_every_value_as_it_was(
    told: dict[str, Any], name: str, value: Any, indent: int | None
) -> None:
    text = json.dumps(told, indent=indent)
    if name in told:
        changed = json_text.with_value(text, (name,), value)
        assert json.loads(changed) == {**told, name: value}
        return
    added = json_text.with_member(text, (name,), value)
    assert json.loads(added) == {**told, name: value}
    assert json_text.value_at(added, (name,)) == value
    taken = json_text.without(added, (name,))
    assert json.loads(taken) == told
    assert taken == text or not told, "byte for byte, unless there was nothing in it"
