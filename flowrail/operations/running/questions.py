"""Record questions of agents to the user, and the user's answers. Neither moves the session."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import chain, count

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines import asked_questions as engine_questions
from flowrail.machines.guidance.views import PendingQuestions
from flowrail.machines.question import Question
from flowrail.machines.reported_values import check_note
from flowrail.machines.session import AT_TERMINAL, BY_AGENT, RELAYED, AnswerOption, AskedQuestion, Session
from flowrail.machines.session_record import RecordNote
from flowrail.machines.session_store import SESSION_ID
from flowrail.machines.transition import current_step
from flowrail.operations.environment import Environment
from flowrail.operations.running.child_sessions import check_still_dispatched
from flowrail.operations.running.conversations import choose, no_open_session, owned, ownership_note
from flowrail.operations.running.people import person_needed, require_person
from flowrail.operations.running.session_files import open_session
from flowrail.operations.running.steps import Answer, check_expected, look, start_if_reserved
from flowrail.text.phrases import listed


def ask(
    environment: Environment,
    session_id: str,
    questions: Sequence[Question],
    *,
    note: str = "",
) -> PendingQuestions:
    """Record an agent's questions to the user. Its session waits until they are answered."""
    text = check_note(note)
    start_if_reserved(environment, session_id)
    with environment.store.change(session_id, wait=environment.wait) as change:
        session = owned(environment, change.kept)
        current_step(open_session(environment, session).workflow, session)
        check_still_dispatched(environment.store, session)
        asked = tuple(_from_agent(question, session.questions) for question in questions)
        open_ones = {question.id: question for question in session.questions if question.is_open}
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
        after = engine_questions.with_questions(session, [*others, *asked])
        after = after.with_note(text, step=str(session.step), at=now, source="question")
        record: RecordNote = {
            "questions": [question.id for question in asked],
            **({"text": text} if text else {}),
            **ownership_note(change.kept.session, after),
        }
        change.commit(after, kind="ask", at=now, by=environment.by, note=record)
    return _pending(environment, session, asked)


def session_to_answer(environment: Environment, name: str) -> str:
    """Return the id of the session that *name* means: the id itself, or a skill with an open session."""
    if SESSION_ID.match(name):
        return name
    record, others = choose(environment, name)
    if record is None:
        raise no_open_session(environment, name, others)
    return record.session.id


def answer(
    environment: Environment,
    session_id: str,
    answers: Mapping[str, Sequence[str]],
    reason: str = "",
    *,
    take_over: bool = False,
    note: str = "",
    expect: int | None = None,
    way: str | None = None,
) -> Answer:
    """Record the user's answers, one or several to each question, and show the step again.

    *expect* is the revision at which the questions were read, if it matters. *way* is the way in which the answers come,
    if the caller knows it. Otherwise a person at the terminal is asked about those that only a person may give.
    """
    text = check_note(note)
    stripped = {name: [word.strip() for word in words] for name, words in answers.items()}
    decided: Container[str] = stripped
    if way is None:
        seen = environment.store.read(session_id).session
        way, decided = _way_of(environment, seen, stripped, reason)
        expect = seen.revision if decided and expect is None else expect
    with environment.store.change(session_id, wait=environment.wait) as change:
        now = environment.now
        session = owned(environment, change.kept, take_over=take_over)
        check_expected(environment, session, expect)
        check_still_dispatched(environment.store, session)
        known = {question.id: question for question in session.questions}
        if not known or not session.is_open:
            raise ConflictError(
                f"session `{session_id}` is not waiting for an answer",
                code="NOT_WAITING",
                hint=Hint("see its state: ", Command("sessions", session_id)),
            )
        answered = dict(known)
        for name, words in stripped.items():
            answered[name] = _answered(known, name, words, now, environment.by, reason, way)
            if (
                name not in decided
                and known[name].is_open
                and known[name].needs_person(answered[name].answer or ())
            ):
                resume = Command("resume", session_id, store=environment.shown_store)
                raise person_needed(environment, f"answer {listed([name])}", resume, session_id)
        if answered != known:
            after = engine_questions.with_questions(session, list(answered.values()))
            after = engine_questions.with_evidence_answer(after)
            after = engine_questions.with_command_answers(after, at=now, by=environment.by)
            after = after.with_note(text, step=str(session.step), at=now, source="answer")
            record: RecordNote = {
                "answers": stripped,
                **({"text": text} if text else {}),
                **ownership_note(change.kept.session, after),
                **({"reason": reason} if reason else {}),
                "way": way,
            }
            change.commit(after, kind="answer", at=now, by=environment.by, note=record)
    return look(environment, session_id)


def _way_of(
    environment: Environment, session: Session, answers: Mapping[str, Sequence[str]], reason: str
) -> tuple[str, Sequence[str]]:
    """Return the way in which these answers come, and the questions that only a person may answer so.

    The person is asked about them at the terminal. Anybody else is refused.
    """
    lines, names = [f"session {session.id}{f' ({session.topic})' if session.topic else ''}"], []
    for question in session.questions if session.is_open else ():
        words = answers.get(question.id, ())
        if words and question.is_open:
            given = (
                engine_questions.answer_question(question, words, at="", by="", reason=reason).answer or ()
            )
            if question.needs_person(given):
                names.append(question.id)
                about = [option.description for option in question.options if option.label in given]
                lines += [question.text, f" your answer: {', '.join(given)}"]
                lines += [f" {text}" for text in about if text]
    if not names:
        is_person = environment.at_terminal and environment.conversation is None
        return AT_TERMINAL if is_person else RELAYED, ()
    typed = Command(
        "answer",
        session.id,
        answers={name: words[0] for name, words in answers.items()},
        reason=reason or None,
        store=environment.shown_store,
    )
    what = f"answer {listed(names)}"
    return require_person(environment, what, "Is this your answer?", lines, typed, session.id), names


def _from_agent(question: Question, known: Sequence[AskedQuestion]) -> AskedQuestion:
    """Return a question of an agent. If its id belongs to an answered one with another text, it gets another id."""
    answered = {asked.id: asked for asked in known if not asked.is_open}
    names = chain([question.id], (f"{question.id}_{number}" for number in count(2)))
    return AskedQuestion(
        id=next(name for name in names if name not in answered or answered[name].text == question.text),
        header=question.header,
        text=question.text,
        options=tuple(AnswerOption(option.label, None, option.description) for option in question.options),
        multi=question.multi,
        source=BY_AGENT,
    )


def _pending(
    environment: Environment, session: Session, questions: Sequence[AskedQuestion]
) -> PendingQuestions:
    answers = {question.id: question.placeholder for question in questions}
    return PendingQuestions(
        session=session.id,
        questions=tuple(questions),
        answer_command=Command("answer", session.id, answers=answers, store=environment.store.address),
        resume_command=Command("resume", session.id, store=environment.store.address),
    )


def _answered(
    known: Mapping[str, AskedQuestion],
    name: str,
    words: list[str],
    now: str,
    by: str,
    reason: str,
    way: str,
) -> AskedQuestion:
    question = known.get(name)
    if question is None:
        raise UsageError(
            f"unknown question `{name[:40]}`",
            code="BAD_ANSWER",
            hint=f"known: {listed(known)}",
            questions=list(known),
        )
    if len(words) > 1 and not question.multi:
        raise UsageError(
            f"question `{name}` accepts one answer", code="BAD_ANSWER", hint="give one", question=name
        )
    answered = engine_questions.answer_question(question, words, at=now, by=by, reason=reason, way=way)
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
