"""A session as an immutable value, and everything in it: reports, dispatches, questions, findings.

The records of the journal hold exactly these classes; `flowrail.storage.records` structures them.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from flowrail.machines.definition.evidence import EvidenceResult, StepEvidence
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.step_parts import LEASE_SECONDS, OWN_WORDS

T = TypeVar("T")

FORMAT = 2
"""The format of a session on disk. `flowrail.machines.sessions.record` reads earlier ones."""
DEFINITION_FORMAT = 2
"""The format of the definition that a session keeps of its workflow."""

ACTIVE, WAITING, COMPLETED, FAILED, ABANDONED = "active", "waiting", "completed", "failed", "abandoned"
STATUSES = (ACTIVE, WAITING, COMPLETED, FAILED, ABANDONED)
OPEN = frozenset({ACTIVE, WAITING})
ENDED = frozenset(STATUSES) - OPEN

PENDING, CLAIMED, FINISHED, CANCELLED = "pending", "claimed", "done", "cancelled"
"""The statuses of a dispatch."""

BY_STEP, BY_AGENT, BY_LIMIT, BY_EVIDENCE = "step", "agent", "limit", "evidence"
"""The sources of a question: declared by the step, asked by a sub-agent, raised by the step's limit or its evidence."""


FOUND, REMEMBER = "found", "remember"
"""The kinds of memory: what a step found, and what to keep in mind until the end."""
LONGEST_MEMORY = 1_000
"""The most characters of one memory."""
MOST_MEMORIES = 50
"""A session keeps this many memories of each kind, the newest. Its journal has them all."""
MOST_FROM_AGENTS = 100
"""The most memories that all agents of a step pass on together; each passes on at least one."""


WORK, NOTES = "work", "notes.md"
"""The folder for a session's working files, and the notes in it."""


def default_work_folder(session_id: str) -> str:
    """Return the folder for a session's working files, from the root of the project whose store has it."""
    return f".flow/sessions/{session_id}/{WORK}"


class Report(NamedTuple):
    """A report on a step: an outcome, or ``done`` if the step decides, and facts; what was found and what to remember."""

    outcome: str
    facts: Mapping[str, Any] = Frozen()
    found: str = ""
    remember: str = ""


class Memory(NamedTuple):
    """Something that a report found, or asked to remember. It is not a fact: rules and conditions do not see it.

    ``source`` names the sub-agent that reported it, by its item or its role, and is empty if this session's own
    agent did.
    """

    kind: str
    text: str
    step: str
    revision: int
    at: str
    source: str = ""


class GivenAnswer(NamedTuple):
    """The user's answer to a question of the step that a move left."""

    id: str
    question: str
    answer: tuple[str, ...]
    reason: str = ""


class Move(NamedTuple):
    """One transition: the step, the report, the resulting outcome, and the next step.

    ``to`` is `None` if the session ended. ``skipped`` are steps whose condition was false. ``capped``
    means that an `iterate` at the limit took the `ok` transition. ``answers`` are the user's answers
    to the step's questions. ``found`` and ``remember`` are the texts that came with the report. ``evidence`` holds the
    results of the step's checks.
    """

    step: str
    reported: str
    outcome: str
    to: str | None
    facts: Mapping[str, Any] = Frozen()
    skipped: tuple[str, ...] = ()
    capped: bool = False
    at: str = ""
    answers: tuple[GivenAnswer, ...] = ()
    found: str = ""
    remember: str = ""
    evidence: tuple[EvidenceResult, ...] = ()


class Dispatched(NamedTuple):
    """A piece of work given to a sub-agent.

    ``token`` identifies the holder: the id of the child session, or a word printed with the prompt.
    ``memory`` is what its agent found; the session takes it over with its next move.
    """

    id: str
    agent: str
    workflow: str | None = None
    vars: Mapping[str, Any] = Frozen()
    item: Any = None
    model: str | None = None
    status: str = PENDING
    holder: str | None = None
    expires_at: str | None = None
    child: str | None = None
    token: str | None = None
    outcome: str | None = None
    result: Mapping[str, Any] = Frozen()
    lease: float = float(LEASE_SECONDS)
    ended_at: str | None = None
    memory: tuple[Memory, ...] = ()
    evidence: StepEvidence | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the agent reported `ok`."""
        return self.status == FINISHED and self.outcome == Outcome.OK

    @property
    def ended(self) -> bool:
        """Whether no more reports are expected."""
        return self.status in {FINISHED, CANCELLED}


class AnswerOption(NamedTuple):
    """One option of a question, and the outcome that choosing it means, if any."""

    label: str
    outcome: str | None = None
    description: str = ""


class AskedQuestion(NamedTuple):
    """A question to the user. ``answer`` holds labels, or free text after ``other:``."""

    id: str
    header: str
    text: str
    options: tuple[AnswerOption, ...] = ()
    multi: bool = False
    source: str = BY_STEP
    other: str | None = None
    default: str | None = None
    due: str | None = None
    answer: tuple[str, ...] | None = None
    answered_at: str | None = None
    answered_by: str | None = None
    reason: str = ""

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


class RecordedFinding(NamedTuple):
    """A finding of a review: severity, text, place, round, and how it was resolved."""

    id: str
    severity: str
    text: str
    review: str | None = None
    round: int = 1
    revision: int = 0
    item: str | None = None
    place: str | None = None
    version: int = 1
    at: str = ""
    by: str = ""
    resolved_at: str | None = None
    resolution: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the finding is unresolved."""
        return self.resolved_at is None


