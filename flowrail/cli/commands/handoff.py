"""`flow handoff`: hand work from one skill to another."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import click

from flowrail.cli import options, output, output_file
from flowrail.cli.environment import environment, facts_of, named_values
from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.compatibility import WRITTEN_VERSIONS
from flowrail.discovery.index import Discovery
from flowrail.discovery.menu_cache import CacheUse
from flowrail.discovery.ranking.menu import MenuRequest, offer
from flowrail.discovery.ranking.scores import CATEGORIES, Query
from flowrail.errors import UsageError
from flowrail.formatters.guidance.as_data import render as as_data
from flowrail.formatters.reports import handoff as page
from flowrail.formatters.reports import menu as as_menu
from flowrail.handoff.chain import LOOP, chain_of, format_chain
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.errors import (
    EXPIRED,
    INTEGRITY,
    MAX_LISTED,
    PayloadProblem,
    ValidationFailedError,
    errors,
    payload_refusal,
)
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.convert import convert, narrowed
from flowrail.handoff.payload.document import DEFAULT_FORM, read, read_file
from flowrail.handoff.payload.document import render as render_payload
from flowrail.handoff.payload.models import PUBLISHED
from flowrail.handoff.payload.validate import ValidationRules, validate
from flowrail.handoff.request import HandoffRequest, extra_root, skill_source
from flowrail.handoff.sending import SentHandoff, cancel, retry, send
from flowrail.machines.sessions.session import Session
from flowrail.operations.environment import Environment, World, world_of
from flowrail.operations.handoffs.context import handoff_context_of, session_to_hand_off
from flowrail.operations.handoffs.handoff_menu import find_targets, keep_scores, synthesis
from flowrail.operations.handoffs.receive import receive_handoff
from flowrail.storage.files import WriteFailedError
from flowrail.text.phrases import count


def contexts(
    *, store: str | None, roots: Sequence[str] = (), wait: float = 10.0
) -> tuple[HandoffContext, World]:
    """Return what handoffs need, and what sessions need."""
    looked_up = environment(store, roots)
    return handoff_context_of(looked_up, wait=wait), world_of(looked_up, wait=wait)


send_options = options.stacked(
    click.option("--reason", default="", metavar="WHY", help="Why this target; part of the payload."),
    click.option("--yes", is_flag=True, help="Allow a target that had this work before."),
    click.option("--approved", is_flag=True, help="The user approved a chain of more than five skills."),
    options.facts,
)


@click.command(
    "targets",
    epilog=options.examples(
        "flow handoff targets",
        "flow handoff targets --problem-type analytical --top 3",
    ),
)
@options.session_option
@click.option("--problem-type", metavar="T", help="Rank for this problem type instead of the reported one.")
@click.option(
    "--from", "source", default="", metavar="SKILL", help="The skill that hands off, if there is no session."
)
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="C",
    help="Only skills with one of these categories. Repeatable.",
)
@options.autonomous
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="Show at most N (default: three to five)."
)
@click.option("--all", "everything", is_flag=True, help="Include skills that do not fit, and why.")
@click.option("--rescan", is_flag=True, help="Ignore the session's cache (with --session).")
@click.option(
    "--options",
    "lettered",
    is_flag=True,
    help="Print one line per skill: C, D, E …, after accept and refine.",
)
@options.root
@options.as_json
@options.store
def targets_command(
    session_id: str | None,
    problem_type: str | None,
    source: str,
    categories: tuple[str, ...],
    autonomous: bool,
    top: int | None,
    everything: bool,
    rescan: bool,
    lettered: bool,
    roots: tuple[str, ...],
    as_json: bool,
    store: str | None,
) -> None:
    """List the skills that can take over, best first

    With --session they are ranked by what the session reported, and the command that hands off to each
    is printed. They are cached in the session's folder for 30 minutes. Reads what skills declare and
    runs nothing.
    """
    context, world = contexts(store=store, roots=roots)
    session = world.store.read(session_id).session if session_id else None
    query = Query(
        categories,
        session.skill if session else source,
        supervised=not autonomous,
        history=context.handoffs.receivers(),
        chain=chain_of(session) if session else (),
    )
    asked = MenuRequest(query, synthesis(session, problem_type))
    output.notes(asked.unknown())
    cache = None
    if roots or everything:  # the cache does not have this
        discovery = context.discover()
    else:
        discovery, cache = _cached_targets(context, world, session_id, rescan=rescan)
    menu = offer(discovery, asked, top=top)
    if session is not None and cache is not None:
        with suppress(WriteFailedError):  # the scores are only kept for readers of the file
            keep_scores(world.store, session.id, discovery, cache, menu)
    offers = [_offer(context, session, ranked.candidate, asked) for _, ranked in menu.places]
    if as_json:
        data = as_menu.data(menu, discovery, cache=cache, everything=everything, top=top)
        by_skill = {entry["skill"]: entry for entry in offers}
        for item in data["candidates"]:
            item.update(by_skill.get(item["skill"], {}))
        output.data(data)
    elif lettered:
        output.text(as_menu.options(menu))
    else:
        again = str(context.command("handoff targets", session=session.id if session else None))
        shown = as_menu.report(menu, discovery, cache=cache, everything=everything, command=again)
        output.report(page.targets_report(shown, offers[: menu.length] if session or source else ()))


def _cached_targets(
    context: HandoffContext, world: World, session_id: str | None, *, rescan: bool
) -> tuple[Discovery, CacheUse | None]:
    """Return the skills that can take over, from the session's cache while it is valid."""
    now = context.current_time()
    try:
        return find_targets(world.store, session_id, now, context.discover, rescan=rescan)
    except WriteFailedError as error:  # without a cache the next menu only takes longer
        output.notes([f"the menu was not cached: {error.message}"])
        return context.discover(), None


