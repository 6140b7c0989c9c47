"""Questions to the user: declared by a step, asked by a sub-agent, or raised by a limit.

While one is open, its step cannot be reported. The answer to a declared question decides the outcome;
the answer to an agent's question is only shown with the step's text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.demanded_evidence import Verdict
from flowrail.machines.evidence_results import CommandRun, Confirmation
from flowrail.machines.question import (
    LONGEST_DESCRIPTION,
    LONGEST_TEXT,
    OWN_WORDS,
    Option,
    Question,
)
from flowrail.machines.session import BY_COMMAND, BY_EVIDENCE, BY_LIMIT, BY_STEP, AskedQuestion, Session
from flowrail.machines.step import StepDef
from flowrail.outcome import Outcome
from flowrail.session_status import ACTIVE, FAILED, WAITING
from flowrail.text import phrases, placeholders
from flowrail.text.safe_text import Markup, visible

LIMIT, EVIDENCE = "limit", "evidence"
"""The ids of the questions about a limit and about evidence."""
RETRY, WAIVE = "retry", "waive"
RAN, NOT_RUN, AGAIN, KEEP = "ran", "did-not-run", "run-again", "keep"
ANOTHER, ACCEPT, STOP = "another-round", "accept-the-risk", "stop"
OWN = frozenset({BY_LIMIT, BY_EVIDENCE, BY_COMMAND})
"""The sources of questions that flowrail asks itself. They accept only their options."""
NEEDS_REASON = frozenset({ACCEPT, WAIVE})
"""The options of flowrail's own questions that need a reason."""
ACCEPTED = "the user accepts what is still open"
"""The recorded reason for them if the user gave none."""
CONFIRM, NOT_YET = "Confirm", "Not yet"
"""The options of the question in which a person confirms a check."""

_ANOTHER = Option("Another round", "Go back and try again.", ANOTHER)
_ACCEPT = Option(
    "Accept the risk", "Continue as if it had passed; the reason is recorded.", ACCEPT, person=True
)
_STOP = Option("Stop", "End the session as failed.", STOP)
_RETRY = Option("Try again", "Provide the evidence, then report again.", RETRY)
_WAIVE = Option("Waive", "Continue without it; the reason is recorded.", WAIVE, person=True)
_RAN = Option("It ran", "It counts as passed and is not run again.", RAN, person=True)
_NOT_RUN = Option("It did not run", "It can be run now.", NOT_RUN, person=True)
_AGAIN = Option("Run it again", "It may then have run twice.", AGAIN, person=True)
_KEEP = Option("Do not run it", "The failed run stays the result.", KEEP)

SUB_AGENT_QUESTION_FORMAT = Markup("""\
<question_format>
If you do this dispatch yourself, ask the user directly and ignore this block. If another agent launched you and the user must decide something that changes what you do next, return the question instead of an answer. Do not ask what you can look up or what has an obvious default.
1. Save your work where your task says: the agent that continues it will not remember this turn.
2. Put all open questions into one block like the one below: 1 to 3 questions with 2 or 3 feasible options each. Use multi="true" if the user may choose several. An id is lower-case letters, digits and underscores; a header is limited to 12 characters. The user can always answer in their own words.
3. If an ask_command is printed below, pass the block to it on standard input, and return exactly what it prints. If none is, return the block. Return nothing else: no text around it, no code fence.
<needs_user_input>
<question id="cache" header="Cache" multi="false">
<text>Where should the cache be kept?</text>
<option label="In memory">Nothing to run; empty after a restart</option>
<option label="Redis">Shared by all hosts; one more service to run</option>
</question>
</needs_user_input>
</question_format>""")  # noqa: E501 - a paragraph is one line to the agent that reads it
"""For a sub-agent: how to return questions."""

ASK_FROM_DISPATCH = (
    "Only if another agent launched you and the user must decide something that changes your result: save your work, pass "
    'one to three questions such as `[{"text": "Which cache?", "options": ["Redis", "Files"]}]` to the ask_command on '
    "standard input, and return exactly what it prints as your whole answer. If you do this dispatch yourself, ask the user "
    "directly."
)
"""For a sub-agent at its first step: the same in one sentence, for the command that records questions."""

QUESTION_RELAY_HANDLER = Markup("""\
<question_relay>
An agent that answers with a needs_user_input block has questions and is not finished. Wait for the other agents. Then ask the user all questions in one call of your question tool (AskUserQuestion in Claude Code), word for word; answer none yourself. Run the command in the block's answer attribute with the answers as ID=LABEL, or as ID=other:TEXT in the user's own words. If the attribute is missing, first pass the block to `flow ask SESSION -`, with the session of its dispatch.
</question_relay>""")  # noqa: E501 - the same
"""For an agent that launches others: how to recognise their questions and return answers."""

