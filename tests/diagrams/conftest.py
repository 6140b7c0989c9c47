"""One browser for all tests of pictures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.chromium import Tab, browser


@pytest.fixture(scope="session")
def tab() -> Iterator[Tab]:
    """A page of a real Chromium."""
    with browser() as opened:
        yield opened
