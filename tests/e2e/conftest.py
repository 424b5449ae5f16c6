"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone.testing.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)
