"""Expect an error of flowrail by its code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flowrail.errors import FlowError


@contextmanager
def refused(code: str, *, match: str | None = None) -> Iterator[pytest.ExceptionInfo[FlowError]]:
    """Expect an error with *code*, whose message matches *match*."""
    with pytest.raises(FlowError, match=match) as caught:
        yield caught
    assert caught.value.code == code
