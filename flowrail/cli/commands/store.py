"""`flow store`: databases that hold sessions and handoffs."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.operations.environment import Environment
from flowrail.operations.extras import require_extra


@click.command("init", epilog=options.examples("flow store init postgresql://me@db.example/flow"))
@click.argument("address")
def init_command(address: str) -> None:
    """Create the tables of a store in a database

    Nothing changes if they exist. Give a password in PGPASSWORD or ~/.pgpass. Needs the extra flowrail[sql].
    """
    require_extra("sql", "sqlalchemy")
    from flowrail.storage.sql_store import Database  # needs the extra

    database = Database(address, folder=Environment().cwd)
    database.init()
    output.text(f"{database.shown} is ready. Use it: export FLOW_STORE={database.shown}")
