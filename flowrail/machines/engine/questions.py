"""Questions to the user: declared by a step, put by a sub-agent, or raised by a limit.

While one is open its step cannot be reported. A declared question decides the outcome by its answer;
one that an agent put only stands beside the step's text once it is answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.definition.questions import (
    LONGEST_DESCRIPTION,
    LONGEST_LABEL,
    LONGEST_TEXT,
    OWN_WORDS,
    Question,
)
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.sessions.session import ACTIVE, WAITING, Session
from flowrail.storage.records import from_plain, to_plain
from flowrail.text import phrases, placeholders, safe_text, suggestions
from flowrail.text.safe_text import blanked, visible

BY_STEP, BY_AGENT, BY_LIMIT = "step", "agent", "limit"
LIMIT = "limit"
ANOTHER, MUST_ONLY, ACCEPT, STOP = "another-round", "must-only", "accept-the-risk", "stop"
LONGEST_OTHER = 4_000
MOST_ASKED = 24
"""How many questions may be put in one step, answered ones included."""
ACCEPTED = "the user accepts what is still open"
"""The reason for going on at a limit, where the user gave none in their own words."""


class QuestionOpenError(ConflictError):
    """The user has to answer first."""

    code = "QUESTION_OPEN"


class BadAnswerError(UsageError):
    """An answer that fits no open question."""

    code = "BAD_ANSWER"


class Choice(NamedTuple):
    """One way to answer, and the outcome it stands for, if any."""

    label: str
    outcome: str | None = None
    description: str = ""


class Asked(NamedTuple):
    """A question as the session knows it. ``answer`` holds labels, or a free text after ``other:``."""

    id: str
    header: str
    text: str
    options: tuple[Choice, ...] = ()
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
        """Whether it waits for an answer."""
        return self.answer is None

    @property
    def outcome(self) -> str | None:
        """The outcome that the answer stands for; of several, the first that is not `ok`.

        Own words stand for ``other``. Where none is declared they never count as agreement, as
        long as one of the options stands for anything else.
        """
        if not self.answer:
            return None
        named = [option.outcome for option in self.options if option.label in self.answer]
        if any(word.startswith(OWN_WORDS) for word in self.answer):
            named += [self.other] if self.other else [option.outcome for option in self.options]
        chosen = [outcome for outcome in named if outcome]
        return next((outcome for outcome in chosen if outcome != Outcome.OK), chosen[0] if chosen else None)

    def answered(self, words: Sequence[str], *, at: str, by: str, reason: str = "") -> Asked:
        """Return the question with its answer; refuse one that is no option."""
        answer = tuple(dict.fromkeys(self._fits(word) for word in words))
        if len(reason) > LONGEST_OTHER:
            raise BadAnswerError(
                f"the reason has {len(reason)} characters", hint=f"say it in {LONGEST_OTHER} at most"
            )
        answered = self._replace(answer=answer, answered_at=at, answered_by=by, reason=reason)
        if self.source == BY_LIMIT and answered.outcome == ACCEPT and not reason.strip():
            raise BadAnswerError(
                f"`{answer[0]}` needs a reason, which is kept",
                hint="add --reason TEXT, in the user's words",
                question=self.id,
            )
        return answered

    def _fits(self, word: str) -> str:
        if word.startswith(OWN_WORDS):
            if self.source == BY_LIMIT:
                raise BadAnswerError(
                    f"question `{self.id}` takes one of its options",
                    hint=f"answer with one of {self._labels()}",
                )
            said = word.removeprefix(OWN_WORDS).strip()
            if not 0 < len(said) <= LONGEST_OTHER:
                raise BadAnswerError(
                    f"the answer has {len(said)} characters", hint=f"say it in 1 to {LONGEST_OTHER}"
                )
            return f"{OWN_WORDS}{said}"
        for option in self.options:
            named = {
                option.label.casefold(),
                visible(option.label).casefold(),
            }  # that is how it is printed
            if word.casefold() in named | ({option.outcome} if self.source == BY_LIMIT else set()):
                return option.label
        raise BadAnswerError(
            f"`{word[:60]}` is no option of question `{self.id}`",
            hint=suggestions.did_you_mean(
                word[:60], [option.label for option in self.options], f"answer with one of {self._labels()}"
            ),
            question=self.id,
            options=[option.label for option in self.options],
        )

    def _labels(self) -> str:
        return phrases.listed(option.label for option in self.options)


class Put(NamedTuple):
    """Questions that were put, and the session that waits for their answers."""

    session: str
    questions: tuple[Asked, ...]
    written: tuple[Question, ...]
    answer: Command
    resume: Command


def asked(session: Session) -> tuple[Asked, ...]:
    """Return the questions of the current step, open and answered."""
    return tuple(from_plain(dict(each), Asked) for each in session.questions)


def said(session: Session) -> tuple[Mapping[str, Any], ...]:
    """Return what the user answered in the current step, to be told in the one after it."""
    return tuple(
        {"id": each.id, "question": each.text, "answer": each.answer, "reason": each.reason}
        for each in asked(session)
        if each.answer
    )


def with_questions(session: Session, questions: Sequence[Asked]) -> Session:
    """Return *session* with these questions; it waits while one of them is open."""
    status = session.status
    if session.is_open:
        status = WAITING if any(question.is_open for question in questions) else ACTIVE
    return session._replace(questions=tuple(to_plain(each) for each in questions), status=status)


def entering(step: StepDef, values: Mapping[str, Any], after: str) -> tuple[Asked, ...]:
    """Return the questions that entering *step* opens; *after* turns a deadline into a moment."""
    return tuple(_asked(question, values, after) for question in step.questions)


def _asked(question: Question, values: Mapping[str, Any], now: str) -> Asked:
    labels = _labels(question, values)
    written = [option.label for option in question.options]
    return Asked(
        id=question.id,
        header=question.header,
        text=_cut(placeholders.fill(question.text, values), LONGEST_TEXT),
        options=tuple(
            Choice(
                label, each.outcome, _cut(placeholders.fill(each.description, values), LONGEST_DESCRIPTION)
            )
            for label, each in zip(labels, question.options, strict=True)
        ),
        multi=question.multi_select,
        other=question.other,
        default=labels[written.index(question.default)] if question.default in written else None,
        due=later(now, question.deadline) if question.deadline and question.default else None,
    )


def _labels(question: Question, values: Mapping[str, Any]) -> list[str]:
    """Return what the options are called now: one line each that stands for no other, whatever is put in."""
    labels: list[str] = []
    for number, option in enumerate(question.options, 1):
        filled = placeholders.fill(option.label, values)
        label = safe_text.shortened(blanked(filled), LONGEST_LABEL) or f"Option {number}"
        if label.casefold().startswith(OWN_WORDS):
            label = f"({label})"
        while label.casefold() in {each.casefold() for each in labels}:
            label = f"{label} ({number})"
        labels.append(label)
    return labels


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def check_answered(session: Session, step: StepDef) -> None:
    """Refuse a report while a question is open."""
    waiting = [each.id for each in asked(session) if each.is_open]
    if waiting:
        raise QuestionOpenError(
            f"step `{step.id}` waits for the user's answer to {phrases.listed(waiting)}",
            hint=Hint("ask the user, then: ", Command("answer", session.id, answers={waiting[0]: "OPTION"})),
            step=step.id,
            questions=waiting,
        )


def overdue(session: Session, now: str) -> Session:
    """Return *session* with the default answer to every question whose deadline has passed."""
    questions = asked(session)
    due = [each for each in questions if each.is_open and each.due and each.default and each.due <= now]
    if not due:
        return session
    settled = [
        each.answered([str(each.default)], at=now, by="the deadline") if each in due else each
        for each in questions
    ]
    return with_questions(session, settled)


def decided_by_answers(questions: Sequence[Asked]) -> str:
    """Return the outcome of a step whose questions are answered: the first that is not `ok`, else `ok`."""
    outcomes = [each.outcome for each in questions if each.source != BY_AGENT and each.outcome]
    return next((outcome for outcome in outcomes if outcome != Outcome.OK), str(Outcome.OK))


def limit_question(step: StepDef, name: str, *, visits: int, another: bool, must_only: bool) -> Asked:
    """Return the question that a limit raises: how to go on with a step that leads back once too often.

    *name* is what the step is called now. *another* and *must_only* say whether these two are still to be had.
    """
    gate = step.gate is not None
    options = []
    if another:
        options.append(Choice("Another round", ANOTHER, "Go back once more and try again."))
    if must_only and gate:
        options.append(Choice("MUST only", MUST_ONLY, "One more round, judged by MUST findings alone."))
    if Outcome.OK in step.ways:
        options.append(
            Choice("Accept the risk", ACCEPT, "Go on as if it had passed; the reason is recorded.")
        )
    options.append(Choice("Stop", STOP, "End the session as failed."))
    what = "did not pass its review" if gate else "failed again"
    return Asked(
        id=LIMIT,
        header="Limit",
        text=f"{name}: {visits} round{'s' if visits != 1 else ''}, and it {what}. How shall it go on?",
        options=tuple(options),
        source=BY_LIMIT,
    )


def the_limit(questions: Sequence[Asked]) -> Asked | None:
    """Return the question that the step's limit raised, if it did."""
    return next((each for each in questions if each.source == BY_LIMIT), None)


def later(now: str, seconds: float) -> str:
    """Return the moment *seconds* after *now*, in the same form; empty where *now* is no moment."""
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(now)
    except ValueError:
        return ""
    text = (moment + timedelta(seconds=seconds)).astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
