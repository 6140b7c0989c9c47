"""An error as plain data."""

from __future__ import annotations

from typing import Any

from flowrail.errors import FlowError
from flowrail.formatters.guidance.as_data import plain
from flowrail.text.safe_text import bounded


def error_data(error: FlowError) -> dict[str, Any]:
    """Return an error as plain data."""
    return {
        "code": error.code,
        "message": bounded(error.message),
        "hint": bounded(str(error.hint)),
        "details": plain(error.details),
        **getattr(error, "beside", {}),
    }
