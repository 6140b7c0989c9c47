"""A session as an immutable value, and everything in it: reports, dispatches, questions, findings.

The records of the journal hold exactly these classes; `flowrail.storage.converter` structures them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from flowrail.machines.demanded_evidence import StepCommand
from flowrail.machines.evidence_results import CommandRun, EvidenceResult, StepEvidence
from flowrail.machines.frozen import Frozen
from flowrail.machines.question import OWN_WORDS, Question
from flowrail.machines.work_folder import NOTES_FILE, default_work_folder
from flowrail.outcome import Outcome
from flowrail.session_status import ACTIVE, NEED_PERSON, OPEN

T = TypeVar("T")

FORMAT = 1
"""The format of a session on disk."""

BY_STEP, BY_AGENT, BY_LIMIT, BY_EVIDENCE, BY_COMMAND = "step", "agent", "limit", "evidence", "command"
"""The sources of a question: declared by the step, asked by a sub-agent, or raised by its limit, evidence or command."""

RELAYED, AT_TERMINAL, ON_PAGE, IN_HOST = "relayed", "terminal", "page", "host"
"""The ways in which an answer comes: from an agent, or from a person at a terminal, on the page, or in the host's question
tool, whose result a hook saw."""
WAYS = Frozen(
    {
        RELAYED: "relayed by the agent",
        AT_TERMINAL: "by a person at the terminal",
        ON_PAGE: "by a person on the page",
        IN_HOST: "by a person in the host's question tool",
    }
)
"""The same in words."""

MOST_EXTRA_ROUNDS = 2
"""How often the user is offered another round under the same rules."""
LONGEST_NOTE = 1_000
"""The most characters of one note."""
MOST_NOTES = 50
"""A session keeps this many notes, the newest. Its journal has them all."""


@dataclass(frozen=True)
class Report:
    """A report on a step."""

    outcome: str
    """An outcome, or ``done`` if the step decides."""
    facts: Mapping[str, Any] = Frozen()
    note: str = ""
    """What to remember, in a sentence."""


@dataclass(frozen=True)
class Note:
    """A text that came with a report. It is not a fact: rules and conditions do not see it."""

    text: str
    step: str
    revision: int
    at: str
    source: str
    """What it came with: a report, a question, an answer, or the end of the session."""


@dataclass(frozen=True)
class GivenAnswer:
    """The user's answer to a question of the step that a move left."""

    id: str
    question: str
    answer: tuple[str, ...]
    reason: str = ""
    way: str = ""
    """The way in which it came."""


@dataclass(frozen=True)
class Dispatched:
    """A piece of work of the current step, which a child session does."""

    child: str
    """The id reserved for the child session. The session exists as soon as its agent runs its first command."""
    item: Any = None
    """The item of the list that the step dispatches over."""


@dataclass(frozen=True)
class Move:
    """One transition: the step, the report, the resulting outcome, and the next step."""

    step: str
    reported: str
    outcome: str
    to: str | None
    """The next step; `None` if the session ended."""
    facts: Mapping[str, Any] = Frozen()
    skipped: tuple[str, ...] = ()
    """The steps on the way whose condition was false."""
    capped: bool = False
    """Whether an `iterate` at the limit took the `ok` transition."""
    at: str = ""
    answers: tuple[GivenAnswer, ...] = ()
    """The user's answers to the step's questions."""
    note: str = ""
    evidence: tuple[EvidenceResult, ...] = ()
    """The results of the step's checks."""
    dispatches: tuple[Dispatched, ...] = ()
    """The dispatches of the step. The child sessions have their results."""
    relayed: bool = False
    """Whether the leading agent reported for a sub-agent that had only returned text."""


@dataclass(frozen=True)
class AskedQuestion(Question):
    """A question to the user as it was asked, with the answer."""

    source: str = BY_STEP
    answer: tuple[str, ...] | None = None
    """Labels, or free text after ``other:``."""
    answered_at: str | None = None
    answered_by: str | None = None
    reason: str = ""
    way: str = ""
    """The way in which the answer came."""

    @property
    def is_persons(self) -> bool:
        """Whether only a person may choose some of its options."""
        return self.person or any(option.person for option in self.options)

    def needs_person(self, labels: Iterable[str]) -> bool:
        """Return whether only a person may give these answers."""
        chosen = set(labels)
        return self.person or any(option.person and option.label in chosen for option in self.options)

    @property
    def is_open(self) -> bool:
        """Whether the question waits for an answer."""
        return self.answer is None

    @property
    def placeholder(self) -> str:
        """The word in a printed command that the answer replaces: an option, or free text."""
        return "OPTION" if self.options else "TEXT"

    @property
    def outcome(self) -> str | None:
        """The outcome that the answer means; of several, the first that is not `ok`.

        Free text means ``other``. If no ``other`` is declared, free text never means `ok` while one of
        the options means another outcome.
        """
        if not self.answer:
            return None
        named = [option.outcome for option in self.options if option.label in self.answer]
        if any(word.startswith(OWN_WORDS) for word in self.answer):
            named += [self.other] if self.other else [option.outcome for option in self.options]
        chosen = [outcome for outcome in named if outcome]
        return next((outcome for outcome in chosen if outcome != Outcome.OK), chosen[0] if chosen else None)


