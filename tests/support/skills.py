"""SKILL.md files that discovery reads, repositories, candidates and a registry."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.locations import Scope

ACCEPTING = """\
handoff:
  accepts_handoff: true
  handoff_categories: [research]
  handoff_description: Digs deeper
"""


def head(name: str = "a-skill", *more: str, description: str = "Does things. Use it for things.") -> str:
    """Return a correct SKILL.md with *more* lines of frontmatter."""
    lines = "".join(f"{each.rstrip()}\n" for each in more)
    return f"---\nname: {name}\ndescription: {description}\n{lines}---\n\n# {name}\n"


def put(root: Path, folder: str, text: str | bytes | None = None, *, file: str = "SKILL.md") -> Path:
    """Write a skill that accepts handoffs, or *text*, and return its file."""
    path = root / folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    content = head(os.path.basename(folder), ACCEPTING) if text is None else text
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def git(folder: Path, *arguments: str) -> str:
    """Run git without the settings of this machine."""
    environ: Mapping[str, str] = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.example",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.example",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *arguments]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(path: Path) -> Path:
    """Return a new repository with one commit."""
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q")
    (path / "README").write_text("hello\n")
    git(path, "add", "README")
    git(path, "commit", "-qm", "first")
    return path


def candidate(skill: str = "a-skill", *, scope: Scope = Scope.GLOBAL, **fields: Any) -> Candidate:
    """Return a candidate for research that accepts from any skill, with *fields* replaced."""
    named: dict[str, Any] = {"name": skill, "priority": scope.priority, "categories": ("research",), **fields}
    return Candidate(skill, scope, f"/skills/{skill}/SKILL.md", **named)


REGISTRY = """\
version: "1.0"
updated_at: "2026-02-07T18:30:00Z"

workflows:
  - name: "programming-pm"
    version: "1.2"
    description: "Multi-phase project management workflow for software development"
    skill_path: "~/.claude/skills/programming-pm/SKILL.md"
    handoff:
      accepts_from: ["*"]
      provides_to: ["senior-developer", "junior-developer", "systems-architect"]
      schema_version: "3.0"
      schema_type: "universal"
    categories: ["implementation", "architecture"]
    input_requirements: ["specification", "requirements"]
    output_types: ["implementation", "code", "tests"]
    meta:
      estimated_duration: "days-to-weeks"
      complexity: "high"
      autonomous: false

  - name: "skill-editor"
    version: "1.0"
    description: "Multi-agent workflow for creating and modifying Claude Code skills"
    skill_path: "~/.claude/skills/skill-editor/SKILL.md"
    handoff:
      accepts_from: ["*"]
      provides_to: ["programming-pm", "technical-pm"]
      schema_version: "3.0"
      schema_type: "universal"
    categories: ["skill-development", "workflow-creation"]
    input_requirements: ["specification", "skill-request"]
    output_types: ["skill", "agent-configuration"]
    meta:
      estimated_duration: "hours"
      complexity: "high"
      autonomous: true

meta:
  total_workflows: 2
  last_scan: "2026-02-07T18:30:00Z"
  discovery_mode: "hybrid"
"""
"""The example of the registry's specification."""
