"""Find the skills that can take over a piece of work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from flowrail.discovery import menu_cache
from flowrail.discovery.index import Discovery
from flowrail.discovery.menu import Menu, offer
from flowrail.discovery.scores import CATEGORIES, Offer, Query, Synthesis, read_synthesis
from flowrail.formatters.reports import menu as page
from flowrail.formatters.reports.handoff import send_command
from flowrail.handoff.handoff import HandoffRequest
from flowrail.handoff.hops import chain_of
from flowrail.handoff.payload.build import HandoffSource
from flowrail.handoff.payload.convert import narrowed
from flowrail.handoff.source import extra_root, source_of
from flowrail.machines.frozen import INTERNAL
from flowrail.machines.session import Session
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.handoffs.send import find_targets, foreseen_refusal, source_for
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import SessionId
from flowrail.text.report import Report, paragraphs


@dataclass(frozen=True)
class SkillMenu(Menu):
    """The skills that can take over a piece of work."""

    everything: bool = field(default=False, metadata=INTERNAL)
    lettered: bool = field(default=False, metadata=INTERNAL)

    def report(self) -> Report:
        """Return what a person reads."""
        if self.lettered and not self.nothing:
            return page.options(self, everything=self.everything)
        return paragraphs(
            [f"note: {note}" for note in self.notes], page.report(self, everything=self.everything)
        )


@operation("discover", "flow discover", "flow discover --category planning --all")
def find_skills(
    environment: Environment,
    *,
    session: Annotated[SessionId | None, Help("Rank by what this session reported.", metavar="ID")] = None,
    from_: Annotated[str, Help("The skill that hands off, without a session.", metavar="SKILL")] = "",
    problem_type: Annotated[
        str, Help("Rank by this problem type, not by the reported one.", metavar="TYPE")
    ] = "",
    category: Annotated[
        tuple[str, ...], Help("Only skills with one of these categories. May be repeated.", metavar="NAME")
    ] = (),
    input: Annotated[  # noqa: A002 - as the registry's document calls it
        tuple[str, ...], Help("Only skills that accept one of these. May be repeated.", metavar="NAME")
    ] = (),
    schema: Annotated[str, Help("Only skills that take this payload version.", metavar="VERSION")] = "",
    autonomous: Annotated[bool, Help("Prefer skills that work without supervision.")] = False,
    top: Annotated[int | None, Help("Show at most N (default: three to five).", metavar="N")] = None,
    all: Annotated[bool, Help("Include skills that do not fit or were left out, and why.")] = False,  # noqa: A002
    options: Annotated[bool, Help("One line per skill: C, D, E …, after accept and refine.")] = False,
    rescan: Annotated[bool, Help("Ignore the session's cache.")] = False,
) -> SkillMenu:
    """Find skills that can take over a piece of work

    Reads SKILL.md files and runs nothing. Shows the best three to five with their scores and reasons, and,
    with --session or --from, the command that hands the work to each of them. With --session, the skills
    are cached in available-workflows.yaml for 30 minutes.
    """
    store = environment.store
    work = store.read(session).session if session else None
    query = Query(
        category,
        work.skill if work else from_,
        schema,
        input,
        not autonomous,
        handoffs_of(environment).receivers(),
        chain_of(work) if work else (),
        synthesis(work, problem_type),
    )
    caches = work is not None and not (all or environment.extra)  # the cache does not have these
    folder, now = store.folder(work.id) if work is not None else "", environment.moment
    cached = menu_cache.read(folder) if caches and not rescan else None
    if cached is not None and not cached.is_valid(now):
        cached = None
    discovery = find_targets(environment) if cached is None else Discovery(cached.workflows)
    menu = offer(discovery, query, top=top)
    found_at = now if cached is None else cached.discovery.timestamp
    if caches and (cached is None or query.synthesis):
        scores = {offer.skill: offer.score for offer in menu.candidates} if query.synthesis else {}
        menu_cache.write(folder, discovery.candidates, found_at, scores)
    if work is not None or from_:
        source = source_of(work, discovery) if work else source_for(environment, discovery, from_)
        candidates = tuple(_with_command(environment, discovery, o, source, query) for o in menu.candidates)
        menu = replace(menu, candidates=candidates, cached_at=found_at.isoformat() if cached else "")
    return SkillMenu(**vars(menu), everything=all, lettered=options)


def synthesis(session: Session | None, problem_type: str = "") -> Synthesis | None:
    """Return the known facts about the work of *session*, or `None`.

    The problem type is *problem_type* if given, otherwise the reported one, otherwise that of the received handoff.
    """
    if session is None:
        return Synthesis(problem_type.strip().lower()) if problem_type else None
    reported = read_synthesis({**session.params, **session.state})
    received = session.received.asked.get("problem_type") if session.received else None
    known = problem_type or reported.problem_type or str(received or "")
    updated = replace(reported, problem_type=known.strip().lower())
    return updated if updated != Synthesis() else None


def _with_command(
    environment: Environment, discovery: Discovery, entry: Offer, source: HandoffSource, query: Query
) -> Offer:
    """Return *entry* with the command that hands the work to it, or the reason why it would be refused."""
    work = source.session
    facts = {} if work or source.received else {"prompt": "…"}
    facts |= _problem_type_fact(work, entry, query)
    request = HandoffRequest(entry.skill, work.id if work else "", "" if work else source.skill, facts=facts)
    refusal = foreseen_refusal(environment, discovery, request, source)
    if refusal is not None:
        return replace(entry, refused=f"{refusal.message}; {refusal.hint}")
    command = send_command(request, environment.shown_store, root=extra_root(entry))
    return replace(entry, command=command.with_options(facts=facts))


def _problem_type_fact(session: Session | None, candidate: Offer, query: Query) -> dict[str, str]:
    """Return the problem type as a fact for a command, if the work has another one.

    A candidate that reads 2.0 gets the type that 2.0 has.
    """
    wanted, known = query.synthesis, synthesis(session)
    if wanted is None or wanted.problem_type not in CATEGORIES:
        return {}
    if known is not None and known.problem_type == wanted.problem_type:
        return {}
    is_older = candidate.schema_version == "2.0"
    return {"problem_type": narrowed(wanted.problem_type) if is_older else wanted.problem_type}
