"""The errors of a fleet."""

from __future__ import annotations

from flowrail.errors import StorageError


class FleetDatabaseError(StorageError):
    """The database of the fleet did not answer, or refused."""

    code = "FLEET_DATABASE_FAILED"
