"""`flow store`: databases that hold sessions and handoffs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from flowrail.cli import options, output_file
from flowrail.cli.options import Call
from flowrail.command import Command
from flowrail.errors import UsageError
from flowrail.operations import stores
from flowrail.operations.environment import Environment
from flowrail.text.phrases import count
from flowrail.text.safe_text import one_line

if TYPE_CHECKING:
    from flowrail.storage.database import Database


@Call.command("init", "flow store init postgresql://me@db.example/flow")
@click.argument("address")
@options.as_json
def init_command(call: Call, address: str) -> None:
    """Create the tables of a store in a database

    Nothing changes if they exist. Give a password in FLOW_STORE, PGPASSWORD or ~/.pgpass. Needs the extra flowrail[sql].
    """
    database = _database(address)
    database.init()
    call.answer(
        {"store": database.shown, "version": database.version},
        f"{database.shown} is ready. To use it: export FLOW_STORE={shlex.quote(database.shown)}",
    )


@Call.command("upgrade", "flow store upgrade postgresql://me@db.example/flow")
@click.argument("address")
@options.as_json
def upgrade_command(call: Call, address: str) -> None:
    """Upgrade the tables of a database to this version of flowrail

    Run it once, after flowrail was upgraded on all machines: clients with an older flowrail are refused from then on.
    Records are not changed. Make a backup first, for example with pg_dump.
    """
    database = _database(address)
    before = database.upgrade()
    version = database.version
    done = (
        f"{database.shown} has tables of version {before} already"
        if before == version
        else f"{database.shown}: upgraded the tables from version {before} to {version}"
    )
    call.answer({"store": database.shown, "version": version, "before": before}, done)


def _database(address: str) -> Database:
    database = Environment(store=address).database
    if database is None:
        raise UsageError(
            f"`{address}` is not the address of a database",
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
    copied = stores.copy_store(Environment(store=source).store, Environment(store=target).store)
    known = f"; {copied.known} were there already" if copied.known else ""
    done = f"copied {count(copied.sessions, 'session')} and {count(copied.handoffs, 'handoff')}{known}"
    call.answer(copied._asdict(), done)


@Call.command("export", "flow session export planner-k3x9q2 planner.json")
@options.session_argument
@click.argument("file")
@options.as_json
@options.store
def export_command(call: Call, session_id: str, file: str) -> None:
    """Write a session into one file, to move it or to report a problem

    The file contains everything that was recorded, also facts, answers and secrets, but no working files. It
    replaces an existing file.
    """
    store = call.environment.store
    output_file.write(file, stores.export_session(store, session_id), mode=0o600)
    folder = one_line(store.read(session_id).session.work_folder)
    call.answer(
        {"session": session_id, "file": file},
        [
            f"{session_id} is in {file}. On the other machine: {Command('session import', file)}",
            f"The file contains no working files; copy those in {folder} yourself.",
        ],
    )


@Call.command("import", "flow session import planner.json")
@click.argument("file")
@options.as_json
@options.store
def import_command(call: Call, file: str) -> None:
    """Store a session that was written by `flow session export`

    It becomes your own. Its records are checked against each other. Working files are not part of the file.
    """
    environment = call.environment
    session_id = stores.import_session(environment.store, file)
    session = environment.store.read(session_id).session
    verb = "resume" if session.is_open else "history"
    command = Command(verb, session_id, store=environment.shown_store)
    what_next = (
        f"Continue it: {command}"
        if session.is_open
        else f"It is {session.status}. See its reports: {command}"
    )
    call.answer(
        {"session": session_id, "command": command},
        [
            f"{session_id} is here. {what_next}",
            f"Its working files were not in {file}; copy those that you need to {one_line(session.work_folder)}.",
        ],
    )