def _offer(
    context: HandoffContext, session: Session | None, candidate: Candidate, asked: MenuRequest
) -> dict[str, object]:
    """Return the command that hands off to a candidate, and the loop that this would be, if it is one."""
    skill, source, facts = candidate.skill, asked.query.source, _problem_type_fact(session, candidate, asked)
    root = extra_root(candidate)
    if session is not None:
        chain = chain_of(session)
        command = context.command("handoff send", skill, session=session.id, facts=facts, root=root)
    elif source:
        origin = skill_source(context, source, "")
        chain = origin.chain
        facts = facts if origin.received else {"prompt": "…", **facts}
        command = context.command("handoff send", skill, facts=facts, root=root, **{"from": source})
    else:
        return {"skill": skill, "loop": "", "command": ""}
    loop = format_chain(chain, skill) if skill in chain else ""
    return {"skill": skill, "loop": loop, "command": str(command)}


def _problem_type_fact(session: Session | None, candidate: Candidate, asked: MenuRequest) -> dict[str, str]:
    """Return the problem type as a fact for a command, if the work has another one.

    A candidate that reads 2.0 gets the type that 2.0 has.
    """
    wanted, known = asked.synthesis, synthesis(session)
    if wanted is None or wanted.problem_type not in CATEGORIES:
        return {}
    if known is not None and known.problem_type == wanted.problem_type:
        return {}
    is_older = candidate.schema_version == "2.0"
    return {"problem_type": narrowed(wanted.problem_type) if is_older else wanted.problem_type}


@click.command(
    "send",
    epilog=options.examples(
        "flow handoff send planner --session perspective-swarm-k3x9q2",
        "flow handoff send planner --from lit-pm --payload handoff-payload.yaml",
    ),
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
@send_options
@click.option("--health-check", "health", is_flag=True, help="Run the target's own check first.")
@click.option(
    "--schema", type=click.Choice(WRITTEN_VERSIONS), help="The payload version (default: the target's)."
)
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), help="The format of the payload's file."
)
@options.utc
@options.json_flag
@options.root
@options.store
@options.wait
def send_command(
    target: str,
    session_id: str | None,
    skill: str,
    payload: str,
    again: bool,
    reason: str,
    yes: bool,
    approved: bool,
    assignments: tuple[str, ...],
    facts_file: str | None,
    health: bool,
    schema: str | None,
    form: str | None,
    as_json: bool,
    roots: tuple[str, ...],
    store: str | None,
    wait: float,
) -> None:
    """Hand the work of a session or a skill to another skill

    Selects the target, checks everything, writes the payload once, and prints the line that the agent
    that takes over runs. The same command again prints the same answer, or continues an interrupted
    handoff. A skill without a session uses --from; its chain continues from the payload that it
    received.
    """
    if skill and session_id:
        raise UsageError("--from and --session exclude each other", hint="name the session, or the skill")
    if payload and not skill:
        raise UsageError("--payload needs --from", hint="name the skill that hands off")
    context, world = contexts(store=store, roots=roots, wait=wait)
    facts = facts_of(assignments, facts_file)
    session = session_id or ""
    if not session and not skill:
        session = session_to_hand_off(
            world,
            lambda open_session: context.command(
                "handoff send",
                target,
                session=open_session,
                facts=facts_of(assignments, None),
                facts_file=facts_file,
                reason=" ".join(reason.splitlines()) or None,
                schema=schema,
                format=form,
                yes=yes,
                approved=approved,
                health_check=health,
                again=again,
                root=next(iter(roots), ""),
            ),
        )
    request = HandoffRequest(
        target=target,
        session=session,
        reason=reason,
        yes=yes,
        approved=approved,
        health=health,
        schema=schema or "",
        form=form or "",
        facts=facts,
        skill=skill,
        payload=payload,
        again=again,
    )
    sent = _send(context, request)
    data = page.as_data(context, sent.handoff, replayed=sent.replayed, notes=sent.notes)
    if as_json:
        output.data(data)
    else:
        output.report(page.report(data))


