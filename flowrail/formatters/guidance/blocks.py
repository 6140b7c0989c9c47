"""A step as a list of blocks, and its two renderings: XML for agents, text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import TypeAlias

from flowrail.command import Command
from flowrail.formatters.block import Block, as_lines, as_xml, markup_lines, prose
from flowrail.formatters.guidance import content
from flowrail.formatters.guidance.content import Show
from flowrail.machines.agents import Join
from flowrail.machines.guidance.evidence_view import CommandView, EvidenceView
from flowrail.machines.guidance.guide import Guidance, OfferedTransition, Want, wants_of
from flowrail.machines.guidance.views import DispatchView, QuestionView
from flowrail.machines.session import GivenAnswer, RecordedFinding
from flowrail.text.phrases import duration, in_words, listed, size
from flowrail.text.report import Line, Moment, Report, Span, Style, command, line, paragraphs, title
from flowrail.text.safe_text import Markup, one_line, shortened, visible

Lines: TypeAlias = Sequence[str | Line]

UNRECORDED = "a finding is not on record yet"
KEEP = "In any report: --note TEXT, a result or decision to remember."
"""Printed at the first step, and when a session is resumed."""
ALL_RESULTS = 100_000
"""Bytes of results that are printed for all dispatches of a step; JSON has them in full."""


def xml(guidance: Guidance, show: Show = str) -> str:
    """Return a step and its next commands as one well-formed element."""
    return as_xml(step_output(guidance, show))


def report(guidance: Guidance, show: Show = str) -> Report:
    """Return a step and its next commands for a person: prose is wrapped, commands and code are not."""
    whole = step_output(guidance, show)
    return paragraphs(whole.lines, *(as_lines(part) for part in whole.content if isinstance(part, Block)))


def state_report(guidance: Guidance, show: Show = str) -> Report:
    """Return the state of a session and its next commands for a person, without the step's instructions."""
    yield from _header(guidance)
    is_moved = guidance.moved_at != guidance.started_at
    last_report = ("; last report ", Moment(one_line(guidance.moved_at))) if is_moved else ()
    yield line("started ", Moment(one_line(guidance.started_at)), _params(guidance), *last_report)
    yield from _working_files(guidance)
    if guidance.claim:
        yield one_line(guidance.claim)
    # a session that has ended, has lost its work or belongs to another conversation has only instructions
    parts = _work(guidance, show) if guidance.next or guidance.dispatches else _instructions(guidance, show)
    for part in parts:
        yield from as_lines(part)


def step_output(guidance: Guidance, show: Show) -> Block:
    """Return a step and its next commands."""
    about = {
        "session": guidance.session,
        "revision": guidance.revision,
        "skill": guidance.skill,
        "status": guidance.status,
        "replayed": content.REPLAYED if guidance.replayed else None,
    }
    parts = [*_instructions(guidance, show), *_work(guidance, show)]
    return Block("step_output", parts, about, _header(guidance))


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


def _working_files(guidance: Guidance) -> Lines:
    lines = [
        f"  {one_line(file.path.removeprefix(f'{guidance.work_folder}/'))}"
        f"  {size(file.bytes)}, changed {duration(file.seconds)} ago"
        for file in guidance.working_files
    ]
    return [f"Working files in {one_line(guidance.work_folder)}:", *lines] if lines else []


def _instructions(guidance: Guidance, show: Show) -> Iterator[Block]:
    """Yield the briefing, the step and its instructions."""
    if guidance.briefing is not None:
        briefing = content.briefing_text(guidance, guidance.briefing)
        yield Block("briefing", briefing, lines=[visible(briefing)])
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
    pieces = content.pieces(guidance, show)
    yield Block("current_action", pieces, lines=[*_as_prose(pieces)])
    if guidance.forbids:
        forbidden = ", ".join(guidance.forbids)
        yield Block("not_in_this_step", forbidden, lines=[f"Not in this step: {one_line(forbidden)}"])


def _as_prose(pieces: Sequence[str | Markup]) -> Iterator[str | Line]:
    """Yield what a person reads of instructions."""
    for is_markup, group in groupby(pieces, lambda piece: isinstance(piece, Markup)):
        if is_markup:
            yield from chain.from_iterable(map(markup_lines, group))
        else:
            yield from prose(visible("\n".join(group).strip("\n")))


