"""What an agent reads at a step: where it is, its instructions, and a complete command for each outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.machines.agents import Children, Join
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.evidence_results import tally
from flowrail.machines.frozen import INTERNAL, Frozen
from flowrail.machines.graph import reviews
from flowrail.machines.guidance.agent_work import (
    AgentWork,
    QuestionToUser,
    WorkResult,
    dispatches_of,
    failures_of,
    handed_back,
    join_at,
    questions_of,
)
from flowrail.machines.guidance.offers import OfferedTransition, offers
from flowrail.machines.guidance.received_work import handed_over
from flowrail.machines.guidance.review_loop import ReviewLoop, findings_at, loop_at
from flowrail.machines.guidance.step_evidence import DeclaredCommand, DemandedCheck, checks_of, commands_of
from flowrail.machines.outcome_decision import actions_of, names_in, session_context, title_of
from flowrail.machines.session import GivenAnswer, ParentSession, RecordedFinding, Session, WorkingFile
from flowrail.machines.step import WORKFLOW_NAME, StepDef
from flowrail.machines.transition import NOTHING
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.session_status import COMPLETED, FAILED
from flowrail.text.placeholders import BLOCK_PREFIX, fill


class CurrentStep(NamedTuple):
    """The current step with its placeholders filled."""

    id: str
    title: str
    number: int
    total: int
    attempt: int
    limit: int | None = None
    phase: str | None = None
    skipped: tuple[str, ...] = ()
    """The steps that were skipped on the way to this one, because their condition was false."""

    @property
    def text(self) -> str:
        """The step in words, such as `step 2 of 5: Investigate, attempt 2 of 3`."""
        prefix = f"step {self.number} of {self.total}: " if self.total else ""
        limit = f" of {self.limit}" if self.limit else ""
        attempt = f", attempt {self.attempt}{limit}" if self.attempt > 1 else ""
        return f"{prefix}{self.title}{attempt}"


@dataclass(frozen=True)
class Guidance:
    """Everything that is printed about a session at one moment. Its fields are the JSON of a step."""

    session: str
    skill: str
    status: str
    revision: int
    head: str
    step: CurrentStep | None
    actions: tuple[str, ...]
    next: tuple[OfferedTransition, ...]
    started_at: str
    moved_at: str
    params: Mapping[str, Any]
    kept: Session = field(repr=False, compare=False, metadata=INTERNAL)
    """The session itself."""
    workflow: Workflow = field(repr=False, compare=False, metadata=INTERNAL)
    """The workflow of the session."""
    replayed: bool = False
    resumed: bool = False
    briefing: str = ""
    """The first paragraph for an agent that continues the session and may not remember it."""
    work: Dispatch | None = None
    """The work of the step for sub-agents."""
    dispatches: tuple[AgentWork, ...] = ()
    join: Join | None = None
    questions: tuple[QuestionToUser, ...] = ()
    findings: tuple[RecordedFinding, ...] = ()
    parent: ParentSession | None = None
    then_command: Command | None = None
    """The command that starts the workflow after this one."""
    resources: Mapping[str, str] = Frozen()
    """The reference texts that the instructions name."""
    finding_command: Command | None = None
    """In a review: the command that records a finding, without the finding. A reviewer has it at the first and last step."""
    loop: ReviewLoop | None = None
    ask_command: Command | None = None
    """For a sub-agent: the command that asks the user; it reads the questions from standard input."""
    result: WorkResult | None = None
    """For a sub-agent whose work has ended: its answer."""
    forbids: tuple[str, ...] = ()
    """Tools that the current step forbids."""
    answers: tuple[GivenAnswer, ...] = ()
    """The user's answers in the previous step."""
    failures: tuple[str, ...] = ()
    """Why agents of the previous step failed, if it did."""
    give_up_command: Command | None = None
    """For a sub-agent whose step cannot fail: the command that ends its work without success."""
    relaunch_command: Command | None = None
    """For a child session: the command with which a new agent continues it."""
    launcher_command: Command | None = None
    """For a sub-agent: the command with which its launcher continues."""
    claim: str = ""
    """The outcome that was claimed of the previous step, and how much of it was checked."""
    decided: str = ""
    """Why the session did not continue as the last report may have meant: at a limit, or as the step decided."""
    commands: tuple[DeclaredCommand, ...] = ()
    """The commands that the current step declares."""
    evidence: tuple[DemandedCheck, ...] = ()
    """The checks that must pass before an outcome is accepted."""
    topic: str = ""
    work_folder: str = ""
    working_files: tuple[WorkingFile, ...] = ()
    """The session's working files; only listed if the session is shown again or has ended."""
    take_over_command: Command | None = None
    """For a session of another conversation: the command that takes it over."""
    page: str = ""
    """The open page on which a person decides about the session, if any; it opens only in the person's browser."""
    notes: tuple[str, ...] = ()
    """What the user should know."""

    @property
    def is_read_first(self) -> bool:
        """Whether an agent reads this first: it begins the session, or continues it without its memory."""
        return self.revision == 0 or self.resumed

    @property
    def open_questions(self) -> tuple[QuestionToUser, ...]:
        """The questions that wait for an answer, of this session and of its agents."""
        return tuple(question for question in self.questions if question.is_open)

    @property
    def unconfirmed(self) -> tuple[QuestionToUser, ...]:
        """The questions in which a person confirms checks."""
        return tuple(check.question for check in self.evidence if check.question is not None)

    @property
    def waits_for_person(self) -> bool:
        """Whether a question or a check waits for what only a person may decide."""
        return any(question.is_persons for question in (*self.open_questions, *self.unconfirmed))


