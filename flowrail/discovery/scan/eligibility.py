"""Decide whether a skill can take over work: required declarations, and defaults for the others.

A value in the frontmatter overrides the registry's entry, which adds missing values. A value that a person edited in
the registry overrides both.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.compatibility import WRITTEN_VERSIONS, normal_version
from flowrail.discovery.diagnostics import INFO, Note
from flowrail.discovery.scan.declaration import Reading
from flowrail.discovery.scan.scan import ScannedSkill
from flowrail.text.safe_text import in_quotes

EDITED = "registry, edited"
"""The origin of a value that a person edited in the registry."""

TRIGGER = "{payload_path}"
"""The trigger of a skill that declares none, and the placeholder in the others."""
_SHELL = re.compile(r"[;|&<>`$()\\]")
_VERSION = {"v2": "2.0"}
_NEWEST = "3.0"


def judge(
    skill: ScannedSkill, entry: Reading | None = None, edited: Collection[str] = ()
) -> Candidate | Skipped:
    """Return *skill* as a candidate with every field filled in, or why it is not one.

    *entry* is its entry in the registry, and *edited* are the fields that a person edited there.
    """
    reading = skill.reading
    merged = merge(reading, entry, edited) if entry else reading
    notes = (*reading.notes, *_differing_name(skill))
    refusal = _refusal(merged, skill.path)
    if refusal:
        return _skipped(skill, refusal.code, refusal.reason, refusal.line, notes)
    bare = Candidate(skill.skill, skill.root.scope, skill.path, root=skill.root.path)
    candidate = filled_in(merged, bare)
    if edited:
        own = filled_in(reading, bare)
        overridden = {
            field: getattr(own, field)
            for field in edited
            if own.origins.get(field) not in {None, "", "default"}
        }
        candidate = candidate._replace(overridden=overridden)
    return candidate._replace(notes=(*notes, *candidate.notes))


def shadowed(skill: ScannedSkill, by: str) -> Skipped:
    """Return *skill* as skipped, because the nearer folder *by* has its name."""
    return _skipped(skill, "SHADOWED", f"hidden by {by}", 0, ())


def _skipped(skill: ScannedSkill, code: str, reason: str, line: int, notes: tuple[Note, ...]) -> Skipped:
    declared, root = skill.reading.declared, skill.root
    return Skipped(
        skill.skill,
        root.scope,
        skill.path,
        code,
        reason,
        line,
        declared.get("name", ""),
        root.path,
        notes=notes,
        schema_version=normal_version(declared.get("schema_version", "")),
    )


def merge(reading: Reading, entry: Reading, edited: Collection[str] = ()) -> Reading:
    """Return *reading* with the values that *entry* in the registry adds, and those *edited* there."""
    declared, origins = {**entry.declared, **reading.declared}, {**entry.origins, **reading.origins}
    for field in edited:
        declared[field] = entry.declared["summary" if field == "description" else field]
        origins[field] = EDITED
    return reading._replace(declared=declared, origins=origins, dialect=reading.dialect or entry.dialect)


def filled_in(reading: Reading, bare: Candidate) -> Candidate:
    """Return *bare* with the values that *reading* declares, and with defaults for the rest."""
    declared, origins = dict(reading.declared), dict(reading.origins)
    summary = declared.pop("summary", "")
    if "description" not in declared:
        origins["description"] = origins.get("summary", "")
    if not is_plain(declared.setdefault("trigger", "")) or not declared["trigger"]:
        declared["trigger"] = TRIGGER
        origins["trigger"] = "default"
    if "schema_version" not in declared:
        origins["schema_version"] = "default"
    defaults = {
        "name": bare.skill,
        "description": summary,
        "priority": bare.scope.priority,
        "accepts_from": (),
    }
    return bare._replace(**{**defaults, **declared})._replace(
        schema_version=normal_version(_version(reading)),
        dialect=reading.dialect,
        origins=origins,
        notes=tuple(_notes(reading, bare.path)),
    )


def is_plain(trigger: str) -> bool:
    """Whether *trigger* is one invocation for a shell: no operators, no expansion, no path of a program."""
    first = trigger.split()[:1]
    if _SHELL.search(trigger) or (first and first[0].count("/") > 1):
        return False
    if "'" in trigger or '"' in trigger:
        try:
            shlex.split(trigger)
        except ValueError:  # an unclosed quote
            return False
    return True


def strictly(reading: Reading, path: str) -> list[Note]:
    """Return the errors of the handoff declaration of *path*, and notes about lenient reading."""
    refusal = _refusal(reading, path)
    if refusal:
        return [] if refusal.severity == INFO else [refusal]
    return _notes(reading, path)


def _version(reading: Reading) -> str:
    return str(reading.declared.get("schema_version") or _VERSION.get(reading.dialect, _NEWEST))


def _refusal(reading: Reading, path: str) -> Note | None:
    """Return why a skill that declares this is not a candidate, if it is not."""
    declared, line = reading.declared, reading.line
    if reading.problem:
        return reading.problem
    if "accepts_from" not in declared and not line:
        return Note("NO_HANDOFF", "it declares no handoff metadata", path)
    if "accepts_from" not in declared:
        reason = "its `handoff:` block has neither `accepts_handoff` nor `accepts_from`"
        return Note("NOT_ACCEPTING", reason, path, line)
    if not declared["accepts_from"]:
        reason = f"it declares in `{reading.origins['accepts_from']}` that it accepts no handoffs"
        return Note("DECLINES_HANDOFFS", reason, path, line)
    if not declared.get("categories"):
        return Note("NO_CATEGORIES", "it accepts handoffs, but declares no category", path, line)
    if "description" not in declared and "summary" not in declared:
        return Note("NO_DESCRIPTION", "it accepts handoffs, but has no description", path, line)
    version = normal_version(_version(reading))
    if version not in WRITTEN_VERSIONS:
        reason = (
            f"it reads payload version {in_quotes(version)}, and flow writes {' and '.join(WRITTEN_VERSIONS)}"
        )
        return Note("UNSUPPORTED_VERSION", reason, path, line)
    return None


def _notes(reading: Reading, path: str) -> list[Note]:
    declared, line = reading.declared, reading.line
    notes: list[Note] = []
    if reading.dialect == "v2" and "description" not in declared:
        reason = "the menu shows the skill's `description`"
        notes.append(Note("DESCRIPTION_BORROWED", reason, path, line))
    if reading.dialect != "v2" and "schema_version" not in declared:
        notes.append(
            Note("VERSION_ASSUMED", f"no `schema_version`; {_version(reading)} is assumed", path, line)
        )
    trigger = declared.get("trigger", "")
    if not is_plain(trigger):
        reason = f"`{in_quotes(trigger)}` is more than one invocation; `{TRIGGER}` is used instead"
        notes.append(Note("TRIGGER_NOT_PLAIN", reason, path, line))
    elif trigger and TRIGGER not in trigger:
        reason = f"`{in_quotes(trigger)}` does not contain `{TRIGGER}`"
        notes.append(Note("TRIGGER_WITHOUT_PAYLOAD", reason, path, line))
    return notes


def _differing_name(skill: ScannedSkill) -> tuple[Note, ...]:
    name = skill.reading.declared.get("name", skill.skill)
    if name == skill.skill:
        return ()
    reason = f"the folder is `{in_quotes(skill.skill)}`, and `name` is `{in_quotes(name)}`"
    return (Note("NAME_DIFFERS", reason, skill.path),)
