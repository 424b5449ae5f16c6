"""Where this process looks for modules: not in the folder in which it works, where agents write.

`python -m untildone` and a variable such as `PYTHONPATH=src` put folders of the work in front of the standard library. A module that is
loaded late, while an agent works, would be the agent's.
"""

from __future__ import annotations

import os
import sys

_PACKAGES = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
"""The folder from which untildone itself is loaded."""


def leave_out_work() -> None:
    """Look for modules nowhere in the present folder, unless Python or untildone itself is installed there."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        return
    kept = (os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix))
    sys.path[:] = [entry for entry in sys.path if not _is_of_work(os.path.realpath(entry), here, kept)]


def _is_of_work(folder: str, here: str, kept: tuple[str, ...]) -> bool:
    own = folder == _PACKAGES or any(_is_below(folder, each) for each in kept)
    return _is_below(folder, here) and not own


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