def _send(context: HandoffContext, request: HandoffRequest) -> SentHandoff:
    """Send; a person at a terminal is asked whether a loop is meant."""
    try:
        return send(context, request)
    except ValidationFailedError as error:
        is_person = sys.stdin.isatty() and sys.stderr.isatty()
        if error.details.get("rule") != LOOP or not is_person:
            raise
        click.echo(f"WARNING: {error.message}", err=True)
        if not click.confirm("Proceed anyway?", err=True):
            raise
        reason = request.reason or "confirmed at the terminal"
        return send(context, request._replace(yes=True, reason=reason))


@click.command("status", epilog=options.examples("flow handoff status", "flow handoff status --all"))
@click.argument("handoff_id", metavar="[ID]", required=False)
@click.option("--all", "include_ended", is_flag=True, help="Include handoffs that are over.")
@options.utc
@options.as_json
@options.store
def status_command(handoff_id: str | None, include_ended: bool, as_json: bool, store: str | None) -> None:
    """Show the phase of one handoff, or of all open ones

    Changes nothing.
    """
    context, _ = contexts(store=store)
    if handoff_id is not None:
        data = page.as_data(context, context.handoffs.read(handoff_id).handoff)
        if as_json:
            output.data(data)
        else:
            output.report(page.report(data))
        return
    unreadable: list[str] = []
    handoffs = [stored.handoff for stored in context.handoffs.all(unreadable)]
    shown = [handoff for handoff in handoffs if include_ended or handoff.is_open]
    items = [page.as_data(context, handoff) for handoff in sorted(shown, key=lambda h: h.started_at)]
    if unreadable:
        what = count(len(unreadable), "handoff")
        output.notes([f"{what} cannot be read or foreign; see {context.command('audit')}"])
    if as_json:
        output.data({"handoffs": items})
    else:
        output.report(page.list_report(items))


@click.command("retry", epilog=options.examples("flow handoff retry handoff-k3x9q2"))
@click.argument("handoff_id", metavar="ID")
@send_options
@options.utc
@options.as_json
@options.root
@options.store
@options.wait
def retry_command(
    handoff_id: str,
    reason: str,
    yes: bool,
    approved: bool,
    assignments: tuple[str, ...],
    facts_file: str | None,
    as_json: bool,
    roots: tuple[str, ...],
    store: str | None,
    wait: float,
) -> None:
    """Retry a handoff that failed or was interrupted

    A failed handoff returns to validation, with the target and the session as they are now. An
    interrupted one continues in its phase, with the same payload.
    """
    context, _ = contexts(store=store, roots=roots, wait=wait)
    facts = facts_of(assignments, facts_file)
    request = HandoffRequest("", reason=reason, yes=yes, approved=approved, facts=facts)
    sent = retry(context, handoff_id, request)
    data = page.as_data(context, sent.handoff, replayed=sent.replayed, notes=sent.notes)
    if as_json:
        output.data(data)
    else:
        output.report(page.report(data))


@click.command(
    "cancel", epilog=options.examples("flow handoff cancel handoff-k3x9q2 --reason 'sent to the wrong skill'")
)
@click.argument("handoff_id", metavar="ID")
@options.reason
@options.utc
@options.as_json
@options.store
@options.wait
def cancel_command(handoff_id: str, reason: str, as_json: bool, store: str | None, wait: float) -> None:
    """Cancel a handoff

    A written payload stays, but it can no longer be received.
    """
    context, _ = contexts(store=store, wait=wait)
    data = page.as_data(context, cancel(context, handoff_id, reason))
    if as_json:
        output.data(data)
    else:
        output.report(page.report(data))


@click.command("receive", epilog=options.examples("flow handoff receive handoff-payload.yaml"))
@click.argument("file")
@click.option("--sha256", "digest", default="", metavar="HEX", help="The digest that came with the path.")
@click.option("--force", is_flag=True, help="Accept an expired payload.")
@options.params
@options.form
@options.root
@options.store
@options.wait
def receive_command(
    file: str,
    digest: str,
    force: bool,
    params: tuple[str, ...],
    form: str | None,
    roots: tuple[str, ...],
    store: str | None,
    wait: float,
) -> None:
    """Validate a payload, claim it and take over the work

    It can be received only once. If the target has a workflow, its session starts with parameters from
    the payload, and its first step is printed; -p adds parameters that the payload lacks.
    """
    context, world = contexts(store=store, roots=roots, wait=wait)
    receipt, answer = receive_handoff(
        context, world, file, digest=digest, force=force, params=named_values(params, "-p")
    )
    output.notes([*[f"warning: {warning}" for warning in receipt.warnings], *page.conversion_notes(receipt)])
    data = page.receipt_data(context, receipt)
    if answer is None:
        if form == "json":
            output.data(data)
        else:
            output.report(page.report(data))
        return
    output.notes(answer.notes)
    if form == "json":
        output.data({**as_data(answer.guidance), "handoff": data})
    else:
        output.show(answer.guidance, form)


