"""Names of `typing` for code that also runs in the stop hook, where importing `typing` would take longer than the work.

If another module has already imported `typing`, the real names are used. Type checkers always see the real ones.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Generic, Protocol, TypeVar, assert_never

    __all__ = ["Any", "Generic", "Protocol", "TypeVar", "assert_never"]
elif "typing" in sys.modules:
    from typing import Any, Generic, Protocol, TypeVar, assert_never
else:

    class Any:
        """Stands for every type."""

    class Protocol:
        """What classes look like from outside."""

    class Generic:
        """Base of classes that have a type parameter."""

        def __class_getitem__(cls, _parameter):
            return cls

    def TypeVar(name):
        return name

    def assert_never(value):
        raise AssertionError(f"a value that no case handles: {value!r}")
