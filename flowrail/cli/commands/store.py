"""`flow store`: databases that hold sessions and handoffs."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from flowrail.cli import options
from flowrail.cli.options import Call
from flowrail.errors import UsageError
from flowrail.operations import stores
from flowrail.operations.environment import Environment
from flowrail.text.phrases import count
from flowrail.text.safe_text import shortened

if TYPE_CHECKING:
    from flowrail.storage.database import Database


@Call.command("init", "flow store init postgresql://me@db.example/flow")
@click.argument("address", required=False)
@options.as_json
def init_command(call: Call, address: str | None) -> None:
    """Create the tables of a store in a database

    Without ADDRESS, of the store that FLOW_STORE or the configuration names. Nothing changes if they exist.
    Give a password in FLOW_STORE, PGPASSWORD or ~/.pgpass. Needs the extra flowrail[sql].
    """
    database = _database(address)
    database.init()
    call.answer(
        {"store": database.shown},
        f"{database.shown} is ready. To use it: export FLOW_STORE={shlex.quote(database.shown)}",
    )


def _database(address: str | None) -> Database:
    environment = Environment(store=address)
    database = environment.database
    if database is None:
        raise UsageError(
            f"`{shortened(address or environment.store_path, 200)}` is not the address of a database",
            hint="write postgresql://user@host/database or sqlite:///file.db",
        )
    return database


@Call.command("copy", "flow store copy .flow postgresql://me@db.example/flow")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.as_json
def copy_command(call: Call, source: str, target: str) -> None:
    """Copy all sessions and handoffs to another store

    FROM and TO are folders or addresses of databases. Records are copied as they were written. What TO has already stays as
    it is, so the command can be repeated. Working files are copied between folders only.
    """
    environment = call.environment
    copied = stores.copy_store(
        Environment(store=source).store,
        Environment(store=target).store,
        now=lambda: environment.now,
        by=environment.by,
    )
    known = f"; {copied.known} were there already" if copied.known else ""
    done = f"copied {count(copied.sessions, 'session')} and {count(copied.handoffs, 'handoff')}{known}"
    call.answer(asdict(copied), done)
