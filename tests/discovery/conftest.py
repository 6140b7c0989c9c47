"""An empty folder, beside the home and the project that every test has."""

from pathlib import Path

import pytest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with nothing in it and no repository around."""
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder
