"""The cost of an iteration, compared with a shell loop that does the same work.

The shell loop runs the same agent, takes the same snapshot with git, and syncs output and result before the next call.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from driving import INSTANT, program, repository, with_command
from figures import Row, figure, seconds_of

SHELL_LOOP = """index=$(mktemp); cp .git/index "$index"; before=$(git rev-parse 'HEAD^{{tree}}')
for i in $(seq {rounds}); do
  printf %s "$TASK" | {agent} > ../output.$i
  GIT_INDEX_FILE=$index git add --all
  tree=$(GIT_INDEX_FILE=$index git write-tree)
  echo "$i $tree $(git diff-tree -r --shortstat "$before" "$tree")" >> ../journal
  sync --data ../journal
  before=$tree
  grep -q "<promise>COMPLETE</promise>" ../output.$i && break
done
rm "$index"
"""
CHANGING = INSTANT + 'echo "call $$" >> notes.md\n'
SIZES = {"10 files": 10, "1,000 files": 1000}
KINDS = {"no file changed": INSTANT, "a file changed by each call": CHANGING}
GOAL = 2.5
"""The engine also asks git what changed, and whether the objects of the last snapshot still exist."""


def rows(*, quick: bool) -> Iterator[Row]:
    rounds, times = (10, 2) if quick else (60, 7)
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        # The two take turns, so that other load on the machine affects both alike.
        for number in range(times):
            for what, agent, files in _cases(Path(folder, str(number))):
                shell, engine = (repository(agent.parent / name / "workspace", files) for name in ("shell", "engine"))
                theirs.setdefault(what, []).append(_shell_loop(agent, shell, rounds))
                ours.setdefault(what, []).append(_engine_loop(agent, engine, rounds))
    for what, took in ours.items():
        other = figure(theirs[what], "ms")
        yield Row(
            f"an iteration in {what}", figure(took, "ms"), "a shell loop with the same snapshot", other, goal=GOAL
        )


def _cases(folder: Path) -> Iterator[tuple[str, Path, int]]:
    """What is measured, its agent, and the number of files in its repository."""
    for size, files in SIZES.items():
        for kind, text in KINDS.items():
            what = f"a git repository of {size}, {kind}"
            yield what, program(folder / what.replace(" ", "-") / "agent.sh", text), files


def _shell_loop(agent: Path, workspace: Path, rounds: int) -> float:
    """Milliseconds an iteration of the shell loop."""
    script, env = SHELL_LOOP.format(rounds=rounds, agent=agent), {**os.environ, "TASK": "do it"}
    return (
        seconds_of(lambda: subprocess.run(["bash", "-ec", script], env=env, cwd=workspace, check=True)) / rounds * 1000
    )


def _engine_loop(agent: Path, workspace: Path, rounds: int) -> float:
    """Milliseconds an iteration of the engine."""
    return statistics.mean(with_command(workspace, agent, rounds).drive().iterations) * 1000
