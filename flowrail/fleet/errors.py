"""The errors of a fleet."""

from __future__ import annotations

from flowrail.errors import ConflictError, StorageError, TrustError


class FleetDatabaseError(StorageError):
    """The database of the fleet did not answer, or refused."""

    code = "FLEET_DATABASE_FAILED"


class ForeignFleetError(TrustError):
    """The queue of a fleet came with a clone, was moved, or belongs to another user."""

    code = "FOREIGN_FLEET"


class NotOpenError(ConflictError):
    """The session has ended, so a fleet has nothing to do for it."""

    code = "SESSION_NOT_OPEN"


class WorkerReplacedError(ConflictError):
    """The worker sent no heartbeat for too long, so other workers have taken over its jobs."""

    code = "WORKER_REPLACED"
