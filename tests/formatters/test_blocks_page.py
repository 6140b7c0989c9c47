"""The reference page shows every block, as it is called, as it is written, and as it comes out."""

from __future__ import annotations

import os
from pathlib import Path

from support.blocks import SAMPLES, TEXT_SAMPLES
from support.blocks_page import GROUPS, TEXTS, page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "blocks.md"


def test_the_reference_page_is_made_of_the_blocks() -> None:
    if os.environ.get("FLOWRAIL_GOLDEN") == "write":
        PAGE.write_text(page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_block_stands_on_the_page() -> None:
    shown = {name for names, _ in GROUPS.values() for name in names} | set(TEXTS)

    assert {name.partition(".")[0] for name in (*SAMPLES, *TEXT_SAMPLES)} - shown == {"needs_user_input"}