def guide(
    workflow: Workflow,
    session: Session,
    *,
    head: str = "",
    store: str | None = None,
    place: str | None = None,
    folder: str = "",
    replayed: bool = False,
    resumed: bool = False,
    instead: str = "",
    children: Children = NOTHING,
) -> Guidance:
    """Return the guidance for *session*. Commands name *store* if one was given.

    *place* is the address of the store. The commands that launch sub-agents always name it, because sub-agents may
    start in another folder. *folder* contains the session's files. *children* are the sessions of the step's agents.
    A text *instead* of the instructions leaves out the work of the step and the commands that continue it.
    """
    step, parent, last = workflow.get(session.step), session.parent, session.last
    guidance = Guidance(
        session=session.id,
        skill=session.skill,
        status=session.status,
        revision=session.revision,
        head=head,
        step=_current(workflow, session, step) if step else None,
        actions=(),
        next=(),
        started_at=session.started_at,
        moved_at=session.moved_at,
        params=session.params,
        kept=session,
        workflow=workflow,
        replayed=replayed,
        resumed=resumed,
        topic=session.topic,
        work_folder=session.work_folder,
        parent=parent,
        ask_command=Command("ask", session.id, "-", store=store) if parent and session.is_open else None,
        launcher_command=Command("resume", parent.session, store=place) if parent else None,
        failures=tuple(failures_of(session, children)),
        claim=_claim(session),
        decided=_decided(workflow, session),
    )
    if step is None or not session.is_open:
        return farewell(guidance, workflow, session, store=store, address=place)
    if instead:
        return replace(guidance, actions=(instead,), ask_command=None, launcher_command=None)
    context = session_context(workflow, session, step)
    received = () if session.received is None or session.revision else handed_over(session.received, folder)
    actions = (*received, *actions_of(step, context))
    values, join = names_in(context), join_at(workflow, step, session, children)
    questions = tuple(questions_of(session, children, store, place))
    demands_review = any(check.review == "submitted" for check in step.checks.values())
    is_reviewer = parent is not None and parent.review
    begins_or_ends = guidance.is_read_first or None in step.transitions.values()
    cannot_fail = parent and Outcome.FAIL not in step.transitions and not step.decides
    return replace(
        guidance,
        actions=actions,
        resources=_named(workflow.resources, actions),
        forbids=tuple(step.forbids),
        answers=last.answers if last else (),
        join=join,
        work=step.work,
        dispatches=tuple(dispatches_of(workflow, step, session, children, join, place)),
        questions=questions,
        findings=findings_at(workflow, step, session),
        loop=loop_at(workflow, step, session),
        commands=tuple(commands_of(step, session, values, store)),
        evidence=tuple(checks_of(workflow, step, session, values, store)),
        finding_command=Command("finding add", session.id, store=store)
        if demands_review or step.id in reviews(workflow) or (is_reviewer and begins_or_ends)
        else None,
        give_up_command=Command("session abandon", session.id, reason="REASON", store=store)
        if cannot_fail
        else None,
        next=tuple(
            offers(workflow, step, session, join, [asked for asked in questions if asked.is_open], store)
        ),
    )


def _current(workflow: Workflow, session: Session, step: StepDef) -> CurrentStep:
    return CurrentStep(
        id=step.id,
        title=title_of(step, session_context(workflow, session, step)),
        number=workflow.number(step.id),
        total=workflow.total_steps,
        phase=step.phase,
        attempt=session.visit,
        limit=None if step.bound is None else session.allowed(step.id, step.bound),
        skipped=session.last.skipped if session.last is not None and session.last.to == step.id else (),
    )


def _named(resources: Mapping[str, str], actions: Iterable[str]) -> dict[str, str]:
    """Return the resources whose names are in a fence of the instructions."""
    texts = [action for action in actions if BLOCK_PREFIX in action]
    return {name: text for name, text in resources.items() if any(name in action for action in texts)}


def _claim(session: Session) -> str:
    last = session.last
    checked = tally(last.evidence) if last is not None else ""
    return f"claimed {last.outcome} of {last.step}: {checked}" if last is not None and checked else ""


def _decided(workflow: Workflow, session: Session) -> str:
    last = session.last
    if last is None:
        return ""
    if last.capped:
        return (
            f"Step `{last.step}` ended in `{last.outcome}`, but has no attempts left. "
            "The session continues as after `ok`."
        )
    step = workflow.get(last.step)
    if step is not None and step.decides and last.reported == Outcome.OK and last.outcome != Outcome.OK:
        return (
            f"Step `{last.step}` decides its outcome itself. It was `{last.outcome}`, not the reported `ok`."
        )
    return ""


def farewell(
    guidance: Guidance, workflow: Workflow, session: Session, *, store: str | None, address: str | None
) -> Guidance:
    """Return the guidance for a run that has ended: for its user, or the result for the agent that launched it."""
    if session.parent:
        return replace(guidance, result=handed_back(session, address))
    then = workflow.then if session.status == COMPLETED else None
    following = fill(then, {**session.params, **session.state}) if then else ""
    if WORKFLOW_NAME.match(following):  # a fact may hold any text, and only names become part of a command
        text = "This workflow is finished. Run the next one to continue."
        then_command = Command("step", following, new=True, store=store)
        return replace(guidance, actions=(text,), then_command=then_command)
    texts = {
        COMPLETED: "Finished. Give the user the result, if they do not have it yet.",
        FAILED: "The workflow has failed. Tell the user what failed.",
    }
    text = texts.get(session.status, f"Session {session.id} is {session.status}.")
    return replace(guidance, actions=(text,))
