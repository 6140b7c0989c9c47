"""A SKILL.md, from its path to what it declares."""

from __future__ import annotations

from flowrail.discovery.declared import SkillFile
from flowrail.discovery.frontmatter import LIMIT, Frontmatter, is_whole, read_frontmatter
from flowrail.discovery.head import Stamp, read_head
from flowrail.discovery.metadata import read_metadata


def read_skill(path: str) -> tuple[SkillFile, Stamp]:
    """Return what the file at *path* declares, and its stamp; raises OSError only."""
    head = read_head(path, LIMIT, is_whole)
    front = read_frontmatter(head.data, path)
    return SkillFile(read_metadata(front, path), front.problem), head.stamp


def read_keys(path: str) -> Frontmatter:
    """Return all keys of the file at *path*, those included that mean nothing here; raises OSError only."""
    return read_frontmatter(read_head(path, LIMIT, is_whole).data, path)
