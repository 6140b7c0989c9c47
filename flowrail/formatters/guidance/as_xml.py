"""Guidance as XML, the form for agents."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.formatters.guidance.content import (
    FACTS_FILE,
    FINDING,
    LONGEST_RESULT,
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
    how_to_ask,
    item_of,
    outcomes_of,
    pieces,
    purpose_of,
    result_of,
    shown,
    variables,
)
from flowrail.machines.definition.step import Outcome
from flowrail.machines.guidance.guide import (
    Guidance,
    OfferedTransition,
    Want,
    wants_of,
)
from flowrail.machines.sessions.session import CLAIMED
from flowrail.text.safe_text import attributes, content, xml_verbatim

LAUNCH_ONE = "Launch one agent"
LAUNCH_EACH = "Launch one agent for each pending dispatch, in parallel unless the text above says otherwise,"
LAUNCH = (
    ' with just this prompt: "Run COMMAND, and do what it prints, step by step, to the end." If your host has no agent of '
    "that name, use one that can run commands. Without agents, do the work yourself, one dispatch after the other, and say "
    "so with the result."
)
UNRECORDED = "a finding is not on record yet"
SOME = " You may report once {needed} of {total} have succeeded; that cancels the rest."

LAUNCH_AGAIN = (
    "A failed dispatch is still needed. Fix the reason, then launch a new agent with the same task."
)

RELAUNCH = (
    "A claimed dispatch is in progress. If its agent is gone or its lease has expired, launch a new agent. Its whole "
    "task is the command printed for the dispatch and what that prints."
)

ALL_ENDED = (
    "All agents have finished: launch no more. Do what the text above asks after their work, then report."
)
KEEP = "<keep>In any report: --found RESULT, --remember DECISION (repeatable).</keep>"
"""Printed at the first step, and when a session is resumed."""
ALL_RESULTS = 100_000
"""Bytes of results that are printed for all dispatches of a step; JSON has them in full."""
ENOUGH = (
    "Enough agents have succeeded: launch no more. The remaining dispatches are cancelled when you report "
    "this step, or earlier by the command printed for each."
)


def render(guidance: Guidance, show: Show = str) -> str:
    """Return *guidance* as one well-formed element: a step and its next commands."""
    head = attributes(
        session=guidance.session,
        revision=guidance.revision,
        skill=guidance.skill,
        status=guidance.status,
        replayed=REPLAYED if guidance.replayed else None,
    )
    return "\n".join([f"<step_output{head}>", *_body(guidance, show), "</step_output>"])


def _body(guidance: Guidance, show: Show) -> list[str]:
    parts: list[str] = []
    if guidance.briefing is not None:
        parts.append(f"<briefing>{xml_verbatim(briefing_text(guidance.briefing))}</briefing>")
    step = guidance.step
    if step is not None:
        where = attributes(
            id=step.id,
            number=step.number,
            total=step.total,
            phase=step.phase,
            attempt=step.attempt if step.limit or step.attempt > 1 else None,
            limit=step.limit,
            skipped=" ".join(step.skipped) or None,
        )
        parts.append(f"<step_header{where}>{xml_verbatim(step.title)}</step_header>")
    text = "\n".join(map(content, pieces(guidance, show)))
    parts.append("<current_action>\n" + text.strip("\n") + "\n</current_action>")
    if guidance.forbids:
        parts.append(f"<not_in_this_step>{xml_verbatim(', '.join(guidance.forbids))}</not_in_this_step>")
    parts += [
        *_answers(guidance),
        *_dispatches(guidance, show),
        *_questions(guidance, show),
        *_findings(guidance, show),
    ]
    if guidance.finding_command:
        condition = UNRECORDED if guidance.dispatches else None
        append = attributes(**{"append": FINDING, "if": condition})
        parts.append(
            f"<finding_command{append}>{xml_verbatim(show(guidance.finding_command))}</finding_command>"
        )
    parts += _evidence(guidance, show)
    if guidance.next:
        keep = [KEEP] if show is str and (guidance.revision == 0 or guidance.briefing) else []
        parts += [
            "<next>",
            *keep,
            *_wants(guidance),
            *(_case(guidance, offer, show) for offer in guidance.next),
            "</next>",
        ]
    return parts


def _dispatches(guidance: Guidance, show: Show) -> Iterator[str]:
    join = guidance.join
    if join is None:
        return
    head = attributes(needed=join.needed, succeeded=join.succeeded, total=join.total, met=join.met)
    yield f"<dispatches{head}>"
    if not join.total:
        yield f"<launch>{NOBODY}</launch>"
    if not join.met and any(each.status == "pending" for each in guidance.dispatches):
        some = SOME.format(needed=join.needed, total=join.total) if join.needed < join.total else ""
        launch = LAUNCH_ONE if len(guidance.dispatches) == 1 else LAUNCH_EACH
        yield f"<launch>{launch}{LAUNCH}{some}</launch>"
    if any(each.again for each in guidance.dispatches):
        yield f"<launch>{LAUNCH_AGAIN}</launch>"
    asked = any(each.answer is None for each in guidance.questions)
    if not (asked or join.met) and any(each.status == CLAIMED for each in guidance.dispatches):
        yield f"<launch>{RELAUNCH}</launch>"
    if join.met and join.open:
        yield f"<launch>{ENOUGH}</launch>"
    if join.met and join.total and not join.open:
        yield f"<launch>{ALL_ENDED}</launch>"
    most = min(LONGEST_RESULT, ALL_RESULTS // max(1, join.total))
    for each in guidance.dispatches:
        about = attributes(
            id=each.id,
            agent=each.agent,
            workflow=each.workflow,
            item=item_of(each),
            vars=variables(each, guidance.dispatches) or None,
            model=each.model,
            status=each.status,
            holder=each.holder,
            until=each.expires_at if each.status == CLAIMED else None,
            lease="over" if each.lease_over else None,
            outcome=None
            if each.outcome == Outcome.OK
            else each.outcome,  # `ok` is not the verdict in the result
            result=result_of(each, most) if each.again and each.result else None,
        )
        inside = (
            result_of(each, most)
            if each.status == "done" and not each.again
            else command_of(each, join, show)
        )
        yield f"<dispatch{about}>{xml_verbatim(inside)}</dispatch>"
    yield "</dispatches>"


def _answers(guidance: Guidance) -> Iterator[str]:
    for answer in guidance.answers:
        about = attributes(id=answer.id, reason=answer.reason or None)
        words = xml_verbatim("; ".join(answer.answer))
        yield f"<user_said{about}><text>{xml_verbatim(answer.question)}</text>{words}</user_said>"


def _questions(guidance: Guidance, show: Show) -> Iterator[str]:
    if not guidance.questions:
        return
    yield "<questions>"
    if asked := how_to_ask(guidance, show):
        yield f"<ask>{xml_verbatim(asked)}</ask>"
    for each in guidance.questions:
        about = attributes(
            id=each.id,
            header=each.header,
            multi=each.multi or None,
            session=None if each.session == guidance.session else each.session,
            default=each.default if each.answer is None else None,
            until=each.due if each.answer is None else None,
        )
        if each.answer is not None:
            said = xml_verbatim("; ".join(each.answer))
            yield f"<answered{about}><text>{xml_verbatim(each.text)}</text>{said}</answered>"
            continue
        yield f"<question{about}><text>{xml_verbatim(each.text)}</text>"
        for option in each.options:
            said = attributes(label=option.label, description=option.description or None)
            yield f"<option{said}>{xml_verbatim(shown(option.command, show))}</option>"
        yield "</question>"
    yield "</questions>"


def _findings(guidance: Guidance, show: Show) -> Iterator[str]:
    shown, more = findings_of(guidance, show)
    for each in shown:
        about = attributes(id=each.id, severity=each.severity, round=each.round, place=each.place)
        yield f"<finding{about}>{xml_verbatim(each.text)}</finding>"
    if more:
        yield f"<more_findings>{xml_verbatim(more)}</more_findings>"


def _evidence(guidance: Guidance, show: Show) -> Iterator[str]:
    if not guidance.evidence:
        return
    yield f"<evidence>\n{about_evidence(guidance)}"
    for check in guidance.evidence:
        about = attributes(
            id=check.id,
            **outcomes_of(guidance, check),
            level=check.level,
            now="waived" if check.waived else check.verdict or None,
        )
        commands = [f"<run>{xml_verbatim(check.run)}</run>"] if check.run else []
        if check.command:
            name = purpose_of(check).replace(" ", "_")
            commands.append(f"<{name}>{xml_verbatim(show(check.command))}</{name}>")
        yield f"<check{about}>{xml_verbatim(check.expected)}{''.join(commands)}</check>"
    yield "</evidence>"


def _wants(guidance: Guidance) -> list[str]:
    """Return one line for each value; if there are many, how to append them is said once."""
    wants = wants_of(guidance.next)
    if len(wants) < MANY:
        return [_want(want, _how_to_append(want)) for want in wants]
    return [
        *(_want(want) for want in wants),
        f"<wants_file>Append -s 'NAME=VALUE' for each, a list as JSON, {FACTS_FILE}</wants_file>",
    ]


def _want(want: Want, *how: str) -> str:
    head = attributes(
        name=want.name,
        type=want.type,
        example=None if want.choices else example_text(want.example),
        choices=choices_text(want) if want.choices else None,
        required=want.required,
    )
    about = [xml_verbatim(want.description)] if want.description else []
    return f"<want{head}>{': '.join([*how, *about])}</want>"


def _how_to_append(want: Want) -> str:
    if want.type == "list":
        return f"append -s '{want.name}=VALUE', a list as JSON"
    return f"append -s {want.name}=VALUE"


def _case(guidance: Guidance, offer: OfferedTransition, show: Show) -> str:
    head = attributes(
        outcome=offer.outcome,
        to=destination(guidance, offer),
        limit_reached=offer.capped or None,
        waits_for="; ".join(offer.waits_for) or None,
    )
    return f"<case{head}>{xml_verbatim(shown(offer.command, show))}</case>"
