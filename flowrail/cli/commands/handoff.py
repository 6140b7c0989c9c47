"""`flow handoff`: hand work from one skill to another."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import datetime
from functools import cached_property

import click

from flowrail.cli import options, output
from flowrail.cli.environment import SessionCall, facts_of
from flowrail.command import Command
from flowrail.discovery.compatibility import WRITTEN_VERSIONS
from flowrail.errors import UsageError
from flowrail.formatters.guidance.as_data import render as as_data
from flowrail.formatters.reports import handoff as page
from flowrail.handoff.chain import LOOP
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import (
    ValidationFailedError,
)
from flowrail.handoff.payload.check import check_payload
from flowrail.handoff.payload.models import VERSIONS
from flowrail.handoff.request import HandoffRequest
from flowrail.handoff.sending import SentHandoff, cancel, send
from flowrail.handoff.sending import send_command as command_of
from flowrail.operations.handoffs.context import handoff_context_of, session_to_hand_off
from flowrail.operations.handoffs.receive import receive_handoff
from flowrail.storage.records import to_plain
from flowrail.text.phrases import count


class HandoffCall(SessionCall):
    """A call of a command about handoffs."""

    @cached_property
    def context(self) -> HandoffContext:
        """The environment as handoffs need it."""
        return handoff_context_of(self.environment, wait=self.wait)

    def answer_handoff(self, sent: SentHandoff) -> None:
        """Print the state of a handoff."""
        data = page.as_data(self.context, sent.handoff, replayed=sent.replayed, notes=sent.notes)
        self.answer(data, page.report(data))


send_options = options.stacked(
    click.option("--reason", default="", metavar="WHY", help="Why this target; part of the payload."),
    click.option("--yes", is_flag=True, help="Allow a target that had this work before."),
    click.option("--approved", is_flag=True, help="The user approved a chain of more than five skills."),
    options.facts,
)


@HandoffCall.command(
    "send",
    "flow handoff send planner --session perspective-swarm-k3x9q2",
    "flow handoff send planner --from lit-pm --payload handoff-payload.yaml",
)
@click.argument("target")
@options.session_option
@click.option(
    "--from", "skill", default="", metavar="SKILL", help="The skill that hands off, if it has no session."
)
@click.option(
    "--payload",
    default="",
    metavar="FILE",
    help="With --from: the payload that the skill received, or one that it wrote.",
)
@click.option("--again", is_flag=True, help="Hand off work again that was already received.")
@click.option(
    "--new",
    is_flag=True,
    help="With --from: this is new work, not what the skill received; a new chain starts.",
)
@send_options
@click.option("--health-check", "health", is_flag=True, help="Run the target's own check first.")
@click.option(
    "--schema", type=click.Choice(WRITTEN_VERSIONS), help="The payload version (default: the target's)."
)
@click.option(
    "--format", "file_format", type=click.Choice(["yaml", "json"]), help="The format of the payload's file."
)
@options.utc
@options.json_flag
@options.root
@options.store
@options.wait
def send_command(
    call: HandoffCall,
    target: str,
    session_id: str | None,
    skill: str,
    payload: str,
    again: bool,
    new: bool,
    reason: str,
    yes: bool,
    approved: bool,
    assignments: dict[str, str],
    facts_file: str | None,
    health: bool,
    schema: str | None,
    file_format: str | None,
) -> None:
    """Hand the work of a session or a skill to another skill

    Selects the target, checks everything, writes the payload once, and prints the line that the agent
    that takes over runs. The same command again prints the same answer, or continues an interrupted
    or failed handoff. A skill without a session uses --from; its chain continues from the payload that
    it received, unless --new starts a chain.
    """
    if skill and session_id:
        raise UsageError("--from and --session exclude each other", hint="name the session, or the skill")
    if payload and not skill:
        raise UsageError("--payload needs --from", hint="name the skill that hands off")
    if new and not skill:
        raise UsageError("--new needs --from", hint="a session that received work continues its chain")
    context, world = call.context, call.world
    request = HandoffRequest(
        target,
        session=session_id or "",
        skill=skill,
        payload=payload,
        reason=reason,
        yes=yes,
        approved=approved,
        health=health,
        schema=schema or "",
        form=file_format or "",
        facts=facts_of(assignments, facts_file),
        again=again,
        new=new,
    )
    if not request.session and not skill:
        root = next(iter(call.roots), "")

        def with_session(session: str) -> Command:
            command = command_of(context, replace(request, session=session), root=root)
            return command.with_options(facts=assignments, facts_file=facts_file)

        request = replace(request, session=session_to_hand_off(world, with_session))
    call.answer_handoff(_send(context, request))


def _send(context: HandoffContext, request: HandoffRequest) -> SentHandoff:
    """Send; a person at a terminal is asked whether a loop is meant."""
    try:
        return send(context, request)
    except ValidationFailedError as error:
        is_person = sys.stdin.isatty() and sys.stderr.isatty()
        if error.details.get("rule") != LOOP or not is_person:
            raise
        click.echo("WARNING: " + error.message.replace("\n", "\n         "), err=True)
        if not click.confirm("Proceed anyway?", err=True):
            raise
        reason = request.reason or "confirmed at the terminal"
        return send(context, replace(request, yes=True, reason=reason))


@HandoffCall.command("status", "flow handoff status", "flow handoff status --all")
@click.argument("handoff_id", metavar="[ID]", required=False)
@click.option("--all", "include_ended", is_flag=True, help="Include handoffs that are over.")
@options.utc
@options.as_json
@options.store
def status_command(call: HandoffCall, handoff_id: str | None, include_ended: bool) -> None:
    """Show the status of one handoff, or of all open ones

    Changes nothing.
    """
    context = call.context
    if handoff_id is not None:
        call.answer_handoff(SentHandoff(context.handoffs.read(handoff_id)))
        return
    unreadable: list[str] = []
    handoffs = list(context.handoffs.all(unreadable))
    shown = [handoff for handoff in handoffs if include_ended or handoff.is_open]
    items = [page.as_data(context, handoff) for handoff in sorted(shown, key=lambda h: h.started_at)]
    if unreadable:
        number = count(len(unreadable), "handoff")
        output.notes([f"{number} cannot be read or foreign; see {context.command('audit')}"])
    call.answer({"handoffs": items}, page.list_report(items, ended=len(handoffs) - len(shown)))


@HandoffCall.command("cancel", "flow handoff cancel handoff-k3x9q2 --reason 'sent to the wrong skill'")
@click.argument("handoff_id", metavar="ID")
@options.reason
@options.utc
@options.as_json
@options.store
@options.wait
def cancel_command(call: HandoffCall, handoff_id: str, reason: str) -> None:
    """Cancel a handoff

    A written payload stays, but it can no longer be received.
    """
    call.answer_handoff(SentHandoff(cancel(call.context, handoff_id, reason)))


@HandoffCall.command("receive", "flow handoff receive handoff-payload.yaml")
@click.argument("file")
@click.option("--sha256", "digest", default="", metavar="HEX", help="The digest that came with the path.")
@click.option("--force", is_flag=True, help="Accept an expired payload.")
@options.params
@options.form
@options.root
@options.store
@options.wait
def receive_command(call: HandoffCall, file: str, digest: str, force: bool, params: dict[str, str]) -> None:
    """Validate a payload, claim it and take over the work

    It can be received only once. If the target has a workflow, its session starts with parameters from
    the payload, and its first step is printed; -p adds parameters that the payload lacks.
    """
    context, world = call.context, call.world
    received = receive_handoff(
        context, world, file, digest=digest, force=force, params=params, root=next(iter(call.roots), "")
    )
    receipt, answer = received.receipt, received.answer
    output.notes([*[f"warning: {warning}" for warning in receipt.warnings], *page.receipt_notes(receipt)])
    data = page.receipt_data(context, receipt)
    if answer is None:
        call.answer(data, page.report(data))
    elif call.as_json:
        output.notes(answer.notes)
        output.data({**as_data(answer.guidance), "handoff": data})
    else:
        call.show(answer.guidance, answer.notes)


@HandoffCall.command("check", "flow handoff check handoff-payload.yaml")
@click.argument("file")
@click.option("--to", type=click.Choice(VERSIONS), help="Print the payload in this version.")
@click.option(
    "--strict-v2", is_flag=True, help="Require the one source that the published 2.0 schema allows."
)
@options.as_json
def check_command(call: HandoffCall, file: str, to: str | None, strict_v2: bool) -> int:
    """List every problem of a payload, or print it in another version

    Detects the version, then checks shape, related fields, hash, expiry and chain. Exits 1 on any
    error; warnings do not count. With --to, the fields that are added and lost are listed on stderr,
    and an expired payload gets a new expiry.
    """
    now = datetime.fromisoformat(call.environment.now)
    checked = check_payload(os.path.abspath(file), now=now, strict_v2=strict_v2, to=to or "")
    if checked.converted is None or call.as_json:
        call.answer(to_plain(checked), page.render_check(checked, file))
    else:
        output.notes(page.conversion_notes(checked.converted))
        output.exact(checked.text.rstrip("\n"))
    return 0 if checked.valid else 1
