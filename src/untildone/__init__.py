"""untildone keeps a coding agent at work until the job is verified done.

Nothing is imported before it is used: the stop hook pays for whatever is imported here.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.faces.python import (
        Entry,
        Heard,
        Loop,
        Outcome,
        Status,
        UntilDoneError,
        Verification,
        approve,
        bisect,
        budget,
        clean,
        create,
        delete,
        diff,
        duplicate,
        follow,
        list,
        pause,
        resume,
        retry,
        rewind,
        say,
        show,
        start,
        stop,
        verify,
        wait,
    )

__all__ = [
    "Entry",
    "Heard",
    "Loop",
    "Outcome",
    "Status",
    "UntilDoneError",
    "Verification",
    "approve",
    "bisect",
    "budget",
    "clean",
    "create",
    "delete",
    "diff",
    "duplicate",
    "follow",
    "list",
    "pause",
    "resume",
    "retry",
    "rewind",
    "say",
    "show",
    "start",
    "stop",
    "verify",
    "wait",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'untildone' has no attribute '{name}'")
    from untildone.faces import python as aio

    return getattr(aio, name)
