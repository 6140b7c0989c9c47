"""Serve the page on this machine until no page has been open for a while."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from flowrail.errors import UsageError
from flowrail.operations.environment import Environment
from flowrail.web.access import ENTER, Keys
from flowrail.web.app import Activity, application
from flowrail.web.pages import Pages

LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def serve(
    environment: Environment,
    *,
    port: int = 0,
    idle: float = 600.0,
    at_terminal: bool = False,
    ready: Callable[[str], None],
) -> None:
    """Serve until *idle* seconds have passed without an open page; call *ready* with the address first.

    The page is served on the loopback addresses only. *port* 0 takes a free one. The page can approve and waive evidence
    only if its token is printed *at_terminal*, where a person reads it.
    """
    sockets = _listen(port)
    bound = sockets[0].getsockname()[1]
    hosts = tuple(f"{name}:{bound}" for name in ("127.0.0.1", "localhost", "[::1]"))
    keys = Keys(port=bound)
    activity = Activity(time.monotonic)
    pages = Pages(environment, keys, can_approve=at_terminal)
    app = application(pages, keys, activity, hosts=hosts)
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


def _listen(port: int) -> list[socket.socket]:
    """Listen on the loopback addresses at one port. A machine without IPv6 does without `::1`."""
    sockets: list[socket.socket] = []
    for family, address in LOOPBACK:
        try:
            listener = socket.create_server((address, port), family=family)  # before the address is printed
        except OSError as error:
            if sockets:
                continue
            raise UsageError(
                f"cannot listen on {address}:{port} ({error.strerror})",
                hint="choose another --port, or leave it out",
            ) from None
        port = listener.getsockname()[1]
        sockets.append(listener)
    return sockets
