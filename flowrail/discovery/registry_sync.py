"""Bring the registry up to date with the skills in home, leaving alone what a person wrote.

The file is edited, not written anew: comments, order, quotes, remote entries and keys of a person's
own stay. What a skill's frontmatter declares is written over what the registry says of it; all else
is kept. The result is read back strictly before it takes the file's place. Brings ruamel.yaml, which
alone can do this, so it is imported for this one command.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from difflib import unified_diff
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from flowrail import _files, _yaml
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry import LIMIT, skill_file
from flowrail.discovery.registry_document import mistakes
from flowrail.errors import ConflictError, DocumentError

_MODE = 0o600
_TOP = ("version", "description", "categories", "input_requirements", "output_types")
_HANDOFF = ("accepts_from", "provides_to", "schema_version", "schema_type")
_META = (("duration", "estimated_duration"), ("complexity", "complexity"), ("autonomous", "autonomous"))


class RegistryChangedError(ConflictError):
    """Somebody wrote the registry while it was being brought up to date."""

    code = "REGISTRY_CHANGED"


class RegistryInvalidError(DocumentError):
    """The registry has mistakes that a person has to mend first; ``notes`` name them all."""

    code = "REGISTRY_INVALID"


class Sync(NamedTuple):
    """What a sync would do: the texts before and after, and the workflows it concerns.

    ``before`` is None where there is no registry yet. ``stale`` are entries whose skill is gone: they
    are kept, since only a person can tell whether it comes back.
    """

    path: str
    before: bytes | None
    after: bytes | None
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

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
    text = _EMPTY if before is None else _files.decode(before, source=path)
    if before is not None:
        _refuse_mistakes(path, text)
    yaml = _yaml_like(text)
    data = _load(yaml, text, path)
    work = _Work(data["workflows"], path, home)
    for candidate in _own(discovery):
        work.take(candidate)
    if not (work.added or work.updated):
        return Sync(path, before, before, stale=_stale(discovery))
    _date(data, now)
    after = _dump(yaml, data, text)
    _refuse_mistakes(path, after)
    return Sync(path, before, after.encode(), tuple(work.added), tuple(work.updated), _stale(discovery))


def apply(sync: Sync) -> None:
    """Put the planned registry in place, whole or not at all; a link is followed, not replaced.

    Raises RegistryChangedError where the file is not what it was when the plan was made.
    """
    if sync.after is None or not sync.changes:
        return
    if _read(sync.path) != sync.before:
        raise RegistryChangedError(
            "the registry was changed meanwhile", hint="run `flow registry sync` again", path=sync.path
        )
    target = os.path.realpath(sync.path)
    mode = os.stat(target).st_mode & 0o777 if sync.before is not None else _MODE
    _files.write_atomic(target, sync.after, mode=mode)


def _read(path: str) -> bytes | None:
    try:
        return _files.read_bounded(path, limit=LIMIT, what="the registry", follow=True)
    except _files.MissingFileError:
        return None


def _refuse_mistakes(path: str, text: str) -> None:
    found = mistakes(_yaml.load(text, source=path))
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise RegistryInvalidError(
            f"{found[0].reason}{more}",
            hint="mend it: `flow registry check` names all mistakes",
            place=found[0].place,
            notes=[note.data() for note in found],
        )


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


class _Work:
    """The list of workflows while it is edited."""

    def __init__(self, items: CommentedSeq, path: str, home: str) -> None:
        self.added: list[str] = []
        self.updated: list[str] = []
        self._items = items
        self._path = path
        self._home = home

    def take(self, candidate: Candidate) -> None:
        """Write what *candidate* declares over its entry, or add one."""
        item = next((each for each in self._items if self._is_about(each, candidate)), None)
        if item is None:
            self._items.append(_entry(candidate, self._shown(candidate.path)))
            self._items.fa.set_block_style()
            self.added.append(candidate.skill)
        elif _update(item, candidate):
            self.updated.append(candidate.skill)

    def _is_about(self, item: Mapping[str, Any], candidate: Candidate) -> bool:
        path = skill_file(item, registry=self._path, home=self._home)
        if path:
            return os.path.basename(os.path.dirname(path)) == candidate.skill
        named = "skill_path" not in item and not item.get("remote")
        return bool(named and item["name"] == candidate.skill)

    def _shown(self, path: str) -> str:
        inside = os.path.join(self._home, "")
        return f"~/{path.removeprefix(inside)}" if path.startswith(inside) else path


def _entry(candidate: Candidate, path: str) -> CommentedMap:
    """Return a new entry: all that the registry shows of a workflow."""
    entry = CommentedMap({"name": _quoted(candidate.skill)})
    _put(entry, "version", candidate.version)
    _put(entry, "description", candidate.description)
    entry["skill_path"] = _quoted(path)
    entry["handoff"] = CommentedMap()
    for field in _HANDOFF:
        _put(entry["handoff"], field, getattr(candidate, field))
    for field in _TOP[2:]:
        _put(entry, field, getattr(candidate, field))
    meta = CommentedMap()
    for field, key in _META:
        _put(meta, key, getattr(candidate, field))
    if meta:
        entry["meta"] = meta
    return entry


def _update(item: CommentedMap, candidate: Candidate) -> bool:
    """Write over *item* what the frontmatter declares; False where it says so already."""
    meta = item.get("meta", CommentedMap())
    fields = [
        *((item, field, field) for field in _TOP),
        *((item["handoff"], field, field) for field in _HANDOFF),
        *((meta, field, key) for field, key in _META),
    ]
    changed = [
        _set(mapping, key, getattr(candidate, field))
        for mapping, field, key in fields
        if candidate.origins.get(field, "registry") not in {"registry", "default"}
    ]
    if meta and "meta" not in item:
        item["meta"] = meta
    return any(changed)


def _put(mapping: CommentedMap, key: str, value: object) -> None:
    if value not in (None, "", ()):
        _set(mapping, key, value)


def _set(mapping: CommentedMap, key: str, value: object) -> bool:
    """Make *key* say *value*, and leave all as it stands where it says so already, in whatever order."""
    known = mapping.get(key)
    if not isinstance(value, tuple):
        if known == value:
            return False
        mapping[key] = _quoted(value) if isinstance(value, str) else value
        return True
    if key not in mapping:
        known = mapping[key] = CommentedSeq()
    gone = [place for place, each in enumerate(known) if each not in value]
    new = [each for each in value if each not in known]
    for place in reversed(gone):
        del known[place]
    known.extend(map(_quoted, new))
    return bool(gone or new)


def _quoted(text: str) -> DoubleQuotedScalarString:
    quoted: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return quoted


def _date(data: CommentedMap, now: datetime) -> None:
    moment = _quoted(now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
    meta = data.setdefault("meta", CommentedMap())
    data["updated_at"] = meta["last_scan"] = moment
    meta["total_workflows"] = len(data["workflows"])


# --- reading and writing as it was written --------------------------------------------------------

_ENTRY = re.compile(r"^workflows:.*\n(?:[ \t]*(?:#.*)?\n)*( *)-( +)", re.MULTILINE)
_INSIDE = re.compile(r"^\w+:[ \t]*(?:#.*)?\n( +)\w", re.MULTILINE)


def _yaml_like(text: str) -> YAML:
    """Return a reader and writer that indents as *text* does."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = LIMIT
    entry, inside = _ENTRY.search(text), _INSIDE.search(text)
    dash, gap = (len(entry[1]), len(entry[2])) if entry else (2, 1)
    yaml.indent(mapping=len(inside[1]) if inside else 2, sequence=dash + 1 + gap, offset=dash)
    yaml.explicit_start = text.startswith("---")
    return yaml


def _load(yaml: YAML, text: str, path: str) -> CommentedMap:
    try:
        data: CommentedMap = yaml.load(text.replace("\r\n", "\n"))
    except YAMLError as error:
        raise DocumentError(
            f"ruamel.yaml cannot read it ({type(error).__name__})",
            hint="write it more plainly: `flow registry check` may tell where",
            place=path,
        ) from error
    return data


def _dump(yaml: YAML, data: CommentedMap, like: str) -> str:
    stream = io.StringIO()
    yaml.dump(data, stream)
    text = stream.getvalue()
    return text.replace("\n", "\r\n") if "\r\n" in like else text
