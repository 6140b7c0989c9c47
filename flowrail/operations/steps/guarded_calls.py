"""Guards and order rules at the commands that flow runs, and a person's permission for one call.

Hooks do the same for the tools of an agent. A command that flow runs counts as a call of the shell with its arguments.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError
from flowrail.machines import order_watch
from flowrail.machines.session import Session
from flowrail.machines.step import StepDef
from flowrail.operations.environment import Environment
from flowrail.operations.steps.held_session import HeldSession
from flowrail.operations.steps.order_rules import broken_rule
from flowrail.operations.steps.people import require_person
from flowrail.rules.tools import ToolUse, denied_by
from flowrail.skills.guard_index import Guard, lift, matching, take_lift
from flowrail.skills.guard_scan import guards_of
from flowrail.text.phrases import listed
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line, shortened
from flowrail.text.unknown_names import unknown


@dataclass(frozen=True)
class LiftedGuard:
    """A call that a person allowed once."""

    pattern: str
    """The pattern of the guard."""
    skills: tuple[str, ...]
    """The skills that guard it."""

    def report(self) -> Report:
        """Return what a person reads."""
        yield one_line(f"{self.pattern}: the next call within an hour is allowed")


def check_command(held: HeldSession, session: Session, words: tuple[str, ...]) -> Session:
    """Return *session* after a command that flow is about to run; refuse one that a rule or a guard denies."""
    line, project = shlex.join(words), held.environment.project
    use = ToolUse("Bash", {"command": line}, project, project, held.environment.home)
    _check_allowed(held.environment, session, held.step, use)
    if not held.workflow.order:
        return session
    after, broken = order_watch.called(held.workflow, session, use)
    if broken:
        raise broken_rule(held, broken[0], f"the command `{shortened(line, 80)}`")
    return after


def lift_guard(environment: Environment, pattern: str) -> LiftedGuard:
    """Allow the next call that a guard denies, as a person at a terminal."""
    guards = _guards(environment)
    skills = tuple(guard.skill for guard in guards if guard.pattern == pattern)
    if not skills:
        raise unknown("guard", pattern, [guard.pattern for guard in guards])
    typed = Command("approve", guard=pattern)
    lines = [f"project {environment.project}", f"guarded by {listed(skills)}"]
    what = "allow a call that a guard denies"
    require_person(environment, what, f"Allow one call of {pattern}?", lines, typed)
    lift(environment.state, environment.project, pattern)
    return LiftedGuard(pattern, skills)


def _check_allowed(environment: Environment, session: Session, step: StepDef, use: ToolUse) -> None:
    """Refuse a command that the step forbids, or that a guard denies at the step and at those above it."""
    rule = denied_by(step, use)
    if rule is not None:
        raise ConflictError(
            f"step `{step.id}` forbids `{rule}`",
            code="CALL_DENIED",
            hint="change the skill: it declares a command that it forbids",
        )
    denying = matching(_guards(environment), use)
    allowed = {(guard.skill, name) for guard in denying for name in guard.steps}
    if not denying or allowed & set(_positions(environment, session)):
        return
    if not any(take_lift(environment.state, environment.project, guard.pattern) for guard in denying):
        guard = denying[0]
        raise ConflictError(
            f"skill `{guard.skill}` guards `{guard.pattern}`, which is allowed only at {listed(guard.steps) or 'no step'}",
            code="CALL_DENIED",
            hint=Hint("fix that skill: ", Command("check", guard.skill))
            if guard.is_broken
            else Hint("follow that skill: ", Command("step", guard.skill)),
            skill=guard.skill,
            pattern=guard.pattern,
        )


def _guards(environment: Environment) -> tuple[Guard, ...]:
    return guards_of(
        environment.project, state=environment.state, environ=environment.environ, home=environment.home
    ).guards


def _positions(environment: Environment, session: Session) -> Iterator[tuple[str, str]]:
    """Yield the skill and the step of a session, and of those that it works for."""
    current: Session | None = session
    while current is not None:
        yield current.skill, str(current.step)
        record = environment.store.find(current.parent.session) if current.parent is not None else None
        current = record.session if record is not None and record.session.is_open else None
