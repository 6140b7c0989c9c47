"""A skill's folder on disk, with dull files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

YAML = """\
name: a-skill
steps:
  - {id: look, title: Look, next: {ok: last, iterate: look}, limit: 3}
  - {id: last, title: Last, next: {ok: null}}
"""
TEXTS = {"steps/look.md": "Look around.\n", "steps/last.md": "Say it.\n"}


def folder(root: Path, files: dict[str, str | bytes] | None = None, *, name: str = "a-skill") -> Path:
    """Write a skill's folder, the dull one with *files* in it or over it; `None` files are left out."""
    made = root / name
    for path, text in {"workflow.yaml": YAML, **TEXTS, **(files or {})}.items():
        file = made / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return made
