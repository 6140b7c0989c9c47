"""`flow discover`: find skills that can take over a piece of work."""

from __future__ import annotations

import os
from datetime import datetime
from types import ModuleType
from typing import TYPE_CHECKING

import click

from flowrail.cli import options, output
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.locations import Scope
from flowrail.discovery.ranking.explain import explain
from flowrail.discovery.ranking.menu import Menu, MenuRequest, offer
from flowrail.discovery.ranking.scores import Query, Synthesis
from flowrail.formatters.reports import menu as as_menu
from flowrail.formatters.reports import skill_explanation
from flowrail.operations.environment import Environment
from flowrail.skills.bundled import bundled, with_bundled
from flowrail.storage.files import WriteFailedError
from flowrail.text.report import paragraphs

if TYPE_CHECKING:
    from flowrail.discovery.menu_cache import CacheUse


@click.command(
    "discover",
    epilog=options.examples(
        "flow discover", "flow discover --category planning --all", "flow discover --why planner"
    ),
)
@click.option(
    "--all", "everything", is_flag=True, help="Include hidden and rejected skills, and the reasons."
)
@click.option(
    "--why", "name", metavar="NAME", help="Explain one skill: locations, reasons, each part of the score."
)
@click.option("--rescan", is_flag=True, help="Ignore the session's cache (with --session).")
@options.session_option
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="C",
    help="Only skills with one of these categories. May be repeated.",
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
@click.option("--problem-type", metavar="T", help="Rank by this problem type and the session's facts.")
@options.autonomous
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="Show at most N (default: three to five)."
)
@options.root
@options.as_json
@options.store
def discover_command(
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
    roots: tuple[str, ...],
    as_json: bool,
    store: str | None,
) -> None:
    """Find skills that can take over a piece of work

    Reads SKILL.md files and runs nothing. Shows the best three to five with their scores and reasons;
    --all and --why show why a skill is not offered. With --session, the skills are
    cached in available-workflows.yaml for 30 minutes.
    """
    here = Environment(store=store, roots=roots)
    has_past = session_id is not None or os.path.isdir(os.path.join(here.store_path, "handoffs"))
    if has_past:
        history, chain, synthesis = _handoff_menu().known_work(here.store, session_id, problem_type)
    else:
        history, chain, synthesis = (), (), Synthesis(problem_type.lower()) if problem_type else None
    query = Query(categories, source, schema, inputs, text, not autonomous, history, chain)
    asked = MenuRequest(query, synthesis)
    output.notes(asked.unknown())
    is_special = everything or name is not None or bool(roots)  # the cache does not have this
    cache = None
    if session_id is not None and not is_special:
        both, cache = _cached(here, session_id, rescan=rescan)
        found = both._replace(candidates=tuple(c for c in both.candidates if c.scope is not Scope.BUNDLED))
        ours = Discovery(tuple(c for c in both.candidates if c.scope is Scope.BUNDLED))
    else:
        found, ours = _discover(here, roots)
    menu, beside = offer(found, asked, top=top), offer(ours, asked, top=top)
    if name is not None:
        _tell_why(name, found, menu, ours, beside, as_json=as_json)
    elif as_json:
        output.data(
            as_menu.data(menu, found, cache=cache, everything=everything, top=top)
            | {"bundled": as_menu.items(beside, everything=everything, top=top)}
        )
    else:
        shown = as_menu.report(menu, found, cache=cache, everything=everything)
        output.report(paragraphs(shown, as_menu.bundled(beside, everything=everything)))


def _cached(here: Environment, session_id: str, *, rescan: bool) -> tuple[Discovery, CacheUse | None]:
    """Return installed and bundled skills, from the session's cache while it is valid."""

    def scan() -> Discovery:
        return with_bundled(discover(here.cwd, here.home, here.environ))

    now = datetime.fromisoformat(here.now)
    try:
        targets: tuple[Discovery, CacheUse | None] = _handoff_menu().find_targets(
            here.store, session_id, now, scan, rescan=rescan
        )
    except WriteFailedError as error:  # without a cache the next menu only takes longer
        output.notes([f"the menu was not cached: {error.message}"])
        return scan(), None
    return targets


def _handoff_menu() -> ModuleType:
    """Return what reads sessions and handoffs."""
    from flowrail.operations.handoffs import handoff_menu  # brings cattrs, which other searches do without

    return handoff_menu


def _discover(here: Environment, roots: tuple[str, ...]) -> tuple[Discovery, Discovery]:
    """Return what is installed, and the bundled skills behind it."""
    found = discover(here.cwd, here.home, here.environ, extra=roots)
    return found, bundled(found)


def _tell_why(
    name: str, found: Discovery, menu: Menu, ours: Discovery, beside: Menu, *, as_json: bool
) -> None:
    told = explain(found, name, asked=menu.asked.by)
    if told.candidate is None and not told.skipped:
        behind = explain(ours, name, asked=menu.asked.by)
        if behind.candidate is not None or behind.skipped:
            told, menu = behind._replace(places=(*told.places, *behind.places)), beside
    if as_json:
        output.data(skill_explanation.data(told, menu))
    else:
        output.report(skill_explanation.report(told, menu, found))
