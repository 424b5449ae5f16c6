"""The folder in which untildone keeps state outside of any workspace: keys, snapshots, rooms, the registry of running loops."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def folder(environment: Mapping[str, str] = os.environ) -> str:
    """`untildone` in the user's state folder. It need not exist."""
    home = environment.get("HOME") or os.path.expanduser("~")
    state = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(state, "untildone")


KEY = "key"
"""The file in it with the key that seals what untildone writes where an agent can write too."""


def seal(purpose: str, content: bytes, environment: Mapping[str, str] = os.environ) -> str:
    """The seal of a content for one purpose; empty: there is no key yet."""
    from untildone.core.values.digest import Hmac

    try:
        with open(os.path.join(folder(environment), KEY), "rb") as file:
            key = file.read()
    except OSError:
        return ""
    return Hmac(Hmac(key).digest(purpose.encode())).digest(content).hex()


def made(*names: str, environment: Mapping[str, str] = os.environ) -> str:
    """A folder inside it, created with access for its owner only."""
    path = folder(environment)
    for name in ("", *names):
        path = os.path.join(path, name) if name else path
        os.makedirs(path, mode=0o700, exist_ok=True)
    return path
