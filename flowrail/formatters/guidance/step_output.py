"""A step as a list of blocks, and its two renderings: XML for agents, text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, groupby

from flowrail.command import Hint, value_text
from flowrail.formatters.block import Block, Show, as_lines, as_xml, markup_lines, prose
from flowrail.formatters.blocks.fences import with_blocks
from flowrail.formatters.blocks.review_loop import loop_pieces
from flowrail.formatters.guidance.agent_answers import ANSWER, result_lines
from flowrail.formatters.guidance.step_work import LONGEST_RESULT, work_blocks
from flowrail.machines.asked_questions import (
    ASK_FROM_DISPATCH,
    QUESTION_RELAY_HANDLER,
    QUESTION_RELAY_UPWARDS,
)
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.offers import OfferedTransition
from flowrail.machines.session import BY_LIMIT
from flowrail.machines.values import Arg, range_text
from flowrail.text.phrases import duration, in_words, listed, size
from flowrail.text.placeholders import BLOCK_PREFIX, RepeatableTexts
from flowrail.text.report import Line, Moment, Report, Span, Style, line, paragraphs, title
from flowrail.text.safe_text import Markup, Verbatim, element, one_line, parts, shortened, visible

REPLAYED = "already recorded; nothing changed"
KEEP = "In any report: --note TEXT, a result or decision to remember."
"""Printed at the first step, and when a session is resumed."""
FACTS_FILE = "or append --facts FILE, a file with the facts as one JSON object"
"""Printed if a report has so many facts that a command line gets unwieldy."""
MANY = 4
LONGEST_FAILURE, LONGEST_PARAM = 600, 600
MOST_FILES = 5
"""At most this many files of a session that has ended are named."""


def xml(guidance: Guidance, show: Show = str) -> str:
    """Return a step and its next commands as one well-formed element."""
    about = {
        "session": guidance.session,
        "revision": guidance.revision,
        "skill": guidance.skill,
        "status": guidance.status,
        "replayed": REPLAYED if guidance.replayed else None,
    }
    actions = Block("current_action", pieces(guidance, show))
    blocks = [*_head(guidance), actions, *_work(guidance, is_shell=show is str, longest=LONGEST_RESULT)]
    return as_xml(Block("step_output", blocks, about), show)


def report(guidance: Guidance) -> Report:
    """Return a step and its next commands for a person: prose is wrapped, commands and code are not."""
    briefing = [visible(guidance.briefing)] if guidance.briefing else []
    work = map(as_lines, _work(guidance))
    return paragraphs(_header(guidance), briefing, _as_prose(pieces(guidance)), *work)


def state_report(guidance: Guidance) -> Report:
    """Return the state of a session and its next commands for a person, without the step's instructions."""
    yield from _header(guidance)
    is_moved = guidance.moved_at != guidance.started_at
    last_report = ("; last report ", Moment(one_line(guidance.moved_at))) if is_moved else ()
    params = params_text(guidance.params)
    given = f" with {params}" if params else ""
    yield line("started ", Moment(one_line(guidance.started_at)), given, *last_report)
    yield from _working_files(guidance)
    if guidance.claim:
        yield one_line(guidance.claim)
    # a session that has ended, has lost its work or belongs to another conversation has only instructions
    if not (guidance.next or guidance.dispatches):
        yield from _as_prose(pieces(guidance))
    for block in _work(guidance):
        yield from as_lines(block)


# --- its head


def _header(guidance: Guidance) -> Iterator[str | Line]:
    state = f"{guidance.session} · revision {guidance.revision} · {one_line(guidance.status)}"
    state += f" · {REPLAYED}" if guidance.replayed else ""
    step = guidance.step
    if step is None:
        yield title(state)
        return
    words = [guidance.skill, f"step {step.number} of {step.total}", one_line(step.title)]
    words += [one_line(step.phase)] if step.phase else []
    words += [f"attempt {step.attempt} of {step.limit}"] if step.limit else []
    words += [f"skipped {listed(step.skipped)}"] if step.skipped else []
    yield title(" · ".join(words))
    yield line(Span(state, Style.MUTED))


def params_text(params: Mapping[str, object]) -> str:
    """Return parameters in words, without those that are empty; JSON has them in full."""
    return ", ".join(
        f"{one_line(name)}={shortened(in_words(value), LONGEST_PARAM)}"
        for name, value in params.items()
        if value not in (None, "", (), [])
    )


def _working_files(guidance: Guidance) -> Iterator[str]:
    if guidance.working_files:
        yield f"Working files in {one_line(guidance.work_folder)}:"
    for file in guidance.working_files:
        path = one_line(file.path.removeprefix(f"{guidance.work_folder}/"))
        yield f"  {path}  {size(file.bytes)}, changed {duration(file.seconds)} ago"


# --- its instructions


def _head(guidance: Guidance) -> Iterator[Block]:
    """Yield the briefing and the step, before its instructions."""
    if guidance.briefing:
        yield Block("briefing", guidance.briefing)
    step = guidance.step
    if step is not None:
        about = {
            "id": step.id,
            "number": step.number,
            "total": step.total,
            "phase": step.phase,
            "attempt": step.attempt if step.limit or step.attempt > 1 else None,
            "limit": step.limit,
            "skipped": " ".join(step.skipped) or None,
        }
        yield Block("step_header", step.title, about)


