"""A step's instructions in pieces: text, the blocks that replace its fences, and the briefing of a resumed session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, TypeAlias

from flowrail.command import Command
from flowrail.formatters.blocks.fences import with_blocks
from flowrail.machines.agents import cut
from flowrail.machines.asked_questions import (
    QUESTION_RELAY_HANDLER,
    QUESTION_RELAY_UPWARDS,
    SUB_AGENT_QUESTION_FORMAT,
)
from flowrail.machines.guidance.agent_work import PENDING
from flowrail.machines.guidance.evidence_view import EvidenceView
from flowrail.machines.guidance.guide import Guidance, OfferedTransition, Route, Want
from flowrail.machines.guidance.views import (
    Briefing,
    DispatchView,
    DoneStep,
    LoopView,
    QuestionView,
    WorkResult,
)
from flowrail.machines.outcome import DONE
from flowrail.machines.session import (
    ABANDONED,
    BY_AGENT,
    BY_LIMIT,
    BY_STEP,
    COMPLETED,
    FAILED,
    OPEN,
    WAITING,
    WorkingFile,
)
from flowrail.text.phrases import ago, count, duration, in_words, size
from flowrail.text.placeholders import BLOCK_PREFIX, RepeatableTexts
from flowrail.text.safe_text import Markup, Verbatim, element, listing, one_line, parts, shortened

Show: TypeAlias = Callable[[Command], str]
"""How an interface shows a command: as a shell line (`str`), or as the call of a tool."""

LONGEST_PARAM = 400
"""A longer parameter is cut when it is shown; JSON has it in full."""
FINDING = "--severity MUST|SHOULD|COULD --place PLACE --text TEXT"
"""The options of the command that records a finding; a long text goes into a file, `--file FILE`."""

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
PERSON = (
    'Only a person may choose an option with person="true". Ask with a question tool whose answer a hook of flow sees '
    "(AskUserQuestion in Claude Code): word for word, with every option and its description. flow then records the answer. "
    "Otherwise say what it is about, and that the user answers {where}, or types the command of an option in a terminal of "
    "their own. Never run it yourself. Then end your turn: `{resume}` continues after the answer."
)
PAGE = "on the page of `flow ui`"
"""Where a person answers, if no page is open."""
SEVERAL = "If multi is true, append one ID=LABEL for each further choice."
NO_ITEMS = "There is nothing to dispatch: the list of items is empty. Launch no agent."
"""Printed if the list of a dispatch is empty."""
LAUNCH_ONE = "Launch one agent"
LAUNCH_EACH = "Launch one agent for each pending dispatch, at once unless the text above says otherwise,"
LAUNCH = (
    " with just its prompt. If your host has no agent of that name, use one that can run commands. Without agents, do the "
    "work yourself, one dispatch after the other, and say so."
)
SOME = " You may report once {needed} of {total} succeeded; the rest is then called off."
LAUNCH_AGAIN = (
    "If a failed dispatch is still needed, fix the reason, then run its command. It prints the prompt for a new "
    "agent."
)
PROMPT = "Run `{command}`, and do what it prints, step by step, to the end."
"""The prompt for the agent of a dispatch."""
RELAUNCH = (
    "If the agent of an active dispatch came back or is gone, launch a new one with the same prompt: it continues. To start "
    "over, for example dispatch {number}: {again} . To give it up: {give_up}"
)
RELAY = (
    "If an agent only returned text, report for it, with the facts as -s NAME=VALUE, for example dispatch {number}: "
    "{command}"
)
ALL_ENDED = (
    "All agents have finished: launch no more. Do what the text above asks after their work, then report."
)
ENOUGH = (
    "Enough agents have succeeded: launch no more. The others are called off when you report this step: their reports are "
    "refused then."
)
LONGEST_RESULT = 8_000
LONGEST_VALUE = 120
LONGEST_FAILURE = 600
"""Longer items and variables are cut; JSON and the sub-agent have them in full."""

MANY = 4
END = "(end)"
ANSWER = (
    "The work is done. If another agent launched you, end your answer with the lines below, word for word; above them, "
    "write only what the last step asked you to give. If you did this dispatch yourself, do the next one, or, after the "
    "last, run the command behind NEXT."
)
REPLAYED = "already recorded; nothing changed"
_EVIDENCE = "Your report is accepted only if these checks pass."
_OUTCOME = "Each counts for the outcome that it names."
_CONDITION = 'A check with "if" counts only if that holds.'
_DECIDED = "The step decides the outcome from your report: you do not report it."
_VERDICTS = '"now" is the result of a check at this moment.'
ABOUT_COMMANDS = (
    "flowrail runs these commands: do not type them yourself. Each runs to its end even if you are interrupted; the same "
    "line attaches to it again."
)
FACTS_FILE = "or append --facts FILE, a file with the facts as one JSON object"
"""Printed if a report has so many facts that a command line gets unwieldy."""


def how_to_ask(guidance: Guidance, show: Show) -> str:
    """Return what to do with open questions; an empty text without any."""
    waiting = guidance.open_questions
    if waiting and guidance.launcher_command:
        return f"{ASK_ABOVE}{show(guidance.launcher_command)}"
    commands = [command for question in waiting for command in question.choices if command]
    sentences = (
        (ASK_USER, any(not question.person for question in waiting)),
        (for_person(guidance, waiting, show), True),
        (OWN_WORDS, any(question.options for question in waiting if question.source in {BY_STEP, BY_AGENT})),
        (FREE_TEXT, not all(question.options for question in waiting)),
        (SEVERAL, any(question.multi for question in waiting)),
        (REASON, any("reason" in command.options for command in commands)),
    )
    return " ".join(sentence for sentence, applies in sentences if applies and sentence)


def for_person(guidance: Guidance, questions: Sequence[QuestionView], show: Show) -> str:
    """Return how a person answers these questions, and how the agent waits for it; nothing if any agent may answer."""
    command = next((question.command for question in questions if question.is_persons), None)
    if command is None:
        return ""
    resume = Command("resume", guidance.session, store=command.store)
    return PERSON.format(where=f"on the page {guidance.page}" if guidance.page else PAGE, resume=show(resume))


def purpose_of(check: EvidenceView) -> str:
    """Return when to run the command of a check."""
    return "run" if check.kind == "command" else "if the review found nothing and no agent recorded that"


def about_evidence(guidance: Guidance, show: Show) -> str:
    """Return what to do with the checks of a step."""
    conditions = [outcomes_of(guidance, check) for check in guidance.evidence]
    offered = {offer.outcome for offer in guidance.next}
    is_for_some = any(
        "outcome" in condition and not offered <= {*condition["outcome"].split()} for condition in conditions
    )
    unconfirmed = [check.question for check in guidance.evidence if check.question]
    sentences = (
        (_EVIDENCE, True),
        (_OUTCOME, is_for_some),
        (_CONDITION, any("if" in condition for condition in conditions)),
        (_DECIDED, is_for_some and _decides_outcome(guidance)),
        (_VERDICTS, any(check.verdict for check in guidance.evidence)),
        (for_person(guidance, unconfirmed, show), not guidance.open_questions),
    )
    return " ".join(sentence for sentence, applies in sentences if applies and sentence)


def outcomes_of(guidance: Guidance, check: EvidenceView) -> dict[str, str]:
    """Return when *check* counts: `outcome` with the outcomes that need it, or `if` with a condition.

    If the step decides the outcome and needs the check for each, nothing is returned.
    """
    if check.condition:
        return {"if": check.condition}
    return {} if _decides_outcome(guidance) and check.is_always else {"outcome": " ".join(check.outcomes)}


def destination(guidance: Guidance, offer: OfferedTransition) -> str:
    """Return the target of a transition: a step, the end, or the text that says what decides it."""
    if offer.to is not None or offer.ends or offer.capped:
        return _target(offer)
    if offer.routes:
        routes = [
            f"{_target(route)}{f' if {one_line(route.condition)}' if route.condition else ''}"
            for route in offer.routes
        ]
        is_one = len(set(map(_target, offer.routes))) == 1
        others = "; " if offer.routes[-1].condition else "; otherwise "  # an answer has no last resort
        return _target(offer.routes[0]) if is_one else others.join(routes)
    asks = guidance.open_questions or any(question.source == BY_LIMIT for question in guidance.questions)
    return "decided by the user's answer" if asks else "decided from your report"


def _target(transition: OfferedTransition | Route) -> str:
    return transition.to or (END if transition.ends else "the user decides")


def _decides_outcome(guidance: Guidance) -> bool:
    return any(offer.outcome == DONE for offer in guidance.next)


def shown(command: Command | None, show: Show) -> str:
    """Return a command as *show* prints it; an empty text in a preview, which has no commands."""
    return show(command) if command else ""


def how_to_launch(guidance: Guidance, show: Show) -> Iterator[str]:
    """Yield the instructions for the dispatches of a step, according to their statuses."""
    join, dispatches = guidance.join, guidance.dispatches
    if join is None or not join.total:
        yield NO_ITEMS
        return
    if join.met:
        yield ENOUGH if join.open else ALL_ENDED
        return
    if any(dispatch.status == PENDING for dispatch in dispatches):
        some = SOME.format(needed=join.needed, total=join.total) if join.needed < join.total else ""
        yield f"{LAUNCH_ONE if len(dispatches) == 1 else LAUNCH_EACH}{LAUNCH}{some}"
    if any(dispatch.again for dispatch in dispatches):
        yield LAUNCH_AGAIN
    active = [dispatch for dispatch in dispatches if dispatch.status in OPEN and dispatch.again_command]
    if active and active[0].again_command and not guidance.open_questions:
        again = active[0].again_command
        give_up = Command("session abandon", active[0].child, reason="REASON", store=again.store)
        yield RELAUNCH.format(number=active[0].number, again=show(again), give_up=show(give_up))
    by_prompt = [dispatch for dispatch in active if dispatch.relay_command]
    if by_prompt and by_prompt[0].relay_command:
        yield RELAY.format(number=by_prompt[0].number, command=show(by_prompt[0].relay_command))


def work_of(dispatch: DispatchView, show: Show) -> str:
    """Return what to do with a dispatch: the prompt for its agent, or the command that replaces a failed one."""
    if dispatch.again:
        return shown(dispatch.again_command, show)
    if dispatch.status == WAITING:  # for the user's answer, which prints how to launch the agent
        return ""
    return PROMPT.format(command=show(dispatch.command)) if dispatch.command else ""


def result_lines(result: WorkResult, show: Show) -> list[str]:
    """Return the lines that an agent answers with when its work has ended."""
    facts = cut(result.facts, LONGEST_RESULT, show(result.whole))
    return [
        f"RESULT {result.of}",
        f"FACTS {json.dumps(facts, ensure_ascii=False, default=list)}",
        f"NEXT for the agent that launched this one: {show(result.next)}",
    ]


def variables(dispatch: DispatchView, dispatches: Sequence[DispatchView]) -> str:
    """Return the variables that distinguish a dispatch from the others of its step, long values shortened.

    The item is printed beside them.
    """
    return " ".join(
        f"{name}={shortened(in_words(value), LONGEST_VALUE)}"
        for name, value in dispatch.vars.items()
        if value != dispatch.item
        and (len(dispatches) == 1 or any(other.vars.get(name) != value for other in dispatches))
    )


def item_of(dispatch: DispatchView) -> str | None:
    """Return the item of a dispatch, cut if it is long."""
    return None if dispatch.item is None else shortened(in_words(dispatch.item), LONGEST_VALUE)


def pieces(guidance: Guidance, show: Show) -> list[str | Markup]:
    """Return all texts of a step in order."""
    before, after = around(guidance, show)
    return [*before, *own_pieces(guidance), *after]


def around(guidance: Guidance, show: Show) -> tuple[list[str | Markup], list[str | Markup]]:
    """Return the texts before and after a step's own text, such as its review loop and how to ask the user."""
    before, after = _loop_pieces(guidance.loop) if guidance.loop is not None else ([], [])
    before += [one_line(shortened(failure, LONGEST_FAILURE)) for failure in guidance.failures]
    if guidance.join is not None and guidance.join.open:
        after.append(QUESTION_RELAY_UPWARDS if guidance.parent else QUESTION_RELAY_HANDLER)
    if guidance.take_over_command is not None:
        after.append(f"To take it over: {show(guidance.take_over_command)}")
    if guidance.then_command is not None:
        command = show(guidance.then_command)
        after.append(Verbatim(f"It continues with {guidance.then_command.arguments[0]}: {command}"))
    if guidance.results:
        after.append(f"Result files: {', '.join(map(_result_file, guidance.results))}")
    for handoff in guidance.sent:
        received = " It has received the work." if handoff.received else " To receive the work there: "
        after.append(
            Verbatim(
                f"Handed off to {handoff.target}.{received}{'' if handoff.received else show(handoff.command)}"
            )
        )
    if guidance.result is not None:
        after += [ANSWER, Verbatim("\n".join(result_lines(guidance.result, show)))]
    if guidance.give_up_command is not None and guidance.next:
        after.append(Verbatim(f"If you cannot do this work, say why: {show(guidance.give_up_command)}"))
    is_first_text = guidance.revision == 0 or guidance.resumed
    if guidance.ask_command and is_first_text and guidance.step is not None:
        after += [SUB_AGENT_QUESTION_FORMAT, element("ask_command", Verbatim(show(guidance.ask_command)))]
    return before, after


