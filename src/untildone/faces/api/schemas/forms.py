"""The forms that texts and numbers of the API must have, and the messages about a text that does not have its form."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

LONGEST_TEXT = 500_000
TASK_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
_SOMETHING = r"^[^\x00]*[^\x00\s][^\x00]*$"
_AMOUNT = r"^([+=]?[0-9]{1,9}(\.[0-9]{1,6})?|none)$"
LOOP_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
NUMBER = r"^[0-9]{1,15}$"
OUTPUT = r"^[0-9]{1,7}(-(instructor|supervisor|author))?$"
OUTPUT_NAME = r"^[0-9]{4,7}(-(instructor|supervisor|author))?$"
MOMENT = r"^[0-9]{1,12}(\.[0-9]{1,6})?$"
CURSOR = r"^[A-Za-z0-9_-]+$"
AGE = r"^[0-9]{1,6} ?[hdw]$"
FORMS = {
    _SOMETHING: "is empty, or has a NUL character",
    _AMOUNT: 'is not an amount, such as 10, "+5", "=10" or "none"',
    OUTPUT_NAME: "is not the `output` of a turn, such as 0003 or 0003-supervisor",
    TASK_ID: "is not an id of a task: letters, digits, `.`, `_` and `-`, at most 100",
    LOOP_ID: "is not an id of a loop, or a name: letters, digits, `_` and `-`, at most 100",
    NUMBER: "is not the number of an entry",
    OUTPUT: "is not the name of an output, such as 3 or 0003-supervisor",
    MOMENT: "is not the `id` of a message of this stream",
    CURSOR: "is not a cursor",
    AGE: "is not an age: hours, days or weeks, such as 12h, 30d, 4w",
}
"""What is said about a text that does not have the form."""

Text = Annotated[str, StringConstraints(pattern=_SOMETHING, max_length=LONGEST_TEXT)]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Title = Annotated[str, StringConstraints(pattern=_SOMETHING, max_length=200)]
TaskId = Annotated[str, StringConstraints(pattern=TASK_ID)]
Position = Annotated[int, Field(ge=0, le=100_000, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
AmountWord = Annotated[str, StringConstraints(pattern=_AMOUNT)]
Round = Annotated[int, Field(strict=True, le=1_000_000)]
