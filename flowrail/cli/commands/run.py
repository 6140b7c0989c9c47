"""Commands that start a session, show it and report to it."""

from __future__ import annotations

import os
from contextlib import suppress

from flowrail.cli import options
from flowrail.cli.environment import SessionCall, given_facts
from flowrail.command import Command, Hint
from flowrail.discovery.locations import OFFERED
from flowrail.errors import UsageError
from flowrail.machines.engine.outcome import call_limited
from flowrail.operations.running import steps


@SessionCall.command(
    "step",
    "flow step problem-analysis -p topic='slow login'",
    "flow step problem-analysis ok --session problem-analysis-k3x9q2 --expect 0",
    'flow step problem-analysis done -s confidence=high -s \'areas=["auth", "db"]\'',
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
    call: SessionCall,
    skill: str,
    outcome: str | None,
    assignments: dict[str, str],
    facts_file: str | None,
    found: str,
    remember: str,
    params: dict[str, str],
    session_id: str | None,
    expect: int | None,
    take_over: bool,
) -> None:
    """Show the current step, or report its outcome and show the next

    Without OUTCOME, shows the step of this conversation's open session again; nothing changes. If it has none,
    starts one (-p sets its parameters). OUTCOME is ok, fail, skip or iterate, or done
    if the step itself decides. Every answer prints the commands that can come next.
    """
    world = call.world
    if outcome is None:
        if assignments or facts_file or expect is not None or found or remember:
            raise UsageError(
                "facts, --expect, --found and --remember belong to a report",
                hint=Hint("name the outcome: ", Command("step", skill, "OUTCOME")),
            )
        if session_id and params:
            raise UsageError("-p gives parameters to a new session", hint="leave out -p, or --session")
        if session_id:
            answer = steps.look(world, session_id, skill, take_over=take_over)
        else:
            answer = steps.step_again(world, skill, params)
    else:
        if params:
            raise UsageError("-p gives parameters to a new session", hint="give facts of a report with -s")
        answer = steps.report(
            world,
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
    call.show(answer.guidance, answer.notes)


@SessionCall.command("start", "flow start problem-analysis -p topic='slow login'")
@options.skill
@options.params
@options.form
@options.store
@options.root
def start_command(call: SessionCall, skill: str, params: dict[str, str]) -> None:
    """Start a new session and show its first step

    Other open sessions of the skill stay open. Every printed command names its session.
    """
    answer = steps.begin(call.world, skill, params)
    call.show(answer.guidance, answer.notes)


@SessionCall.command("resume", "flow resume", "flow resume problem-analysis-k3x9q2 --format text")
@options.optional_session
@options.take_over
@options.form
@options.store
def resume_command(call: SessionCall, session_id: str | None, take_over: bool) -> None:
    """Show the current step of a session again

    Without ID, shows this conversation's open session. The session does not change, unless --take-over makes
    it this conversation's. The skills that `flow discover` offered it are searched again.
    """
    if take_over and session_id is None:
        hint = Hint("see the sessions: ", Command("sessions"))
        raise UsageError("--take-over needs the id of a session", hint=hint)
    world = call.world
    answer = steps.resume(world, session_id, take_over=take_over)
    with suppress(OSError):
        os.unlink(os.path.join(world.store.folder(answer.guidance.session), OFFERED))
    call.show(answer.guidance, answer.notes)
