"""Check a SKILL.md against the open skill specification: its six fields, their types and lengths.

Hosts differ in what they tolerate. A file that follows the specification works in all of them. The keys of a handoff
declaration are not in the specification, but documented, so they are not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowrail.discovery.diagnostics import Note
from flowrail.discovery.scan.frontmatter import Frontmatter
from flowrail.text.safe_text import in_quotes

FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_OF_HANDOFFS = frozenset({"handoff", "categories", "input_requirements", "output_types", "meta", "version"})
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LONGEST_NAME, _LONGEST_DESCRIPTION, _LONGEST_COMPATIBILITY = 64, 1024, 500


def check(front: Frontmatter, *, folder: str, file: str) -> list[Note]:
    """Return every difference of *file*, in a skill's *folder*, from the specification."""
    if front.problem:
        return [front.problem]
    problems = [*_name(front, folder), *_description(front), *_other_fields(front)]
    return [Note(code, reason, file, front.line(key)) for code, key, reason in problems]


def _name(front: Frontmatter, folder: str) -> Iterator[tuple[str, str, str]]:
    name = front.values.get("name")
    if not isinstance(name, str) or not name.strip():
        yield "SPEC_NAME_MISSING", "name", "`name` is missing"
        return
    if len(name) > _LONGEST_NAME:
        reason = f"the name has {len(name)} characters, at most {_LONGEST_NAME} are allowed"
        yield "SPEC_NAME_LENGTH", "name", reason
    if not _NAME.fullmatch(name):
        reason = f"the name `{in_quotes(name)}` is not lower case with single hyphens"
        yield "SPEC_NAME_CHARACTERS", "name", reason
    if name != folder:
        reason = f"the name is `{in_quotes(name)}`, and the folder is `{in_quotes(folder)}`"
        yield "SPEC_NAME_FOLDER", "name", reason


def _description(front: Frontmatter) -> Iterator[tuple[str, str, str]]:
    description = front.values.get("description")
    if not isinstance(description, str) or not description.strip():
        yield "SPEC_DESCRIPTION_MISSING", "description", "`description` is missing"
    elif len(description) > _LONGEST_DESCRIPTION:
        reason = (
            f"the description has {len(description)} characters, at most {_LONGEST_DESCRIPTION} are allowed"
        )
        yield "SPEC_DESCRIPTION_LENGTH", "description", reason
    elif description.startswith("TODO"):
        yield "SPEC_DESCRIPTION_TODO", "description", "the description is not written yet"


def _other_fields(front: Frontmatter) -> Iterator[tuple[str, str, str]]:
    unknown = [key for key in front.values if key not in FIELDS and key not in _OF_HANDOFFS]
    if unknown:
        names = ", ".join(f"`{in_quotes(key)}`" for key in unknown)
        yield "SPEC_UNKNOWN_FIELD", unknown[0], f"not in the specification: {names}"
    for key, value in front.values.items():
        if key == "license" and not isinstance(value, str):
            yield "SPEC_LICENSE", key, "`license` is not text"
        elif key == "allowed-tools" and not isinstance(value, str):
            yield "SPEC_ALLOWED_TOOLS", key, "`allowed-tools` is not text"
        elif key == "compatibility" and not _is_short_text(value):
            reason = f"`compatibility` is not text of 1 to {_LONGEST_COMPATIBILITY} characters"
            yield "SPEC_COMPATIBILITY", key, reason
        elif key == "metadata" and not _is_flat(value):
            yield "SPEC_METADATA", key, "`metadata` contains more than keys and texts"


def _is_short_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_COMPATIBILITY


def _is_flat(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
