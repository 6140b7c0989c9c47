"""Commands for skills: the group `flow skill`, and `list`, `show`, `check` and others of the top level."""

from __future__ import annotations

from flowrail.cli.lazy_group import Entry, LazyGroup

_SKILLS, _TESTING = "flowrail.cli.commands.skills", "flowrail.cli.commands.testing"
_WRITE, _RUN = "Write and test", "Approve and remove"

command = LazyGroup(
    name="skill",
    help="Preview, measure, record and approve skills",
    table={
        "preview": Entry(f"{_SKILLS}.preview", _WRITE, "Show what a step prints, without a session"),
        "coverage": Entry(f"{_TESTING}.coverage", _WRITE, "Show which transitions of a workflow were taken"),
        "record": Entry(f"{_TESTING}.record", _WRITE, "Turn a session into a test"),
        "replay": Entry(f"{_TESTING}.replay", _WRITE, "Run recorded sessions against today's workflows"),
        "schema": Entry(f"{_SKILLS}.schema", _WRITE, "Print the JSON Schema of a document"),
        "trust": Entry(f"{_SKILLS}.trust", _RUN, "Approve a project's skill, so that it may run"),
        "untrust": Entry(f"{_SKILLS}.untrust", _RUN, "Withdraw the approval of a skill"),
        "uninstall": Entry(f"{_SKILLS}.uninstall", _RUN, "Remove what `flow install` wrote"),
    },
)
