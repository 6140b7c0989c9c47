"""`flow ask` and `flow answer`: record questions of agents to the user, and the user's answers. Neither moves the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from typing import Annotated

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.formatters.block import Show
from flowrail.formatters.blocks.question_block import as_xml
from flowrail.formatters.guidance.agent_answers import answered
from flowrail.machines import asked_questions
from flowrail.machines.question import Question
from flowrail.machines.question_input import parse_questions
from flowrail.machines.reported_values import check_note
from flowrail.machines.session import AT_TERMINAL, BY_AGENT, RELAYED, AskedQuestion, Session
from flowrail.machines.session_store import SESSION_ID
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import Notes, Reason, SessionId, TakeOver, joined_notes
from flowrail.operations.steps.child_sessions import start_if_reserved
from flowrail.operations.steps.current_step import look
from flowrail.operations.steps.dispatched_work import check_still_dispatched
from flowrail.operations.steps.held_session import hold
from flowrail.operations.steps.people import require_person
from flowrail.operations.steps.session_choice import open_session_of
from flowrail.operations.steps.shown_step import ShownStep
from flowrail.text.phrases import listed
from flowrail.text.report import Report
from flowrail.text.unknown_names import unknown


@dataclass(frozen=True)
class AskedUser:
    """Questions to the user, and the block that the agent returns as its whole answer."""

    session: str
    questions: tuple[AskedQuestion, ...]
    answer_command: Command
    """Records the answers."""
    resume_command: Command
    asks_user: bool
    """Whether the agent asks the user, because no other agent launched it."""

    def xml(self, show: Show = str) -> str:
        """Return the block."""
        return as_xml(self.questions, answer=show(self.answer_command), asks_user=self.asks_user)

    def report(self) -> Report:
        """Return the block for a person."""
        return self.xml().split("\n")


@operation(
    "ask",
    'flow ask planner-k3x9q2 \'{"text": "Which cache?"}\'',
    "flow ask planner-k3x9q2 questions.xml",
)
def ask(
    environment: Environment,
    session: SessionId,
    asked: Annotated[str, Help("The questions.", metavar="QUESTIONS", is_document=True)],
    *,
    note: Notes = (),
) -> AskedUser:
    """Ask the user an agent's questions

    QUESTIONS is JSON, a needs_user_input block, a file with one of them, or - for standard input. A question without
    options is answered in free text. The session waits for the answers. Prints the block that a sub-agent returns as
    its whole answer; the main agent asks the user and records the replies with the command in the block.
    """
    questions = parse_questions(asked, source="the questions")
    return ask_user(environment, session, questions, note=joined_notes(note))


@dataclass(frozen=True, kw_only=True)
class AnsweredStep(ShownStep):
    """The step of a session whose questions were answered."""

    resume_command: Command
    """Prints the step again."""

    def xml(self, show: Show = str) -> str:
        """Return what to do next, in at most three lines."""
        return answered(self, self.resume_command, show)

    def report(self) -> Report:
        """Return the same for a person."""
        return self.xml().split("\n")


@operation(
    "answer",
    "flow answer planner-k3x9q2 approve=Yes",
    "flow answer planner-k3x9q2 approve=other:'only the first milestone'",
)
def answer(
    environment: Environment,
    session: SessionId,
    answers: Annotated[
        tuple[str, ...],
        Help("The label for each question, or other:TEXT for the user's own words.", metavar="Q=OPTION"),
    ],
    *,
    reason: Reason = "",
    note: Notes = (),
    take_over: TakeOver = False,
) -> AnsweredStep:
    """Record the user's answers and print the next command

    ID is a session, or a skill whose open session in this conversation is meant.

    Give Q=OPTION for each question, where OPTION is a label, or Q=other:TEXT for another answer.
    If a question allows several options, give one pair for each.
    """
    given = _by_question(answers)
    if not SESSION_ID.match(session):  # a skill
        session = open_session_of(environment, session)
    shown = answer_questions(
        environment, session, given, reason, note=joined_notes(note), take_over=take_over
    ).told(environment)
    resume_command = Command("resume", session, store=environment.store.address)
    return AnsweredStep(**vars(shown), resume_command=resume_command)


def _by_question(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return texts of the form QUESTION=OPTION as the answers to each question."""
    answers: dict[str, list[str]] = {}
    for text in texts:
        name, _, option = text.partition("=")
        if not option.strip():
            raise UsageError(
                f"`{text[:60]}` is not QUESTION=OPTION", hint="begin with the id of the question and `=`"
            )
        answers.setdefault(name, []).append(option)
    return answers


def ask_user(
    environment: Environment,
    session_id: str,
    questions: Sequence[Question],
    *,
    note: str = "",
) -> AskedUser:
    """Record an agent's questions to the user. Its session waits until they are answered."""
    text = check_note(note)
    start_if_reserved(environment, session_id)
    with hold(environment, session_id) as held:
        session, step = held.session, held.step
        asked = tuple(_from_agent(question, session.questions) for question in questions)
        open_ones = {question.id: question for question in session.open_questions}
        if all(open_ones.get(question.id) == question for question in asked):
            return _pending(environment, session, asked)
        taken = sorted(question.id for question in asked if question.id in open_ones)
        if taken:
            raise ConflictError(
                f"question {listed(taken)} of session `{session_id}` is already open",
                hint="use another id for the new question",
                questions=taken,
            )
        now, ids = environment.now, {question.id for question in asked}
        others = [question for question in session.questions if question.id not in ids]
        after = asked_questions.with_questions(session, [*others, *asked])
        after = after.with_note(text, step=step.id, at=now, source="question")
        held.commit(after, "ask", at=now, questions=[question.id for question in asked], text=text)
    return _pending(environment, session, asked)