def _result_file(file: WorkingFile) -> str:
    others = "other files in " if file.path.endswith("/") else ""
    return f"{others}{file.path} ({size(file.bytes)})"


_STOP = (
    "Fixing anything here",
    "Calling a blocking finding minor",
    "Any flow command that is not printed here",
)
_UNREVIEWED = "The review failed and recorded no findings, so the gate does not pass."


def _loop_pieces(loop: LoopView) -> tuple[list[str | Markup], list[str | Markup]]:
    """Return the texts of a review loop before and after the step's own text.

    A gate always prints three things: the banner (which round of how many), the stop condition (fix nothing here, run
    the one printed command), and that the next review starts from the beginning.
    """
    banner = element(
        "state_banner", "", checkpoint=loop.name, iteration=loop.round, limit=loop.limit, mode=loop.mode
    )
    blocking, severities = ", ".join(loop.blocking), ", ".join(loop.severities)
    blocked_text = f"The gate does not pass: {blocking}. Severities that block in this round: {severities}."
    blocked_text = _UNREVIEWED if loop.unreviewed else blocked_text
    texts: list[str | Markup] = []
    forbidden: Sequence[str] = ()
    match loop.mode:
        case "passed":
            texts = [
                f"The gate passes: no finding of this round blocks ({severities} would). This was the last round."
            ]
            forbidden = ("Reviewing again what has passed",)
        case "failed":
            back = "Back to" if loop.unreviewed else "Fix in"
            texts, forbidden = [blocked_text, f"{back}: {loop.fixed_in}. Then it is reviewed again."], _STOP
        case "re-verify":
            texts = ["This round reviews everything from the start, as if it were the first."]
            forbidden = ("Telling the reviewer what was found before",)
        case "ask-user":
            texts, forbidden = [blocked_text, "No rounds are left. The user decides how to continue."], _STOP
        case "fix" if loop.unreviewed:
            texts = [f"{_UNREVIEWED} Fix what stopped the review."]
        case "fix":
            to_fix = (
                f"To fix, because they block: {blocking}."
                if blocking
                else "All findings are marked as settled."
            )
            texts = [f"Sent back by the review of round {loop.round}. {to_fix}"]
        case _:
            texts = ["The review has not ended in this round, so the gate cannot decide yet."]
            forbidden = _STOP
    return [banner, *texts], [listing("forbidden", "action", forbidden)] if forbidden else []


