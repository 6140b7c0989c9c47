"""Guidance as text for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowrail.formatters.guidance.content import (
    FACTS_FILE,
    FINDING,
    MANY,
    NOBODY,
    REPLAYED,
    Show,
    about_evidence,
    briefing_text,
    choices_text,
    command_of,
    destination,
    example_text,
    findings_of,
    in_short,
    item_of,
    outcomes_of,
    pieces,
    purpose_of,
    shown,
    variables,
)
from flowrail.machines.guidance.guide import Guidance, OfferedTransition, wants_of
from flowrail.text.phrases import duration, in_words, listed, section, size
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

Lines = list[str | Line]
_FENCES = ("```", "~~~")


def render(guidance: Guidance, show: Show = str) -> str:
    """Return *guidance* as text: the step, its instructions, the next commands."""
    return plain_text(report(guidance, show))


def report(guidance: Guidance, show: Show = str) -> Report:
    """Return *guidance* for a terminal: prose is wrapped, commands and code are not."""
    parts: list[Lines] = [_header(guidance)]
    if guidance.briefing is not None:
        parts.append([visible(briefing_text(guidance.briefing))])
    parts.append([*_prose(visible("\n".join(pieces(guidance, show)).strip("\n")))])
    if guidance.forbids:
        parts.append([f"Not in this step: {one_line(', '.join(guidance.forbids))}"])
    parts += _details(guidance, show)
    return paragraphs(*parts)


def _prose(text: str) -> Iterator[str | Line]:
    """Yield the lines of instructions; code, tables and lines that are indented as code are not wrapped."""
    fence = ""
    for text_line in text.split("\n"):
        start = text_line.lstrip()[:3]
        is_fence = start in _FENCES and fence in {"", start}
        wraps = not (fence or is_fence or text_line.startswith(("|", "    ", "<")))
        fence = ("" if fence else start) if is_fence else fence
        yield text_line if wraps else Line((text_line,), wraps=False)


def _header(guidance: Guidance) -> Lines:
    standing = f"{guidance.session} · revision {guidance.revision} · {one_line(guidance.status)}"
    marks = f"{standing}{f' · {REPLAYED}' if guidance.replayed else ''}"
    step = guidance.step
    if step is None:
        return [line(Span(marks, Style.TITLE))]
    phase = f" · {one_line(step.phase)}" if step.phase else ""
    attempt = f" · attempt {step.attempt} of {step.limit}" if step.limit else ""
    skipped = f" · skipped {listed(step.skipped)}" if step.skipped else ""
    head = f"{guidance.skill} · step {step.number} of {step.total} · {one_line(step.title)}{phase}{attempt}{skipped}"
    return [
        title(head),
        *([line(Span(marks, Style.MUTED))] if guidance.session else []),
    ]  # a preview has no session


def _given(guidance: Guidance) -> str:
    params = in_short(guidance.params)
    given = ", ".join(f"{one_line(name)}={one_line(in_words(value))}" for name, value in params.items())
    return f" with {given}" if given else ""


def _dispatches(guidance: Guidance, show: Show) -> Lines:
    join = guidance.join
    if join is None:
        return []
    if not join.total:
        return [NOBODY]
    lines: Lines = [f"Agents: {join.succeeded} of {join.needed} needed have succeeded, {join.total} in all"]
    for each in guidance.dispatches:
        about = one_line(" ".join(filter(None, (item_of(each), variables(each, guidance.dispatches)))))
        item = f" ({about})" if about else ""
        holder = f" by {one_line(each.holder)}" if each.holder and each.status == "claimed" else ""
        over = ", lease expired" if each.lease_over else ""
        model = f", model {one_line(each.model)}" if each.model else ""
        status = one_line(f"{each.status} {each.outcome or ''}")
        runs = f" runs {each.workflow}" if each.workflow else ""
        lines.append(f"  {each.id} {one_line(each.agent)}{runs}{item}{model}: {status}{holder}{over}")
        if each.status == "done" and each.result:
            lines.append(f"    {_result(each.result)}")
        if each.status != "done" or each.again:
            claim = command_of(each, join, show)
            lines += [command(visible(claim), 4)] if claim else []
    return lines


def _result(result: object) -> str:
    return shortened(one_line(example_text(result)), 200)


def _answered(answer: Sequence[str]) -> str:
    return one_line("; ".join(text.removeprefix("other:") for text in answer))


def _answers(guidance: Guidance) -> Lines:
    return [
        f"The user was asked: {one_line(answer.question)} They answered: {_answered(answer.answer)}"
        + (f"  because: {one_line(answer.reason)}" if answer.reason else "")
        for answer in guidance.answers
    ]


def _questions(guidance: Guidance, show: Show) -> Lines:
    lines: Lines = []
    for each in guidance.questions:
        where = "" if each.session == guidance.session else f" (session {each.session})"
        if each.answer is not None:
            lines.append(f"Answered{where}: {one_line(each.text)} {_answered(each.answer)}")
            continue
        lines.append(f"For the user{where} [{one_line(each.header)}]: {one_line(each.text)}")
        if each.default and each.due:
            lines.append(f"  without an answer until {one_line(each.due)}: {one_line(each.default)}")
        for option in each.options:
            about = f"  {one_line(option.description)}" if option.description else ""
            lines += [f"  {one_line(option.label)}{about}", command(visible(shown(option.command, show)), 4)]
    return lines


def _working_files(guidance: Guidance) -> str:
    lines = [
        f"  {one_line(file.path.removeprefix(f'{guidance.work_folder}/'))}"
        f"  {size(file.bytes)}, changed {duration(file.seconds)} ago"
        for file in guidance.working_files
    ]
    return section(f"Working files in {one_line(guidance.work_folder)}:", lines)


def _findings(guidance: Guidance, show: Show) -> Lines:
    shown, more = findings_of(guidance, show)
    lines: Lines = [
        f"  {each.id} {each.severity} (round {each.round}) {one_line(each.text)}"
        + (f"  {one_line(each.place)}" if each.place else "")
        for each in shown
    ]
    lines += [command(visible(more))] if more else []
    lines = ["Findings on record:", *lines] if lines else []
    record = guidance.finding_command
    if record:
        lines += [f"To record a finding, append {FINDING} to", command(visible(show(record)), 4)]
    return lines


def _evidence(guidance: Guidance, show: Show) -> Lines:
    lines: Lines = [f"Evidence. {about_evidence(guidance)}"]
    for check in guidance.evidence:
        verdict = "waived" if check.waived else check.verdict
        about = f" ({verdict})" if verdict else ""
        needed = "".join(
            f"{'if ' if name == 'if' else ''}{one_line(said)}: "
            for name, said in outcomes_of(guidance, check).items()
        )
        lines.append(f"  {needed}{check.id}{about}: {one_line(check.expected)}")
        lines += [command(f"run: {visible(check.run)}", 4)] if check.run else []
        if check.command:
            lines.append(command(f"{purpose_of(check)}: {visible(show(check.command))}", 4))
    return lines


def _next(guidance: Guidance, show: Show) -> Lines:
    lines: Lines = ["Report the outcome to get the next step:"]
    for offer in guidance.next:
        lines.append(f"  {_offer(guidance, offer)}")
        lines += [command(visible(show(offer.command)), 4)] if offer.command else []
    wants = wants_of(guidance.next)
    if wants:
        lines.append("Add to the command:")
    for want in wants:
        about = f"  {one_line(want.description)}" if want.description else ""
        must = "" if want.required else "  (optional)"
        example = one_line(example_text(want.example))
        if want.type == "list":
            example = "'" + example.replace("'", r"'\''") + "'"  # else a shell takes quotes and spaces away
        values = f"one of {choices_text(want)}" if want.choices else f"such as {example}"
        lines.append(f"  -s {want.name}={want.type.upper()}{must}  {values}{about}")
    if len(wants) >= MANY:
        lines.append(f"  {FACTS_FILE}")
    return lines


def _details(guidance: Guidance, show: Show) -> Iterator[Lines]:
    """Yield what a step waits for, and its next commands."""
    yield from filter(
        None,
        (
            _answers(guidance),
            _dispatches(guidance, show),
            _questions(guidance, show),
            _findings(guidance, show),
        ),
    )
    if guidance.evidence:
        yield _evidence(guidance, show)
    if guidance.next:
        yield _next(guidance, show)


def _offer(guidance: Guidance, offer: OfferedTransition) -> str:
    facts = "".join(f" {name}={one_line(str(value))}" for name, value in offer.facts.items())
    leads = destination(guidance, offer)
    to = "ends the run" if offer.ends else f"to {leads}" if offer.to or offer.routes else leads
    waits = f" (waits for {'; '.join(offer.waits_for)})" if offer.waits_for else ""
    return f"{offer.outcome}{facts}: {to}{' (the limit is reached)' if offer.capped else ''}{waits}"


def standing(guidance: Guidance, show: Show = str) -> str:
    """Return the state of a session and its next commands, without the step's instructions."""
    return plain_text(state_report(guidance, show))


def state_report(guidance: Guidance, show: Show = str) -> Report:
    """Return the same for a terminal."""
    yield from _header(guidance)
    yield line("started ", Moment(one_line(guidance.started_at)), _given(guidance))
    if files := _working_files(guidance):
        yield files
    if guidance.claim:
        yield one_line(guidance.claim)
    for lines in _details(guidance, show):
        yield from lines
    if not (guidance.next or guidance.dispatches):
        # it has ended, has lost its work or belongs to another conversation
        yield from _prose(visible("\n".join(pieces(guidance, show))))