def answer_questions(
    environment: Environment,
    session_id: str,
    answers: Mapping[str, Sequence[str]],
    reason: str = "",
    *,
    take_over: bool = False,
    note: str = "",
    expect: int | None = None,
    way: str | None = None,
) -> ShownStep:
    """Record the user's answers, one or several to each question, and show the step again.

    *expect* is the revision at which the questions were read, if it matters. *way* is the way in which the answers come,
    if the caller knows it. Otherwise a person at the terminal is asked about those that only a person may give.
    """
    text = check_note(note)
    given = {name: [word.strip() for word in words] for name, words in answers.items()}
    usual = AT_TERMINAL if environment.at_terminal and environment.is_persons else RELAYED
    with hold(environment, session_id, take_over=take_over, expect=expect) as held:
        session, now = held.session, environment.now
        check_still_dispatched(environment.store, session)
        known = {question.id: question for question in session.questions}
        if not known or not session.is_open:
            raise ConflictError(
                f"session `{session_id}` is not waiting for an answer",
                code="NOT_WAITING",
                hint=Hint("see its state: ", environment.command("sessions", session_id)),
            )
        answer_now = partial(
            asked_questions.answer_question, at=now, by=environment.by, reason=reason, way=way or usual
        )
        answered = {name: _answered(known, name, words, answer_now) for name, words in given.items()}
        persons = [
            question
            for name, question in answered.items()
            if known[name].is_open and question.needs_person(question.answer or ())
        ]
        must_ask = bool(persons) and way is None
        if not must_ask and any(answered[name] != known[name] for name in answered):
            after = asked_questions.with_questions(session, list((known | answered).values()))
            after = asked_questions.settle(after)
            after = after.with_note(text, step=str(session.step), at=now, source="answer")
            held.commit(after, "answer", at=now, answers=given, text=text, reason=reason, way=way or usual)
    if must_ask:  # while the session is not locked
        way, seen = _ask_person(environment, session, persons, given, reason), session.revision
        return answer_questions(
            environment, session_id, answers, reason, take_over=take_over, note=note, expect=seen, way=way
        )
    return look(environment, session_id)


def _ask_person(
    environment: Environment,
    session: Session,
    answered: Sequence[AskedQuestion],
    given: Mapping[str, Sequence[str]],
    reason: str,
) -> str:
    """Ask the person at the terminal whether these are the answers; return that way. Anybody else is refused."""
    lines = [f"session {session.id}{f' ({session.topic})' if session.topic else ''}"]
    for question in answered:
        words = question.answer or ()
        about = (option.description for option in question.options if option.label in words)
        lines += [question.text, f" your answer: {', '.join(words)}", *(f" {text}" for text in about if text)]
    typed = environment.command(
        "answer",
        session.id,
        answers={name: tuple(words) for name, words in given.items()},
        reason=reason or None,
    )
    what = f"answer {listed([question.id for question in answered])}"
    return require_person(environment, what, "Is this your answer?", lines, typed, session.id)


def _from_agent(question: Question, known: Sequence[AskedQuestion]) -> AskedQuestion:
    """Return a question of an agent. If its id belongs to an answered one with another text, it gets another id."""
    answered = {asked.id: asked for asked in known if not asked.is_open}
    names = chain([question.id], (f"{question.id}_{number}" for number in count(2)))
    free = next(name for name in names if name not in answered or answered[name].text == question.text)
    return AskedQuestion(**{**vars(question), "id": free, "source": BY_AGENT})


def _pending(environment: Environment, session: Session, questions: Sequence[AskedQuestion]) -> AskedUser:
    answers = {question.id: question.placeholder for question in questions}
    answer_command = Command("answer", session.id, answers=answers, store=environment.store.address)
    return AskedUser(
        session=session.id,
        questions=tuple(questions),
        answer_command=answer_command,
        resume_command=Command("resume", session.id, store=environment.store.address),
        asks_user=session.parent is None,
    )


def _answered(
    known: Mapping[str, AskedQuestion],
    name: str,
    words: list[str],
    answer_now: Callable[[AskedQuestion, list[str]], AskedQuestion],
) -> AskedQuestion:
    question = known.get(name)
    if question is None:
        raise unknown("question", name, known, code="BAD_ANSWER")
    if len(words) > 1 and not question.multi:
        raise UsageError(
            f"question `{name}` accepts one answer", code="BAD_ANSWER", hint="give one", question=name
        )
    answered = answer_now(question, words)
    if question.answer is None:
        return answered
    if set(answered.answer or ()) == set(question.answer):
        return question
    raise ConflictError(
        f"question `{name}` was answered `{', '.join(question.answer)}` by {question.answered_by}, "
        f"at {question.answered_at}",
        hint="a recorded answer cannot change; continue from it",
        question=name,
    )
