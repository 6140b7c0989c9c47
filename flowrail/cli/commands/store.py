"""`flow store`: databases that hold sessions and handoffs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from flowrail.cli import options, output, output_file
from flowrail.command import Command
from flowrail.errors import UsageError
from flowrail.operations import stores
from flowrail.operations.environment import Environment
from flowrail.text.phrases import count

if TYPE_CHECKING:
    from flowrail.storage.database import Database


@click.command("init", epilog=options.examples("flow store init postgresql://me@db.example/flow"))
@click.argument("address")
@options.as_json
def init_command(address: str, as_json: bool) -> None:
    """Create the tables of a store in a database

    Nothing changes if they exist. Give a password in FLOW_STORE, PGPASSWORD or ~/.pgpass. Needs the extra flowrail[sql].
    """
    database = _database(address)
    database.init()
    if as_json:
        output.data({"store": database.shown, "version": database.version})
    elif Environment().database is not database:
        output.text(f"{database.shown} is ready. Use it: export FLOW_STORE={shlex.quote(database.shown)}")
    else:
        output.text(f"{database.shown} is ready.")


@click.command("upgrade", epilog=options.examples("flow store upgrade postgresql://me@db.example/flow"))
@click.argument("address")
@options.as_json
def upgrade_command(address: str, as_json: bool) -> None:
    """Upgrade the tables of a database to this version of flowrail

    Run it once, after flowrail was upgraded on all machines: clients with an older flowrail are refused from then on.
    Records are not changed. Make a backup first, for example with pg_dump.
    """
    database = _database(address)
    before = database.upgrade()
    if as_json:
        output.data({"store": database.shown, "version": database.version, "before": before})
    elif before == database.version:
        output.text(f"{database.shown} has tables of version {before} already")
    else:
        output.text(f"{database.shown}: upgraded the tables from version {before} to {database.version}")


def _database(address: str) -> Database:
    database = Environment(store=address).database
    if database is None:
        raise UsageError(
            f"`{address}` is not the address of a database",
            hint="write postgresql://user@host/database or sqlite:///file.db",
        )
    return database


@click.command("copy", epilog=options.examples("flow store copy .flow postgresql://me@db.example/flow"))
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.as_json
def copy_command(source: str, target: str, as_json: bool) -> None:
    """Copy all sessions and handoffs to another store

    FROM and TO are folders or addresses of databases. Records are copied as they were written. What TO has already stays as
    it is, so the command can be repeated. Working files are copied between folders only.
    """
    copied = stores.copy_store(Environment(store=source).store, Environment(store=target).store)
    if as_json:
        output.data(copied._asdict())
        return
    known = f"; {copied.known} were there already" if copied.known else ""
    output.text(f"copied {count(copied.sessions, 'session')} and {count(copied.handoffs, 'handoff')}{known}")


@click.command("export", epilog=options.examples("flow session export planner-k3x9q2 planner.json"))
@options.session_argument
@click.argument("file")
@options.as_json
@options.store
def export_command(session_id: str, file: str, as_json: bool, store: str | None) -> None:
    """Write a session into one file, to move it or to report a problem

    The file contains everything that was recorded, also facts, answers and secrets, but no working files.
    """
    output_file.write(file, stores.export_session(Environment(store=store).store, session_id), mode=0o600)
    if as_json:
        output.data({"session": session_id, "file": file})
        return
    output.text(f"{session_id} is in {file}. On the other machine: flow session import {file}")


@click.command("import", epilog=options.examples("flow session import planner.json"))
@click.argument("file")
@options.as_json
@options.store
def import_command(file: str, as_json: bool, store: str | None) -> None:
    """Store a session that was written by `flow session export`

    It becomes your own. Its records are checked against each other.
    """
    here = Environment(store=store)
    session_id = stores.import_session(here.store, file)
    command = Command("resume", session_id, store=here.shown_store)
    if as_json:
        output.data({"session": session_id, "command": command})
    else:
        output.text(f"{session_id} is here. Continue it: {command}")
