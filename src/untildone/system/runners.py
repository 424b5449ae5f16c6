"""What a runner says of itself when it claims a loop."""

from __future__ import annotations

import os

MACHINE = "UNTILDONE_MACHINE"


def new_token(now: float) -> str:
    """No other claim has it."""
    return f"{now:.6f}-{os.urandom(4).hex()}"


def machine() -> str:
    """What this machine is called: by the environment, or by itself."""
    if named := os.environ.get(MACHINE):
        return named
    if hasattr(os, "uname"):
        return os.uname().nodename
    import socket

    return socket.gethostname()
