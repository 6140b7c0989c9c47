"""The line that invokes the target: its trigger, with the payload's path in the one placeholder.

The path is quoted for a shell. A trigger without a `/name` in front gets the name of the skill.
"""

from __future__ import annotations

import shlex

from flowrail.discovery.scan.eligibility import is_plain

PLACEHOLDER = "{payload_path}"


def template(trigger: str, skill: str) -> str:
    """Return the line with its placeholder. A trigger with shell operators is replaced by the placeholder."""
    words = "".join(char if char.isprintable() else " " for char in trigger)
    text = (" ".join(words.split()) if is_plain(words) else "") or PLACEHOLDER
    for quote in "\"'":  # the path is quoted when it is put in
        text = text.replace(f"{quote}{PLACEHOLDER}{quote}", PLACEHOLDER)
    if PLACEHOLDER not in text:
        text = f"{text} {PLACEHOLDER}"
    return text if text.startswith("/") else f"/{shlex.quote(skill)} {text}"


def line(trigger: str, skill: str, path: str) -> str:
    """Return the line with the payload's path."""
    return template(trigger, skill).replace(PLACEHOLDER, shlex.quote(path))
