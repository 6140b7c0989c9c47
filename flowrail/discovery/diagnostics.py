"""Notes of discovery about skills and the registry: a stable code, the reason, and the file and line.

Nothing is dropped silently. The code of a `Skipped` says why a skill is not a candidate. A `Note` reports something
that was read leniently or that users may not expect. One table gives the severity and the fix of every code; `flow
discover`, `flow check`, `flow doctor` and `flow registry check` all use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.command import Command, Hint

ERROR, WARNING, INFO = "error", "warning", "info"
"""An error prevents a skill or an entry from working as its author intended. Information needs no action."""


class CodeMeaning(NamedTuple):
    """How serious a code is, and how to fix it."""

    severity: str
    hint: str | Hint


class Note(NamedTuple):
    """A remark about a file. ``line`` is 0 if it concerns the whole file."""

    code: str
    reason: str
    file: str = ""
    line: int = 0

    @property
    def hint(self) -> str | Hint:
        """How to fix it."""
        return CODES[self.code].hint

    @property
    def severity(self) -> str:
        """How serious it is."""
        return CODES[self.code].severity

    @property
    def place(self) -> str:
        """The file and line, as in ``SKILL.md:4``."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def data(self) -> dict[str, object]:
        """Return the note as plain data, for JSON."""
        return {**self._asdict(), "severity": self.severity, "hint": str(self.hint)}


_EXAMPLES = "see `docs/reference/discovery.md` for the keys"
_SYNC = Hint("update the registry: ", Command("registry sync"))

