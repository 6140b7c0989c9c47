"""A skill that dispatches work to agents, and operations on its session with a clock that tests move."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from support.sandbox import put_skill

from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.question import Option, Question
from flowrail.machines.session import AT_TERMINAL
from flowrail.operations.environment import Environment
from flowrail.operations.steps import current_step as steps
from flowrail.operations.steps import user_questions as questions
from flowrail.operations.steps.child_sessions import replace_agent
from flowrail.operations.steps.new_session import begin
from flowrail.operations.steps.user_questions import AskedUser

LEAD = """\
name: NAME
params: {areas: {type: list, default: [a, b, c]}}
steps:
  - id: look
    title: Look
    actions: [Look at all of it.]
    dispatch: {agent: explore, workflow: NAME/one, over: areas, vars: {area: $item}, join: JOIN}
    next: {ok: tell, fail: look}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""
ONE = """\
name: NAME/one
params: {area: {type: string, required: true}}
steps:
  - {id: first, title: First, actions: ["Look at $area."], next: {ok: second, fail: null}}
  - id: second
    title: Second
    actions: [Sum it up.]
    reports: {found: {type: string, required: true, example: nothing}}
    next: {ok: null, fail: null}
"""
FREE = """\
name: NAME
params: {areas: {type: list, default: [a, b, c]}}
steps:
  - id: look
    title: Look
    actions: [Look at all of it.]
    dispatch: {agent: explore, over: areas, prompt: prompt.md, vars: {depth: 2}, join: JOIN}
    next: {ok: tell, fail: null}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""
REVIEW = """\
name: NAME
steps:
  - {id: work, title: Work, actions: [Work.], next: {ok: review}}
  - id: review
    title: Review
    actions: [Have it reviewed.]
    dispatch: {agent: quality-reviewer, workflow: NAME/one, vars: {area: all}}
    next: {ok: gate, fail: gate}
  - id: gate
    title: Gate
    actions: [Decide.]
    gate: {name: Quality, review: review}
    next: {ok: null, fail: work}
"""
PROMPT = "Look at $item, $depth deep.\n"


def put_lead(name: str = "lead", text: str = LEAD, *, join: str = "all", one: str = ONE) -> None:
    """Write a skill with a workflow for its agents."""
    texts = {"workflows/one.yaml": one, "prompt.md": PROMPT}
    put_skill(name, text.replace("JOIN", join), texts=texts)


class Clock:
    """A clock that only moves forward on request."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 18, 12, tzinfo=UTC)

    def __call__(self) -> str:
        """Return the time as sessions store it."""
        return self.moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def forward(self, seconds: float) -> None:
        """Move the clock."""
        self.moment += timedelta(seconds=seconds)


def put_nested() -> None:
    """Make a skill whose sub-agents dispatch work of two steps themselves."""
    middle = LEAD.replace("name: NAME", "name: NAME/one").replace("JOIN", "all")
    middle = middle.replace("workflow: NAME/one, over: areas, vars: {area: $item}", "workflow: NAME/inner")
    middle = middle.replace("{areas: {type: list, default: [a, b, c]}}", "{area: {type: string}}")
    inner = (
        "name: NAME/inner\nsteps:\n  - {id: a, title: A, actions: [Do.], next: {ok: b}}\n"
        "  - {id: b, title: B, actions: [Do.], next: {ok: null}}\n"
    )
    texts = {"workflows/one.yaml": middle, "workflows/inner.yaml": inner}
    put_skill("lead", LEAD.replace("JOIN", "all"), texts=texts)


class Team:
    """The orchestrator of a session, and its agents."""

    def __init__(self, skill: str = "lead", params: Mapping[str, Any] | None = None) -> None:
        self.clock = Clock()
        self.world: Environment = Environment().replaced(clock=self.clock, by="me", wait=60)
        self.skill = skill
        self.id = begin(self.world, skill, params or {}).session

    def told(self, session: str | None = None) -> Guidance:
        """Return the current guidance of a session."""
        return steps.look(self.world, session or self.id)

    def statuses(self) -> list[str]:
        """Return the status of each child session."""
        return [each.status for each in self.told().dispatches]

    def child(self, number: int = 1) -> str:
        """Start the child session of a dispatch as its agent does, and return its id."""
        return steps.look(self.world, self.told().dispatches[number - 1].child).session

    def again(self, number: int = 1) -> str:
        """Replace the child session of a dispatch, and return the id of the new one."""
        answer = replace_agent(self.world, self.id, str(number))
        return answer.dispatches[number - 1].child

    def report(self, outcome: str, session: str | None = None, **facts: Any) -> Guidance:
        """Report the current step of a session."""
        told = self.told(session)
        return steps.report(
            self.world,
            told.skill,
            outcome,
            facts=facts or None,
            session_id=told.session,
            expect=told.revision,
        )

    def work(self, session: str, outcome: str = "ok", found: str = "something") -> Guidance:
        """Report both steps of an agent's session."""
        self.report("ok", session)
        return self.report(outcome, session, found=found)

    def ask(self, session: str, name: str = "db", **parts: Any) -> AskedUser:
        """Ask a question as an agent."""
        return questions.ask_user(self.world, session, [question(name, **parts)])

    def answer(self, session: str, *pairs: str, reason: str = "") -> Guidance:
        """Answer questions as the user."""
        answers: dict[str, list[str]] = {}
        for name, _, label in (pair.partition("=") for pair in pairs):
            answers.setdefault(name, []).append(label)
        return questions.answer_questions(self.world, session, answers, reason, way=AT_TERMINAL)

    def kinds(self, session: str | None = None) -> list[str]:
        """Return the kinds of the records of a session."""
        return [record.kind for record in self.world.store.records(session or self.id)]

    def sessions(self) -> set[str]:
        """Return every session in the store."""
        return set(self.world.store.ids())


def question(name: str = "db", **parts: Any) -> Question:
    """Return a question with two options."""
    given: dict[str, Any] = {"options": (Option("Redis"), Option("Postgres", "A server")), **parts}
    return Question(**{"id": name, "header": "Store", "text": f"Which {name}?", **given})
