"""`flow discover`: skills that can take over work."""

from __future__ import annotations

from datetime import datetime

import click

from flowrail.cli import options, output
from flowrail.cli.options import Call
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.locations import Scope
from flowrail.discovery.ranking.explain import explain
from flowrail.discovery.ranking.menu import Menu, MenuRequest, offer
from flowrail.discovery.ranking.scores import Query
from flowrail.formatters.reports import menu as as_menu
from flowrail.formatters.reports import skill_explanation
from flowrail.operations.handoffs.handoff_menu import find_targets, known_work
from flowrail.skills.bundled import bundled, with_bundled
from flowrail.text.report import paragraphs

menu_options = options.stacked(
    options.session_option,
    click.option("--problem-type", metavar="T", help="Rank by this problem type, not by the reported one."),
    click.option(
        "--category",
        "categories",
        multiple=True,
        metavar="C",
        help="Only skills with one of these categories. May be repeated.",
    ),
    options.autonomous,
    click.option(
        "--top", type=click.IntRange(min=1), metavar="N", help="Show at most N (default: three to five)."
    ),
    click.option("--all", "everything", is_flag=True, help="Include skills that do not fit, and why."),
    click.option("--rescan", is_flag=True, help="Ignore the session's cache (with --session)."),
    options.root,
    options.as_json,
    options.store,
)
"""What decides which skills a menu offers."""


@Call.command(
    "discover", "flow discover", "flow discover --category planning --all", "flow discover --why planner"
)
@click.option(
    "--why", "name", metavar="NAME", help="Explain one skill: locations, reasons, each part of the score."
)
@click.option(
    "--from", "source", default="", metavar="SKILL", help="Only skills that accept work from this skill."
)
@click.option("--schema", default="", metavar="V", help="Only skills that accept this schema version.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="X",
    help="Only skills that accept one of these. May be repeated.",
)
@click.option(
    "--text", default="", metavar="T", help="Only skills whose description contains all these words."
)
@menu_options
def discover_command(
    call: Call,
    everything: bool,
    name: str | None,
    rescan: bool,
    session_id: str | None,
    categories: tuple[str, ...],
    source: str,
    schema: str,
    inputs: tuple[str, ...],
    text: str,
    problem_type: str | None,
    autonomous: bool,
    top: int | None,
) -> None:
    """Find skills that can take over a piece of work

    Reads SKILL.md files and runs nothing. Shows the best three to five with their scores and reasons;
    --all and --why show why a skill is not offered. With --session, the skills are
    cached in available-workflows.yaml for 30 minutes.
    """
    environment = call.environment
    work = known_work(environment.store, session_id, problem_type)
    query = Query(categories, source, schema, inputs, text, not autonomous, work.receivers, work.chain)
    asked = MenuRequest(query, work.synthesis)
    output.notes(asked.unknown())
    is_special = everything or name is not None or bool(call.roots)  # the cache does not have this
    cache = None
    if session_id is not None and not is_special:
        targets, cache = find_targets(
            environment.store,
            session_id,
            datetime.fromisoformat(environment.now),
            lambda: with_bundled(discover(environment.cwd, environment.home, environment.environ)),
            rescan=rescan,
        )
        installed = targets._replace(
            candidates=tuple(c for c in targets.candidates if c.scope is not Scope.BUNDLED)
        )
        bundled_skills = Discovery(tuple(c for c in targets.candidates if c.scope is Scope.BUNDLED))
    else:
        installed = discover(environment.cwd, environment.home, environment.environ, extra=call.roots)
        bundled_skills = bundled(installed)
    menu, bundled_menu = offer(installed, asked, top=top), offer(bundled_skills, asked, top=top)
    if name is not None:
        _explain(call, name, installed, menu, bundled_skills, bundled_menu)
        return
    data = as_menu.data(menu, installed, cache=cache, everything=everything, top=top)
    shown = as_menu.report(menu, installed, cache=cache, everything=everything)
    call.answer(
        data | {"bundled": as_menu.items(bundled_menu, everything=everything, top=top)},
        paragraphs(shown, as_menu.bundled(bundled_menu, everything=everything)),
    )


def _explain(
    call: Call, name: str, installed: Discovery, menu: Menu, bundled_skills: Discovery, bundled_menu: Menu
) -> None:
    """Print why a skill is offered or not: an installed one, or else a bundled one."""
    explanation = explain(installed, name, asked=menu.asked.by)
    if explanation.candidate is None and not explanation.skipped:
        bundled_explanation = explain(bundled_skills, name, asked=menu.asked.by)
        if bundled_explanation.candidate is not None or bundled_explanation.skipped:
            explanation, menu = (
                bundled_explanation._replace(places=(*explanation.places, *bundled_explanation.places)),
                bundled_menu,
            )
    call.answer(
        skill_explanation.data(explanation, menu), skill_explanation.report(explanation, menu, installed)
    )
