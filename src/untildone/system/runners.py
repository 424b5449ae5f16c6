"""What a runner says of itself when it claims a loop."""

from __future__ import annotations

import os

MACHINE = "UNTILDONE_MACHINE"


def new_token(now: float) -> str:
    """No other claim has it."""
    return f"{now:.6f}-{os.urandom(4).hex()}"


def machine() -> str:
    """The name of this machine: from the environment, or the host name."""
    return os.environ.get(MACHINE) or os.uname().nodename
