"""What the templates of all forms use."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from untildone.faces.web.forms.fields import MOST_ON_SLIDER, USUAL_ROUNDS, Field
from untildone.faces.web.site import texts_of
from untildone.settings import names

TEXTS = {
    "restored": "What you typed before is here again.",
    "notKept": "This browser keeps no drafts: what you type is lost if you leave.",
    "away": "The server cannot be reached. What you typed is kept in this browser: try again when it is back. It happens only once.",
    "noTask": "Say what is to be done.",
    "notANumber": "This is not a number.",
    "notWhole": "This is not a whole number.",
    "notAPair": "'{line}' is not of the form NAME=value.",
    "profileTaken": "There is already a profile {name}.",
    "saved": "Saved",
}
"""The sentences of the scripts, by the names that they have there."""


def form_values(request: Request) -> dict[str, Any]:
    """The values that every template with a form needs."""
    t = texts_of(request)

    def help_of(field: Field) -> str:
        return names.put_in(t(field.hint))

    return {
        "help_of": help_of,
        "texts": {name: t(english) for name, english in TEXTS.items()},
        "most_on_slider": MOST_ON_SLIDER,
        "usual_rounds": USUAL_ROUNDS,
    }
