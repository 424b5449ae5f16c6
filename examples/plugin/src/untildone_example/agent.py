"""The agent `ticker`: how its program is called, and how its output is read. It starts nothing and reads no file."""

from __future__ import annotations

import json
from collections.abc import Mapping

from untildone.core.model import Answer, Failure, FailureKind
from untildone.core.plugins.agent import Capabilities, Login, Needs, SettingsFile, Versions
from untildone.core.plugins.agent_io import AgentEvent, Invocation, Notice, Request, Said, ToolStarted


class Ticker:
    name = "ticker"
    program = "ticker"
    install = "pip install untildone-example"
    versions = Versions()
    login = Login()
    """It needs no login."""
    capabilities = Capabilities()
    steering_files = ()
    """No file in a workspace tells it what to do."""
    hook = None
    """The program has no stop hook."""
    mcp = None
    """It starts no MCP servers."""

    def invocation(self, request: Request) -> Invocation:
        return Invocation(("ticker", *request.args), stdin=request.prompt.encode())

    def reader(self, request: Request) -> TickerReader:
        return TickerReader()

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> None:
        """It keeps no transcript."""
        return

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        return ()

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        """It keeps nothing outside of the workspace and calls no host."""
        return Needs()

    def hand_back(self, session_id: str) -> None:
        """It has no sessions, so a person cannot open one."""
        return


class TickerReader:
    def __init__(self) -> None:
        self._answer = ""

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        """One line of output as events. A line that does not parse is a notice, never an exception."""
        try:
            parsed = json.loads(line)
            event, text = parsed["event"], str(parsed["text"])
        except (ValueError, KeyError, TypeError):
            return (Notice(f"not understood: {line[:80].decode(errors='replace')}"),)
        if event == "tool":
            return (ToolStarted("ticker", text),)
        self._answer = text
        return (Said(text),)

    def finish(self, exit_code: int, stderr_tail: str, now: float) -> Answer:
        failed = exit_code != 0 or not self._answer
        failure = Failure(FailureKind.CRASHED, stderr_tail or f"exit code {exit_code}") if failed else None
        return Answer(self._answer, failure=failure, exit_code=exit_code)


AGENT = Ticker()