@click.command("validate", epilog=options.examples("flow handoff validate handoff-payload.yaml"))
@click.argument("file")
@click.option(
    "--strict-v2", is_flag=True, help="Require the one source that the published 2.0 schema allows."
)
@click.option("--sha256", "digest", metavar="HEX", help="The digest that the file must have.")
@click.option("--sending", is_flag=True, help="Use the sender's rules: the session's folder must exist.")
@click.option("--allow-expired", is_flag=True, help="Accept an expired payload.")
@options.as_json
def validate_command(
    file: str, strict_v2: bool, digest: str | None, sending: bool, allow_expired: bool, as_json: bool
) -> int:
    """List every problem of a payload

    Detects the version, then checks shape, related fields, hash, expiry and chain. Exits 1 on any
    error; warnings do not count.
    """
    payload = read_file(os.path.abspath(file))
    rules = ValidationRules(datetime.fromisoformat(Environment().now), sending, strict_v2, allow_expired)
    validated = validate(payload, rules)
    problems = list(validated.problems)
    if digest and digest.removeprefix("sha256:") != payload.digest:
        problems.append(PayloadProblem("", f"the file's digest is {payload.digest}", INTEGRITY))
    result = {
        "version": validated.version or None,
        "valid": not errors(problems),
        "errors": len(errors(problems)),
        "sha256": payload.digest,
        "ignored": list(validated.ignored),
        "tokens": integrity.tiers(payload.handoff) if validated.version == "3.0" else None,
    }
    findings = [problem._asdict() for problem in problems]
    if as_json:
        output.data({"findings": findings, **result})
    else:
        output.text(page.render_problems(findings, file, result))
    return 1 if errors(problems) else 0


@click.command("convert", epilog=options.examples("flow handoff convert handoff-payload.yaml --to 3.0"))
@click.argument("file")
@click.option(
    "--to",
    "version",
    required=True,
    type=click.Choice([*PUBLISHED, "1.2"]),
    help="The version to convert to.",
)
@click.option(
    "--format", "form", type=click.Choice(["yaml", "json"]), help="The format (default: the version's)."
)
@click.option("-o", "--output", "target", metavar="FILE", help="Write to a file instead of printing.")
@click.option("--force", is_flag=True, help="Convert a payload whose hash is wrong.")
@options.json_flag
def convert_command(
    file: str, version: str, form: str | None, target: str | None, force: bool, as_json: bool
) -> None:
    """Convert a payload to a different version

    Lists the fields that are added and lost. The result gets a new hash, so a payload whose own hash
    is wrong is refused unless forced.
    """
    payload = read_file(os.path.abspath(file))
    rules = ValidationRules(datetime.fromisoformat(Environment().now))
    accepted = {EXPIRED, INTEGRITY} if force else {EXPIRED}
    problems = [p for p in errors(validate(payload, rules).problems) if p.kind not in accepted]
    if problems:
        hint = Hint("see all problems: ", Command("handoff validate", file))
        raise payload_refusal(f"{file} is not converted", problems, hint=hint)
    if any(p.kind == INTEGRITY for p in errors(validate(payload, rules).problems)):
        output.notes([f"the hash of {file} is wrong; it is converted because of --force"])
    converted = convert(payload.version, payload.handoff, version)
    data = render_payload(converted.handoff, form or DEFAULT_FORM[version])
    _refuse_invalid(version, data, rules)
    if target is not None:
        if os.path.lexists(target):
            raise UsageError(f"{target} already exists", hint="choose another file")
        output_file.write(target, data, mode=0o600)
    if as_json:
        output.data({**converted._asdict(), "file": target})
        return
    output.notes([f"added {field}" for field in converted.added])
    output.notes([f"lost {field}" for field in converted.lost[:MAX_LISTED]])
    if len(converted.lost) > MAX_LISTED:
        output.notes([f"lost {len(converted.lost) - MAX_LISTED} more; --json lists them all"])
    if target is None:
        output.exact(data.decode().rstrip("\n"))
    else:
        output.text(f"{target} is a payload of version {converted.version}")


def _refuse_invalid(version: str, data: bytes, rules: ValidationRules) -> None:
    result = validate(read(data, source=f"the payload as {version}"), rules)
    problems = [problem for problem in errors(result.problems) if problem.kind != EXPIRED]
    if problems:
        raise payload_refusal(
            f"the payload is not valid as {version}", problems, hint="fix the payload that it is made from"
        )
