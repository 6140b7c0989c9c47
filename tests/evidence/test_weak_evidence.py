"""Evidence that proves little: what `flow check` warns of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.sandbox import findings_of, put_skill

WEAK: dict[str, dict[str, Any]] = {
    "a bare file": {"file": "plan.md"},
    "a bare pattern": {"files": "plans/**/*.md"},
    "true": {"command": ["true"]},
    "echo": {"command": ["/bin/echo", "3 passed"]},
    "a shell": {"command": ["bash", "-c", "pytest -q; true"]},
    "a file of the template": {"file": "plan.md", "contains": ["## Risks"], "min_bytes": 5},
}
"""Checks that look weak. A command is given by its arguments."""


STEP = """\
name: NAME
steps:
  - id: build
    title: Build
    commands: COMMANDS
    evidence: {ok: CHECKS}
    next: {ok: null}
"""
TEXT = "Write a plan:\n\n```markdown\n# Plan\n\n## Risks\n```\n"


def put(*checks: dict[str, Any]) -> None:
    commands = {
        f"run{number}": {"run": check["command"]} for number, check in enumerate(checks) if "command" in check
    }
    numbered = [
        {"id": f"check{number}", **check, **({"command": f"run{number}"} if "command" in check else {})}
        for number, check in enumerate(checks)
    ]
    text = STEP.replace("CHECKS", json.dumps(numbered)).replace("COMMANDS", json.dumps(commands))
    put_skill("built", text, texts={"steps/build.md": TEXT})


@pytest.mark.parametrize("name", WEAK)
def test_a_check_warns_of_evidence_that_looks_weak(name: str) -> None:
    put(WEAK[name])

    assert [finding["code"] for finding in findings_of("built")] == ["FR184"]
