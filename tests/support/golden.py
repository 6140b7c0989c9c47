"""Golden files and golden blocks of documents; FLOWRAIL_GOLDEN=write writes them."""

from __future__ import annotations

import os
from pathlib import Path

from flowrail.diagrams.embedded import EmbeddedBlock, blocks

FOLDER = Path(__file__).parents[1] / "golden"


def writing() -> bool:
    """Return whether golden files are written instead of compared."""
    return os.environ.get("FLOWRAIL_GOLDEN") == "write"


def as_in_golden_file(name: str, text: str) -> bool:
    """Return whether the golden file *name* contains *text* and a line feed."""
    return golden_text(name, text) == text


def golden_text(name: str, text: str) -> str:
    """Return the golden file *name* without its last line feed, or write *text* into it."""
    file = FOLDER / name
    if writing():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    return file.read_text(encoding="utf-8").removesuffix("\n")


def in_golden_block(file: Path, name: str, content: str) -> bool:
    """Return whether the marked block *name* of a Markdown file contains *content*."""
    text = file.read_text(encoding="utf-8")
    if writing():
        block = only_block(text, name)
        file.write_text(f"{text[: block.start]}{content}\n{text[block.end :]}", encoding="utf-8")
        text = file.read_text(encoding="utf-8")
    return only_block(text, name).of(text) == content


def only_block(text: str, name: str) -> EmbeddedBlock:
    """Return the only block called *name* in a document."""
    (found,) = (block for block in blocks(text, source=name) if block.name == name)
    return found
