"""The errors of untildone: somebody must fix something.

    UntilDoneError            a sentence (what, where), a hint (what to do), an exit code
    ├── UsageError            what the person typed or configured cannot work            exit 2
    │   ├── LoopNotFound      no loop, or more than one, has that name
    │   ├── MissingPackage    a package of an extra is not installed
    │   ├── UnknownName       no agent, mode or gate has that name
    │   └── WrongMove         the loop's status does not allow this control
    ├── LoopBusy              another runner drives this loop                            exit 2
    │   ├── GroupFull         its group has no place for one more loop at work
    │   └── Superseded        a newer runner holds the lease: this one must stop, and its work does not count
    ├── AgentMissing          the agent program cannot be found or started               exit 6
    └── StoreError            the state cannot be read or written                        exit 6
        └── DamagedState      it is damaged beyond what journal and backups can repair

Expected ends of a loop are not errors: they are an `Outcome`.
"""


class UntilDoneError(Exception):
    exit_code = 1

    def __init__(self, sentence: str, hint: str = "") -> None:
        # On one line, whatever it quotes.
        self.sentence = " ".join(sentence.splitlines())
        super().__init__(self.sentence)
        self.hint = hint


class UsageError(UntilDoneError):
    exit_code = 2


class LoopNotFound(UsageError):
    pass


class MissingPackage(UsageError):
    def __init__(self, sentence: str, extra: str) -> None:
        command = f"uv tool install '.[{extra}]', or pipx install --force '.[{extra}]'"
        super().__init__(sentence, f"install the extra `{extra}`; in a clone of untildone: {command}")


class UnknownName(UsageError):
    pass


class WrongMove(UsageError):
    pass


class LoopBusy(UntilDoneError):
    exit_code = 2


class GroupFull(LoopBusy):
    pass


class Superseded(LoopBusy):
    pass


class AgentMissing(UntilDoneError):
    exit_code = 6


class StoreError(UntilDoneError):
    exit_code = 6


class DamagedState(StoreError):
    pass
