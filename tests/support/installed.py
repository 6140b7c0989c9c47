"""A bundled skill installed in the project: what lies there, and how it came to."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from support.sandbox import told

from flowrail.discovery.locations import bundled_folder
from flowrail.skills.bundled_copies import MANIFEST

SKILL = "decision-critic"
BUNDLE = Path(bundled_folder()) / SKILL


def files(folder: Path) -> dict[str, bytes]:
    """Return the files below *folder* by their paths, our own list left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def manifest(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return data


def states(*words: str) -> dict[str, str]:
    """Run a command about one skill and return what became of each file."""
    (placed,) = next(value for value in told(*words).values() if isinstance(value, list))
    return {each["path"]: each["state"] for each in placed["files"]}


def as_by_another_version(folder: Path) -> None:
    """Make *folder* look as if another version had installed it, with one text different and one more."""
    data = manifest(folder)
    for path, text in {"steps/synthesis.md": "Once.\n", "steps/old.md": "Told no more.\n"}.items():
        (folder / path).write_text(text)
        data["files"][path] = hashlib.sha256(text.encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps({**data, "version": "0.0.9"}))
