"""Find the skills in the locations, and decide which of them can take over work.

Each subfolder of a location is read once, even if several links point to it. No program is run. A value in a skill's
frontmatter overrides the registry's entry, which adds missing values. A value that a person edited in the registry
overrides both.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from flowrail.discovery.candidate import TRIGGER, Candidate, LeftOut, Skipped, is_plain
from flowrail.discovery.compatibility import WRITTEN_VERSIONS, normal_version
from flowrail.discovery.declaration import Declaration, FoundSkill, read_declaration
from flowrail.discovery.frontmatter import Problem, read_file
from flowrail.discovery.locations import Root
from flowrail.text.safe_text import in_quotes

if TYPE_CHECKING:
    from flowrail.discovery.registry import RegistryEntry

SKILL_FILE = "SKILL.md"


def scan(roots: Iterable[Root]) -> Iterator[FoundSkill | Skipped]:
    """Yield the skills one level below each of *roots*, nearest first, and the folders that are not skills."""
    seen: dict[tuple[int, int], str] = {}
    for root in roots:
        try:
            location = os.stat(root.path)
            with os.scandir(root.path) as scanned:
                # links last, so that a folder's own name is used before a link's
                entries = sorted(scanned, key=lambda entry: (entry.is_symlink(), entry.name))
        except OSError as error:
            yield _not_read(root, root.path, error)
            continue
        seen.setdefault((location.st_dev, location.st_ino), root.path)
        for entry in entries:
            try:
                status = os.stat(entry.path)
            except OSError as error:
                if not entry.name.startswith("."):
                    yield _not_read(root, entry.path, error)
                continue
            if entry.name.startswith(".") or not stat.S_ISDIR(status.st_mode):
                continue
            first = seen.setdefault((status.st_dev, status.st_ino), entry.path)
            if first != entry.path:
                yield _skipped(root, entry.path, LeftOut.NO_SKILL, f"it is the same folder as {first}")
            else:
                yield read_skill(entry.path, root)


def read_skill(folder: str, root: Root) -> FoundSkill | Skipped:
    """Return the skill in *folder*, or why it is not one."""
    path = os.path.join(folder, SKILL_FILE)
    try:
        front = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            return _skipped(root, folder, LeftOut.MALFORMED, f"{SKILL_FILE} is a link that points to nothing")
        return _skipped(root, folder, LeftOut.NO_SKILL, f"it has no file {SKILL_FILE}")
    except OSError as error:
        return _not_read(root, folder, error, f"{SKILL_FILE} ")
    return FoundSkill(os.path.basename(folder), path, root, read_declaration(front))


def judge(skill: FoundSkill, entry: RegistryEntry | None = None) -> Candidate | Skipped:
    """Return *skill* as a candidate with every field filled in, or why it is not one.

    *entry* is its entry in the registry.
    """
    declaration, values = skill.declaration, dict(skill.declaration.values)
    if entry is not None:
        added = entry.declaration.values
        values = {**added, **values, **{name: added[name] for name in entry.edited}}
        values["health_check"] = declaration.values.get("health_check")  # a program is declared by the skill
    version = normal_version(values.get("schema_version") or declaration.assumed_version)
    refusal = _refusal(declaration, values, version)
    if refusal is not None:
        kind, problem = refusal
        return Skipped(skill.skill, skill.root.scope, skill.path, kind, problem.reason, problem.line, version)
    trigger = values.get("trigger", TRIGGER)
    fixed = {"schema_version": version, "trigger": trigger if is_plain(trigger) else TRIGGER}
    fields = {"name": skill.skill, "priority": skill.root.scope.priority, **values, **fixed}
    return Candidate(skill.skill, skill.root.scope, skill.path, root=skill.root.path, **fields)


def hidden(skill: FoundSkill, by: str) -> Skipped:
    """Return *skill* as left out, because the nearer file *by* has its name."""
    why = f"hidden by {by}{', though some hosts start this one' if skill.root.personal else ''}"
    return Skipped(skill.skill, skill.root.scope, skill.path, LeftOut.HIDDEN, why)


def _refusal(
    declaration: Declaration, values: dict[str, Any], version: str
) -> tuple[LeftOut, Problem] | None:
    """Return why a skill that declares this is not a candidate, if it is not."""
    line = declaration.line
    if declaration.problems:
        return LeftOut.MALFORMED, declaration.problems[0]
    accepts = values.get("accepts_from")
    if accepts is None:
        reason = "its `handoff:` block has neither `accepts_handoff` nor `accepts_from`"
        return LeftOut.PLAIN, Problem(reason if line else "it declares no handoff metadata", line)
    if not accepts:
        return LeftOut.DECLINES, Problem("it declares that it accepts no handoffs", line)
    if not values.get("categories"):
        reason = "it accepts handoffs and declares no category; add `categories: [research]`, for example"
        return LeftOut.MALFORMED, Problem(reason, line)
    if "description" not in values:
        return LeftOut.MALFORMED, Problem("it accepts handoffs and has no `description`", line)
    if version not in WRITTEN_VERSIONS:
        reason = (
            f"it reads payload version {in_quotes(version)}, and flow writes {' and '.join(WRITTEN_VERSIONS)}"
        )
        return LeftOut.UNSUPPORTED, Problem(reason, line)
    return None


def _skipped(root: Root, folder: str, kind: LeftOut, reason: str) -> Skipped:
    return Skipped(os.path.basename(folder), root.scope, folder, kind, reason)


def _not_read(root: Root, path: str, error: OSError, what: str = "it ") -> Skipped:
    reason = error.strerror or "unknown reason"
    return _skipped(root, path, LeftOut.MALFORMED, f"{what}cannot be read: {reason[:1].lower()}{reason[1:]}")
