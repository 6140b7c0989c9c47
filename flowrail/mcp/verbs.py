"""What each tool does: the functions that the commands call, with arguments instead of words.

Every call looks at the disk as a fresh process would; nothing of a session or a skill is kept between two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.discovery.ranking.menu import MenuRequest as Wanted
from flowrail.discovery.ranking.menu import offer
from flowrail.discovery.ranking.scores import Query
from flowrail.errors import UsageError
from flowrail.formatters.guidance.as_data import broken_item, render, session_item
from flowrail.formatters.guidance.as_text import standing
from flowrail.formatters.guidance.as_xml import render as as_xml
from flowrail.formatters.guidance.content import result_lines
from flowrail.formatters.guidance.work import (
    ended_data,
    finding_data,
    handed_data,
    handed_xml,
    put_data,
    put_text,
)
from flowrail.formatters.reports import handoff as handoff_page
from flowrail.formatters.reports import menu as as_menu
from flowrail.formatters.reports.handoff import as_data as item
from flowrail.handoff.chain import acknowledged_targets, chain_of
from flowrail.handoff.context import HandoffContext
from flowrail.handoff.request import HandoffRequest as Sending
from flowrail.handoff.sending import cancel as cancel_handoff
from flowrail.handoff.sending import retry, send
from flowrail.machines.engine.question_input import parse_questions
from flowrail.mcp.calls import shown_as_call, with_calls
from flowrail.operations.handoffs.handoff_menu import synthesis
from flowrail.operations.handoffs.receive import receive_handoff
from flowrail.operations.handoffs.source_session import session_to_hand_off
from flowrail.operations.running import (
    agents,
    findings,
    steps,
)
from flowrail.operations.running import (
    questions as running_questions,
)
from flowrail.operations.running.steps import Answer, World
from flowrail.operations.sessions.session_list import summaries
from flowrail.skills import summary
from flowrail.text.safe_text import visible
from flowrail.text.table import table

Given = Mapping[str, Any]


class Told(NamedTuple):
    """The answer of a tool: a text to read, and the same as plain data."""

    text: str
    data: dict[str, Any]


class Place(NamedTuple):
    """Where a call is made: the world as each verb wants it, looked up when it is asked for."""

    world: Callable[[], World]
    desk: Callable[[], HandoffContext]


def step(place: Place, given: Given) -> Told:
    """Show the current step, or report how it went and show the next."""
    world = place.world()
    session, skill, outcome = given.get("session"), given.get("skill"), given.get("outcome")
    if outcome is None:
        if given.get("facts") or given.get("expect") is not None:
            raise UsageError("facts and `expect` belong to a report", hint="name the outcome too")
        if session is not None and given.get("params"):
            raise UsageError("params belong to a new session", hint="leave out `params`, or `session`")
        if session is not None or skill is None:
            return _told(world, steps.look(world, session, skill) if session else steps.resume(world, None))
        return _told(world, steps.step_again(world, skill, _texts(given.get("params"))))
    if given.get("params"):
        raise UsageError("params belong to a new session", hint="give facts of a report as `facts`")
    if skill is None:
        if session is None:
            raise UsageError("whose step is reported is missing", hint="give `session`, or `skill`")
        skill = world.store.read(session).session.skill
    facts = given.get("facts") or {}
    answer = steps.report(
        world,
        skill,
        outcome,
        assignments=[f"{name}={value}" for name, value in facts.items() if isinstance(value, str)],
        facts={name: value for name, value in facts.items() if not isinstance(value, str)},
        session_id=session,
        expect=given.get("expect"),
    )
    return _told(world, answer)


def start(place: Place, given: Given) -> Told:
    """Start a new session and show its first step."""
    world = place.world()
    return _told(world, steps.begin(world, given["skill"], _texts(given.get("params"))))


def status(place: Place, given: Given) -> Told:
    """Tell where a session stands, or which ones are open."""
    world = place.world()
    if given.get("session"):
        answer = steps.resume(world, given["session"])
        show = shown_as_call(world.store.path)
        return Told(
            standing(answer.guidance, show), _with_calls(world, render(answer.guidance, show, _as_it_is))
        )
    items = [
        session_item(each.kept, store=world.shown_store, keep=_as_it_is)
        if each.kept
        else broken_item(each.id, each.problem)
        for each in summaries(world.store)
    ]
    rows = [
        [str(each.get(key) or "") for key in ("session", "status", "step", "moved_at", "error")]
        for each in items
    ]
    text = (
        table(["session", "status", "step", "moved", "problem"], rows) if items else "no session is open here"
    )
    return Told(text, _with_calls(world, {"sessions": items}))


def ask(place: Place, given: Given) -> Told:
    """Put an agent's questions to the user."""
    world = place.world()
    questions = parse_questions(json.dumps(given["questions"]), source="questions")
    put = running_questions.ask(world, given["session"], questions, token=given.get("token"))
    show = shown_as_call(world.store.path)
    return Told(put_text(put, show), _with_calls(world, put_data(put, show, _as_it_is)))