def _work(guidance: Guidance, show: Show) -> Iterator[Block]:
    """Yield the answers, dispatches, questions, findings, commands and checks of a step, and its next commands."""
    yield from map(_user_said, guidance.answers)
    if guidance.join is not None:
        yield _dispatches(guidance, guidance.join, show)
    if guidance.questions:
        instruction = content.how_to_ask(guidance, show)
        ask = [Block("ask", instruction)] if instruction else []
        questions = [_question(guidance, question, show) for question in guidance.questions]
        yield Block("questions", [*ask, *questions])
    if guidance.findings:
        yield Block("findings", [*map(_finding, guidance.findings)], lines=["Findings on record:"])
    if guidance.finding_command:
        about = {"append": content.FINDING, "if": UNRECORDED if guidance.dispatches else None}
        head = f"To record a finding, append {content.FINDING} to"
        shown = show(guidance.finding_command)
        yield Block("finding_command", shown, about, [head, *_to_type(shown)])
    if guidance.commands:
        commands = [_command(declared, show) for declared in guidance.commands]
        about_commands = content.ABOUT_COMMANDS
        yield Block("commands", [about_commands, *commands], lines=[f"Commands. {about_commands}"])
    if guidance.evidence:
        about_evidence = content.about_evidence(guidance, show)
        checks = [_check(guidance, check, show) for check in guidance.evidence]
        yield Block("evidence", [about_evidence, *checks], lines=[f"Evidence. {about_evidence}"])
    if guidance.next:
        yield _next(guidance, show)


def _to_type(text: str) -> Lines:
    """Return the line of a command; no line in a preview, which has no commands."""
    return [command(visible(text), 4)] if text else []


def _shown(command: Command | None, show: Show) -> str:
    return show(command) if command else ""


def _answer_text(answer: Sequence[str]) -> str:
    return one_line("; ".join(text.removeprefix("other:") for text in answer))


def _user_said(given: GivenAnswer) -> Block:
    because = f"  because: {one_line(given.reason)}" if given.reason else ""
    words = (
        f"The user was asked: {one_line(given.question)} They answered: {_answer_text(given.answer)}{because}"
    )
    said: list[str | Block] = [Block("text", given.question), "; ".join(given.answer)]
    return Block("user_said", said, {"id": given.id, "reason": given.reason or None}, [words])


