"""The line that the next agent is to run: a trigger with the payload's path in its one placeholder.

The placeholder is replaced literally, never through a format string, and the path is quoted for a
shell. A trigger without a `/name` at its front gets that of the skill.
"""

from __future__ import annotations

import shlex

from flowrail.discovery.scan.eligibility import is_plain

PLACEHOLDER = "{payload_path}"


def template(trigger: str, skill: str) -> str:
    """Return the whole line with its placeholder still in it; one line, whatever the trigger holds.

    A trigger that would be more than that to a shell is passed over.
    """
    words = "".join(each if each.isprintable() else " " for each in trigger)
    line = (" ".join(words.split()) if is_plain(words) else "") or PLACEHOLDER
    for quote in "\"'":  # the path brings its own
        line = line.replace(f"{quote}{PLACEHOLDER}{quote}", PLACEHOLDER)
    if PLACEHOLDER not in line:
        line = f"{line} {PLACEHOLDER}"
    return line if line.startswith("/") else f"/{shlex.quote(skill)} {line}"


def line(trigger: str, skill: str, path: str) -> str:
    """Return the line with the path of the payload in it."""
    return template(trigger, skill).replace(PLACEHOLDER, shlex.quote(path))