def answer(place: Place, given: Given) -> Told:
    """Record the user's answers and show how to go on."""
    world = place.world()
    pairs = [
        f"{name}={label}"
        for name, labels in given["answers"].items()
        for label in (labels if isinstance(labels, list) else [labels])
    ]
    return _told(world, running_questions.answer(world, given["session"], pairs, given.get("reason", "")))


def claim(place: Place, given: Given) -> Told:
    """Take a piece of work that a step hands out."""
    world = place.world()
    taken = agents.claim(
        world, given["session"], given["dispatch"], given.get("holder"), token=given.get("token")
    )
    if isinstance(taken, Answer):
        return _told(world, taken)
    show = shown_as_call(world.store.path)
    return Told(handed_xml(taken, show), _with_calls(world, handed_data(taken, _as_it_is)))


def finish(place: Place, given: Given) -> Told:
    """End a piece of work that was given with a prompt."""
    world = place.world()
    if given.get("cancel"):
        ended = agents.cancel(world, given["session"], given["dispatch"])
    elif "outcome" not in given or "token" not in given:
        raise UsageError(
            "the outcome and its token are missing", hint="give `outcome` and `token`, or `cancel`"
        )
    else:
        ended = agents.finish(
            world,
            given["session"],
            given["dispatch"],
            given["outcome"],
            token=given["token"],
            facts=given.get("facts"),
        )
    show = shown_as_call(world.store.path)
    return Told(visible("\n".join(result_lines(ended.answer, show))), ended_data(ended, show))


def finding(place: Place, given: Given) -> Told:
    """Record, list or resolve findings of a review."""
    world = place.world()
    action = given.get("action", "add")
    if action == "list":
        home, found = findings.list_findings(world, given["session"])
        rows = [[each.id, each.severity, "open" if each.is_open else "resolved", each.text] for each in found]
        text = (
            table(["id", "severity", "state", "what"], rows) if rows else f"no finding is on record in {home}"
        )
        return Told(text, {"findings": [finding_data(home, each) for each in found]})
    if action == "resolve":
        home, one = findings.resolve_finding(
            world,
            given["session"],
            _needed(given, "finding", action),
            given.get("note", ""),
            token=given.get("token"),
        )
        return Told(f"{one.id} is resolved", finding_data(home, one))
    home, one = findings.add_finding(
        world,
        given["session"],
        severity=_needed(given, "severity", action),
        text=_needed(given, "text", action),
        place=given.get("place"),
        item=given.get("item"),
        token=given.get("token"),
    )
    return Told(f"{one.id} {one.severity} is on record in {home}", finding_data(home, one))


