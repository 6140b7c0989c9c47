"""A SKILL.md, from its path to what it declares."""

from __future__ import annotations

from flowrail.discovery.diagnostics import few
from flowrail.discovery.scan.declaration import SkillFile
from flowrail.discovery.scan.frontmatter import (
    LIMIT,
    Frontmatter,
    is_whole,
    read_frontmatter,
)
from flowrail.discovery.scan.head import Stamp, read_head
from flowrail.discovery.scan.metadata import read_metadata


def read_skill(path: str) -> tuple[SkillFile, Stamp]:
    """Return what the file at *path* declares, and its stamp; raises OSError only."""
    head = read_head(path, LIMIT, is_whole)
    front = read_frontmatter(head.data, path)
    reading = read_metadata(front, path)
    return SkillFile(reading._replace(notes=few(reading.notes)), front.problem), head.stamp


def read_keys(path: str) -> Frontmatter:
    """Return all keys of the file at *path*, those included that mean nothing here; raises OSError only."""
    return read_frontmatter(read_head(path, LIMIT, is_whole).data, path)
