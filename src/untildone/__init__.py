"""untildone keeps a coding agent at work until the job is verified done.

    loop = untildone.run("Make the tests pass", checks=["pytest -q"], max_cost=5)
    print(loop.outcome.word)

`run` creates a loop in this folder, starts it and waits until it rests; `run_async` is its twin for asynchronous programs. The
other functions (`create`, `start`, `wait`, `say`, `list`, …) are asynchronous: `await untildone.show("last")`.
`untildone.events` has the events of the journal. `connect(url, token)` returns a client with the same verbs for the loops of a
server, and `connect_async` one for asynchronous programs.
"""

# Nothing is imported before it is used: the stop hook pays for whatever is imported here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone import events
    from untildone.faces.client import AsyncClient, Client, LoopLine, connect, connect_async
    from untildone.faces.python import (
        Branch,
        Entry,
        Heard,
        Loop,
        Money,
        Outcome,
        Round,
        Settings,
        Status,
        Subtask,
        UntilDoneError,
        Verification,
        approve,
        bisect,
        branch,
        budget,
        clean,
        create,
        delete,
        diff,
        duplicate,
        follow,
        output,
        pause,
        receipt,
        resume,
        retry,
        rewind,
        rounds,
        run,
        run_async,
        say,
        show,
        spend,
        start,
        stop,
        tasks,
        verify,
        wait,
    )
    from untildone.faces.python import list as list

# `list` is left out: `from untildone import *` must not replace the built-in one.
__all__ = [
    "AsyncClient",
    "Branch",
    "Client",
    "Entry",
    "Heard",
    "Loop",
    "LoopLine",
    "Money",
    "Outcome",
    "Round",
    "Settings",
    "Status",
    "Subtask",
    "UntilDoneError",
    "Verification",
    "approve",
    "bisect",
    "branch",
    "budget",
    "clean",
    "connect",
    "connect_async",
    "create",
    "delete",
    "diff",
    "duplicate",
    "events",
    "follow",
    "output",
    "pause",
    "receipt",
    "resume",
    "retry",
    "rewind",
    "rounds",
    "run",
    "run_async",
    "say",
    "show",
    "spend",
    "start",
    "stop",
    "tasks",
    "verify",
    "wait",
]


_OF_CLIENT = ("AsyncClient", "Client", "LoopLine", "connect", "connect_async")


def __getattr__(name: str) -> object:
    if name not in (*__all__, "list"):
        raise AttributeError(f"module 'untildone' has no attribute '{name}'")
    if name == "events":
        import untildone.events

        return untildone.events
    from untildone.faces import client, python

    return getattr(client if name in _OF_CLIENT else python, name)


def __dir__() -> object:
    return sorted({*globals(), *__all__, "list"})