def discover(place: Place, given: Given) -> Told:
    """List the skills that can be started, or those that can take over a piece of work."""
    world = place.world()
    if given.get("what", "skills") == "skills":
        items = summary.items(world.roots)
        rows = [
            [each["name"], str(each["total_steps"]), _takes(each["params"]), _first(each["description"])]
            for each in items
        ]
        return Told(table(["skill", "steps", "params", "what for"], rows), {"skills": items})
    at = place.desk()
    found = at.discover()
    session = world.store.read(given["session"]).session if given.get("session") else None
    by = synthesis(session, given.get("problem_type"))
    query = Query(
        tuple(given.get("categories", ())),
        given.get("source", ""),
        "",
        tuple(given.get("inputs", ())),
        given.get("text", ""),
        history=acknowledged_targets(at.handoffs),
        chain=chain_of(session) if session else (),
    )
    menu = offer(found, Wanted(query, by), top=None)
    return Told(as_menu.render(menu, found), as_menu.data(menu, found))


def handoff(place: Place, given: Given) -> Told:
    """Hand work from one skill to another."""
    world, at = place.world(), place.desk()
    action = given["action"]
    how = {
        "reason": given.get("reason", ""),
        "yes": given.get("yes", False),
        "approved": given.get("approved", False),
        "facts": given.get("facts") or {},
    }
    if action == "status":
        if given.get("handoff"):
            return _handoff(world, item(at, at.handoffs.read(given["handoff"]).handoff))
        items = [item(at, handoff) for handoff in at.handoffs.own_ones() if handoff.is_open]
        return Told(handoff_page.render_list(items), _with_calls(world, {"handoffs": items}))
    if action == "receive":
        return _received(world, at, given)
    if action == "cancel":
        return _handoff(world, item(at, cancel_handoff(at, _needed(given, "handoff", action), how["reason"])))
    if action == "retry":
        sent = retry(at, _needed(given, "handoff", action), Sending("", "", **how))
    else:
        target = _needed(given, "target", action)
        session = given.get("session") or session_to_hand_off(
            world, lambda session: at.command("handoff send", target, session=session)
        )
        sent = send(at, Sending(target, session, **how))
    return _handoff(world, item(at, sent.handoff, replayed=sent.replayed, notes=sent.notes))


def _received(world: World, at: HandoffContext, given: Given) -> Told:
    received, answer = receive_handoff(
        at,
        world,
        _needed(given, "file", "receive"),
        digest=given.get("sha256", ""),
        force=given.get("force", False),
        params=tuple(_texts(given.get("params"))),
    )
    told = item(at, received.handoff)
    if answer is None:
        return _handoff(world, {**told, "handoff_payload": received.payload.handoff})
    begun = _told(world, answer)
    return Told(begun.text, {**begun.data, "handoff": told})


def _handoff(world: World, told: dict[str, Any]) -> Told:
    return Told(handoff_page.render(told, shown_as_call(world.store.path)), _with_calls(world, told))


def _told(world: World, answer: Answer) -> Told:
    """Return a step as its agent is told it, its commands as calls."""
    show = shown_as_call(world.store.path)
    text = as_xml(answer.guidance, show)
    notes = [visible(each) for each in answer.notes]
    data = {**_with_calls(world, render(answer.guidance, show, _as_it_is)), "notes": notes}
    return Told("\n".join([text, *(f"note: {each}" for each in notes)]), data)


def _as_it_is(command: Command) -> Command:
    return command


def _with_calls(world: World, data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = with_calls(data, world.store.path)
    return found


def _texts(params: Mapping[str, Any] | None) -> list[str]:
    """Return parameters as a command line would give them, so that both are read alike; `null` gives none."""
    return [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in (params or {}).items()
        if value is not None
    ]


def _needed(given: Given, name: str, action: str) -> str:
    value = given.get(name)
    if value is None:
        raise UsageError(f"`{action}` needs `{name}`", hint=f"give `{name}` too", argument=name)
    return str(value)


def _takes(params: list[dict[str, Any]]) -> str:
    """Return the names of parameters, those that have to be given without brackets."""
    return " ".join(each["name"] if each.get("required") else f"[{each['name']}]" for each in params)


def _first(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0]