class Grant(NamedTuple):
    """What the user allowed at the limit of a step: more attempts, or a review of MUST findings only.

    ``rounds`` counts the additional attempts. ``another`` counts how often the user chose "another round".
    """

    rounds: int = 0
    another: int = 0
    must_only: bool = False


NO_GRANT = Grant()


class ParentSession(NamedTuple):
    """The session and the dispatch that a child session works for.

    ``depth`` counts the sessions above it. ``review`` is the review step that its work belongs to, if any.
    """

    session: str
    dispatch: str
    depth: int = 1
    review: str | None = None


class ReceivedWork(NamedTuple):
    """The handoff that a session took over.

    ``origin`` is empty if one of our own sessions sent it. Otherwise it says whether the payload came
    with a hash.
    """

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


class HeldTurn(NamedTuple):
    """How often the stop hook kept the agent from ending its turn at a revision.

    ``progress`` is a mark that changes if a sub-agent makes progress; counting then begins again.
    """

    revision: int
    times: int
    progress: str = ""


class HostConversation(NamedTuple):
    """The conversation of a host that a session belongs to.

    ``ended_at`` is when the host reported the end of the conversation. The session then has no owner until
    the same conversation is resumed, or another one reports.
    """

    id: str
    held: HeldTurn | None = None
    ended_at: str | None = None


class WorkingFile(NamedTuple):
    """A working file of a session: its path as printed, and how many seconds ago it was changed."""

    path: str
    bytes: int
    changed_at: str
    seconds: float


