"""Commands that start a session, show it and report to it."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from flowrail.cli import options, output
from flowrail.cli.environment import given_facts, named_values, world
from flowrail.command import Command, Hint
from flowrail.discovery.locations import OFFERED
from flowrail.errors import UsageError
from flowrail.formatters.guidance.content import reference_texts
from flowrail.hosts.conversation import add_texts, text_key, texts_read
from flowrail.machines.engine.outcome import call_limited
from flowrail.machines.guidance.guide import Guidance
from flowrail.operations.environment import World
from flowrail.operations.running import steps


@click.command(
    "step",
    epilog=options.examples(
        "flow step problem-analysis -p topic='slow login'",
        "flow step problem-analysis ok --session problem-analysis-k3x9q2 --expect 0",
        'flow step problem-analysis done -s confidence=high -s \'areas=["auth", "db"]\'',
    ),
)
@options.skill
@options.outcome
@options.facts
@options.memory
@options.params
@options.session_option
@options.expect
@options.take_over
@options.form
@options.store
@options.root
@options.wait
def step_command(
    skill: str,
    outcome: str | None,
    assignments: tuple[str, ...],
    facts_file: str | None,
    found: str,
    remember: str,
    params: tuple[str, ...],
    session_id: str | None,
    expect: int | None,
    take_over: bool,
    form: str | None,
    store: str | None,
    roots: tuple[str, ...],
    wait: float,
) -> None:
    """Show the current step, or report its outcome and show the next

    Without OUTCOME, shows the step of this conversation's open session again; nothing changes. If it has none,
    starts one (-p sets its parameters). OUTCOME is ok, fail, skip or iterate, or done
    if the step itself decides. Every answer prints the commands that can come next.
    """
    here = world(store=store, roots=roots, wait=wait)
    if outcome is None:
        if assignments or facts_file or expect is not None or found or remember:
            raise UsageError(
                "facts, --expect, --found and --remember belong to a report",
                hint=Hint("name the outcome: ", Command("step", skill, "OUTCOME")),
            )
        if session_id and params:
            raise UsageError("-p gives parameters to a new session", hint="leave out -p, or --session")
        answer = (
            steps.look(here, session_id, skill, take_over=take_over)
            if session_id
            else steps.step_again(here, skill, named_values(params, "-p"))
        )
    else:
        if params:
            raise UsageError("-p gives parameters to a new session", hint="give facts of a report with -s")

        answer = steps.report(
            here,
            skill,
            outcome,
            facts=given_facts(assignments, facts_file),
            session_id=session_id,
            expect=expect,
            found=found,
            remember=remember,
            take_over=take_over,
            call=call_limited,
        )
    output.notes(answer.notes)
    _show(answer.guidance, form, here)


def _show(guidance: Guidance, form: str | None, here: World) -> None:
    """Print a step, without the long reference texts that the conversation has read.

    An agent that resumes a session may have lost them, and a sub-agent never read them.
    """
    has_list = here.host is not None and not guidance.parent and form != "json"
    texts = reference_texts(guidance) if has_list else {}
    if not texts or here.host is None:
        output.show(guidance, form)
        return
    keys = {text_key(f"{guidance.skill}/{name}", text): name for name, text in texts.items()}
    known = () if guidance.resumed else texts_read(here.state, here.host) or ()
    read = frozenset(name for key, name in keys.items() if key in known)
    output.show(guidance._replace(texts_read=read), form)
    add_texts(here.state, here.host, keys)


@click.command("start", epilog=options.examples("flow start problem-analysis -p topic='slow login'"))
@options.skill
@options.params
@options.form
@options.store
@options.root
def start_command(
    skill: str, params: tuple[str, ...], form: str | None, store: str | None, roots: tuple[str, ...]
) -> None:
    """Start a new session and show its first step

    Other open sessions of the skill stay open. Every printed command names its session.
    """
    here = world(store=store, roots=roots)
    answer = steps.begin(here, skill, named_values(params, "-p"))
    output.notes(answer.notes)
    _show(answer.guidance, form, here)


@click.command(
    "resume", epilog=options.examples("flow resume", "flow resume problem-analysis-k3x9q2 --format text")
)
@options.optional_session
@options.take_over
@options.form
@options.store
def resume_command(session_id: str | None, take_over: bool, form: str | None, store: str | None) -> None:
    """Show the current step of a session again

    Without ID, shows this conversation's open session. The session does not change, unless --take-over makes
    it this conversation's. The skills that `flow discover` offered it are searched again.
    """
    if take_over and session_id is None:
        hint = Hint("see the sessions: ", Command("sessions"))
        raise UsageError("--take-over needs the id of a session", hint=hint)
    here = world(store=store)
    answer = steps.resume(here, session_id, take_over=take_over)
    with suppress(OSError):
        os.unlink(os.path.join(here.store.folder(answer.guidance.session), OFFERED))
    output.notes(answer.notes)
    _show(answer.guidance, form, here)


@click.command("status", epilog=options.examples("flow status", "flow status problem-analysis-k3x9q2 --json"))
@options.optional_session
@options.as_json
@options.store
def status_command(session_id: str | None, as_json: bool, store: str | None) -> None:
    """Show the state of a session

    Without ID, shows this conversation's open session. The JSON has the same form as a step's.
    """
    answer = steps.resume(world(store=store), session_id)
    output.notes(answer.notes)
    if as_json:
        output.show(answer.guidance, "json")
    else:
        output.show_state(answer.guidance)