def own_pieces(guidance: Guidance) -> list[str | Markup]:
    """Return the instructions of the step; a text without a fence is one piece."""
    texts: list[str | Markup] = []
    resource = RepeatableTexts(guidance.resources.__getitem__)
    for action in guidance.actions:
        if texts:
            texts.append("")
        texts += text_pieces(action, resource)
    return texts


def text_pieces(text: str, resources: Callable[[str], str]) -> list[str | Markup]:
    """Return the blocks in a text and the texts around them, each of which begins on a line of its own."""
    result: list[str | Markup] = []
    pieces = parts(text)
    for number, piece in enumerate(pieces):
        if isinstance(piece, Markup):
            result.append(piece)
            continue
        before, after = number > 0, number < len(pieces) - 1
        if before and after and piece == "\n":
            continue
        inner = piece.removeprefix("\n") if before else piece
        inner = inner.removesuffix("\n") if after else inner
        if BLOCK_PREFIX not in inner:
            result.append(inner)
            continue
        result += with_blocks(inner, resources)
    return result


def plain(value: object) -> Any:
    """Return *value* with records and mappings as dicts, and other tuples as lists. Commands stay commands."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def in_short(values: Mapping[str, object]) -> dict[str, object]:
    """Return *values* as plain data, long ones as a shortened text."""
    texts = {name: in_words(value) for name, value in values.items()}
    return {
        name: plain(value) if len(texts[name]) <= LONGEST_PARAM else shortened(texts[name], LONGEST_PARAM)
        for name, value in values.items()
    }


def result_of(dispatch: DispatchView, most: int) -> str:
    """Return the result of a dispatch as JSON of about *most* bytes; omissions are marked."""
    notes = {"notes": list(dispatch.notes)} if dispatch.notes else {}
    text = example_text(cut({**plain(dispatch.result), **notes}, most, "left out here; --json has it"))
    return text if len(text) <= 2 * most else f"{text[: 2 * most]}…"


def example_text(value: object) -> str:
    """Return an example as it is typed on a command line."""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def choices_text(want: Want) -> str:
    """Return the allowed values as they are typed, separated by commas."""
    return ", ".join(one_line(example_text(choice)) for choice in want.choices)


LONGEST_REQUEST, LONGEST_ASKED, LONGEST_NOTE = 600, 100, 300
REQUESTS = frozenset({"original_prompt", "prompt", "question", "request", "task"})
"""Parameters that contain the user's request in the user's words. Any other text parameter is the topic."""


def briefing_text(guidance: Guidance, briefing: Briefing) -> str:
    """Return the text that an agent reads first when it continues a session: one paragraph, without commands."""
    sentences = ["You are continuing."]
    beginning = guidance.topic.removesuffix("…")
    texts = {name: one_line(value) for name, value in guidance.params.items() if isinstance(value, str)}
    topic = next((name for name, text in texts.items() if beginning and text.startswith(beginning)), None)
    if topic is not None:
        request = shortened(in_words(guidance.params[topic]), LONGEST_REQUEST)
        is_request = topic in REQUESTS
        label = "Your task" if guidance.parent else "The user asked" if is_request else "Topic"
        sentences.append(_sentence(label, request))
    others = [
        f"{one_line(name)}={shortened(in_words(value), LONGEST_ASKED)}"
        for name, value in guidance.params.items()
        if name != topic and value not in (None, "", (), [])
    ]
    sentences += [_sentence("Parameters", ", ".join(others))] if others else []
    started, moved = (one_line(ago(at, briefing.now)) for at in (guidance.started_at, guidance.moved_at))
    sentences.append(f"Started {started}{f', last report {moved}' if briefing.done else ''}.")
    earlier = [count(briefing.earlier, "earlier report")] if briefing.earlier else []
    done = ", then ".join([*earlier, ", ".join(map(_done_text, briefing.done))] if briefing.done else earlier)
    sentences.append(_sentence("Done so far", done or "nothing yet"))
    if briefing.noted:
        noted = "; ".join(shortened(text, LONGEST_NOTE).rstrip(".") for text in briefing.noted)
        sentences.append(_sentence("Also noted", noted))
    if briefing.already_ran:
        sentences.append(_sentence("In this step you already ran", ", ".join(briefing.already_ran)))
    if briefing.notes is not None:
        age = duration(briefing.notes.seconds)
        about = f"{size(briefing.notes.bytes)}, changed {age} ago"
        sentences.append(f"Notes: {one_line(briefing.notes_path)} ({about}).")
    elif briefing.notes_path:
        sentences.append(f"Notes: {one_line(briefing.notes_path)} is missing.")
    progress = agents_progress(
        [(dispatch.status, dispatch.moved_at) for dispatch in guidance.dispatches], briefing.now
    )
    sentences += [f"{progress}."] if progress else []
    return " ".join(sentences)


def _sentence(label: str, text: str) -> str:
    return f"{label}: {text}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _done_text(step: DoneStep) -> str:
    note = f"; {shortened(step.note, LONGEST_NOTE)}" if step.note else ""
    return f"{step.step} ({step.outcome}{note})"


def agents_progress(agents: Sequence[tuple[str, str]], now: str) -> str:
    """Return how far the sub-agents of a step are, such as `2 of 5 agents finished, 3 not started`.

    *agents* has the status of each, and when it last moved.
    """
    if not agents:
        return ""
    at_work = [moved_at for status, moved_at in agents if status in OPEN]
    failed = sum(status in {FAILED, ABANDONED} for status, _ in agents)
    pending = sum(status == PENDING for status, _ in agents)
    counts = (
        (True, f"{sum(status == COMPLETED for status, _ in agents)} of {len(agents)} agents finished"),
        (failed, f"{failed} failed"),
        (at_work, f"{len(at_work)} at work{f' (last report {ago(min(at_work), now)})' if at_work else ''}"),
        (pending, f"{pending} not started"),
    )
    return ", ".join(text for applies, text in counts if applies)
