"""Serve the page on this machine until no page has been open for a while."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from flowrail.errors import UsageError
from flowrail.operations.environment import Environment
from flowrail.operations.steps.people import announce_page
from flowrail.web.access import Keys
from flowrail.web.app import Activity, application
from flowrail.web.pages import Pages

LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
REQUEST_SECONDS = 10.0
"""How long a connection may be open before its request has arrived."""


class Connection(H11Protocol):
    """A connection that is closed if no request arrives."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, and look at it again later."""
        super().connection_made(transport)
        self.loop.call_later(REQUEST_SECONDS, self._close_without_request)

    def _close_without_request(self) -> None:
        if getattr(self, "cycle", None) is None:  # uvicorn sets it with the first request
            self.transport.close()


def serve(
    environment: Environment,
    *,
    port: int = 0,
    idle: float = 600.0,
    is_person: bool = False,
    ready: Callable[[str, str], None],
) -> None:
    """Serve until *idle* seconds have passed without an open page.

    *ready* is called first with the address and a private file that leads a browser to it. The page is served on the
    loopback addresses only. *port* 0 takes a free one. The page takes answers and approvals only if *is_person*: a person
    started it at a terminal.
    """
    sockets = _listen(port)
    keys = Keys(port=sockets[0].getsockname()[1])
    activity = Activity(time.monotonic)
    pages = Pages(environment, keys, is_person=is_person)
    config = uvicorn.Config(
        application(pages, keys, activity),
        http=Connection,
        lifespan="off",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    signal.signal(signal.SIGHUP, signal.default_int_handler)  # a closed terminal ends it like Ctrl+C
    pages.notify()  # of what starts to wait from now on
    atexit.register(keys.remove_file)  # a closed terminal can interrupt twice, also in a `finally`
    if is_person:
        atexit.register(_remove, announce_page(environment, f"http://{keys.host}"))
    with suppress(KeyboardInterrupt):
        ready(keys.address, keys.write_file(environment.state))
        asyncio.run(_run(uvicorn.Server(config), sockets, activity, idle, pages.notify))


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


async def _run(
    server: uvicorn.Server,
    sockets: list[socket.socket],
    activity: Activity,
    idle: float,
    notify: Callable[[], None],
) -> None:
    def stop(*_: object) -> None:
        server.should_exit = True

    async def stop_if_idle() -> None:
        while not server.should_exit:
            await asyncio.sleep(min(1.0, idle / 4))
            await asyncio.to_thread(notify)
            if activity.idle_seconds > idle:
                server.should_exit = True
        activity.stopping = True

    # An exception at any point, as in the clean-up after the first of two signals, would leave threads that never end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
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
