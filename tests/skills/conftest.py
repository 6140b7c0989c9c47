"""What several tests of this room begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.installed import SKILL
from support.sandbox import flow, project_skills


@pytest.fixture
def installed() -> Path:
    """Return the folder of a skill that is installed in the project."""
    assert flow("setup", SKILL).status == 0
    return project_skills() / SKILL
