"""`untildone worker`: this machine's share of a cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import click

from untildone.core.values.codec import timestamp
from untildone.faces.cli import parameters, streams

if TYPE_CHECKING:
    from untildone.operations.driving.machine import Machine

_SECONDS = click.FloatRange(1, 10**7)


@click.command()
@parameters.store
@click.option("--queue", metavar="Q", help="The task queue of this cluster (untildone).")
@click.option("--namespace", metavar="NS", help="The namespace of Temporal (default).")
@click.option("--slots", type=click.IntRange(1, 256), help="Loops driven at once (4).")
@click.option("--machine", metavar="NAME", help="What this machine is called (its host name).")
@click.option("--work-dir", metavar="D", help="Where the loops' repositories are cloned to.")
@click.option(
    "--heartbeat-timeout",
    type=_SECONDS,
    metavar="S",
    help="Seconds without a heartbeat after which a machine counts as dead (30).",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    metavar="S",
    help="Seconds that running turns get after SIGTERM or Ctrl-C (600).",
)
@click.option("--share", type=_SECONDS, metavar="S", help="Seconds that a loop keeps its slot while others wait (600).")
@click.option("--tls-cert", metavar="FILE", help="The certificate of this client, in PEM format.")
@click.option("--tls-key", metavar="FILE", help="Its private key.")
@click.option("--tls-ca", metavar="FILE", help="The certificate of the authority that signed Temporal's.")
@click.option("--tls-server-name", metavar="NAME", help="The name in Temporal's certificate (that in its address).")
@click.option("--quiet", is_flag=True, help="Log only what goes wrong.")
@parameters.folder
@parameters.as_json
def command(folder: str, quiet: bool, as_json: bool, **flags: Any) -> int:
    """Drive loops of a cluster on this machine, as many at once as it has slots.

    Asked to end (SIGTERM, Ctrl-C), it takes no more, lets the turns under way end, and hands their loops over; asked twice, at once.
    Every option can also be set in the settings, under [cluster].
    """
    from untildone import settings
    from untildone.operations.driving import machine

    environment = parameters.environment()
    chosen = settings.load(parameters.existing_folder(folder), {}, environment)
    options = machine.checked_options(chosen, flags)
    _log_to_standard_error(logging.WARNING if quiet else logging.INFO)
    with machine.machine(chosen, options, environment) as ready:
        asyncio.run(_work(ready, as_json=as_json))
    return 0


def _log_to_standard_error(level: int) -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("untildone").setLevel(level)
    # Temporal logs every failed attempt; untildone reports it in one sentence.
    logging.getLogger("temporalio").setLevel(logging.CRITICAL)


async def _work(machine: Machine, *, as_json: bool) -> None:
    ending, at_once = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask_to_end() -> None:
        (at_once if ending.is_set() else ending).set()
        streams.talk().prose("Ending: no more loops are taken, those under way are handed over.")

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask_to_end)
    await machine.work(ending, at_once, lambda: _announce(machine, as_json=as_json), streams.talk().line)


def _announce(machine: Machine, *, as_json: bool) -> None:
    options = machine.options
    if as_json:
        fields = {"event": "worker_start", "ts": timestamp(time.time()), "machine": options.machine, "pid": os.getpid()}
        streams.data().record({**fields, "queue": options.queue, "slots": options.slots})
    streams.talk().prose(
        f"{options.machine} drives up to {options.slots} loops of {machine.store_name}, queue {options.queue} at {options.temporal}."
    )
