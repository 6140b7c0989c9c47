"""Serve the page on this machine until nobody has looked at it for a while."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

import uvicorn

from flowrail.errors import StorageError, UsageError
from flowrail.handoff.store import Handoffs
from flowrail.operations.environment import Environment, world_of
from flowrail.operations.sessions.board import Board
from flowrail.storage.files import read_bounded
from flowrail.web.access import ENTER, Keys
from flowrail.web.app import Activity, Site, application
from flowrail.web.pages import Pages

if TYPE_CHECKING:
    from flowrail.fleet.status import FleetStatus

LOOPBACK = ("127.0.0.1", "::1")
SHORTEST_TOKEN = 32
LONGEST_TOKEN = 1_000
NEWEST_RUNS = 30
"""Runs of the fleet that its page lists."""
EVERYWHERE = frozenset({"0.0.0.0", "::", "*"})  # noqa: S104 - refused below


class UnsafeHostError(UsageError):
    """The page would be reachable from other machines, and no token file protects it."""

    code = "UNSAFE_HOST"


def serve(
    environment: Environment,
    *,
    port: int = 0,
    host: str | None = None,
    token_file: str | None = None,
    idle: float = 600.0,
    at_terminal: bool = False,
    ready: Callable[[str], None],
) -> None:
    """Serve until *idle* seconds have passed without an open page; call *ready* with the address first.

    Without *host*, the page is served on the loopback addresses only. *port* 0 takes a free one. The page can approve and
    waive evidence only if its token is printed *at_terminal*, where a person reads it.
    """
    token = None if token_file is None else read_token(token_file)
    if host is not None and token is None:
        raise UnsafeHostError(
            f"serving on {host} lets other machines reach the page",
            hint="give --token-file FILE with a secret of at least 32 characters, or use an SSH tunnel",
        )
    if host in EVERYWHERE:
        raise UnsafeHostError(
            f"{host} is not an address that a browser can open",
            hint="give the address or name of this machine",
        )
    sockets = _listen(LOOPBACK if host is None else (host,), port)
    bound = sockets[0].getsockname()[1]
    names = ("127.0.0.1", "localhost", "[::1]") if host is None else (_in_address(host),)
    hosts = tuple(f"{name}:{bound}" for name in names)
    keys = Keys(port=bound, token=token)
    activity = Activity(time.monotonic)
    world = world_of(environment, wait=10.0)
    board = Board(world.store)
    handoffs = Handoffs(world.store.path, world.store.owner, world.store.backend)
    can_approve = at_terminal and token is None
    pages = Pages(
        world,
        handoffs,
        environment.roots,
        keys,
        board,
        can_approve=can_approve,
        fleet_status=lambda: _fleet_status(environment),
    )
    site = Site(world, pages, board, keys, activity, can_approve)
    app = application(site, hosts=hosts)
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    ready(f"http://{hosts[0]}{ENTER}?token={keys.token}")
    with suppress(KeyboardInterrupt):
        asyncio.run(_run(uvicorn.Server(config), sockets, activity, idle))


def _fleet_status(environment: Environment) -> FleetStatus | None:
    """Return what the fleet of the store does, or `None` if there is no fleet."""
    has_fleet = os.path.isdir(os.path.join(environment.store_path, "fleet"))
    is_shared = environment.database is not None and not environment.database.is_sqlite
    if find_spec("dbos") is None or not (has_fleet or is_shared):
        return None
    from flowrail.fleet.fleet import Fleet  # needs the extra `fleet`

    fleet = Fleet(environment)
    try:
        return fleet.status(newest=NEWEST_RUNS)
    finally:
        fleet.close()


def read_token(path: str) -> str:
    """Return the token in the file at *path*, which only its owner may read."""
    text = read_bounded(path, limit=LONGEST_TOKEN, what="the token file").decode("ascii", "replace").strip()
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise StorageError(f"other users can read {path}", hint=f"run: chmod 600 {path}", place=path)
    if len(text) < SHORTEST_TOKEN or not text.isprintable() or " " in text:
        raise UsageError(
            f"the token in {path} is too short",
            hint="write one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return text


async def _run(server: uvicorn.Server, sockets: list[socket.socket], activity: Activity, idle: float) -> None:
    async def stop_if_idle() -> None:
        while not server.should_exit:
            await asyncio.sleep(min(1.0, idle / 4))
            if activity.idle_seconds > idle:
                server.should_exit = True
        activity.stopping = True

    watcher = asyncio.create_task(stop_if_idle())
    try:
        await server.serve(sockets=sockets)
    finally:
        watcher.cancel()


def _listen(hosts: tuple[str, ...], port: int) -> list[socket.socket]:
    """Listen on all *hosts* at one port. A machine without IPv6 does without `::1`."""
    sockets: list[socket.socket] = []
    for host in hosts:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen()  # before the address is printed, so that it can be opened at once
        except OSError as error:
            if sockets:
                continue
            raise UsageError(
                f"cannot listen on {_in_address(host)}:{port} ({error.strerror})",
                hint="choose another --port, or leave it out",
            ) from None
        port = listener.getsockname()[1]
        sockets.append(listener)
    return sockets


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host
