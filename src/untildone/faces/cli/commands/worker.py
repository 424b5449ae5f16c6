"""`untildone worker`: this machine's share of a cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untildone.core.codec import timestamp
from untildone.core.errors import LoopBusy, UsageError
from untildone.core.value import replace
from untildone.faces.cli import parameters, streams

if TYPE_CHECKING:
    from untildone.hosts.cluster.advancing import Means
    from untildone.hosts.cluster.options import Options
    from untildone.settings import Settings

LOCK = "worker.lock"
_SECONDS = click.FloatRange(1, 10**7)


@click.command()
@parameters.store
@click.option("--queue", metavar="Q", help="The task queue of this cluster (untildone).")
@click.option("--namespace", metavar="NS", help="The namespace of Temporal (default).")
@click.option("--slots", type=click.IntRange(1, 256), help="Loops driven at once (4).")
@click.option("--machine", metavar="NAME", help="What this machine is called (its host name).")
@click.option("--work-dir", metavar="D", help="Where the loops' repositories are cloned to.")
@click.option("--heartbeat-timeout", type=_SECONDS, metavar="S", help="Silence after which a machine is dead (30).")
@click.option("--drain", type=click.FloatRange(0), metavar="S", help="How long turns may go on at the end (600).")
@click.option("--share", type=_SECONDS, metavar="S", help="How long a loop keeps its slot while others wait (600).")
@click.option("--tls-cert", metavar="FILE", help="The certificate of this client, in PEM format.")
@click.option("--tls-key", metavar="FILE", help="Its private key.")
@click.option("--tls-ca", metavar="FILE", help="The certificate of whoever vouches for Temporal.")
@click.option("--tls-server-name", metavar="NAME", help="The name in Temporal's certificate (that in its address).")
@click.option("--quiet", is_flag=True, help="Tell only what goes wrong.")
@parameters.folder
@parameters.as_json
def command(folder: str, quiet: bool, as_json: bool, **flags: Any) -> int:
    """Drive loops of a cluster on this machine, as many at once as it has slots.

    Asked to end (SIGTERM, Ctrl-C), it takes no more, lets the turns under way end, and hands their loops over; asked twice, at once.
    What is said here can also be said in the settings, under [cluster].
    """
    from untildone import settings
    from untildone.faces.cli.commands.run import existing_folder
    from untildone.hosts.cluster.connecting import check_package
    from untildone.hosts.cluster.options import options

    check_package()
    chosen = settings.load(existing_folder(folder), {})
    wanted = _named(options(chosen.cluster, flags))
    wanted.access  # noqa: B018 (says what is missing before anything is begun)
    _log_to_standard_error(logging.WARNING if quiet else logging.INFO)
    with _alone_in(_work_folder(wanted)) as place:
        asyncio.run(_work(wanted, _means(chosen, wanted, place), as_json=as_json))
    return 0


def _named(wanted: Options) -> Options:
    """Set the machine name for the whole process, because leases record it."""
    from untildone.system import runners

    if wanted.machine:
        os.environ[runners.MACHINE] = wanted.machine
    return replace(wanted, machine=runners.machine())


def _log_to_standard_error(level: int) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("untildone").setLevel(level)
    # What it has to say of attempts that fail is said by us, in a sentence.
    logging.getLogger("temporalio").setLevel(logging.CRITICAL)


def _work_folder(wanted: Options) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(wanted.work_dir) if wanted.work_dir else Path(state) / "untildone" / "worker"


@contextmanager
def _alone_in(folder: Path) -> Iterator[Path]:
    """Two workers would step on each other's clones."""
    from untildone.system import disk, locks

    with disk.told_as_sentence(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = locks.try_lock(folder / LOCK)
    if lock is None:
        raise LoopBusy(f"Another worker has the folder {folder}.", "end it, or choose another folder with --work-dir")
    try:
        yield folder.resolve()
    finally:
        os.close(lock)


def _means(chosen: Settings, wanted: Options, folder: Path) -> Means:
    from untildone.core.kinds import Host
    from untildone.hosts.cluster.advancing import Means
    from untildone.operations import verbs
    from untildone.store.postgres import PostgresStore

    if not chosen.store:
        raise UsageError("The database that keeps the loops is not set.", "give it with --store postgres://…")
    around = verbs.surroundings(dict(os.environ), chosen, host=Host.CLUSTER)
    store = PostgresStore(chosen.store, around.redactor, folder=folder / "loops")
    # A wrong address is said now, and not by every loop.
    store.live_ids()
    return Means(store, lambda: around, folder, wanted.slots, wanted.share)


async def _work(wanted: Options, means: Means, *, as_json: bool) -> None:
    from untildone.hosts.cluster import worker

    ending, at_once = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask_to_end() -> None:
        (at_once if ending.is_set() else ending).set()
        streams.talk().line("Ending: no more loops are taken, those under way are handed over.")

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask_to_end)
    told = worker.Notices(lambda: _announce(wanted, means, as_json=as_json), streams.talk().line)
    try:
        await worker.work(wanted, means, worker.Orders(ending, at_once), told)
    finally:
        means.surroundings().guard.close()
        means.store.close()


def _announce(wanted: Options, means: Means, *, as_json: bool) -> None:
    if as_json:
        told = {"event": "worker_start", "ts": timestamp(time.time()), "machine": wanted.machine, "pid": os.getpid()}
        streams.data().record({**told, "queue": wanted.queue, "slots": wanted.slots})
    streams.talk().line(
        f"{wanted.machine} drives up to {wanted.slots} loops of {means.store.name}, queue {wanted.queue} at {wanted.temporal}."
    )
