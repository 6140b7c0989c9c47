"""Where a store keeps its records: in a folder, or in the database at an address.

Another kind of store is one module with a class like `Backend`, and one line in `BACKENDS`. The module is imported when a
store of this kind is opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from flowrail.errors import UsageError, require_extra

if TYPE_CHECKING:
    from flowrail.storage.record_store import Kind, Lines
    from flowrail.storage.user_mark import Owner


class Backend(Protocol):
    """One store: its name, its folder, and the lines in it."""

    @property
    def shown(self) -> str:
        """Its path, or its address without a password, as messages and commands name it."""

    @property
    def folder(self) -> str:
        """The folder with the working files of its sessions, whose records may be elsewhere."""

    @property
    def is_folder(self) -> bool:
        """Whether the records are in this folder, too. Otherwise other machines may use them."""

    @property
    def has_password(self) -> bool:
        """Whether its address contains a password."""

    @property
    def fleet_database(self) -> str:
        """The complete address of a PostgreSQL database for the tables of a fleet; empty if they are in SQLite files."""

    def init(self) -> None:
        """Create what the store needs, such as tables. Nothing changes if it exists."""

    def lines(self, kind: Kind[Any]) -> Lines:
        """Return the lines of all sessions, or of all handoffs."""


class Scheme(NamedTuple):
    """What opens the addresses that begin with one word and `://`."""

    module: str
    """Its function ``open_backend`` takes an address, the current folder, `Backend.folder` and the owner of files."""
    example: str
    needs: tuple[str, ...] = ()
    """The extra of flowrail, and the packages in it, that the module imports."""


FOLDER = Scheme("flowrail.storage.file_store", ".flow")
"""The store of an address that is a path."""
BACKENDS: dict[str, Scheme] = {
    "postgresql": Scheme(
        "flowrail.storage.sql_store", "postgresql://user@host/database", ("sql", "sqlalchemy")
    ),
    "sqlite": Scheme("flowrail.storage.sql_store", "sqlite:///file.db", ("sql", "sqlalchemy")),
}


def open_backend(address: str, *, cwd: str, folder: str, owner: Owner) -> Backend:
    """Return the store at *address*, which may be relative to *cwd*; `UsageError` if its scheme is unknown.

    *folder* is for the working files of a database; *owner* marks the records in files.
    """
    scheme, is_address, _ = address.partition("://")
    known = BACKENDS.get(scheme) if is_address else FOLDER
    if known is None:
        raise UsageError(f"databases of kind `{scheme}` are not supported", hint=f"use {examples()}")
    if known.needs:
        require_extra(*known.needs)
    backend: Backend = import_module(known.module).open_backend(address, cwd, folder, owner)
    return backend


def examples() -> str:
    """Return an example of an address for each kind of database."""
    return " or ".join(scheme.example for scheme in BACKENDS.values())
