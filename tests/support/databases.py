"""A PostgreSQL server for the tests on a free port."""

from __future__ import annotations

import functools
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import glob

import pytest


def close_all() -> None:
    """Close the connections of all databases of this process: the next command is another process."""
    from flowrail.storage.database import OPENED  # an extra

    while OPENED:
        OPENED.popitem()[1].close()


PORTS = range(20_000, 32_000)
"""Below those that systems give to connections."""


def program(name: str) -> str | None:
    """Return the path of a program of PostgreSQL, if it is installed."""
    return shutil.which(name) or next(
        iter(sorted(glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None
    )


class Server:
    """A running server. `stop` and `start` keep its data and its port."""

    def __init__(self, folder: str, port: int, *, flushes: bool = False) -> None:
        self.folder, self.port = folder, port
        self._fsync = "on" if flushes else "off"

    def address(self, database: str = "postgres") -> str:
        """Return the address of one of its databases."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def fresh_database(self) -> str:
        """Create an empty database and return its address."""
        import psycopg  # an extra

        name = f"flow_{os.urandom(6).hex()}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.address(name)

    def drop_connections(self, address: str) -> None:
        """End all connections to one of its databases."""
        import psycopg  # an extra

        name = address.rpartition("/")[2]
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [name]
            )

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=''",
            "max_connections=100",
            f"fsync={self._fsync}",
        ]
        options = " ".join([f"-p {self.port}", *(f"-c {setting}" for setting in settings)])
        log = os.path.join(self.folder, "log")
        _as_postgres(["pg_ctl", "-w", "-D", f"{self.folder}/data", "-l", log, "-o", options, "start"])

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; *immediate* is like a crash."""
        _as_postgres(["pg_ctl", "-w", "-D", f"{self.folder}/data", "-m", mode, "stop"])


@contextmanager
def postgres(*, flushes: bool = False) -> Iterator[Server]:
    """Start a server with its data in a temporary folder; skip the test if none is installed.

    Without *flushes*, data would be lost if the machine failed.
    """
    if program("initdb") is None or program("pg_ctl") is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o700)
        if os.geteuid() == 0:
            shutil.chown(folder, _user())
        _as_postgres(["initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "--no-sync"])
        server = Server(folder, _free_port(), flushes=flushes)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _free_port() -> int:
    """Return a port that no connection takes by chance, also while the server is stopped for a moment."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def _as_postgres(words: Sequence[str]) -> None:
    """Run a program of PostgreSQL, which refuses to run as root."""
    command = [str(program(words[0])), *words[1:]]
    user = _user() if os.geteuid() == 0 else None
    done = subprocess.run(
        command,
        user=user,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
    )
    assert done.returncode == 0, done.stderr + done.stdout


@functools.cache
def _user() -> str:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and the machine has no other user for it")
