"""The loops of an agent's own, asked for from inside its loop, through the socket of its runner."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from untildone.core.children import SOCKET
from untildone.core.errors import UntilDoneError, UsageError
from untildone.core.model import EMPTY
from untildone.system import request_socket


def are_allowed(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process belongs to an agent that may start loops."""
    return bool(environment.get(SOCKET))


def ask(verb: str, given: Mapping[str, object] = EMPTY, environment: Mapping[str, str] = os.environ) -> Any:
    """The result of a request to the runner. UntilDoneError with its sentence if it refuses."""
    path = environment.get(SOCKET)
    if not path:
        raise UsageError(
            "`untildone child` works only inside of a loop whose agent may start loops.",
            "start that loop with `untildone run --children N`",
        )
    try:
        answer = request_socket.ask(path, {"verb": verb, **given})
    except (OSError, ValueError):
        raise UntilDoneError("The runner of this loop does not answer.", "it may be ending") from None
    if "result" in answer:
        return answer["result"]
    raise UsageError(str(answer.get("error", "")), str(answer.get("hint", "")))
