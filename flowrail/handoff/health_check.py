"""Run a target's own health check: a program with arguments, without a shell, under a time limit.

It runs only if the caller asked for it. A project's skill must be approved first, with exactly its content.
The program gets a minimal environment, and its process group ends with it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace

from flowrail import approval, processes
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.declaration import read_declaration
from flowrail.discovery.frontmatter import read_frontmatter
from flowrail.discovery.locations import Scope, bundled_folder
from flowrail.errors import TrustError
from flowrail.handoff.handoff import CheckResult

NAME = "health_check_passed"
SECONDS = 10.0
LARGEST_OUTPUT = 1024 * 1024
"""A check that prints more is stopped."""
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


def check_health(
    candidate: Candidate, environ: Mapping[str, str], *, project: str, state: str
) -> CheckResult:
    """Run the check that *candidate* declares, if a person approved it."""
    try:
        if candidate.health_check and not candidate.remote:
            _require_approval(candidate, project, state)
    except TrustError as error:
        message = f"the health check did not run: {error.message}; {error.hint}"
        return CheckResult(NAME, False, message)
    health = run(candidate, environ)
    return replace(health, message=f"health check: {health.message}")


def _require_approval(candidate: Candidate, project: str, state: str) -> None:
    """Raise `TrustError` if the skill is not approved, or if its SKILL.md declares another check now."""
    folder = os.path.dirname(candidate.path)
    if candidate.scope is Scope.GLOBAL or candidate.root == bundled_folder():
        return
    root = candidate.root if candidate.scope in {Scope.EXTRA, Scope.REGISTRY} else ""
    why = "declares a health check, which is a program"
    snapshot = approval.require(folder, project, state, skill=candidate.skill, why=why, root=root)
    if candidate.health_check != _declared_check(snapshot, candidate):
        raise TrustError(
            f"the approved content of skill `{candidate.skill}` declares another health check",
            hint="run the command again; if that does not help, begin and end the frontmatter with `---`",
            skill=candidate.skill,
            folder=snapshot.folder,
        )


def run(candidate: Candidate, environ: Mapping[str, str], *, seconds: float = SECONDS) -> CheckResult:
    """Run the check that *candidate* declares."""
    try:
        command = shlex.split(candidate.health_check or "")
    except ValueError as error:
        return CheckResult(NAME, False, f"the command cannot be read: {str(error).lower()}")
    if not command:
        return CheckResult(NAME, True, "the target declares none")
    if candidate.remote:
        return CheckResult(NAME, False, "the target is remote, so its check cannot run here")
    folder, environment = os.path.dirname(candidate.path), {n: environ[n] for n in _PASSED_ON if n in environ}
    try:
        ended = processes.run(
            command, folder=folder, environ=environment, seconds=seconds, most_output=LARGEST_OUTPUT
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return CheckResult(NAME, False, f"`{command[0]}` cannot be started: {reason}")
    printed = " ".join(ended.output.decode("utf-8", "replace").split())[:200]
    message = (ended.problem or _outcome(ended.status or 0)) + (f": {printed}" if printed else "")
    return CheckResult(NAME, ended.status == 0, message)


def _declared_check(snapshot: approval.FolderContent, candidate: Candidate) -> str | None:
    """Return the check in the approved SKILL.md."""
    skill_file = os.path.basename(candidate.path)
    frontmatter = read_frontmatter(snapshot.contents.get(skill_file, b""), skill_file)
    declared: str | None = read_declaration(frontmatter).values.get("health_check")
    return declared


def _outcome(status: int) -> str:
    if status == 0:
        return "passed"
    return f"exited with {status}" if status > 0 else f"killed by signal {-status}"