def _dispatches(guidance: Guidance, join: Join, show: Show) -> Block:
    most = min(content.LONGEST_RESULT, ALL_RESULTS // max(1, join.total))
    words = f"Agents: {join.succeeded} of {join.needed} needed have succeeded, {join.total} in all"
    parts = [
        *(Block("launch", text) for text in content.how_to_launch(guidance, show)),
        *(_dispatch(guidance, dispatch, join, most, show) for dispatch in guidance.dispatches),
    ]
    about = {"needed": join.needed, "succeeded": join.succeeded, "total": join.total, "met": join.met}
    return Block("dispatches", parts, about, [words if join.total else content.NO_ITEMS])


def _dispatch(guidance: Guidance, dispatch: DispatchView, join: Join, most: int, show: Show) -> Block:
    is_wanted = not (join.met or dispatch.succeeded)
    result = content.result_of(dispatch, most) if dispatch.result or dispatch.notes else None
    item, variables = content.item_of(dispatch), content.variables(dispatch, guidance.dispatches)
    about = {
        "number": dispatch.number,
        "agent": dispatch.agent,
        "workflow": dispatch.workflow,
        "item": item,
        "vars": variables or None,
        "model": dispatch.model,
        "status": dispatch.status,
        "relayed": dispatch.relayed or None,
        "result": result if dispatch.again else None,
    }
    runs = f" runs {dispatch.workflow}" if dispatch.workflow else ""
    what = one_line(" ".join(filter(None, (item, variables))))
    model = f", model {one_line(dispatch.model)}" if dispatch.model else ""
    words = f"  {dispatch.number}: {one_line(dispatch.agent)}{runs}{f' ({what})' if what else ''}{model}: "
    words += f"{dispatch.status}{', relayed' if dispatch.relayed else ''}"
    lines: list[str | Line] = [words]
    if result is not None:
        lines.append(f"    {shortened(content.result_of(dispatch, 200), 200)}")
    if is_wanted:
        lines += _to_type(_shown(dispatch.again_command if dispatch.again else dispatch.command, show))
    return Block("dispatch", content.work_of(dispatch, show) if is_wanted else result or "", about, lines)


def _question(guidance: Guidance, question: QuestionView, show: Show) -> Block:
    is_own = question.session == guidance.session
    about = {
        "id": question.id,
        "header": question.header or None,
        "multi": question.multi or None,
        "session": None if is_own else question.session,
    }
    whose = "" if is_own else f" (session {question.session})"
    text = Block("text", question.text)
    if question.answer is not None:
        words = f"Answered{whose}: {one_line(question.text)} {_answer_text(question.answer)}"
        return Block("answered", [text, "; ".join(question.answer)], about, [words])
    options = []
    choices = question.choices or [None] * len(question.options)  # none in a preview
    for option, choice in zip(question.options, choices, strict=True):
        shown, description = _shown(choice, show), option.description
        is_persons = question.person or option.person
        words = f"  {one_line(option.label)}{f'  {one_line(description)}' if description else ''}"
        words += "  (only a person)" if is_persons else ""
        label = {"label": option.label, "description": description or None, "person": is_persons or None}
        options.append(Block("option", shown, label, [words, *_to_type(shown)]))
    if not options:
        shown = _shown(question.command, show)
        options = [Block("answer", shown, lines=_to_type(shown))]
    header = f" [{one_line(question.header)}]" if question.header else ""
    return Block(
        "question", [text, *options], about, [f"For the user{whose}{header}: {one_line(question.text)}"]
    )


def _finding(finding: RecordedFinding) -> Block:
    about = {
        "id": finding.id,
        "severity": finding.severity,
        "round": finding.round,
        "place": finding.place,
    }
    words = f"  {finding.id} {finding.severity} (round {finding.round}) {one_line(finding.text)}"
    return Block(
        "finding",
        finding.text,
        about,
        [f"{words}{f'  {one_line(finding.place)}' if finding.place else ''}"],
    )


def _command(declared: CommandView, show: Show) -> Block:
    shown = _shown(declared.command, show)
    about = {
        "name": declared.name,
        "runs": declared.run,
        "once": declared.once or None,
        "now": declared.state or None,
    }
    once = ", only once" if declared.once else ""
    state = f" (now: {declared.state})" if declared.state else ""
    words = f"  {declared.name}{once}{state}: {one_line(declared.run)}"
    return Block("command", shown, about, [words, *_to_type(shown)])


def _check(guidance: Guidance, check: EvidenceView, show: Show) -> Block:
    outcomes = content.outcomes_of(guidance, check)
    needed = "".join(
        f"{'if ' if name == 'if' else ''}{one_line(value)}: " for name, value in outcomes.items()
    )
    state = f" (now: {check.verdict})" if check.verdict else ""
    lines: list[str | Line] = [f"  {needed}{check.id}{state}: {one_line(check.expected)}"]
    parts: list[str | Block] = [check.expected]
    if check.command:
        purpose, shown = content.purpose_of(check), show(check.command)
        parts.append(Block(purpose.replace(" ", "_"), shown, lines=_to_type(f"{purpose}: {shown}")))
    if check.question:
        parts.append(_question(guidance, check.question, show))
    return Block("check", parts, {"id": check.id, **outcomes, "now": check.verdict or None}, lines)


def _next(guidance: Guidance, show: Show) -> Block:
    is_new = show is str and (guidance.revision == 0 or guidance.briefing)
    keep = [Block("keep", KEEP)] if is_new else []
    wants = wants_of(guidance.next)
    has_many = len(wants) >= content.MANY
    parts = [*keep, *(_want(want, is_alone=not has_many) for want in wants)]
    if has_many:
        instruction = f"Append -s 'NAME=VALUE' for each, a list as JSON, {content.FACTS_FILE}"
        parts.append(Block("wants_file", instruction, lines=[f"  {content.FACTS_FILE}"]))
    cases = [_case(guidance, offer, show) for offer in guidance.next]
    return Block("next", [*parts, *cases], lines=["Report the outcome to get the next step:"])


def _want(want: Want, *, is_alone: bool) -> Block:
    """Return a value to append; if there are many, how to append them is printed once."""
    example = None if want.example is None else content.example_text(want.example)
    choices = content.choices_text(want)
    about = {
        "name": want.name,
        "type": want.type,
        "example": None if want.choices else example,
        "choices": choices if want.choices else None,
        "range": want.range or None,
        "required": want.required,
    }
    as_list = f"append -s '{want.name}=VALUE', a list as JSON"
    instruction = as_list if want.type == "list" else f"append -s {want.name}=VALUE"
    texts = [instruction] if is_alone else []
    texts += [want.description] if want.description else []
    typed = one_line(example or "")
    if want.type == "list":
        typed = "'" + typed.replace("'", r"'\''") + "'"  # else a shell takes quotes and spaces away
    which = "items of" if want.type == "list" else "one of"
    values = f"  {which} {choices}" if want.choices else f"  such as {typed}" if example else ""
    values += f" ({want.range})" if want.range else ""
    optional = "" if want.required else "  (optional)"
    description = f"  {one_line(want.description)}" if want.description else ""
    words = f"  add -s {want.name}={want.type.upper()}{optional}{values}{description}"
    return Block("want", ": ".join(texts), about, [words])


def _case(guidance: Guidance, offer: OfferedTransition, show: Show) -> Block:
    facts = " ".join(f"{name}={value}" for name, value in offer.facts.items())
    destination, shown = content.destination(guidance, offer), _shown(offer.command, show)
    about = {
        "outcome": offer.outcome,
        "facts": None if offer.command else facts or None,  # in a preview; otherwise they are in the command
        "to": destination,
        "limit_reached": offer.capped or None,
        "waits_for": "; ".join(offer.waits_for) or None,
    }
    target = (
        "ends the run" if offer.ends else f"to {destination}" if offer.to or offer.routes else destination
    )
    limit = " (the limit is reached)" if offer.capped else ""
    waiting = f" (waits for {'; '.join(offer.waits_for)})" if offer.waits_for else ""
    words = f"  {offer.outcome}{f' {one_line(facts)}' if facts else ''}: {target}{limit}{waiting}"
    return Block("case", shown, about, [words, *_to_type(shown)])
