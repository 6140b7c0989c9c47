"""The table of findings: one row for each code, which `flow explain` prints."""

from __future__ import annotations

import re
from pathlib import Path

from flowrail.machines.finding_codes import FINDING_CODES

ROOT = Path(__file__).parents[3]


def test_every_code_that_is_reported_has_a_row_and_every_row_a_code() -> None:
    modules = (path for path in (ROOT / "flowrail").rglob("*.py") if path.name != "finding_codes.py")
    sources = "".join(path.read_text(encoding="utf-8") for path in modules)

    assert set(FINDING_CODES) == set(re.findall(r"FR1\d\d", sources))
