"""The report that an agent program writes into a file at its end, beside its output."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from untildone import agents
from untildone.core.model import AgentChoice
from untildone.core.plugins.agent_io import Invocation
from untildone.system import disk

LARGEST = 1 << 20


class Report:
    """The file of one run, which may never be written."""

    def __init__(self, invocation: Invocation, path: Path | None) -> None:
        self.invocation = invocation.reporting_to(None if path is None else str(path))
        self._path = path

    def line(self) -> bytes | None:
        """The report as one line of JSON; None: there is none."""
        with suppress(OSError):
            content = b"" if self._path is None else disk.read_promptly(self._path, LARGEST)
            return content.replace(b"\n", b" ").strip() or None
        return None


@contextmanager
def expected(
    invocation: Invocation, choice: AgentChoice, environment: Mapping[str, str], name: str
) -> Iterator[Report]:
    """The report of a run. Its file lies in a folder of the agent's own, which it may write in its box too; it is deleted afterwards."""
    path = _path(choice, environment, name) if invocation.reports else None
    _delete(path)
    try:
        yield Report(invocation, path)
    finally:
        _delete(path)


def _path(choice: AgentChoice, environment: Mapping[str, str], name: str) -> Path | None:
    folder = next(iter(agents.of(choice).needs(environment, choice.args).writable), None)
    if folder is None:
        return None
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return None
    return Path(folder) / f"untildone-{name}.json"


def _delete(path: Path | None) -> None:
    if path is not None:
        with suppress(OSError):
            path.unlink()
