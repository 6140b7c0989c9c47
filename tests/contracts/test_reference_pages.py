"""The reference is read from the code: a page that says something else has drifted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_every_reference_page_is_what_the_code_says() -> None:
    pytest.importorskip("cogapp", reason="cogapp writes the reference pages; it comes with the group `docs`")

    done = subprocess.run(
        [sys.executable, str(DOCS / "pages.py"), "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, f"run: python docs/pages.py\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