@dataclass(frozen=True)
class RecordedFinding:
    """A finding of a review: severity, text, place, round, and how it was resolved."""

    id: str
    severity: str
    text: str
    review: str | None = None
    round: int = 1
    revision: int = 0
    place: str | None = None
    at: str = ""
    by: str = ""
    resolved_at: str | None = None
    resolution: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the finding is unresolved."""
        return self.resolved_at is None


@dataclass(frozen=True)
class Grant:
    """What the user allowed at the limit of a step: more attempts."""

    rounds: int = 0
    """The additional attempts."""
    another: int = 0
    """How often the user chose "another round"."""

    @property
    def allows_another(self) -> bool:
        """Whether the user may choose another round."""
        return self.another < MOST_EXTRA_ROUNDS


NO_GRANT = Grant()


@dataclass(frozen=True)
class ParentSession:
    """The session that a child session works for."""

    session: str
    depth: int = 1
    """The number of sessions above the child."""
    review: str | None = None
    """The review step that its work belongs to, if any."""
    prompt: bool = False
    """Whether the child works from a prompt, so that its report may contain any fact."""


@dataclass(frozen=True)
class ReceivedWork:
    """The handoff that a session took over."""

    handoff: str
    source: str
    payload: str
    sha256: str
    version: str = ""
    chain: tuple[str, ...] = ()
    hops: int = 0
    trace_id: str = ""
    span_id: str = ""
    reason: str = ""
    summary: str = ""
    asked: Mapping[str, Any] = Frozen()
    origin: str = ""
    """Empty if one of our own sessions sent it; otherwise it says whether the payload came with a hash."""


@dataclass(frozen=True)
class HeldTurn:
    """How often the stop hook kept the agent from ending its turn at a revision."""

    revision: int
    times: int
    progress: str = ""
    """A mark that changes if a sub-agent makes progress; counting then begins again."""


@dataclass(frozen=True)
class HostConversation:
    """The conversation of a host that a session belongs to."""

    id: str
    held: HeldTurn | None = None
    ended_at: str | None = None
    """When the host reported the end of the conversation. The session then has no owner until the same conversation
    is resumed, or another one reports."""


@dataclass(frozen=True)
class WorkingFile:
    """A working file of a session."""

    path: str
    """The path as printed."""
    bytes: int
    changed_at: str
    seconds: float
    """The seconds since it was changed."""


@dataclass(frozen=True)
class Session:
    """A run of a workflow."""

    id: str
    skill: str
    step: str | None
    status: str = ACTIVE
    revision: int = 0
    """The number of transitions, rewinds and migrations to another step."""
    params: Mapping[str, Any] = Frozen()
    """The parameters, fixed at the start."""
    state: Mapping[str, Any] = Frozen()
    """Reported facts, and values that handlers returned."""
    visits: Mapping[str, int] = Frozen()
    """How often each step was entered."""
    started_at: str = ""
    moved_at: str = ""
    last: Move | None = None
    definition: int = 0
    """The number of the record that has the definition of its workflow."""
    format: int = FORMAT
    entered: Mapping[str, int] = Frozen()
    """The revision at which each review was last entered."""
    grants: Mapping[str, Grant] = Frozen()
    """What the user allowed beyond a limit, by step."""
    dispatches: tuple[Dispatched, ...] = ()
    """The dispatches of the current step."""
    questions: tuple[AskedQuestion, ...] = ()
    """The questions of the current step."""
    findings: tuple[RecordedFinding, ...] = ()
    """The findings of all reviews."""
    parent: ParentSession | None = None
    """The session that this one works for."""
    decided: Mapping[str, int] = Frozen()
    """The revision at which each gate last decided."""
    received: ReceivedWork | None = None
    """The handoff that it took over."""
    host: HostConversation | None = None
    """The conversation that the session belongs to, if any."""
    topic: str = ""
    """A few words that describe the session: its first text parameter."""
    notes: tuple[Note, ...] = ()
    """The texts of `--note`, oldest first."""
    work: str = ""
    """The folder for its working files, as it is printed."""
    evidence: StepEvidence | None = None
    """The evidence of the current step, if it demands any."""
    runs: tuple[CommandRun, ...] = ()
    """The runs of commands that may still count, oldest first."""
    project: str = ""
    """The project root in which the session started, if it does not follow from the store."""
    order: Mapping[str, int] = Frozen()
    """The state of each order rule that is not in its first state, by the rule's text."""

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""
        return self.status in OPEN

    @property
    def needs_person(self) -> bool:
        """Whether it waits for a person."""
        return self.status in NEED_PERSON

    def allowed(self, step: str, bound: int) -> int:
        """Return how often *step* may be entered, the rounds that the user granted included."""
        return bound + self.granted(step).rounds

    def granted(self, step: str) -> Grant:
        """Return what the user allowed at the limit of *step*."""
        return self.grants.get(step, NO_GRANT)

    def bound_to(self, conversation: str | None) -> Session:
        """Return the session as one of this conversation of the host; unchanged without one."""
        if conversation is None or self.owner == conversation:
            return self
        held = self.host.held if self.host is not None and self.host.id == conversation else None
        return replace(self, host=HostConversation(conversation, held))

    @property
    def work_folder(self) -> str:
        """The folder for the session's working files, as a path that works from the project root."""
        return self.work or default_work_folder(self.id)

    @property
    def notes_path(self) -> str:
        """The agent's notes, as a path that works from the project root."""
        return f"{self.work_folder}/{NOTES_FILE}"

    @property
    def owner(self) -> str | None:
        """The conversation that the session belongs to, or `None` if it has none or that one has ended."""
        return self.host.id if self.host is not None and self.host.ended_at is None else None

    def released(self, at: str) -> Session:
        """Return the session without an owner, because its conversation ended."""
        return self if self.host is None else replace(self, host=replace(self.host, ended_at=at))

    def belongs_to(self, conversations: tuple[str, ...]) -> bool:
        """Return whether the session belongs to one of these conversations of a host."""
        return self.host is not None and self.host.id in conversations

    def times_held(self, progress: str) -> int:
        """Return how often the stop hook kept the agent from ending its turn here without progress."""
        held = self.host.held if self.host is not None else None
        is_here = held is not None and (held.revision, held.progress) == (self.revision, progress)
        return held.times if held is not None and is_here else 0

    def held_again(self, progress: str) -> Session:
        """Return the session with one more hold at the current revision."""
        if self.host is None:
            return self
        held = HeldTurn(self.revision, self.times_held(progress) + 1, progress)
        return replace(self, host=replace(self.host, held=held))

    def with_note(self, text: str, *, step: str, at: str, source: str) -> Session:
        """Return the session with a note, if the text is not empty."""
        if not text:
            return self
        note = Note(text, step, self.revision, at, source)
        return replace(self, notes=(*self.notes, note)[-MOST_NOTES:])

    def with_evidence(self, evidence: StepEvidence) -> Session:
        """Return the session with the evidence of its current step."""
        return replace(self, evidence=evidence)

    def with_refusals_forgotten(self) -> Session:
        """Return the session with no refusals for lack of evidence in this attempt."""
        return self if self.evidence is None else self.with_evidence(replace(self.evidence, refusals=0))

    def newest_run(self, name: str, declared: StepCommand, words: tuple[str, ...]) -> CommandRun | None:
        """Return the newest run of a command with the arguments *words*, if it counts at the current step."""
        same = (run for run in reversed(self.runs) if (run.command, run.run) == (name, words))
        newest = next(same, None)
        counts = newest is not None and (declared.outlasts_step or newest.revision == self.revision)
        return newest if counts else None

    @property
    def open_questions(self) -> tuple[AskedQuestion, ...]:
        """The questions that wait for an answer."""
        return tuple(question for question in self.questions if question.is_open)

    @property
    def open_findings(self) -> tuple[RecordedFinding, ...]:
        """The findings that are not resolved."""
        return tuple(finding for finding in self.findings if finding.is_open)

    @property
    def limit_question(self) -> AskedQuestion | None:
        """The question that the current step's limit raised, if it did."""
        return next((question for question in self.questions if question.source == BY_LIMIT), None)

    @property
    def visit(self) -> int:
        """How often the current step has been entered, this time included."""
        return self.visits.get(self.step, 0) if self.step is not None else 0
