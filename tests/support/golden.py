"""Golden files and golden blocks of documents; FLOWRAIL_GOLDEN=write writes them."""

from __future__ import annotations

import os
from pathlib import Path

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
    """Return whether a Markdown file has *content* between the comments `flow:NAME` and `/flow:NAME`."""
    text = file.read_text(encoding="utf-8")
    above, _, rest = text.partition(f"<!-- flow:{name} -->\n")
    block, _, below = rest.partition(f"\n<!-- /flow:{name} -->")
    if writing():
        file.write_text(
            f"{above}<!-- flow:{name} -->\n{content}\n<!-- /flow:{name} -->{below}", encoding="utf-8"
        )
        return True
    return block == content
