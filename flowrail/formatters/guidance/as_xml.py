"""Guidance as XML, the form for agents."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.formatters.guidance import content
from flowrail.formatters.guidance.content import Show
from flowrail.machines.engine.dispatched_work import Join
from flowrail.machines.guidance.evidence import EvidenceView
from flowrail.machines.guidance.guide import Guidance, OfferedTransition, Want, wants_of
from flowrail.machines.guidance.views import DispatchView, QuestionView
from flowrail.text.safe_text import (
    attributes,
    printed_block,
    printed_element,
    printed_markup,
    xml_verbatim,
)
from flowrail.text.safe_text import (
    content as markup_of,
)

UNRECORDED = "a finding is not on record yet"
KEEP = "In any report: --found RESULT, --remember DECISION (repeatable)."
"""Printed at the first step, and when a session is resumed."""
ALL_RESULTS = 100_000
"""Bytes of results that are printed for all dispatches of a step; JSON has them in full."""


def render(guidance: Guidance, show: Show = str) -> str:
    """Return *guidance* as one well-formed element: a step and its next commands."""
    return printed_block(
        "step_output",
        [*_step(guidance, show), *_work(guidance, show), *_report(guidance, show)],
        session=guidance.session,
        revision=guidance.revision,
        skill=guidance.skill,
        status=guidance.status,
        replayed=content.REPLAYED if guidance.replayed else None,
    )


def _step(guidance: Guidance, show: Show) -> Iterator[str]:
    """Yield the step and its instructions."""
    if guidance.briefing is not None:
        yield printed_element("briefing", content.briefing_text(guidance.briefing))
    step = guidance.step
    if step is not None:
        yield printed_element(
            "step_header",
            step.title,
            id=step.id,
            number=step.number,
            total=step.total,
            phase=step.phase,
            attempt=step.attempt if step.limit or step.attempt > 1 else None,
            limit=step.limit,
            skipped=" ".join(step.skipped) or None,
        )
    instructions = "\n".join(map(markup_of, content.pieces(guidance, show))).strip("\n")
    yield printed_block("current_action", [instructions])
    if guidance.forbids:
        yield printed_element("not_in_this_step", ", ".join(guidance.forbids))


def _work(guidance: Guidance, show: Show) -> Iterator[str]:
    """Yield answers, dispatches, questions and findings."""
    for answer in guidance.answers:
        answer_markup = _answer_markup(answer.question, answer.answer)
        yield printed_markup("user_said", answer_markup, id=answer.id, reason=answer.reason or None)
    if guidance.join is not None:
        yield _dispatches(guidance, guidance.join, show)
    if guidance.questions:
        instruction = content.how_to_ask(guidance, show)
        ask = [printed_element("ask", instruction)] if instruction else []
        yield printed_block(
            "questions", [*ask, *(_question(guidance, question, show) for question in guidance.questions)]
        )
    for finding in guidance.findings:
        about = {"severity": finding.severity, "round": finding.round, "place": finding.place}
        yield printed_element("finding", finding.text, id=finding.id, **about)
    if guidance.finding_command:
        condition = UNRECORDED if guidance.dispatches else None
        command = show(guidance.finding_command)
        yield printed_element("finding_command", command, **{"append": content.FINDING, "if": condition})


def _report(guidance: Guidance, show: Show) -> Iterator[str]:
    """Yield the commands of the step, the evidence that is needed, and the next commands."""
    if guidance.commands:
        commands = [
            printed_element(
                "command",
                content.shown(command.command, show),
                name=command.name,
                runs=command.run,
                once=command.once or None,
                now=command.state or None,
            )
            for command in guidance.commands
        ]
        yield printed_block("commands", [content.ABOUT_COMMANDS, *commands])
    if guidance.evidence:
        checks = [_check(guidance, check, show) for check in guidance.evidence]
        yield printed_block("evidence", [content.about_evidence(guidance), *checks])
    if guidance.next:
        is_new = show is str and (guidance.revision == 0 or guidance.briefing)
        keep = [printed_element("keep", KEEP)] if is_new else []
        cases = [_case(guidance, offer, show) for offer in guidance.next]
        yield printed_block("next", [*keep, *_wants(guidance), *cases])


def _dispatches(guidance: Guidance, join: Join, show: Show) -> str:
    most = min(content.LONGEST_RESULT, ALL_RESULTS // max(1, join.total))
    return printed_block(
        "dispatches",
        [
            *(printed_element("launch", text) for text in content.how_to_launch(guidance, show)),
            *(_dispatch(guidance, dispatch, join, most, show) for dispatch in guidance.dispatches),
        ],
        needed=join.needed,
        succeeded=join.succeeded,
        total=join.total,
        met=join.met,
    )


def _dispatch(guidance: Guidance, dispatch: DispatchView, join: Join, most: int, show: Show) -> str:
    is_wanted = not (join.met or dispatch.succeeded)
    has_result = bool(dispatch.result or dispatch.notes)
    return printed_element(
        "dispatch",
        content.work_of(dispatch, show)
        if is_wanted
        else content.result_of(dispatch, most)
        if has_result
        else "",
        number=dispatch.number,
        agent=dispatch.agent,
        workflow=dispatch.workflow,
        item=content.item_of(dispatch),
        vars=content.variables(dispatch, guidance.dispatches) or None,
        model=dispatch.model,
        status=dispatch.status,
        relayed=dispatch.relayed or None,
        result=content.result_of(dispatch, most) if dispatch.again and has_result else None,
    )


def _answer_markup(question: str, answer: tuple[str, ...]) -> str:
    return f"{printed_element('text', question)}{xml_verbatim('; '.join(answer))}"


def _question(guidance: Guidance, question: QuestionView, show: Show) -> str:
    about = attributes(
        id=question.id,
        header=question.header or None,
        multi=question.multi or None,
        session=None if question.session == guidance.session else question.session,
    )
    if question.answer is not None:
        return f"<answered{about}>{_answer_markup(question.text, question.answer)}</answered>"
    options = [
        printed_element(
            "option",
            content.shown(option.command, show),
            label=option.label,
            description=option.description or None,
        )
        for option in question.options
    ]
    if not options:
        options = [printed_element("answer", content.shown(question.command, show))]
    return "\n".join([f"<question{about}>{printed_element('text', question.text)}", *options, "</question>"])


def _check(guidance: Guidance, check: EvidenceView, show: Show) -> str:
    content_markup = xml_verbatim(check.expected)
    if check.command:
        content_markup += printed_element(content.purpose_of(check).replace(" ", "_"), show(check.command))
    about = {**content.outcomes_of(guidance, check), "now": check.verdict or None}
    return printed_markup("check", content_markup, id=check.id, **about)


def _wants(guidance: Guidance) -> list[str]:
    """Return one line for each value; if there are many, how to append them is printed once."""
    wants = wants_of(guidance.next)
    if len(wants) < content.MANY:
        return [_want(want, _how_to_append(want)) for want in wants]
    instruction = f"Append -s 'NAME=VALUE' for each, a list as JSON, {content.FACTS_FILE}"
    return [*(_want(want, "") for want in wants), printed_element("wants_file", instruction)]


def _want(want: Want, instruction: str) -> str:
    return printed_markup(
        "want",
        ": ".join(filter(None, (instruction, xml_verbatim(want.description)))),
        name=want.name,
        type=want.type,
        example=None if want.choices else content.example_text(want.example),
        choices=content.choices_text(want) if want.choices else None,
        range=want.range or None,
        required=want.required,
    )


def _how_to_append(want: Want) -> str:
    if want.type == "list":
        return f"append -s '{want.name}=VALUE', a list as JSON"
    return f"append -s {want.name}=VALUE"


def _case(guidance: Guidance, offer: OfferedTransition, show: Show) -> str:
    facts = "" if offer.command else " ".join(f"{name}={value}" for name, value in offer.facts.items())
    return printed_element(
        "case",
        content.shown(offer.command, show),
        outcome=offer.outcome,
        facts=facts or None,  # in a preview; otherwise they are in the command
        to=content.destination(guidance, offer),
        limit_reached=offer.capped or None,
        waits_for="; ".join(offer.waits_for) or None,
    )
