"""What the engine adds to an iteration of an instant agent, beside a bare shell loop that runs the same agent."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from untildone import settings, verbs
from untildone.core.events import TurnStarted
from untildone.hosts.engine import NobodyWatches

AGENT = '#!/bin/sh\ncat > /dev/null\necho "working on it, call $$"\n'
SHELL_LOOP = """for i in $(seq {rounds}); do
  out=$(printf %s "$TASK" | {agent})
  case "$out" in *"<promise>COMPLETE</promise>"*) break;; esac
done"""


class Watch(NobodyWatches):
    """Notes when each iteration starts."""

    def __init__(self) -> None:
        self.starts: list[float] = []

    def entry(self, entry: object, loop: object) -> None:
        if isinstance(getattr(entry, "event", None), TurnStarted):
            self.starts.append(time.perf_counter())


def make_agent(folder: Path) -> Path:
    agent = folder / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    return agent


def shell_loop(agent: Path, rounds: int) -> float:
    """Milliseconds an iteration of the bare loop."""
    started = time.perf_counter()
    subprocess.run(
        ["bash", "-c", SHELL_LOOP.format(rounds=rounds, agent=agent)], env={**os.environ, "TASK": "do it"}, check=True
    )
    return (time.perf_counter() - started) / rounds * 1000


def engine_loop(agent: Path, workspace: Path, rounds: int) -> list[float]:
    """Milliseconds of each iteration of ours: everything durable."""
    workspace.mkdir()
    flags = {"agent": "command", "command": str(agent), "max_iterations": rounds}
    chosen = settings.load(workspace, flags, {"HOME": str(workspace)})
    store = verbs.store_of(workspace, create=True)
    loop_id = verbs.create(store, "do it", chosen, workspace).loop_id
    verbs.start(store, loop_id)
    around, watch = verbs.surroundings(os.environ, chosen), Watch()
    verbs.drive(store, loop_id, around, watch)
    around.guard.close()
    return [(after - before) * 1000 for before, after in zip(watch.starts, watch.starts[1:], strict=False)]


def overhead(rounds: int = 300, times: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        agent = make_agent(place)
        shells, ours, in_git = [], [], []
        for number in range(times):
            shells.append(shell_loop(agent, rounds))
            ours.append(statistics.mean(engine_loop(agent, place / f"plain{number}", rounds)))
            repository = place / f"git{number}"
            subprocess.run(["git", "init", "-q", repository / "outer"], check=True)
            in_git.append(statistics.mean(engine_loop(agent, repository / "outer" / "inner", rounds // 3)))
    shell, engine, git = (statistics.median(values) for values in (shells, ours, in_git))
    print(
        f"an instant agent, ms an iteration: bare shell loop {shell:.2f}, untildone {engine:.2f} ({engine / shell:.2f} times)"
    )
    print(f"  the same in a git repository (files watched): {git:.2f} ({git / shell:.2f} times)")


def growth(rounds: int = 10_000, window: int = 300) -> None:
    """The same iteration, early and late, as medians over a window."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        took = engine_loop(make_agent(place), place / "long", rounds)
    early, late = statistics.median(took[10 : 10 + window]), statistics.median(took[-window:])
    print(f"ms an iteration at round 10: {early:.2f}, at round {rounds:,}: {late:.2f} ({late / early:.2f} times)")


def start_up(times: int = 15) -> None:
    def best(*arguments: str) -> float:
        took = []
        for _ in range(times):
            started = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
            )
            took.append((time.perf_counter() - started) * 1000)
        return statistics.median(took)

    bare = best("-c", "pass")
    help_page, listing = (best("-m", "untildone.faces.cli", word) for word in ("--help", "list"))
    times_bare = f"{help_page / bare:.1f} times"
    print(
        f"ms to start: python -c pass {bare:.0f}, untildone --help {help_page:.0f} ({times_bare}), list {listing:.0f}"
    )


def memory(size: int = 1 << 30) -> None:
    """Kilobytes at most of a runner, while its agent prints nothing and while it prints a gigabyte."""
    peaks = []
    for amount in (0, size):
        with tempfile.TemporaryDirectory() as folder:
            agent = Path(folder) / "agent.sh"
            agent.write_text(
                f"#!/bin/sh\nyes 'a line of output that is longer than a word or two' | head -c {amount}\n"
            )
            agent.chmod(0o755)
            command = ["run", "x", "-r", "1", "--agent", "command", "--command", str(agent), "--dir", folder]
            process = subprocess.Popen(
                [sys.executable, "-m", "untildone.faces.cli", *command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            _, _, used = os.wait4(process.pid, 0)
            peaks.append(used.ru_maxrss)
    quiet, loud = (peak / 1024 for peak in peaks)
    print(
        f"memory at most, MB: {quiet:.1f} with no output, {loud:.1f} with {size >> 20} MB of it (+{loud - quiet:.1f})"
    )


def main(quick: bool = False) -> None:  # noqa: FBT001, FBT002
    overhead(100, 3) if quick else overhead()
    growth(1_000, 100) if quick else growth()
    start_up(5 if quick else 15)
    memory(100 << 20 if quick else 1 << 30)


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)