_CODES: Mapping[str, tuple[str, str | Hint]] = {
    # a file in another form than hosts expect
    "BYTE_ORDER_MARK": (
        WARNING,
        "save the file as UTF-8 without a byte order mark: some hosts do not find the `---` after it",
    ),
    "NOT_UTF8": (WARNING, "save the file as UTF-8"),
    "LATE_FRONTMATTER": (WARNING, "begin the file with `---`: most hosts read only its first line"),
    "NOT_QUOTED": (WARNING, "put the text in double quotes"),
    "LOWER_CASE_FILE": (WARNING, "rename the file to SKILL.md: hosts look for that name"),
    "NAME_DIFFERS": (WARNING, "give the folder and the skill the same name; the folder's name is used"),
    # a handoff declaration that was read leniently
    "HANDOFF_NOT_MAPPING": (WARNING, "write `handoff:` as keys and values, or remove it"),
    "DIALECTS_DISAGREE": (WARNING, "remove one of the two keys"),
    "UNKNOWN_KEY": (WARNING, "check the spelling, or remove the key"),
    "INVALID_FIELD": (WARNING, "write a value of the expected type"),
    "LOOSE_BOOLEAN": (WARNING, "write `true` or `false`"),
    "NOT_A_LIST": (WARNING, "write a list, such as `[research]`"),
    "DESCRIPTION_BORROWED": (WARNING, "add `handoff_description` with the text for the menu"),
    "VERSION_ASSUMED": (WARNING, "declare `schema_version`"),
    "TRIGGER_WITHOUT_PAYLOAD": (WARNING, "write `{payload_path}` where the path of the payload belongs"),
    "TRIGGER_NOT_PLAIN": (
        WARNING,
        "write one invocation: no shell operators, no variables, no path of a program",
    ),
    # why a folder is not a candidate
    "HIDDEN_FOLDER": (INFO, "rename the folder if it should be a skill"),
    "NOT_A_FOLDER": (WARNING, "move the file into a folder of its own, as SKILL.md"),
    "NO_SKILL_FILE": (WARNING, "add a SKILL.md, or name the folder above the skill with `--root`"),
    "NOT_A_FILE": (ERROR, "replace it by a regular file"),
    "DANGLING_LINK": (ERROR, "remove the link, or restore its target"),
    "LINK_LOOP": (ERROR, "remove the link"),
    "UNREADABLE": (ERROR, "check the permissions"),
    "SAME_FOLDER": (INFO, "nothing to do: the skill is listed once"),
    "NO_FRONTMATTER": (ERROR, "begin the file with `---`, `name:`, `description:` and another `---`"),
    "UNCLOSED_FRONTMATTER": (ERROR, "end the frontmatter with a line `---`"),
    "INVALID_FRONTMATTER": (ERROR, "fix the YAML of the frontmatter"),
    "INVALID_HANDOFF": (ERROR, "fix the YAML of the `handoff:` block"),
    "NO_HANDOFF": (INFO, f"declare handoff metadata if the skill should take over work; {_EXAMPLES}"),
    "NOT_ACCEPTING": (
        INFO,
        'add `accepts_handoff: true` or `accepts_from: ["*"]` if the skill should take over work',
    ),
    "DECLINES_HANDOFFS": (INFO, "change that value if the skill should take over work"),
    "INVALID_ACCEPTANCE": (
        ERROR,
        'write `accepts_handoff: true`, or `accepts_from: ["*"]` with the skills whose work is accepted',
    ),
    "NO_CATEGORIES": (
        ERROR,
        "add at least one: `categories: [research]`, or `handoff_categories: [research]` in the block",
    ),
    "NO_DESCRIPTION": (ERROR, "say in `description` what the skill does"),
    "UNSUPPORTED_VERSION": (WARNING, "declare payload version 2.0 or 3.0, if the skill reads one of them"),
    "SHADOWED": (INFO, "rename one of the two folders if you want both"),
    # several skills, and the registry
    "CLIENT_PREFERS_PERSONAL": (WARNING, "rename one of the two: the host starts the personal one"),
    "SAME_NAME": (WARNING, "use the name of a folder"),
    "PLACE_UNUSABLE": (ERROR, "check the path and its permissions"),
    "REGISTRY_UNREADABLE": (ERROR, "fix the registry, or remove it: it is optional"),
    "REGISTRY_ENTRY_INVALID": (ERROR, "fix the entry"),
    "REGISTRY_DUPLICATE": (ERROR, "keep one of the two entries"),
    "REGISTRY_STALE": (ERROR, "remove the entry, or correct its `skill_path`"),
    "REGISTRY_EDITED": (
        INFO,
        Hint("keep the value, or take the skill's: ", Command("registry sync", replace="FIELD")),
    ),
    "REGISTRY_DIFFERS": (WARNING, _SYNC),
    "REGISTRY_MISSES": (WARNING, _SYNC),
    # the open skill specification
    "SPEC_NAME_MISSING": (ERROR, "add `name:` with the name of the folder"),
    "SPEC_NAME_LENGTH": (WARNING, "use 1 to 64 characters"),
    "SPEC_NAME_CHARACTERS": (WARNING, "use lower-case letters, digits and single hyphens, none at the ends"),
    "SPEC_NAME_FOLDER": (WARNING, "give the folder and the skill the same name"),
    "SPEC_DESCRIPTION_MISSING": (ERROR, "say in `description` what the skill does and when to use it"),
    "SPEC_DESCRIPTION_TODO": (WARNING, "say in `description` what the skill does and when to use it"),
    "SPEC_DESCRIPTION_LENGTH": (WARNING, "use at most 1024 characters"),
    "SPEC_COMPATIBILITY": (WARNING, "use one text of 1 to 500 characters"),
    "SPEC_LICENSE": (WARNING, "use one text"),
    "SPEC_METADATA": (WARNING, "use keys and texts; write nested values as text that contains YAML"),
    "SPEC_ALLOWED_TOOLS": (WARNING, "use one text with the tools separated by spaces"),
    "SPEC_UNKNOWN_FIELD": (WARNING, "move it under `metadata`: the specification has six fields"),
}
CODES: Mapping[str, CodeMeaning] = {code: CodeMeaning(*meaning) for code, meaning in _CODES.items()}
"""Every code. Scripts depend on them, so a code never changes its meaning."""
