"""After the user answered in the host's question tool: the answers to questions of a session are recorded as a person's.

The host shows the questions and calls the hook with the answers, so no agent is between. An answer counts if the host
asked word for word, with every option and its description, and if the user gave it: not if the host ended the question by
itself after a time, and not if a shell of the agent called the hook.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flowrail.errors import FlowError
from flowrail.formatters.blocks.question_block import as_host_questions
from flowrail.hooks import stored
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import is_in_database, own_sessions
from flowrail.hooks.stored import HookSession
from flowrail.hosts.host import HOSTS
from flowrail.machines.asked_questions import ACCEPTED, NEEDS_REASON
from flowrail.machines.guidance.agent_work import QuestionToUser
from flowrail.machines.question import OWN_WORDS
from flowrail.machines.session import IN_HOST
from flowrail.operations.environment import Environment
from flowrail.operations.steps.decisions import awaited, decide
from flowrail.text.phrases import listed

_OF_THE_USER = frozenset({"questions", "answers", "annotations"})
"""What the host reports if the user answered. Any other key means that it ended the question in another way."""


def answer(event: str, call: Call) -> Mapping[str, object]:
    """Record the answers that the user gave; return the answer that says so, or an empty one."""
    said = _record_answers(call)
    return call.host.added_context(event, said) if said else {}


def _record_answers(call: Call) -> str:
    answers = call.response.get("answers")
    if (
        any(host.is_agents_shell(call.environ) for host in HOSTS)
        or not isinstance(answers, dict)
        or not answers
        or call.response.keys() - _OF_THE_USER
    ):
        return ""
    if is_in_database(call):
        with stored.database_limit():
            return " ".join(_recorded(stored.database_sessions(call), call, answers))
    return " ".join(_recorded(stored.stored_sessions(own_sessions(call), call), call, answers))


def _recorded(sessions: Iterable[HookSession], call: Call, answers: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence about each session that waits for an answer."""
    for each in sessions:
        store = None if each.folder.address else each.folder.path
        environment = Environment(store=store, conversation=call.conversation, cwd=call.cwd)
        try:
            waiting = awaited(environment, each.session.id)
            names = [question.id for question in waiting if _record(environment, question, call, answers)]
        except FlowError as error:
            yield f"flow recorded no answer: {error.message}. {error.hint}"
            continue
        persons = [question.id for question in waiting if question.is_persons and question.id not in names]
        if names:
            yield f"flow recorded the user's answer to {listed(names)}. Continue: `{each.command('resume')}`."
        elif persons:
            yield (
                f"flow recorded no answer to {listed(persons)}. It counts only if it is asked word for word, with every "
                f"option and its description, as `{each.command('resume')}` prints it."
            )


def _record(
    environment: Environment, question: QuestionToUser, call: Call, answers: Mapping[str, Any]
) -> bool:
    """Record the answer to *question* if the host asked it; return whether it did."""
    asked = call.tool_input.get("questions")
    given = answers.get(question.text)
    if (
        not isinstance(asked, list)
        or not isinstance(given, str)
        or _as_asked(question) not in map(_shown, asked)
    ):
        return False
    words = _words(question, given)
    accepts = any(option.outcome in NEEDS_REASON for option in question.options if option.label in words)
    revision = environment.store.read(question.session).session.revision
    return decide(environment, question, words, ACCEPTED if accepts else "", way=IN_HOST, expect=revision)


def _words(question: QuestionToUser, given: str) -> list[str]:
    """Return the labels that the user chose, or the user's own words. The host joins several labels with commas."""
    labels = {option.label for option in question.options}
    chosen = given.split(", ") if question.multi else [given]
    return [given] if given in labels else chosen if labels.issuperset(chosen) else [f"{OWN_WORDS}{given}"]


def _as_asked(question: QuestionToUser) -> object:
    return _shown(as_host_questions([question])["questions"][0])


def _shown(question: Any) -> object:
    """Return what the user sees of a question in the host's tool, without its header."""
    try:
        options = [(option["label"], option.get("description", "")) for option in question["options"]]
        return question["question"], options, bool(question.get("multiSelect"))
    except (AttributeError, KeyError, TypeError):
        return None
