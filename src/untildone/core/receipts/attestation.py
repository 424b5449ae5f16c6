"""Receipts as in-toto statements in DSSE envelopes.

A receipt carries its attestations in the field `attestations`: a statement with the whole receipt as its predicate, and, if the loop
had gates, one of in-toto's type for test results. Each is signed as a whole, so that no field of a receipt can be changed unnoticed.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping

from untildone.core.values.digest import sha256
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass

FIELD = "attestations"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
RECEIPT = "urn:untildone:receipt:v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
PASSED, FAILED = "PASSED", "FAILED"

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature of an envelope, and the name of its key."""

    key: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A statement with its signatures."""

    statement: Fields
    signed: bytes
    """The bytes that were signed."""
    signatures: tuple[Signature, ...]


@dataclass(frozen=True, slots=True)
class Attested:
    """A receipt, and its attestations."""

    fields: Fields
    envelopes: tuple[Envelope, ...]

    @property
    def altered(self) -> tuple[str, ...]:
        """The names of the receipt's fields that differ from what its attestations say; `attestations` if these are of another receipt."""
        expected = statements(self.fields)
        if len(self.envelopes) != len(expected):
            return (FIELD,)
        if all(envelope.statement == each for envelope, each in zip(self.envelopes, expected, strict=True)):
            return ()
        attested = self.envelopes[0].statement.get("predicate")
        said = attested if isinstance(attested, dict) else {}
        names = (name for name in {**said, **self.fields} if said.get(name, ...) != self.fields.get(name, ...))
        return tuple(names) or (FIELD,)


class NoReceipt(ValueError):
    """The text is not a receipt with attestations."""


Sign = Callable[[bytes], tuple[Signature, ...]]


def attested(fields: Fields, sign: Sign) -> dict[str, Any]:
    """The receipt with its attestations."""
    plain = json.loads(json.dumps(fields))
    return {**plain, FIELD: [_envelope(statement, sign) for statement in statements(plain)]}


def read(text: str) -> Attested:
    """The receipt in a text. Raises NoReceipt if it is none."""
    try:
        fields = json.loads(text, object_pairs_hook=_without_repetition)
        envelopes = tuple(_read_envelope(each) for each in fields.pop(FIELD))
        if not isinstance(fields["gates"], list) or not isinstance(fields["loop_id"], str):
            raise NoReceipt("it has no gates or no loop")
        statements(fields)
    except NoReceipt:
        raise
    except KeyError as problem:
        raise NoReceipt(f"it has no field {problem}") from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise NoReceipt("it is not a JSON document with the form of a receipt") from None
    return Attested(fields, envelopes)


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these fields. A field that is there twice means one thing to some readers and another to others."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise NoReceipt("a field is there twice")
    return fields


def statements(fields: Fields) -> tuple[dict[str, Any], ...]:
    """The statements about a receipt."""
    common = {"_type": STATEMENT, "subject": _subjects(fields)}
    whole = {**common, "predicateType": RECEIPT, "predicate": dict(fields)}
    if not fields["gates"]:
        return (whole,)
    return (whole, {**common, "predicateType": TEST_RESULT, "predicate": _test_result(fields["gates"])})


def _subjects(fields: Fields) -> list[dict[str, Any]]:
    """What the statements are about: the loop, by the digest of its receipt, and the tree that was judged."""
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    loop = {"name": fields["loop_id"], "digest": {"sha256": sha256(canonical).hexdigest()}}
    tree = judged_tree(fields)
    return [loop, *([{"name": "workspace", "digest": {"gitTree": tree}}] if tree else [])]


def judged_tree(fields: Fields) -> str | None:
    """The snapshot of the workspace that the receipt is about."""
    tree: str | None = fields.get("tree_after")
    return tree


def _test_result(gates: list[Fields]) -> dict[str, Any]:
    passed = [_name(gate) for gate in gates if gate["passed"]]
    failed = [_name(gate) for gate in gates if not gate["passed"]]
    return {
        "result": FAILED if failed else PASSED,
        "configuration": [
            {"name": _name(gate), "digest": {"sha256": sha256(gate["command"].encode()).hexdigest()}}
            for gate in gates
            if gate["command"]
        ],
        "passedTests": passed,
        "warnedTests": [],
        "failedTests": failed,
    }


def _name(gate: Fields) -> str:
    return f"{gate['gate']}: {gate['command']}" if gate["command"] else str(gate["gate"])


def _envelope(statement: Fields, sign: Sign) -> dict[str, Any]:
    payload = json.dumps(statement, separators=(",", ":")).encode()
    signatures = sign(signed_bytes(PAYLOAD_TYPE, payload))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": b64encode(payload).decode(),
        "signatures": [{"keyid": each.key, "sig": b64encode(each.content).decode()} for each in signatures],
    }


def _read_envelope(fields: Fields) -> Envelope:
    payload = b64decode(fields["payload"], validate=True)
    signatures = tuple(
        Signature(str(each["keyid"]), b64decode(each["sig"], validate=True)) for each in fields["signatures"]
    )
    return Envelope(json.loads(payload), signed_bytes(str(fields["payloadType"]), payload), signatures)


def signed_bytes(payload_type: str, payload: bytes) -> bytes:
    """The bytes that a signature of an envelope covers: DSSE's pre-authentication encoding."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
