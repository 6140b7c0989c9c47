"""Outputs that are read in the diff: golden files, written anew where FLOWRAIL_GOLDEN=write says so."""

from __future__ import annotations

import os
from pathlib import Path

from flowrail.diagrams.embedded import block, replaced

FOLDER = Path(__file__).parents[1] / "golden"


def writing() -> bool:
    """Return whether files are to be written as they should be."""
    return os.environ.get("FLOWRAIL_GOLDEN") == "write"


def as_in_golden_file(name: str, text: str) -> bool:
    """Return whether the golden file *name* holds *text*, with a line feed after it."""
    file = FOLDER / name
    if writing():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    return file.read_text(encoding="utf-8") == f"{text}\n"


def in_golden_block(file: Path, name: str, content: str) -> bool:
    """Return whether the marked block *name* of a Markdown file holds *content*."""
    text = file.read_text(encoding="utf-8")
    if writing():
        text = replaced(text, name, content, source=str(file))
        file.write_text(text, encoding="utf-8")
    return block(text, name, source=str(file)) == content
