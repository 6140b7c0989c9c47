"""The blocks of a step's work: agents, questions to the user, findings, commands and checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flowrail.command import Command, Hint, value_text
from flowrail.formatters.block import Block
from flowrail.machines.agents import Join, cut
from flowrail.machines.demanded_evidence import Verdict
from flowrail.machines.guidance.agent_work import PENDING, AgentWork, QuestionToUser
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.step_evidence import DeclaredCommand, DemandedCheck
from flowrail.machines.question import Option
from flowrail.machines.session import BY_AGENT, BY_STEP, RecordedFinding
from flowrail.outcome import DONE
from flowrail.session_status import NEED_PERSON, OPEN
from flowrail.text.phrases import in_words
from flowrail.text.safe_text import shortened

FINDING = "--severity MUST|SHOULD|COULD --place PLACE --text TEXT"
"""The options of the command that records a finding; a long text goes into a file, `--file FILE`."""
UNRECORDED = "a finding is not on record yet"
LONGEST_RESULT, ALL_RESULTS = 8_000, 100_000
"""Bytes of one result that are printed, and of all results of a step; JSON has them in full."""
LONGEST_VALUE = 120
"""Longer items and variables are cut; JSON and the sub-agent have them in full."""

ASK_USER = (
    "Ask the user the open questions in one call of your question tool (AskUserQuestion in Claude Code), word for word "
    "and with every option; if the step gives a menu of its own, show that instead. Answer nothing yourself. Then run "
    "the command of the chosen option, and do what it prints."
)
ASK_ABOVE = (
    "Only the user can answer the open questions, and you cannot ask the user. Answer nothing, stop here, and return "
    "this line, word for word, as your whole answer: NEXT for the agent that launched this one: "
)
FREE_TEXT = "A question without options is answered in free text, in place of TEXT."
OWN_WORDS = "If no option fits, put other:TEXT, the user's own words, in the place of the label."
REASON = "If the user gives a reason, use it instead of the printed one."
SEVERAL = "If multi is true, append one ID=LABEL for each further choice."
NO_ITEMS = "There is nothing to dispatch: the list of items is empty. Launch no agent."
LAUNCH_ONE = "Launch one agent"
LAUNCH_EACH = "Launch one agent for each pending dispatch, at once unless the text above says otherwise,"
LAUNCH = (
    " with just its prompt. If your host has no agent of that name, use one that can run commands. Without agents, do the "
    "work yourself, one dispatch after the other, and say so."
)
LAUNCH_AGAIN = (
    "If a failed dispatch is still needed, fix the reason, then run its command. It prints the prompt for a new "
    "agent."
)
ALL_ENDED = (
    "All agents have finished: launch no more. Do what the text above asks after their work, then report."
)
ENOUGH = (
    "Enough agents have succeeded: launch no more. The others are called off when you report this step: their reports are "
    "refused then."
)
ABOUT_COMMANDS = (
    "flowrail runs these commands: do not type them yourself. Each runs to its end even if you are interrupted; then run "
    "the same line again to get its result."
)
ABOUT_ONCE = "A command marked once never runs twice: after its run, the line only prints its output again."
NOT_RUN = "not run yet"
STILL_COUNTS = "before; this counts until a file that it reads changes"
IF_NOTHING_FOUND = "if_the_review_found_nothing_and_no_agent_recorded_that"


def prompt(command: Command) -> Hint:
    """Return the prompt for the agent of a dispatch."""
    return Hint("Run `", command, "`, and do what it prints, step by step, to the end.")


def work_blocks(guidance: Guidance, *, longest: int) -> Iterator[Block]:
    """Yield the answers, dispatches, questions, findings, commands and checks of a step, results in so many bytes."""
    for given in guidance.answers:
        said: list[str | Block] = [Block("text", given.question), "; ".join(given.answer)]
        yield Block("user_said", said, {"id": given.id, "reason": given.reason or None})
    if guidance.join is not None:
        yield _dispatches(guidance, guidance.join, longest)
    if guidance.questions:
        instruction = _how_to_ask(guidance)
        ask = [Block("ask", instruction)] if str(instruction) else []
        yield Block("questions", [*ask, *(_question(guidance, asked) for asked in guidance.questions)])
    if guidance.findings:
        yield Block("findings", [*map(_finding, guidance.findings)])
    if guidance.finding_command and not _agents_at_work(guidance):
        about = {"append": FINDING, "if": UNRECORDED if guidance.dispatches else None}
        yield Block("finding_command", guidance.finding_command, about)
    if guidance.commands:
        is_once = any(command.once for command in guidance.commands)
        words = f"{ABOUT_COMMANDS} {ABOUT_ONCE}" if is_once else ABOUT_COMMANDS
        yield Block("commands", [words, *map(_command, guidance.commands)])
    if guidance.evidence:
        checks = [_check(guidance, check) for check in guidance.evidence]
        yield Block("evidence", [_about_evidence(guidance), *checks])


def _agents_at_work(guidance: Guidance) -> bool:
    """Return whether agents of the step may still do what the leading agent would do for them."""
    return guidance.join is not None and bool(guidance.join.open)


# --- questions


def _how_to_ask(guidance: Guidance) -> Hint:
    """Return what to do with open questions; an empty text without any."""
    waiting = guidance.open_questions
    if waiting and guidance.launcher_command:
        return Hint(ASK_ABOVE, guidance.launcher_command)
    commands = [command for question in waiting for command in question.choices if command]
    sentences: tuple[tuple[str | Hint, bool], ...] = (
        (ASK_USER, any(not question.person for question in waiting)),
        *((text, True) for text in _for_person(guidance, waiting)),
        (OWN_WORDS, any(question.options for question in waiting if question.source in {BY_STEP, BY_AGENT})),
        (FREE_TEXT, not all(question.options for question in waiting)),
        (SEVERAL, any(question.multi for question in waiting)),
        (REASON, any("reason" in command.options for command in commands)),
    )
    return _joined(sentence for sentence, applies in sentences if applies)


def _for_person(guidance: Guidance, questions: Iterable[QuestionToUser]) -> Iterator[Hint]:
    """Yield how a person answers these questions, and how the agent waits for it; nothing if any agent may answer."""
    command = next((question.command for question in questions if question.is_persons), None)
    if command is None:
        return
    yield Hint(
        'Only a person may choose an option with person="true". Ask with a question tool whose answers a flowrail hook '
        "records (AskUserQuestion in Claude Code): word for word, with every option and its description. Otherwise say "
        "what the question is about, and that the user answers on the page "
        f"{guidance.page or 'of `flow ui`'}, or types the command of an option in a terminal of their own. Never run it "
        "yourself. Then end your turn: `",
        Command("resume", guidance.session, store=command.store),
        "` continues after the answer.",
    )


def _joined(sentences: Iterable[str | Hint]) -> Hint:
    """Return sentences as one paragraph."""
    first, *others = [*sentences] or [""]
    return Hint(first, *(part for sentence in others for part in (" ", sentence)))


def _question(guidance: Guidance, asked: QuestionToUser) -> Block:
    is_own = asked.session == guidance.session
    about = {
        "id": asked.id,
        "header": asked.header or None,
        "multi": asked.multi or None,
        "session": None if is_own else asked.session,
    }
    text = Block("text", asked.text)
    if asked.answer is not None:
        return Block("answered", [text, "; ".join(asked.answer)], about)
    pairs = zip(asked.options, asked.choices, strict=True)
    options = [_option(asked, option, choice) for option, choice in pairs]
    return Block("question", [text, *(options or [Block("answer", asked.command or "")])], about)


def _option(asked: QuestionToUser, option: Option, choice: Command | None) -> Block:
    is_persons = asked.person or option.person
    about = {"label": option.label, "description": option.description or None, "person": is_persons or None}
    return Block("option", choice or "", about)


# --- dispatches


def _dispatches(guidance: Guidance, join: Join, longest: int) -> Block:
    most = min(longest, ALL_RESULTS // max(1, join.total))
    parts = [
        *(Block("launch", text) for text in _how_to_launch(guidance, join)),
        *(_dispatch(guidance, dispatch, join, most) for dispatch in guidance.dispatches),
    ]
    about = {"needed": join.needed, "succeeded": join.succeeded, "total": join.total, "met": join.met}
    return Block("dispatches", parts, about)


def _how_to_launch(guidance: Guidance, join: Join) -> Iterator[str | Hint]:
    """Yield the instructions for the dispatches of a step, according to their statuses."""
    dispatches = guidance.dispatches
    if not join.total:
        yield NO_ITEMS
        return
    if join.met:
        yield ENOUGH if join.open else ALL_ENDED
        return
    if any(dispatch.status == PENDING for dispatch in dispatches):
        some = f" You may report once {join.needed} of {join.total} succeeded; the rest is then called off."
        yield f"{LAUNCH_ONE if len(dispatches) == 1 else LAUNCH_EACH}{LAUNCH}{some if join.needed < join.total else ''}"
    if any(dispatch.again for dispatch in dispatches):
        yield LAUNCH_AGAIN
    active = [dispatch for dispatch in dispatches if dispatch.status in OPEN and dispatch.again_command]
    if active and active[0].again_command and not guidance.open_questions:
        again = active[0].again_command
        yield Hint(
            "If the agent of an active dispatch came back or is gone, launch a new one with the same prompt: it continues. "
            f"To start over, for example dispatch {active[0].number}: ",
            again,
            " . To give it up: ",
            Command("session abandon", active[0].child, reason="REASON", store=again.store),
        )
    relayed = next((dispatch for dispatch in active if dispatch.relay_command), None)
    if relayed is not None and relayed.relay_command:
        yield Hint(
            "If an agent only returned text, report for it, with the facts as -s NAME=VALUE, for example dispatch "
            f"{relayed.number}: ",
            relayed.relay_command,
        )


def _dispatch(guidance: Guidance, dispatch: AgentWork, join: Join, most: int) -> Block:
    """Return a dispatch with the prompt for its agent, the command that replaces a failed one, or the result."""
    work = guidance.work
    assert work is not None  # noqa: S101 - the step has dispatches
    result = result_text(dispatch, most) if dispatch.result or dispatch.notes else None
    item = None if dispatch.item is None else shortened(in_words(dispatch.item), LONGEST_VALUE)
    variables = _variables(dispatch, guidance.dispatches)
    about = {
        "number": dispatch.number,
        "agent": work.agent,
        "workflow": work.workflow,
        "item": item,
        "vars": variables or None,
        "model": work.model,
        "status": dispatch.status,
        "relayed": dispatch.relayed or None,
        "result": result if dispatch.again else None,
    }
    if join.met or dispatch.succeeded:
        return Block("dispatch", result or "", about)
    if dispatch.again:
        return Block("dispatch", dispatch.again_command or "", about)
    if dispatch.command is None or dispatch.status in NEED_PERSON:  # an answer prints how to launch the agent
        return Block("dispatch", "", about)
    return Block("dispatch", prompt(dispatch.command), about)


def _variables(dispatch: AgentWork, dispatches: Sequence[AgentWork]) -> str:
    """Return the variables that distinguish a dispatch from the others of its step, long values shortened.

    The item is printed beside them.
    """
    return " ".join(
        f"{name}={shortened(in_words(value), LONGEST_VALUE)}"
        for name, value in dispatch.vars.items()
        if value != dispatch.item
        and (len(dispatches) == 1 or any(other.vars.get(name) != value for other in dispatches))
    )


def result_text(dispatch: AgentWork, most: int) -> str:
    """Return the result of a dispatch as JSON of about *most* bytes; omissions are marked."""
    notes = {"notes": list(dispatch.notes)} if dispatch.notes else {}
    text = value_text(cut({**dispatch.result, **notes}, most, "left out here; --json has it"))
    return text if len(text) <= 2 * most else f"{text[: 2 * most]}…"


# --- findings, commands and checks


def _finding(finding: RecordedFinding) -> Block:
    about = {"id": finding.id, "severity": finding.severity, "round": finding.round, "place": finding.place}
    return Block("finding", finding.text, about)


def _command(declared: DeclaredCommand) -> Block:
    state = f"{declared.state} {STILL_COUNTS}" if declared.ran_before else declared.state
    about = {
        "name": declared.name,
        "runs": declared.run,
        "once": declared.once or None,
        "now": state or NOT_RUN,
    }
    return Block("command", declared.command or "", about)


def _about_evidence(guidance: Guidance) -> Hint:
    """Return what to do with the checks of a step."""
    checks = guidance.evidence
    is_decided = any(offer.outcome == DONE for offer in guidance.next)
    unconfirmed = () if guidance.open_questions else guidance.unconfirmed
    sentences: tuple[tuple[str | Hint, bool], ...] = (
        ("Your report is accepted only if these checks pass, each for the outcome that it names.", True),
        ('A check with "if" counts only if that holds.', any(check.condition for check in checks)),
        ("The step decides the outcome from your report: you do not report it.", is_decided),
        ('"now" is the result of a check at this moment.', any(check.verdict for check in checks)),
        ("When the other checks pass, report. Then ask for what a person must confirm.", bool(unconfirmed)),
        *((text, True) for text in _for_person(guidance, unconfirmed)),
    )
    return _joined(sentence for sentence, applies in sentences if applies)


def _check(guidance: Guidance, check: DemandedCheck) -> Block:
    outcomes = " ".join(check.outcomes)
    about = {
        "id": check.check,
        "if": check.condition or None,
        "outcome": None if check.condition else outcomes or None,
        "now": check.verdict or None,
    }
    parts: list[str | Block] = [check.expected]
    if check.command and check.kind == "command":
        parts.append(Block("run", check.command))
    elif check.command and check.verdict != Verdict.PASS and not _agents_at_work(guidance):
        parts.append(Block(IF_NOTHING_FOUND, check.command))
    if check.question:
        parts.append(_question(guidance, check.question))
    return Block("check", parts, about)
