"""`untildone serve`: many loops in one process, behind an API and a dashboard."""

from __future__ import annotations

import importlib.util
import ipaddress
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from untildone.core.errors import MissingPackage, UsageError
from untildone.core.values.codec import timestamp
from untildone.faces.cli import parameters, streams

if TYPE_CHECKING:
    import socket

    from fastapi import FastAPI

    from untildone.faces.api.middleware.keys import Keys
    from untildone.operations.driving.service import Service

PORT = 8321
NEEDED = ("fastapi", "jinja2", "segno", "uvicorn", "sse_starlette")
PAGES_NEED = ("jinja2", "markdown_it", "pygments")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="The port; 0: any free port."
)
@click.option("--allow-remote", is_flag=True, help="Needed for an address that others can reach; they need the token.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="Another host name of this server; repeatable.")
@click.option("--slots", type=click.IntRange(1, 256), default=4, show_default=True, help="Loops driven at once.")
@click.option("--dir", "folders", metavar="D", multiple=True, help="A workspace; repeatable (this folder).")
@parameters.store
@click.option(
    "--cluster", "in_cluster", is_flag=True, help="New loops are driven by a cluster, not here; needs --store."
)
@click.option("--no-dashboard", is_flag=True, help="Serve the API without the dashboard.")
@click.option("--behind-tls", is_flag=True, help="A proxy in front speaks TLS: cookies are for https only.")
@click.option(
    "--link", "wants_link", is_flag=True, help="Print a login link of the server that runs at --host and --port."
)
@click.option("--quiet", is_flag=True, help="Do not log each request.")
@parameters.as_json
def command(
    host: str,
    port: int,
    allow_remote: bool,
    names: Sequence[str],
    slots: int,
    folders: Sequence[str],
    in_cluster: bool,
    no_dashboard: bool,
    behind_tls: bool,
    wants_link: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Drive many loops in this process, behind an API and a dashboard.

    Loops go on where they were when the server was ended or killed. Prints a link that logs a browser in, once;
    `untildone serve --link` prints another one, from any terminal, with a QR code for a phone.
    """
    _check_packages()
    if wants_link:
        return _show_link(_address(host, port), folders, as_json=as_json)
    _check_reach(host, allow_remote=allow_remote)
    from untildone.core.kinds import Host
    from untildone.faces.api import server
    from untildone.faces.api.middleware import keys
    from untildone.operations.driving.service import Service

    server.log_to_standard_error(logging.WARNING if quiet else logging.INFO)
    places = list(dict.fromkeys(parameters.existing_folder(folder) for folder in folders or (".",)))
    if in_cluster:
        _check_cluster(places)
    driven_by = Host.CLUSTER if in_cluster else Host.SERVER
    token = keys.find_token(os.environ)
    listening = server.listen(host, port)
    tokens = keys.Keys(token, os.environ, listening.getsockname()[1], behind_tls=behind_tls)
    service = Service(places, slots, parameters.environment(), driven_by)
    service.url = _url(listening)
    with service:
        app = _app(service, tokens, (host, *names), remote=allow_remote, dashboard=not no_dashboard)
        _announce(service, tokens, listening, as_json=as_json)
        server.serve(app, listening)
    return 0


def _show_link(server: str, folders: Sequence[str], *, as_json: bool) -> int:
    """Print a login link of the running server. The setting `dashboard_url` says how browsers reach it."""
    from untildone import settings
    from untildone.faces.api.middleware import keys
    from untildone.faces.cli.commands.servers import login_links

    folder = parameters.existing_folder(folders[0] if folders else ".")
    public = settings.load(folder, {}, parameters.environment()).dashboard_url
    login_links.show(server, keys.find_token(os.environ), public or server, as_json=as_json)
    return 0


def _check_cluster(folders: Sequence[Path]) -> None:
    """Report a cluster that cannot work before anything is served."""
    from untildone.operations import stores
    from untildone.operations.driving import cluster

    environment = parameters.environment()
    for folder in folders:
        if not stores.database_of(folder, environment):
            raise UsageError("A cluster keeps its loops in Postgres.", "name the database with --store")
        cluster.cluster(folder, environment)


def _check_packages() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackage(f"The server needs packages that are not installed: {', '.join(missing)}.", "serve")


def _check_reach(host: str, *, allow_remote: bool) -> None:
    try:
        near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        near = host == "localhost"
    if not near and not allow_remote:
        raise UsageError(
            f"Others could reach {host}.",
            "give --allow-remote if they may; anyone with the token can run programs here",
        )


def _app(service: Service, keys: Keys, names: Sequence[str], *, remote: bool, dashboard: bool) -> FastAPI:
    from untildone.faces.api.app import LOOPBACK_NAMES, create_app, greet, refuse_mcp

    app = create_app(service, keys, (*LOOPBACK_NAMES, *names), remote=remote)
    if not (dashboard and _mount_dashboard(app, service)):
        greet(app)
    if importlib.util.find_spec("mcp") is None:
        refuse_mcp(app)
    else:
        importlib.import_module("untildone.faces.mcp.served").mount(app, service)
    return app


def _mount_dashboard(app: FastAPI, service: Service) -> bool:
    """Mount the dashboard. Returns False if its packages are not installed."""
    if any(importlib.util.find_spec(name) is None for name in PAGES_NEED):
        return False
    importlib.import_module("untildone.faces.web").mount(app, service)
    return True


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return _address(host, port)


def _address(host: str, port: int) -> str:
    """The address of a server that listens there."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def _announce(service: Service, keys: Keys, listening: socket.socket, *, as_json: bool) -> None:
    from untildone.faces.api.login import login_path

    url = _url(listening)
    link = f"{url}{login_path(keys.codes.new(keys.main))}"
    if as_json:
        fields = {"event": "server_start", "ts": timestamp(time.time()), "url": url, "login": link, "pid": os.getpid()}
        streams.data().record(fields)
    else:
        streams.data().line(link)
    talk = streams.talk()
    talk.line(
        f"Serving {', '.join(str(Path(folder)) for folder in service.stores)} at {url}; the link above logs in, once."
    )
    taken_up = service.fleet.load()
    if taken_up.queued or taken_up.driving:
        talk.line(f"{len(taken_up.queued) + len(taken_up.driving)} loops go on.")