QUESTION_RELAY_UPWARDS = Markup("""\
<question_relay>
Only if an agent answers with a needs_user_input block: it has questions and is not finished. Do not report the step yet, and do not use its work. Ignore text around the block.
You work for another agent and cannot ask the user either. Let the other agents that you launched return first; then return every such block, word for word and one after the other, as your whole answer. Answer nothing yourself.
If a block has an answer attribute, its questions are recorded: do not ask them again. Pass a block without one to the command in ask_command, and return what that prints.
The agent that launched you does the rest: the agents that asked continue with their answers, and your work resumes after them.
</question_relay>""")  # noqa: E501 - the same
"""For a sub-agent that launches others: it passes their questions on."""


def answer_question(
    question: AskedQuestion, words: Sequence[str], *, at: str, by: str, reason: str = "", way: str = ""
) -> AskedQuestion:
    """Return *question* with its answer; refuse it if a word is not one of its options.

    *way* is the way in which the answer came.
    """
    answer = tuple(dict.fromkeys(_matching_label(question, word) for word in words))
    answered = replace(question, answer=answer, answered_at=at, answered_by=by, reason=reason, way=way)
    if question.source in OWN and answered.outcome in NEEDS_REASON and not reason.strip():
        raise UsageError(
            f"`{answer[0]}` needs a reason",
            code="BAD_ANSWER",
            hint="add `--reason TEXT` in the user's own words; it is recorded",
            question=question.id,
        )
    return answered


def _matching_label(question: AskedQuestion, word: str) -> str:
    labels = [option.label for option in question.options]
    if not labels and not word.startswith(OWN_WORDS):
        word = f"{OWN_WORDS}{word}"
    if word.startswith(OWN_WORDS):
        if question.source in OWN:
            raise UsageError(
                f"question `{question.id}` accepts only its options",
                code="BAD_ANSWER",
                hint=f"answer with one of {phrases.listed(labels)}",
            )
        text = word.removeprefix(OWN_WORDS).strip()
        if not text:
            raise UsageError(
                f"the answer to `{question.id}` is empty", code="BAD_ANSWER", hint="give the user's own words"
            )
        return f"{OWN_WORDS}{text}"
    for option in question.options:
        printed = visible(option.label)
        accepted = {option.label.casefold(), printed.casefold()}
        if question.source in OWN:
            accepted.add(str(option.outcome))
        if word.casefold() in accepted:
            return option.label
    own_words = "" if question.source in OWN else f", or with {OWN_WORDS}TEXT in the user's own words"
    options = f"answer with one of {phrases.listed(labels)}{own_words}"
    raise UsageError(
        f"question `{question.id}` has no option `{word[:60]}`",
        code="BAD_ANSWER",
        hint=phrases.did_you_mean(word[:60], labels, options),
        question=question.id,
        options=labels,
    )


def with_questions(session: Session, questions: Sequence[AskedQuestion]) -> Session:
    """Return *session* with these questions. It waits while one of them is open."""
    status = session.status
    if status in {ACTIVE, WAITING}:
        status = WAITING if any(question.is_open for question in questions) else ACTIVE
    return replace(session, questions=tuple(questions), status=status)


def step_questions(step: StepDef, values: Mapping[str, object]) -> tuple[AskedQuestion, ...]:
    """Return the questions that entering *step* opens."""
    return tuple(_asked(question, values) for question in step.questions)


def _asked(question: Question, values: Mapping[str, object]) -> AskedQuestion:
    options = tuple(
        replace(option, description=_cut(placeholders.fill(option.description, values), LONGEST_DESCRIPTION))
        for option in question.options
    )
    text = _cut(placeholders.fill(question.text, values), LONGEST_TEXT)
    return AskedQuestion(**{**vars(question), "text": text, "options": options})


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def check_answered(session: Session, step: StepDef) -> None:
    """Refuse a report while a question is open."""
    waiting = {question.id: question for question in session.open_questions}
    if waiting:
        first = next(iter(waiting.values()))
        options = phrases.listed(option.label for option in first.options) or "in free text"
        hint = Hint(
            f"ask the user ({options}; if they are away, end your turn: the question waits), then: ",
            Command("answer", session.id, answers={first.id: first.placeholder}),
        )
        if first.person:
            hint = Hint(
                "only a person can answer; end your turn. It says how: ", Command("resume", session.id)
            )
        raise ConflictError(
            f"step `{step.id}` waits for the user's answer to {phrases.listed(waiting)}",
            code="QUESTION_OPEN",
            hint=hint,
            step=step.id,
            questions=[*waiting],
        )


