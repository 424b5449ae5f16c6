"""How a runner identifies itself when it leases a loop."""

from __future__ import annotations

import os

MACHINE = "UNTILDONE_MACHINE"


def new_token(now: float) -> str:
    """A token that no other lease has."""
    return f"{now:.6f}-{os.urandom(4).hex()}"


def machine() -> str:
    """The name of this machine, from the environment or the operating system."""
    return os.environ.get(MACHINE) or os.uname().nodename
