"""Any program that speaks the Agent Client Protocol: `acp:NAME` for one of `known`, or `acp:PROGRAM ARGS`.

Every turn is a conversation with a process, which may serve several turns of its session."""

from __future__ import annotations

from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.agents.acp.known import Program
    from untildone.core.plugins.agent import Agent, Needs, SettingsFile
    from untildone.core.plugins.agent_io import Conversation, Invocation, Request


class Acp:
    """The program of one name. Where an adapter drives the same program natively, its login, settings and folders are the same."""

    versions = Versions()

    def __init__(self, rest: str = "") -> None:
        """`rest` is what stands after `acp:`; empty: the request names the program."""
        from untildone.agents._natives import native

        self.name = f"acp:{rest}" if rest else "acp"
        self._rest = rest
        known = self._known
        self.program = known.words[0] if known else ""
        self.install = known.install if known else 'name the program: acp:NAME, or "acp:PROGRAM ARGS"'
        self._native: Agent | None = native(known.native, self.program) if known else None
        self.login = self._native.login if self._native else Login()
        self.steering_files = self._native.steering_files if self._native else ()
        self.capabilities = _capabilities(known)

    @property
    def _known(self) -> Program | None:
        from untildone.agents.acp.known import program

        return program(self._rest) if self._rest else None

    def _program(self, request: Request) -> Program:
        from untildone.agents.acp.known import program

        return self._known or program(request.command or "")

    @property
    def hook(self) -> None:
        return None

    @property
    def mcp(self) -> None:
        return None

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.acp.command_line import invocation

        return invocation(self._program(request), request)

    def reader(self, request: Request) -> Conversation:
        from untildone.agents.acp.conversation import AcpConversation

        return AcpConversation(self._program(request), request)

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> None:
        return None

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        from untildone.agents._setups import below, own_folder

        if self._native or not (known := self._known):
            return self._native.settings_files(environment) if self._native else ()
        return below(own_folder(environment, "", known.home), *known.steering) if known.home else ()

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.acp.needs import own_needs
        from untildone.core.plugins.agent import Needs

        if self._native:
            return self._native.needs(environment, args)
        known = self._known
        return own_needs(known, environment) if known and known.home else Needs()

    def hand_back(self, session_id: str) -> tuple[str, ...] | None:
        return self._native.hand_back(session_id) if self._native and self.capabilities.resume else None


def _capabilities(program: Program | None) -> Capabilities:
    from untildone.agents.acp.known import Counts

    if program is None:
        return Capabilities(resume=True, warm=True)
    return Capabilities(
        resume=program.resumes,
        fork=program.forks,
        cost=program.totals_cost,
        tokens=program.counts is not Counts.UNKNOWN,
        read_only=program.read_only,
        warm=True,
    )


def variant(rest: str) -> Acp:
    """The agent `acp:REST`. UsageError if REST cannot be split into words."""
    return Acp(rest)


def variants() -> tuple[str, ...]:
    """The names of the known programs, as they stand after `acp:`."""
    from untildone.agents.acp.known import KNOWN

    return tuple(KNOWN)


AGENT = Acp()