def decided_by_answers(questions: Sequence[AskedQuestion]) -> str:
    """Return the outcome of a step whose questions are answered: the first that is not `ok`, else `ok`."""
    deciding = [question for question in questions if question.source == BY_STEP]
    outcomes = [question.outcome for question in deciding if question.outcome]
    return next((outcome for outcome in outcomes if outcome != Outcome.OK), str(Outcome.OK))


def limit_question(step: StepDef, session: Session, name: str) -> AskedQuestion:
    """Return the question that a limit raises; *name* is the title of the step.

    If the user's answers led back, the question never means `ok`.
    """
    options = [_ANOTHER] if step.questions or session.granted(step.id).allows_another else []
    if step.questions:
        given = next(asked for asked in session.questions if asked.outcome not in {None, Outcome.OK})
        words = phrases.listed(word.removeprefix(OWN_WORDS) for word in given.answer or ())
        problem = f"the answer is still {words}"
    else:
        problem = f"the last one {'did not pass its review' if step.gate else 'failed'}"
        if Outcome.OK in step.transitions:
            checked = " The evidence for ok is still checked." if step.evidence.get(str(Outcome.OK)) else ""
            options.append(replace(_ACCEPT, description=f"{_ACCEPT.description}{checked}"))
    text = f"{name}: {phrases.count(session.visit, 'attempt')}, and {problem}. What next?"
    return AskedQuestion(LIMIT, "Limit", text, [*options, _STOP], source=BY_LIMIT)


def evidence_question(name: str, missing: Sequence[str], *, refusals: int) -> AskedQuestion:
    """Return the question that a step raises whose evidence is missing after several reports; *name* is its title."""
    text = (
        f"{name}: {phrases.count(refusals, 'report')} lacked evidence ({phrases.listed(missing)}). What next?"
    )
    return AskedQuestion(EVIDENCE, "Evidence", text, [_RETRY, _WAIVE, _STOP], source=BY_EVIDENCE)


def confirmation_question(check: str, text: str) -> AskedQuestion:
    """Return the question in which a person confirms a check. It is not recorded in the session."""
    options = [
        Option(CONFIRM, "It counts for this attempt of the step.", CONFIRM),
        Option(NOT_YET, "The step waits.", NOT_YET),
    ]
    text = _cut(text, LONGEST_TEXT)
    return AskedQuestion(check, "Confirm", text, options, person=True, source=BY_EVIDENCE)


def command_question(run: CommandRun) -> AskedQuestion:
    """Return the question about a command that must not run twice, and failed or ended unknown."""
    if run.verdict == Verdict.UNKNOWN:
        text = f"Command `{run.command}` was started, but {run.result}. Did it run to its end?"
        return AskedQuestion(run.id, "Command", text, [_RAN, _NOT_RUN, _AGAIN], source=BY_COMMAND)
    text = f"Command `{run.command}` ran and did not pass: {run.result}. Run it again?"
    again = replace(_AGAIN, description="It may then have its effect twice.")
    return AskedQuestion(run.id, "Command", text, [_KEEP, again], source=BY_COMMAND)


def settle(session: Session) -> Session:
    """Return *session* after answers to the questions about its evidence and its commands, which are removed.

    It continues, continues without the missing evidence, or stops.
    """
    settled = {
        asked.id: asked
        for asked in session.questions
        if asked.source in {BY_EVIDENCE, BY_COMMAND} and asked.answer
    }
    for asked in settled.values():
        if asked.outcome == STOP:
            return replace(session, status=FAILED)
        if asked.source == BY_EVIDENCE:
            session = _waived(session, asked).with_refusals_forgotten()
    runs: list[CommandRun] = []
    for run in session.runs:
        answer = settled.get(run.id)
        if answer is not None and answer.outcome == RAN:
            by, at = f"{answer.answered_by} says that it ran", answer.answered_at or ""
            runs.append(replace(run, verdict=Verdict.PASS, ended_at=at, problem=by))
        elif answer is None or answer.outcome not in {NOT_RUN, AGAIN}:
            runs.append(run)
    remaining = [asked for asked in session.questions if asked not in settled.values()]
    return with_questions(replace(session, runs=tuple(runs)), remaining) if settled else session


def _waived(session: Session, asked: AskedQuestion) -> Session:
    """Return *session* without the evidence that it lacks, if the answer was to waive it."""
    evidence = session.evidence
    if asked.outcome != WAIVE or evidence is None:
        return session
    at, by = asked.answered_at or "", asked.answered_by or ""
    for result in evidence.missing:
        waived = Confirmation(result.check, True, asked.reason, at, by, asked.way)
        evidence = evidence.with_confirmation(waived)
    return session.with_evidence(evidence)