class Session(NamedTuple):
    """A run of a workflow.

    ``revision`` counts transitions, rewinds and migrations to another step, from 0. ``params`` are fixed at the start.
    ``state`` holds reported facts and values that handlers returned, ``visits`` how often each step was entered. The
    fingerprints are those of the workflow and of the current step's transitions. They show that the workflow was changed.

    ``dispatches`` and ``questions`` are those of the current step, ``findings`` those of all reviews. ``entered``
    holds the revision at which each review was last entered, ``decided`` that at which each gate last decided,
    ``grants`` what the user allowed beyond a limit. ``parent`` is the session that this one works for,
    ``received`` the handoff that it took over.

    ``host`` is the conversation that the session belongs to, if any. ``topic`` describes the session in a few
    words: its first text parameter. ``memory`` holds the texts of `--found` and `--remember`, oldest first.
    ``work`` is the folder for its working files, as it is printed, and ``work_machine`` the name of the machine that
    has them if the records are in a database; ``work_digest`` is their digest at the last report. ``project`` is the
    project root in which the session started, if it does not follow from the store. ``secrets`` are the names of
    parameters and facts whose values are not shown.
    """

    id: str
    skill: str
    step: str | None
    source: str = "library"
    status: str = ACTIVE
    revision: int = 0
    params: Mapping[str, Any] = Frozen()
    state: Mapping[str, Any] = Frozen()
    visits: Mapping[str, int] = Frozen()
    started_at: str = ""
    moved_at: str = ""
    last: Move | None = None
    workflow_fingerprint: str = ""
    step_fingerprint: str = ""
    format: int = FORMAT
    entered: Mapping[str, int] = Frozen()
    grants: Mapping[str, Grant] = Frozen()
    dispatches: tuple[Dispatched, ...] = ()
    questions: tuple[AskedQuestion, ...] = ()
    findings: tuple[RecordedFinding, ...] = ()
    parent: ParentSession | None = None
    decided: Mapping[str, int] = Frozen()
    received: ReceivedWork | None = None
    host: HostConversation | None = None
    topic: str = ""
    memory: tuple[Memory, ...] = ()
    work: str = ""
    work_machine: str = ""
    evidence: Mapping[str, StepEvidence] = Frozen()
    secrets: tuple[str, ...] = ()
    project: str = ""
    work_digest: str = ""

    @property
    def shown(self) -> "Session":
        """The session as people and agents may see it, without the values of secrets."""
        if not self.secrets:
            return self
        return without_secrets(self)

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""
        return self.status in OPEN

    def allowed(self, step: str, bound: int) -> int:
        """Return how often *step* may be entered, the rounds that the user granted included."""
        return bound + self.granted(step).rounds

    def granted(self, step: str) -> Grant:
        """Return what the user allowed at the limit of *step*."""
        return self.grants.get(step, NO_GRANT)

    def bound_to(self, conversation: str | None) -> "Session":
        """Return the session as one of this conversation of the host; unchanged without one."""
        if conversation is None or self.owner == conversation:
            return self
        held = self.host.held if self.host is not None and self.host.id == conversation else None
        return self._replace(host=HostConversation(conversation, held))

    @property
    def work_folder(self) -> str:
        """The folder for the session's working files, as a path that works from the project root."""
        return self.work or default_work_folder(self.id)

    @property
    def notes(self) -> str:
        """The session's notes, as a path that works from the project root."""
        return f"{self.work_folder}/{NOTES}"

    @property
    def owner(self) -> str | None:
        """The conversation that the session belongs to, or `None` if it has none or that one has ended."""
        return self.host.id if self.host is not None and self.host.ended_at is None else None

    def released(self, at: str) -> "Session":
        """Return the session without an owner, because its conversation ended."""
        return self if self.host is None else self._replace(host=self.host._replace(ended_at=at))

    def belongs_to(self, conversations: tuple[str, ...]) -> bool:
        """Return whether the session belongs to one of these conversations of a host."""
        return self.host is not None and self.host.id in conversations

    def times_held(self, progress: str = "") -> int:
        """Return how often the stop hook kept the agent from ending its turn here without progress."""
        held = self.host.held if self.host is not None else None
        is_here = held is not None and (held.revision, held.progress) == (self.revision, progress)
        return held.times if held is not None and is_here else 0

    def held_again(self, progress: str = "") -> "Session":
        """Return the session with one more hold at the current revision."""
        if self.host is None:
            return self
        held = HeldTurn(self.revision, self.times_held(progress) + 1, progress)
        return self._replace(host=self.host._replace(held=held))

    def remembering(
        self, found: str, remember: str, *, step: str, at: str, from_agents: tuple[Memory, ...] = ()
    ) -> "Session":
        """Return the session with these memories of *step*, those that agents pass on first."""
        own = [
            Memory(kind, text, step, self.revision, at)
            for kind, text in ((FOUND, found), (REMEMBER, remember))
            if text
        ]
        added = (*from_agents, *own)
        return self._replace(memory=newest_memories((*self.memory, *added), MOST_MEMORIES)) if added else self

    def with_evidence(self, evidence: StepEvidence) -> "Session":
        """Return the session with the evidence of its current step."""
        return self._replace(evidence=Frozen({**self.evidence, str(self.step): evidence}))

    def with_refusals_forgotten(self) -> "Session":
        """Return the session with no refusals for lack of evidence in this attempt."""
        known = self.evidence.get(str(self.step))
        return self if known is None else self.with_evidence(known._replace(refusals=0))

    @property
    def limit_question(self) -> AskedQuestion | None:
        """The question that the current step's limit raised, if it did."""
        return next((question for question in self.questions if question.source == BY_LIMIT), None)

    @property
    def visit(self) -> int:
        """How often the current step has been entered, this time included."""
        return self.visits.get(self.step, 0) if self.step is not None else 0


def newest_memories(memory: tuple[Memory, ...], most: int) -> tuple[Memory, ...]:
    """Return the newest *most* memories of each kind, in their order."""
    newest: list[Memory] = []
    for entry in reversed(memory):
        if sum(known.kind == entry.kind for known in newest) < most:
            newest.append(entry)
    return tuple(reversed(newest))


HIDDEN = "[secret]"
SHORTEST_IN_TEXT = 6
"""A shorter secret is hidden under its name, but not within other texts, where it would hide ordinary words."""
_PARTS = (
    "params",
    "state",
    "last",
    "dispatches",
    "questions",
    "findings",
    "memory",
    "evidence",
    "topic",
    "received",
)


class Secrets:
    """The secrets of a session, which `hide` removes from texts, facts and records."""

    def __init__(self, session: Session) -> None:
        self._names = frozenset(session.secrets)
        values = [facts.get(name) for facts in (session.params, session.state) for name in session.secrets]
        texts = {str(value) for value in values if value is not None}
        self._texts = sorted((text for text in texts if len(text) >= SHORTEST_IN_TEXT), key=len, reverse=True)

    def hide(self, value: T) -> T:
        """Return *value* without secrets, at any depth."""
        shown: T = self._hidden(value)
        return shown

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            for text in self._texts:
                value = value.replace(text, HIDDEN)
            return value
        if isinstance(value, Mapping):
            return Frozen({self._hidden(name): self._item(name, item) for name, item in value.items()})
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(map(self._hidden, value))
        return tuple(map(self._hidden, value)) if isinstance(value, (tuple, list)) else value

    def _item(self, name: str, item: Any) -> Any:
        is_fact = name in self._names and not hasattr(item, "_make")
        return HIDDEN if is_fact and item not in (None, "") else self._hidden(item)


def without_secrets(session: Session) -> Session:
    """Return *session* as it may be shown."""
    hide = Secrets(session).hide
    return session._replace(**{part: hide(getattr(session, part)) for part in _PARTS})
