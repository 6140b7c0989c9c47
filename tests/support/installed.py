"""The files of a bundled skill that is installed in the project."""

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
    """Return the files below *folder* by path, without the manifest."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def manifest(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return data


def states(*words: str) -> dict[str, str]:
    """Run `flow setup` for one skill and return the state of each file."""
    (skill,) = told("setup", *words)["skills"]
    return dict(skill["files"])


def as_by_another_version(folder: Path) -> None:
    """Change *folder* as if another version had installed it, with one different text and one more."""
    data = manifest(folder)
    for path, text in {"steps/synthesis.md": "Once.\n", "steps/old.md": "Told no more.\n"}.items():
        (folder / path).write_text(text)
        data["files"][path] = hashlib.sha256(text.encode()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps({**data, "version": "0.0.9"}))
