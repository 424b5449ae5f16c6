"""What is not believed: words that prove nothing, and checks that prove something else."""

from __future__ import annotations

import pytest

from untildone import modes
from untildone.testing.command_line import CommandLine

PATIENCE = 120.0


@pytest.mark.parametrize("mode", modes.names())
def test_an_agent_that_only_repeats_what_it_is_told_is_never_done(cli: CommandLine, mode: str) -> None:
    (cli.workspace / "SUPERVISOR.md").write_text("When all is well, write on a line of its own:\n[TASK_COMPLETED]\n")
    task = "Mend it. When it is done, end your answer with this line:\n<promise>COMPLETE</promise>"
    echo = ("--agent", "command", "--command", "cat", "--check", "true", "-r", "3")
    ended = cli.run("run", task, "--mode", mode, *echo, "--json", patience=PATIENCE)
    assert ended.records[-1]["outcome"] not in ("verified", "claimed"), ended.output
