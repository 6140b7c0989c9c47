"""Bring the registry up to date with the skills in home, leaving alone what a person wrote.

The file is edited, not written anew: comments, order, quotes, remote entries and keys of a person's
own stay. What a skill's frontmatter declares is written over what the registry says of it; all else
is kept. The result is read back strictly before it takes the file's place. Brings ruamel.yaml, which
alone can do this, so it is imported for this one command.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableSequence
from datetime import datetime
from difflib import unified_diff
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry.check import local_skills
from flowrail.discovery.registry.edit import (
    append,
    dump,
    entry_of,
    load,
    miscounted,
    put_date,
    refuse_loss,
    update,
    written_like,
)
from flowrail.discovery.registry.schema import mistakes, unfit
from flowrail.discovery.registry_file import skill_file
from flowrail.errors import ConflictError, DocumentError
from flowrail.storage import files
from flowrail.text import limits
from flowrail.text import yaml as yaml_text
from flowrail.text.safe_text import decode

_MODE = 0o600


class RegistryChangedError(ConflictError):
    """Somebody wrote the registry while it was being brought up to date."""

    code = "REGISTRY_CHANGED"


class RegistryInvalidError(DocumentError):
    """The registry has mistakes that a person has to mend first; ``notes`` name them all."""

    code = "REGISTRY_INVALID"


class Sync(NamedTuple):
    """What a sync would do: the texts before and after, and the workflows it concerns.

    ``before`` is None where there is no registry yet. ``stale`` are entries whose skill is gone: they
    are kept, since only a person can tell whether it comes back. ``left_out`` says of skills why the
    registry cannot hold what they declare; ``recounted`` that it said another number than there were.
    """

    path: str
    before: bytes | None
    after: bytes | None
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    recounted: bool = False

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after

    @property
    def difference(self) -> str:
        """The change, as a unified diff."""
        lines = [(text or b"").decode().splitlines(keepends=True) for text in (self.before, self.after)]
        return "".join(unified_diff(lines[0], lines[1], self.path, self.path))


def plan(path: str, discovery: Discovery, *, home: str, now: datetime) -> Sync:
    """Return what would become of the registry at *path*; nothing is written.

    Only skills in home are taken: a project's are of no use elsewhere. Raises DocumentError where the
    registry there cannot be read or has mistakes that have to be mended first.
    """
    before = _read(path)
    text = _EMPTY if before is None else decode(before, source=path)
    known = yaml_text.load(text, source=path) if before is None else _right(path, text, discovery)
    yaml = written_like(text)
    data = load(yaml, text, path)
    work = _RegistryEditor(data["workflows"], path, home)
    for candidate in _own(discovery):
        work.take(candidate)
    left_out = tuple(work.left_out)
    recounted = miscounted(known.value)
    if not (work.added or work.updated or recounted):
        return Sync(path, before, before, stale=_stale(discovery), left_out=left_out)
    put_date(data, now)
    after = dump(yaml, data, text, path)
    refuse_loss(known, _right(path, after, discovery).value)
    return Sync(
        path,
        before,
        after.encode(),
        tuple(work.added),
        tuple(work.updated),
        _stale(discovery),
        left_out,
        recounted,
    )


def apply(sync: Sync) -> None:
    """Put the planned registry in place, whole or not at all; a link is followed, not replaced.

    Raises RegistryChangedError where the file is not what it was when the plan was made.
    """
    if sync.after is None or not sync.changes:
        return
    if _read(sync.path) != sync.before:
        raise RegistryChangedError(
            "the registry was changed meanwhile",
            hint=Hint("run it again: ", Command("registry sync")),
            path=sync.path,
        )
    target = os.path.realpath(sync.path)
    mode = os.stat(target).st_mode & 0o777 if sync.before is not None else _MODE
    files.write_atomic(target, sync.after, mode=mode)


def _read(path: str) -> bytes | None:
    try:
        return files.read_bounded(path, limit=limits.YAML_BYTES, what="the registry", follow=True)
    except files.MissingFileError:
        return None


def _right(path: str, text: str, discovery: Discovery) -> yaml_text.Document:
    """Return what *text* says; refused where there are mistakes in it."""
    document = yaml_text.load(text, source=path)
    found = mistakes(document, local_skills(discovery))
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise RegistryInvalidError(
            f"{found[0].reason}{more}",
            hint=Hint("fix it; see all errors: ", Command("registry check")),
            place=found[0].place,
            notes=[note.data() for note in found],
        )
    return document


def _own(discovery: Discovery) -> list[Candidate]:
    """Return the skills in home, those included that a project's hides; their paths must be text."""
    personal = {root.path for root in discovery.places.roots if root.personal}
    own = [
        each
        for each in (*discovery.candidates, *discovery.hidden)
        if each.root in personal and not each.remote and _is_text(each.path)
    ]
    return sorted(own, key=lambda each: each.skill)


def _is_text(path: str) -> bool:
    """Whether *path* can be written down: file systems may hold bytes that are no UTF-8."""
    return path.isascii() or path.encode("utf-8", "replace").decode() == path


def _stale(discovery: Discovery) -> tuple[str, ...]:
    return tuple(each.skill for each in discovery.skipped if each.code == "REGISTRY_STALE")


# --- editing --------------------------------------------------------------------------------------

_EMPTY = """\
version: "1.0"
updated_at: ""

workflows: []

meta:
  total_workflows: 0
  last_scan: ""
  discovery_mode: "hybrid"
"""


class _RegistryEditor:
    """The list of workflows while it is edited."""

    def __init__(self, items: MutableSequence[Any], path: str, home: str) -> None:
        self.added: list[str] = []
        self.updated: list[str] = []
        self.left_out: list[str] = []
        self._items = items
        self._path = path
        self._home = home

    def take(self, candidate: Candidate) -> None:
        """Write what *candidate* declares over its entry, or add one, if the registry can hold it."""
        if why := unfit(candidate):
            self.left_out.append(f"{candidate.skill}: {why}")
            return
        item = next((each for each in self._items if self._is_about(each, candidate)), None)
        if item is None:
            append(self._items, entry_of(candidate, self._shown(candidate.path)))
            self.added.append(candidate.skill)
        elif update(item, candidate):
            self.updated.append(candidate.skill)

    def _is_about(self, item: Mapping[str, object], candidate: Candidate) -> bool:
        path = skill_file(item, registry=self._path, home=self._home)
        if path:
            return os.path.basename(os.path.dirname(path)) == candidate.skill
        named = "skill_path" not in item and not item.get("remote")
        return bool(named and item["name"] == candidate.skill)

    def _shown(self, path: str) -> str:
        inside = os.path.join(self._home, "")
        return f"~/{path.removeprefix(inside)}" if path.startswith(inside) else path
