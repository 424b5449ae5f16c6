"""What is wrong with the fields of a request, in our words and not in those of pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from untildone.faces.api.schemas.forms import FORMS
from untildone.settings import complaints

_INNER = re.compile(r"float|int|str|(function-|constrained|literal\[|lax-or-strict|nullable|list\[).*", re.DOTALL)
"""The parts of a place that pydantic adds for the members of a union."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field that is wrong."""

    field: str
    message: str
    hint: str = ""


def field_errors(errors: Sequence[Mapping[str, Any]], *, of_settings: bool) -> tuple[FieldError, ...]:
    """Every field that is wrong, once, in the order of the request. `of_settings`: the whole body is a table of settings."""
    by_field: dict[str, FieldError] = {}
    for each in errors:
        made = _made(each, of_settings=of_settings)
        by_field.setdefault(made.field, made)
    return tuple(by_field.values())


def _made(error: Mapping[str, Any], *, of_settings: bool) -> FieldError:
    place = tuple(_outer(error["loc"]))
    field = ".".join(map(str, place[1:])) or str(place[0])
    context = error.get("ctx") or {}
    if (setting := _in_settings(place, whole_body=of_settings)) is not None:
        complaint = complaints.about(setting, error["type"], error["input"], context)
        return FieldError(field, complaint.sentence, complaint.hint)
    sentence = f"'{field[:200]}' {_reason(error['type'], context)}."
    return FieldError(field, " ".join(sentence.splitlines()), "see /api/v1/openapi.json")


def _outer(place: Sequence[str | int]) -> Iterator[str | int]:
    """The place without the parts that pydantic adds. Parts that the client wrote come first and are kept."""
    for number, part in enumerate(place):
        if number < 2 or not _INNER.fullmatch(str(part)):
            yield part


def _in_settings(place: tuple[str | int, ...], *, whole_body: bool) -> tuple[str | int, ...] | None:
    """The place of a value within the settings of a body; None if it is elsewhere."""
    inside = place[1:] if whole_body else place[2:] if place[:2] == ("body", "settings") else ()
    return inside if place[0] == "body" and inside else None


_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": "is not text",
    "string_too_short": "is shorter than {min_length} characters",
    "string_too_long": "is longer than {max_length} characters",
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "int_parsing_size": "is too large a number",
    "int_from_float": "is not a whole number",
    "float_type": "is not a number",
    "float_parsing": "is not a number",
    "finite_number": "is not a finite number",
    "greater_than": "is not above {gt}",
    "greater_than_equal": "is below {ge}",
    "less_than": "is not below {lt}",
    "less_than_equal": "is above {le}",
    "list_type": "is not a list",
    "too_long": "has more than {max_length} entries",
    "too_short": "is empty",
    "dict_type": "is not a JSON object",
    "model_type": "is not a JSON object",
    "model_attributes_type": "is not a JSON object",
    "enum": "is not one of: {expected}",
    "literal_error": "is not one of: {expected}",
    "timezone_aware": "is not a time with a zone, such as 2026-11-09T08:00:00Z",
    "datetime_type": "is not a time such as 2026-11-09T08:00:00Z",
    "datetime_parsing": "is not a time such as 2026-11-09T08:00:00Z",
    "datetime_from_date_parsing": "is not a time such as 2026-11-09T08:00:00Z",
    "datetime_object_invalid": "is not a time such as 2026-11-09T08:00:00Z",
}
"""The end of the sentence about a field, by the error type of pydantic."""


def _reason(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "string_pattern_mismatch":
        return FORMS.get(context["pattern"], "does not have the right form")
    return _REASONS.get(kind, "cannot be used").format(**context)
