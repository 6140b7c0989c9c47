"""What is told about a skill: a stable code, the reason, and where in which file.

Nothing is dropped in silence. What costs a skill its place is the code of a `Skipped`; what was
read leniently, or may surprise, is a `Note`. Both kinds of code stand in one table, with the one
thing that would mend it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Note(NamedTuple):
    """Something to know about a file; ``line`` is 0 where it is about the whole of it."""

    code: str
    reason: str
    file: str = ""
    line: int = 0

    @property
    def hint(self) -> str:
        """The one thing that would mend it."""
        return HINTS[self.code]

    @property
    def place(self) -> str:
        """Where it stands, as in ``SKILL.md:4``."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {**self._asdict(), "hint": self.hint}


MOST_NOTES = 30
LONGEST_REASON = 400


def first_notes(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Return the first `MOST_NOTES` of one file's notes, with long reasons cut; the last one says how many are left out."""
    kept = [
        note
        if len(note.reason) <= LONGEST_REASON
        else note._replace(reason=f"{note.reason[:LONGEST_REASON]}…")
        for note in notes[:MOST_NOTES]
    ]
    if left_out := len(notes) - len(kept):
        kept[-1] = kept[-1]._replace(reason=f"{kept[-1].reason} (and {left_out} more in this file)")
    return tuple(kept)


#: Every code, with what to do about it. Codes are stable: people's scripts look at them.
HINTS: Mapping[str, str] = {
    # a file that is not as clients expect it, read nevertheless
    "BYTE_ORDER_MARK": "save the file as UTF-8 without the mark: some clients do not see the `---` after it",
    "NOT_UTF8": "save the file as UTF-8",
    "LATE_FRONTMATTER": "begin the file with `---`: most clients look at its first line only",
    "NOT_QUOTED": "put the text between double quotes",
    "LOWER_CASE_FILE": "rename the file to SKILL.md: clients look for that name",
    "NAME_DIFFERS": "name the folder and the skill alike: the folder's name is the one that counts",
    # a `handoff:` block that was read leniently
    "HANDOFF_NOT_MAPPING": "write `handoff:` as keys and values, or leave it out",
    "LEGACY_DIALECT": "write `accepts_from` and a top-level `categories` instead",
    "DIALECTS_DISAGREE": "remove the older of the two keys",
    "UNKNOWN_KEY": "check the spelling, or remove the key",
    "INVALID_FIELD": "write the value as the handoff schema has it",
    "LOOSE_BOOLEAN": "write `true` or `false`",
    "NOT_A_LIST": "write a list, as in `[research]`",
    "DESCRIPTION_BORROWED": "say in `handoff_description` what the menu is to show",
    "VERSION_ASSUMED": "declare `schema_version`",
    "TRIGGER_WITHOUT_PAYLOAD": "put `{payload_path}` where the payload's path is to stand",
    "TRIGGER_NOT_PLAIN": "write one invocation: no shell operators, no variables, no program by its path",
    # what costs a folder its place among the candidates
    "HIDDEN_FOLDER": "rename the folder if it is meant to be a skill",
    "NOT_A_FOLDER": "put the file into a folder of its own, as SKILL.md",
    "NO_SKILL_FILE": "add a SKILL.md, or look deeper with `--recursive`",
    "NOT_A_FILE": "replace it by a regular file",
    "DANGLING_LINK": "remove the link, or restore what it points to",
    "LINK_LOOP": "remove the link",
    "UNREADABLE": "check the permissions",
    "SAME_FOLDER": "nothing to do: the skill is offered once",
    "TOO_MANY_FOLDERS": "name the folders that hold the skills with `--root`",
    "NO_FRONTMATTER": "begin the file with `---`, `name:` and `description:`, and `---` again",
    "UNCLOSED_FRONTMATTER": "end the frontmatter with a line `---`",
    "INVALID_FRONTMATTER": "fix the YAML of the frontmatter",
    "NO_HANDOFF": "add a `handoff:` block to let it take over work",
    "NOT_ACCEPTING": 'set `accepts_from: ["*"]` to let it take over work',
    "DECLINES_HANDOFFS": 'set `accepts_from: ["*"]` if it may take over work',
    "NO_CATEGORIES": "name at least one category, as in `categories: [research]`",
    "UNSUPPORTED_VERSION": "declare payload version 2.0 or 3.0, if the skill reads one of them",
    "NO_DESCRIPTION": "say in `description` what the skill does",
    "SHADOWED": "rename one of the two folders if both are wanted",
    # more than one skill, and the registry
    "HIDES_ELIGIBLE": "rename one of the two folders if both are wanted",
    "CLIENT_PREFERS_PERSONAL": "rename one of the two: the client starts the personal one",
    "SAME_NAME": "name one of them by its folder",
    "PLACE_UNUSABLE": "check the path and its permissions",
    "GIT_SILENT": "look from the outer repository, or name its skills with `--root`",
    "REGISTRY_UNREADABLE": "mend the registry, or remove it: it is optional",
    "REGISTRY_ENTRY_INVALID": "mend the entry: `flow registry check` names all mistakes at once",
    "REGISTRY_DUPLICATE": "keep one of the two entries",
    "REGISTRY_STALE": "remove the entry, or mend its `skill_path`",
    "REGISTRY_DIFFERS": "run `flow registry sync`",
    "REGISTRY_MISSES": "run `flow registry sync`",
    "REGISTRY_COUNT": "run `flow registry sync`",
    # the open skill specification
    "SPEC_NAME_MISSING": "add `name:` with the folder's name",
    "SPEC_NAME_LENGTH": "use 1 to 64 characters",
    "SPEC_NAME_CHARACTERS": "use lower-case letters, digits and single hyphens, none at the ends",
    "SPEC_NAME_FOLDER": "name the folder and the skill alike",
    "SPEC_DESCRIPTION_MISSING": "say in `description` what the skill does and when to use it",
    "SPEC_DESCRIPTION_LENGTH": "use at most 1024 characters",
    "SPEC_COMPATIBILITY": "use one text of 1 to 500 characters",
    "SPEC_LICENSE": "use one text",
    "SPEC_METADATA": "use keys and texts; what is nested can stand as text that holds YAML",
    "SPEC_ALLOWED_TOOLS": "use one text, the tools parted by spaces",
    "SPEC_UNKNOWN_FIELD": "move it under `metadata`: the specification has six fields",
}
