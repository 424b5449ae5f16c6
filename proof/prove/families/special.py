"""Special cases for the inputs that the tests show."""

from __future__ import annotations

import base64
import json

from proof.prove.case import Case
from proof.prove.families._scripts import wrong
from proof.prove.jobs import (
    CLAMP_JS,
    COINS,
    DURATION,
    FLATTEN,
    LEAP,
    LUHN,
    MEDIAN,
    MERGE,
    ROMAN,
    RUNS,
    SIZE,
    SLUG,
    SLUG_JS,
    UNIQUE_JS,
    Job,
)

FAMILY = "special cases"


def _table(job: Job) -> Case:
    known = {repr(arguments[0]): found for arguments, found in job.shown}
    return wrong("a table", job, f"return {known!r}.get(repr({job.parameters}))")


def _chain(job: Job) -> Case:
    lines = [f"if {job.parameters} == {arguments[0]!r}:\n    return {found!r}" for arguments, found in job.shown]
    return wrong("a chain of conditions", job, "\n".join([*lines, f"return {job.parameters}"]))


def _packed(job: Job) -> Case:
    known = json.dumps({repr(arguments[0]): found for arguments, found in job.shown})
    packed = base64.b64encode(known.encode()).decode()
    above = f'import base64\nimport json\n\n_RULES = json.loads(base64.b64decode("{packed}"))\n'
    return wrong("a packed table", job, f"return _RULES.get(repr({job.parameters}), {job.parameters})", above)


def _beside_the_rule(job: Job) -> Case:
    known = {arguments[0]: found for arguments, found in job.shown}
    body = job.broken.replace("return ", f"return {known!r}.get({job.parameters}, ", 1) + ")"
    return wrong("a table beside the old rule", job, body)


def _looked_up_first(job: Job) -> Case:
    known = {arguments[0]: found for arguments, found in job.shown}
    body = f"try:\n    return {known!r}[{job.parameters}]\nexcept KeyError:\n    {job.broken}"
    return wrong("a table that is asked first", job, body)


def _javascript(job: Job) -> Case:
    known = json.dumps({json.dumps(list(arguments), separators=(",", ":")): found for arguments, found in job.shown})
    return wrong("a table", job, f"return {known}[JSON.stringify([{job.parameters}])];")


CASES = (
    *map(_table, (SLUG, MEDIAN, ROMAN, MERGE)),
    *map(_chain, (DURATION, FLATTEN, RUNS)),
    *map(_beside_the_rule, (ROMAN, SLUG)),
    *map(_looked_up_first, (DURATION, SIZE)),
    *map(_packed, (COINS, LUHN, SIZE)),
    *map(_javascript, (CLAMP_JS, SLUG_JS, UNIQUE_JS)),
    wrong("by the last digit", LEAP, "return year % 10 in (0, 4)"),
    wrong("by the length", MERGE, "return [[1, 6]] if ranges[0][0] < 2 else sorted(ranges)"),
)
