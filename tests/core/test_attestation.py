"""Receipts as in-toto statements: what is signed, and that no field can be changed unnoticed."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.core.receipts import attestation
from untildone.core.receipts.attestation import NoReceipt, Signature, attested, read, signed_bytes

GATES = [
    {"gate": "check", "command": "pytest -q", "passed": True, "exit_code": 0},
    {"gate": "review", "command": "", "passed": True, "exit_code": None},
]
FIELDS: dict[str, Any] = {
    "loop_id": "loop-1",
    "task": "Mend the “roof”.",
    "outcome": "verified",
    "spend": {"cost_usd": 0.1, "tokens": 7},
    "tree_after": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "files_changed": None,
    "gates": GATES,
}


def sign(content: bytes) -> tuple[Signature, ...]:
    return (Signature("key", b"signed " + content[:20]),)


def text_of(fields: dict[str, Any] = FIELDS) -> str:
    return json.dumps(attested(fields, sign))


def test_a_field_that_is_there_twice_is_no_receipt() -> None:
    twice = text_of().replace('"outcome": "verified"', '"outcome": "failed", "outcome": "verified"', 1)
    with pytest.raises(NoReceipt, match="twice"):
        read(twice)


def test_a_receipt_keeps_its_fields_and_reads_back() -> None:
    written = attested(FIELDS, sign)
    assert {name: written[name] for name in FIELDS} == FIELDS
    known = read(json.dumps(written))
    assert (known.fields, known.altered, len(known.envelopes)) == (FIELDS, (), 2)


def test_the_envelopes_are_those_of_dsse_and_the_statements_those_of_in_toto() -> None:
    whole, tests = attested(FIELDS, sign)["attestations"]
    payload = base64.b64decode(whole["payload"])
    assert whole["payloadType"] == "application/vnd.in-toto+json"
    assert signed_bytes("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    ), "the example of the specification"
    signature = sign(signed_bytes(whole["payloadType"], payload))[0]
    assert whole["signatures"] == [{"keyid": "key", "sig": base64.b64encode(signature.content).decode()}]
    statement = json.loads(payload)
    assert (statement["_type"], statement["predicateType"]) == (attestation.STATEMENT, attestation.RECEIPT)
    assert statement["predicate"] == FIELDS
    loop, tree = statement["subject"]
    assert (loop["name"], list(loop["digest"])) == ("loop-1", ["sha256"])
    assert tree == {"name": "workspace", "digest": {"gitTree": FIELDS["tree_after"]}}
    result = json.loads(base64.b64decode(tests["payload"]))
    assert (result["predicateType"], result["subject"]) == (attestation.TEST_RESULT, statement["subject"])
    assert result["predicate"]["result"] == "PASSED"
    assert result["predicate"]["passedTests"] == ["check: pytest -q", "review"]
    assert [each["name"] for each in result["predicate"]["configuration"]] == ["check: pytest -q"]


@pytest.mark.parametrize(
    ("gates", "result"), [([], None), ([{**GATES[0], "passed": False}], "FAILED"), (GATES, "PASSED")]
)
def test_a_test_result_is_there_if_a_gate_was(gates: list[dict[str, Any]], result: str | None) -> None:
    found = [each for each in attestation.statements({**FIELDS, "gates": gates}) if "result" in each["predicate"]]
    assert [each["predicate"]["result"] for each in found] == ([result] if result else [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(name=st.sampled_from([name for name in FIELDS if name not in ("gates", "loop_id")]), value=JSON)
def test_every_changed_field_is_named(name: str, value: Any) -> None:
    written = json.loads(text_of())
    if json.dumps(written[name]) == json.dumps(value) or written[name] == value:
        return
    assert read(json.dumps({**written, name: value})).altered == (name,)


ALTERED: dict[str, dict[str, Any]] = {
    "a field more": {"extra": 1},
    "another loop": {"loop_id": "loop-2"},
    "no gate": {"gates": []},
    "another command": {"gates": [{**GATES[0], "command": "true"}, GATES[1]]},
    "another result": {"gates": [{**GATES[0], "exit_code": 1}, GATES[1]]},
    "one attestation": {"attestations": attested(FIELDS, sign)["attestations"][:1]},
    "attestations exchanged": {"attestations": attested(FIELDS, sign)["attestations"][::-1]},
    "attestations of another receipt": {"attestations": attested({**FIELDS, "task": "x"}, sign)["attestations"]},
}


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_receipt_is_noticed(what: str) -> None:
    assert read(json.dumps({**json.loads(text_of()), **ALTERED[what]})).altered


def test_a_field_less_is_noticed() -> None:
    for name in FIELDS:
        less = {key: value for key, value in json.loads(text_of()).items() if key != name}
        try:
            assert name in read(json.dumps(less)).altered or name in ("gates", "loop_id")
        except NoReceipt:
            assert name in ("gates", "loop_id")


PARTS = st.dictionaries(st.sampled_from(["gates", "attestations", "loop_id"]), JSON)


@given(st.text(max_size=60) | (JSON | PARTS).map(json.dumps))
def test_anything_else_is_no_receipt_or_an_altered_one(text: str) -> None:
    with suppress(NoReceipt):
        assert read(text).altered


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "it has no field 'attestations'"),
        ("[]", "it is not a JSON document with the form of a receipt"),
        ("{", "it is not a JSON document with the form of a receipt"),
    ],
)
def test_what_is_no_receipt_is_told_in_words(text: str, said: str) -> None:
    with pytest.raises(attestation.NoReceipt) as refused:
        attestation.read(text)
    assert str(refused.value) == said
