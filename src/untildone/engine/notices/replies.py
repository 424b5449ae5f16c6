"""Tokens that permit answers to one loop and nothing else: signed with the key of the state folder, and valid for a limited time."""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping

from untildone.core.errors import ReplyRefused
from untildone.system import state_folder

_PURPOSE = "reply"
_LONGEST = 300


def token(loop_id: str, expires: float, environment: Mapping[str, str] = os.environ) -> str:
    """A token for messages to one loop until a time (epoch seconds); empty: there is no key to sign it with."""
    content = f"{loop_id}.{int(expires)}"
    seal = state_folder.seal(_PURPOSE, content.encode(), environment)
    return f"{content}.{seal}" if seal else ""


def check(given: str, loop_id: str, now: float, environment: Mapping[str, str] = os.environ) -> None:
    """ReplyRefused unless the token is signed, is for this loop and has not expired."""
    content, _, seal = given[:_LONGEST].rpartition(".")
    own = state_folder.seal(_PURPOSE, content.encode("utf-8", "replace"), environment)
    if not own or not hmac.compare_digest(own.encode(), seal.encode("utf-8", "replace")):
        raise ReplyRefused("This reply token is not valid.", "use the link of a notification as a whole")
    name, _, expires = content.rpartition(".")
    if name != loop_id:
        raise ReplyRefused("This reply token is for another loop.", "use the link of that loop's notification")
    if now >= int(expires):
        raise ReplyRefused("This reply token has expired.", "answer with `untildone say`, or in the dashboard")
