"""The errors of untildone: something that a person must fix.

    UntilDoneError            a sentence (what, where), a hint (what to do), an exit code
    ├── UsageError            what the person typed or configured cannot work            exit 2
    │   ├── FromInside        a process of a loop may not steer loops
    │   ├── LoopChanged       the loop has changed since the state that the caller knows
    │   ├── LoopNotFound      no loop has that id, or an abbreviated id fits more than one
    │   ├── MissingPackage    a package of an extra is not installed
    │   ├── ReplyRefused      a reply token is not valid, is for another loop, or has expired
    │   ├── UnknownName       no agent, mode or gate has that name
    │   └── WrongMove         the loop's status does not allow this control
    │       └── BudgetUsedUp  it would rest again at once: a limit is used up               exit 3
    ├── LoopBusy              another runner drives this loop                            exit 2
    │   ├── GroupFull         its group has no place for one more loop at work
    │   └── Superseded        a newer runner holds the lease: this one must stop, and its work does not count
    ├── AgentMissing          the agent program cannot be found or started               exit 6
    │   └── ResourcesShort    the machine is short of processes, memory or open files
    ├── ServerError           a server cannot be reached, or its answer makes no sense    exit 6
    └── StoreError            the state cannot be read or written                        exit 6
        ├── DamagedState      it is damaged beyond what journal and backups can repair
        ├── JournalLocked     another process holds the lock of the journal for too long
        └── NotOurs           the loop has no valid seal: it can be read and stopped, and cannot go on

Expected ends of a loop are not errors: they are an `Outcome`.
"""


class UntilDoneError(Exception):
    """The base of all errors: a sentence that says what is wrong and where, a hint that says what to do, an exit code."""

    exit_code = 1

    def __init__(self, sentence: str, hint: str = "") -> None:
        # One line, even if it quotes a text of several.
        self.sentence = " ".join(sentence.splitlines())
        super().__init__(self.sentence)
        self.hint = hint


class UsageError(UntilDoneError):
    """What the person typed or configured cannot work."""

    exit_code = 2


class FromInside(UsageError):
    """A process of a loop may not steer loops."""


class LoopChanged(UsageError):
    """The loop has changed since the state that the caller knows."""


class LoopNotFound(UsageError):
    """No loop has that id, or an abbreviated id fits more than one."""


def installing(extra: str) -> str:
    """How to install an extra, as README says."""
    command = f"uv tool install '.[{extra}]', or pipx install --force '.[{extra}]'"
    return f"install the extra `{extra}`; in a clone of untildone: {command}"


class MissingPackage(UsageError):
    """A package of an extra is not installed."""

    def __init__(self, sentence: str, extra: str) -> None:
        super().__init__(sentence, installing(extra))


class ReplyRefused(UsageError):
    """A reply token is not valid, is for another loop, or has expired."""


class UnknownName(UsageError):
    """No agent, mode or gate has that name."""


class WrongMove(UsageError):
    """The loop's status does not allow this control."""


class BudgetUsedUp(WrongMove):
    """A limit of the loop is used up: resumed, it would rest again at once."""

    exit_code = 3


class LoopBusy(UntilDoneError):
    """Another runner drives this loop."""

    exit_code = 2


class GroupFull(LoopBusy):
    """The loop's group already has as many running loops as it may have."""


class Superseded(LoopBusy):
    """A newer runner holds the lease: this one must stop, and its work does not count."""


class AgentMissing(UntilDoneError):
    """The agent program cannot be found or started."""

    exit_code = 6


class BoxNotMade(UsageError):
    """The sandbox cannot be made, so the program in it was not started."""


class ResourcesShort(AgentMissing):
    """The machine is short of processes, memory or open files, maybe only for a moment."""


class ServerError(UntilDoneError):
    """A server cannot be reached, or does not answer as untildone does."""

    exit_code = 6


class StoreError(UntilDoneError):
    """The state cannot be read or written."""

    exit_code = 6


class DamagedState(StoreError):
    """The state is damaged beyond what journal and backups can repair."""


class JournalLocked(StoreError):
    """Another process holds the lock of the journal for longer than a writer waits."""


class NotOurs(StoreError):
    """The loop has no valid seal of this home: it can be read and stopped, and cannot go on."""
