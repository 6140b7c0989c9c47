"""Guidance as text for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from flowrail.formatters.guidance import content
from flowrail.formatters.guidance.content import Show
from flowrail.machines.guidance.guide import Guidance, OfferedTransition, Want, wants_of
from flowrail.machines.guidance.views import DispatchView
from flowrail.text.phrases import duration, in_words, listed, size
from flowrail.text.placeholders import in_fences
from flowrail.text.report import (
    Line,
    Moment,
    Report,
    Span,
    Style,
    command,
    line,
    paragraphs,
    plain_text,
    title,
)
from flowrail.text.safe_text import one_line, shortened, visible

Lines: TypeAlias = list[str | Line]


def render(guidance: Guidance, show: Show = str) -> str:
    """Return *guidance* as text: the step, its instructions, the next commands."""
    return plain_text(report(guidance, show))


def report(guidance: Guidance, show: Show = str) -> Report:
    """Return *guidance* for a terminal: prose is wrapped, commands and code are not."""
    parts: list[Lines] = [_header(guidance)]
    if guidance.briefing is not None:
        parts.append([visible(content.briefing_text(guidance.briefing))])
    parts.append([*_prose(visible("\n".join(content.pieces(guidance, show)).strip("\n")))])
    if guidance.forbids:
        parts.append([f"Not in this step: {one_line(', '.join(guidance.forbids))}"])
    parts += _details(guidance, show)
    return paragraphs(*parts)


def _prose(text: str) -> Iterator[str | Line]:
    """Yield the lines of instructions; code, tables and lines that are indented as code are not wrapped."""
    fenced = in_fences(text)
    for number, text_line in enumerate(text.split("\n")):
        wraps = number not in fenced and not text_line.startswith(("|", "    ", "<"))
        yield text_line if wraps else Line((text_line,), wraps=False)


def _header(guidance: Guidance) -> Lines:
    state = f"{guidance.session} · revision {guidance.revision} · {one_line(guidance.status)}"
    state += f" · {content.REPLAYED}" if guidance.replayed else ""
    step = guidance.step
    if step is None:
        return [title(state)]
    parts = [guidance.skill, f"step {step.number} of {step.total}", one_line(step.title)]
    parts += [one_line(step.phase)] if step.phase else []
    parts += [f"attempt {step.attempt} of {step.limit}"] if step.limit else []
    parts += [f"skipped {listed(step.skipped)}"] if step.skipped else []
    head = title(" · ".join(parts))
    return [head, line(Span(state, Style.MUTED))] if guidance.session else [head]  # a preview has no session


def _params(guidance: Guidance) -> str:
    params = content.in_short(guidance.params)
    values = ", ".join(f"{one_line(name)}={one_line(in_words(value))}" for name, value in params.items())
    return f" with {values}" if values else ""


def _dispatches(guidance: Guidance, show: Show) -> Lines:
    join = guidance.join
    if join is None:
        return []
    if not join.total:
        return [content.NO_ITEMS]
    lines: Lines = [f"Agents: {join.succeeded} of {join.needed} needed have succeeded, {join.total} in all"]
    for dispatch in guidance.dispatches:
        lines.append(f"  {_dispatch(guidance, dispatch)}")
        if dispatch.result or dispatch.notes:
            lines.append(f"    {shortened(content.result_of(dispatch, 200), 200)}")
        if not (join.met or dispatch.succeeded):
            command = dispatch.again_command if dispatch.again else dispatch.command
            lines += _command(content.shown(command, show))
    return lines


def _dispatch(guidance: Guidance, dispatch: DispatchView) -> str:
    runs = f" runs {dispatch.workflow}" if dispatch.workflow else ""
    about = one_line(
        " ".join(filter(None, (content.item_of(dispatch), content.variables(dispatch, guidance.dispatches))))
    )
    item = f" ({about})" if about else ""
    model = f", model {one_line(dispatch.model)}" if dispatch.model else ""
    relayed = ", relayed" if dispatch.relayed else ""
    return f"{dispatch.number}: {one_line(dispatch.agent)}{runs}{item}{model}: {dispatch.status}{relayed}"


def _command(text: str) -> Lines:
    """Return the line of a command; no line in a preview, which has no commands."""
    return [command(visible(text), 4)] if text else []


def _answer_text(answer: Sequence[str]) -> str:
    return one_line("; ".join(text.removeprefix("other:") for text in answer))


def _answers(guidance: Guidance) -> Lines:
    return [
        f"The user was asked: {one_line(answer.question)} They answered: {_answer_text(answer.answer)}"
        + (f"  because: {one_line(answer.reason)}" if answer.reason else "")
        for answer in guidance.answers
    ]


def _questions(guidance: Guidance, show: Show) -> Lines:
    lines: Lines = []
    for question in guidance.questions:
        session = "" if question.session == guidance.session else f" (session {question.session})"
        if question.answer is not None:
            lines.append(f"Answered{session}: {one_line(question.text)} {_answer_text(question.answer)}")
            continue
        header = f" [{one_line(question.header)}]" if question.header else ""
        lines.append(f"For the user{session}{header}: {one_line(question.text)}")
        for option in question.options:
            about = f"  {one_line(option.description)}" if option.description else ""
            lines += [f"  {one_line(option.label)}{about}", *_command(content.shown(option.command, show))]
        lines += [] if question.options else _command(content.shown(question.command, show))
    return lines


def _working_files(guidance: Guidance) -> Lines:
    lines: Lines = [
        f"  {one_line(file.path.removeprefix(f'{guidance.work_folder}/'))}"
        f"  {size(file.bytes)}, changed {duration(file.seconds)} ago"
        for file in guidance.working_files
    ]
    return [f"Working files in {one_line(guidance.work_folder)}:", *lines] if lines else []


def _findings(guidance: Guidance, show: Show) -> Lines:
    lines: Lines = [
        f"  {finding.id} {finding.severity} (round {finding.round}) {one_line(finding.text)}"
        + (f"  {one_line(finding.place)}" if finding.place else "")
        for finding in guidance.findings
    ]
    lines = ["Findings on record:", *lines] if lines else []
    if guidance.finding_command:
        lines += [
            f"To record a finding, append {content.FINDING} to",
            *_command(show(guidance.finding_command)),
        ]
    return lines


def _commands(guidance: Guidance, show: Show) -> Lines:
    if not guidance.commands:
        return []
    lines: Lines = [f"Commands. {content.ABOUT_COMMANDS}"]
    for declared in guidance.commands:
        once = ", only once" if declared.once else ""
        state = f" (now: {declared.state})" if declared.state else ""
        lines.append(f"  {declared.name}{once}{state}: {one_line(declared.run)}")
        lines += _command(show(declared.command) if declared.command else "")
    return lines


def _evidence(guidance: Guidance, show: Show) -> Lines:
    if not guidance.evidence:
        return []
    lines: Lines = [f"Evidence. {content.about_evidence(guidance)}"]
    for check in guidance.evidence:
        about = f" (now: {check.verdict})" if check.verdict else ""
        needed = "".join(
            f"{'if ' if name == 'if' else ''}{one_line(value)}: "
            for name, value in content.outcomes_of(guidance, check).items()
        )
        lines.append(f"  {needed}{check.id}{about}: {one_line(check.expected)}")
        lines += _command(f"{content.purpose_of(check)}: {show(check.command)}" if check.command else "")
    return lines


def _next(guidance: Guidance, show: Show) -> Lines:
    if not guidance.next:
        return []
    lines: Lines = ["Report the outcome to get the next step:"]
    for offer in guidance.next:
        lines += [f"  {_offer(guidance, offer)}", *_command(content.shown(offer.command, show))]
    wants = wants_of(guidance.next)
    lines += ["Add to the command:"] if wants else []
    lines += [f"  {_want(want)}" for want in wants]
    lines += [f"  {content.FACTS_FILE}"] if len(wants) >= content.MANY else []
    return lines


def _want(want: Want) -> str:
    example = one_line(content.example_text(want.example))
    if want.type == "list":
        example = "'" + example.replace("'", r"'\''") + "'"  # else a shell takes quotes and spaces away
    values = f"one of {content.choices_text(want)}" if want.choices else f"such as {example}"
    values += f" ({want.range})" if want.range else ""
    optional = "" if want.required else "  (optional)"
    about = f"  {one_line(want.description)}" if want.description else ""
    return f"-s {want.name}={want.type.upper()}{optional}  {values}{about}"


def _offer(guidance: Guidance, offer: OfferedTransition) -> str:
    facts_text = "".join(f" {name}={one_line(str(value))}" for name, value in offer.facts.items())
    destination = content.destination(guidance, offer)
    target_text = (
        "ends the run" if offer.ends else f"to {destination}" if offer.to or offer.routes else destination
    )
    waiting_text = f" (waits for {'; '.join(offer.waits_for)})" if offer.waits_for else ""
    return f"{offer.outcome}{facts_text}: {target_text}{' (the limit is reached)' if offer.capped else ''}{waiting_text}"


def _details(guidance: Guidance, show: Show) -> Iterator[Lines]:
    """Yield the dispatches, questions and evidence that a step waits for, and its next commands."""
    yield _answers(guidance)
    for section in (_dispatches, _questions, _findings, _commands, _evidence, _next):
        yield section(guidance, show)


def standing(guidance: Guidance, show: Show = str) -> str:
    """Return the state of a session and its next commands, without the step's instructions."""
    return plain_text(state_report(guidance, show))


def state_report(guidance: Guidance, show: Show = str) -> Report:
    """Return the same for a terminal."""
    yield from _header(guidance)
    is_moved = guidance.moved_at != guidance.started_at
    last_report = ("; last report ", Moment(one_line(guidance.moved_at))) if is_moved else ()
    yield line("started ", Moment(one_line(guidance.started_at)), _params(guidance), *last_report)
    yield from _working_files(guidance)
    if guidance.claim:
        yield one_line(guidance.claim)
    for lines in _details(guidance, show):
        yield from lines
    if not (guidance.next or guidance.dispatches):
        # the session has ended, has lost its work or belongs to another conversation
        yield from _prose(visible("\n".join(content.pieces(guidance, show))))
