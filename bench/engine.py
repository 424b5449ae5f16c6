"""What the engine adds to an iteration of an instant agent, beside a bare shell loop that runs the same agent."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from driving import INSTANT, program, with_command
from figures import Row, figure, seconds_of

SHELL_LOOP = """for i in $(seq {rounds}); do
  out=$(printf %s "$TASK" | {agent})
  case "$out" in *"<promise>COMPLETE</promise>"*) break;; esac
done"""
CHANGING = INSTANT + 'echo "call $$" >> notes.md\n'
MANY_FILES = 1000
KINDS = {"plain": 1, "git": 3, "changing": 3, "big": 3}
"""Of workspaces; each by how many fewer rounds it gets."""


def rows(*, quick: bool) -> Iterator[Row]:
    rounds, times = (60, 3) if quick else (300, 7)
    took: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        agent, changing = program(place / "agent.sh", INSTANT), program(place / "changing.sh", CHANGING)
        # Turn about, so that whatever else the machine does meets all alike.
        for number in range(times):
            # Before the shell loops, which take a while: as projects are, none of them is brand new.
            workspaces = {kind: _workspace(place / f"{kind}{number}", kind) for kind in KINDS}
            took.setdefault("shell", []).append(_shell_loop(agent, rounds, place))
            took.setdefault("changing shell", []).append(_shell_loop(changing, rounds, place))
            for kind, workspace in workspaces.items():
                its_agent, its_rounds = changing if kind == "changing" else agent, rounds // KINDS[kind]
                took.setdefault(kind, []).append(_engine_loop(its_agent, workspace, its_rounds))
    shell, changing_shell = figure(took["shell"], "ms"), figure(took["changing shell"], "ms")
    beside = "the bare shell loop"
    yield Row("an iteration of an instant agent", figure(took["plain"], "ms"), beside, shell, goal=2.0)
    yield Row("the same in a git repository", figure(took["git"], "ms"), beside, shell, goal=2.0)
    changes = "the same in a git repository, a file changed by each call"
    yield Row(changes, figure(took["changing"], "ms"), beside, changing_shell, goal=2.0)
    yield Row(f"the same in a git repository of {MANY_FILES:,} files", figure(took["big"], "ms"), beside, shell)


def _shell_loop(agent: Path, rounds: int, place: Path) -> float:
    """Milliseconds an iteration of the bare loop."""
    script, env = SHELL_LOOP.format(rounds=rounds, agent=agent), {**os.environ, "TASK": "do it"}
    return seconds_of(lambda: subprocess.run(["bash", "-c", script], env=env, cwd=place, check=True)) / rounds * 1000


def _workspace(folder: Path, kind: str) -> Path:
    """With git, a folder of a repository with one commit, as projects are."""
    folder.mkdir()
    if kind == "plain":
        return folder
    for number in range(MANY_FILES if kind == "big" else 10):
        path = folder / f"part{number // 50}" / f"file{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"line {number}\n" * 20)
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def _engine_loop(agent: Path, workspace: Path, rounds: int) -> float:
    """Milliseconds an iteration of ours: everything durable."""
    return statistics.mean(with_command(workspace, agent, rounds).drive().iterations) * 1000