def _as_prose(texts: Iterable[str | Markup]) -> Iterator[str | Line]:
    """Yield what a person reads of instructions, with an empty line between texts and blocks."""
    is_first = True
    for is_markup, group in groupby(texts, lambda piece: isinstance(piece, Markup)):
        if is_markup:
            lines = [*chain.from_iterable(map(markup_lines, group))]
        elif text := visible("\n".join(group).strip("\n")):
            lines = [*prose(text)]
        else:
            continue
        yield from lines if is_first else ("", *lines)
        is_first = False


def pieces(guidance: Guidance, show: Show = str) -> list[str | Markup]:
    """Return all texts of a step in order: its own, and those about its review loop, its agents and its end."""
    before, after = loop_pieces(guidance.loop) if guidance.loop is not None else ([], [])
    before += [guidance.decided] if guidance.decided else []
    before += [one_line(shortened(failure, LONGEST_FAILURE)) for failure in guidance.failures]
    after += (Verbatim(hint.render(show)) if isinstance(hint, Hint) else hint for hint in _endings(guidance))
    if guidance.result is not None:
        after += [ANSWER, Verbatim("\n".join(result_lines(guidance.result, show)))]
    if guidance.ask_command and guidance.is_read_first and not guidance.open_questions:
        after += [ASK_FROM_DISPATCH, element("ask_command", Verbatim(show(guidance.ask_command)))]
    return [*before, *_own_pieces(guidance), *after]


def _endings(guidance: Guidance) -> Iterator[str | Hint]:
    """Yield the texts after a step's own."""
    if guidance.join is not None and guidance.join.open:
        yield QUESTION_RELAY_UPWARDS if guidance.parent else QUESTION_RELAY_HANDLER
    if guidance.take_over_command is not None:
        yield Hint("To take it over: ", guidance.take_over_command)
    if guidance.then_command is not None:
        following = guidance.then_command.arguments[0]
        yield Hint(f"It continues with {following}: ", guidance.then_command)
    if guidance.step is None and guidance.parent is None and guidance.working_files:
        files = ", ".join(f"{file.path} ({size(file.bytes)})" for file in guidance.working_files[:MOST_FILES])
        yield f"Working files: {files}"
    if guidance.give_up_command is not None and guidance.next and guidance.is_read_first:
        yield Hint("If you cannot do this work, say why: ", guidance.give_up_command)


def _own_pieces(guidance: Guidance) -> list[str | Markup]:
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
    found = parts(text)
    for number, piece in enumerate(found):
        if isinstance(piece, Markup):
            result.append(piece)
            continue
        before, after = number > 0, number < len(found) - 1
        if before and after and piece == "\n":
            continue
        inner = piece.removeprefix("\n") if before else piece
        inner = inner.removesuffix("\n") if after else inner
        result += with_blocks(inner, resources) if BLOCK_PREFIX in inner else [inner]
    return result


# --- its work and its next commands


def _work(guidance: Guidance, *, is_shell: bool = True, longest: int = 200) -> Iterator[Block]:
    if guidance.forbids:
        yield Block("not_in_this_step", ", ".join(guidance.forbids))
    yield from work_blocks(guidance, longest=longest)
    if guidance.next:
        yield _next(guidance, is_shell=is_shell)


def _next(guidance: Guidance, *, is_shell: bool) -> Block:
    is_new = is_shell and guidance.is_read_first
    wants = {name: arg for offer in guidance.next for name, arg in offer.wants.items()}
    blocks = [Block("keep", KEEP)] if is_new else []
    blocks += [_want(name, arg, is_alone=len(wants) < MANY) for name, arg in wants.items()]
    if len(wants) >= MANY:
        blocks.append(Block("wants_file", f"Append -s 'NAME=VALUE' for each, a list as JSON, {FACTS_FILE}"))
    return Block("next", [*blocks, *(_case(guidance, offer) for offer in guidance.next)])


def _want(name: str, arg: Arg, *, is_alone: bool) -> Block:
    """Return a value to append; if there are many, how to append them is printed once."""
    choices = ", ".join(one_line(value_text(choice)) for choice in arg.choices or ())
    about = {
        "name": name,
        "type": arg.kind,
        "example": None if choices or arg.example is None else value_text(arg.example),
        "choices": choices or None,
        "range": ("" if choices else range_text(arg)) or None,
        "required": arg.required,
    }
    append = f"append -s '{name}=VALUE', a list as JSON" if arg.kind == "list" else f"append -s {name}=VALUE"
    texts = [append if is_alone else "", arg.description or ""]
    return Block("want", ": ".join(filter(None, texts)), about)


def _case(guidance: Guidance, offer: OfferedTransition) -> Block:
    about = {
        "outcome": offer.outcome,
        "to": _destination(guidance, offer),
        "limit_reached": offer.capped or None,
        "waits_for": "; ".join(offer.waits_for) or None,
    }
    return Block("case", offer.command or "", about)


def _destination(guidance: Guidance, offer: OfferedTransition) -> str:
    """Return the target of a transition: a step, the end, or the text that says what decides it."""
    if offer.is_known:
        return offer.to or ("(end)" if offer.ends else "the user decides")
    asks = guidance.open_questions or any(question.source == BY_LIMIT for question in guidance.questions)
    return "what the user's answer decides" if asks else "what flowrail decides"
