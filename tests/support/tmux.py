"""Runs a program in a private tmux server, to test what the screen shows."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pytest

PATIENCE = 60.0
UNNOTICED = 5.0
"""Seconds after which a key counts as ignored if the screen has not changed."""


class Tmux:
    """Runs a program until the `with` block ends. The pane is what a person would see."""

    def __init__(
        self, argv: Sequence[str], folder: Path, environment: Mapping[str, str], *, columns: int = 100, rows: int = 40
    ) -> None:
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed")
        # Socket paths must be short; the temporary folders of tests are too long.
        self._place = tempfile.mkdtemp(prefix="tmux-")
        variables = [f"{name}={value}" for name, value in environment.items()]
        size = ("-x", str(columns), "-y", str(rows))
        self._run("-f", "/dev/null", "new-session", "-d", *size, "-c", str(folder), "env", "-i", *variables, *argv)
        self._run("set-option", "-g", "remain-on-exit", "on")

    def __enter__(self) -> Tmux:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["tmux", "-S", f"{self._place}/s", "kill-server"], capture_output=True, timeout=PATIENCE)
        shutil.rmtree(self._place, ignore_errors=True)

    def type(self, text: str) -> None:
        """Send the text literally, key by key."""
        self._run("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys by their tmux names: Enter, Escape, C-c."""
        self._run("send-keys", *keys)

    def paste(self, text: str) -> None:
        """Paste the text at once, bracketed if the program enabled that."""
        self._run("load-buffer", "-", given=text)
        self._run("paste-buffer", "-p", "-r", "-d")

    def resize(self, columns: int, rows: int) -> None:
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    @property
    def pane(self) -> str:
        """The text on the screen."""
        return self._run("capture-pane", "-p")

    @property
    def styled_pane(self) -> str:
        """The text on the screen with its colours."""
        return self._run("capture-pane", "-p", "-e")

    @property
    def everything(self) -> str:
        """The screen and its scrollback, with wrapped lines joined."""
        return self._run("capture-pane", "-p", "-J", "-S", "-")

    def query(self, form: str) -> str:
        """The value of a tmux format such as `#{alternate_on}`."""
        return self._run("display-message", "-p", form).strip()

    def shows(self, words: str, patience: float = PATIENCE) -> str:
        """Wait until the screen shows this text; return the whole screen."""
        deadline = time.monotonic() + patience
        while words not in (pane := self.pane):
            assert time.monotonic() < deadline, f"{words!r} is not in:\n{pane}"
            time.sleep(0.05)
        return pane

    def hides(self, words: str, patience: float = PATIENCE) -> None:
        """Wait until the screen no longer shows this text."""
        deadline = time.monotonic() + patience
        while words in (pane := self.pane):
            assert time.monotonic() < deadline, f"{words!r} is still in:\n{pane}"
            time.sleep(0.05)

    def press_until(self, key: str, holds: Callable[[str], bool], patience: float = PATIENCE) -> None:
        """Press a key until `holds(screen)` is true: a program may draw its first screen before it reads keys."""
        deadline = time.monotonic() + patience
        while not holds(before := self.settles(patience=patience)):
            assert time.monotonic() < deadline, f"{key} does nothing:\n{before}"
            self.press(key)
            noticed_by = time.monotonic() + UNNOTICED
            while self.pane == before and time.monotonic() < noticed_by:
                time.sleep(0.05)

    def settles(self, quiet: float = 1.0, patience: float = PATIENCE) -> str:
        """Wait until the screen has not changed for `quiet` seconds; return the whole screen."""
        deadline, since, before = time.monotonic() + patience, time.monotonic(), self.pane
        while time.monotonic() - since < quiet:
            assert time.monotonic() < deadline, f"it does not settle:\n{before}"
            time.sleep(0.05)
            if (pane := self.pane) != before:
                since, before = time.monotonic(), pane
        return before

    def _run(self, *arguments: str, given: str | None = None) -> str:
        command = ["tmux", "-S", f"{self._place}/s", *arguments]
        return subprocess.run(command, input=given, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
