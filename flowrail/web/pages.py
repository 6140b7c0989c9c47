"""The pages as HTML. Jinja2 escapes every value; control characters are made visible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import MEANING, Picture, TraceEntry
from flowrail.diagrams.renderers import svg
from flowrail.diagrams.renderers.style import DARK, LIGHT
from flowrail.discovery.locations import Root
from flowrail.errors import FlowError
from flowrail.formatters.guidance import as_text
from flowrail.handoff.audit import HandoffTimeline, audit
from flowrail.handoff.handoff import ACKNOWLEDGMENT, DISCOVERY, INVOCATION, SELECTION, TRANSFER, VALIDATION
from flowrail.handoff.store import Handoffs
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration import coverage
from flowrail.machines.exploration.coverage import SessionCoverage
from flowrail.machines.sessions.session import Session
from flowrail.operations.environment import World
from flowrail.operations.running import working_files
from flowrail.operations.sessions.board import Board, BoardEntry, Group
from flowrail.operations.sessions.session_view import view
from flowrail.operations.skills.coverage import drawn, histories
from flowrail.skills.summary import definition_of
from flowrail.text.phrases import ago, count, duration, in_words
from flowrail.text.safe_text import shortened, visible
from flowrail.web.access import Keys

PHASES = (DISCOVERY, SELECTION, VALIDATION, TRANSFER, INVOCATION, ACKNOWLEDGMENT)
MOST_ENDED = 50
"""Ended sessions on the board; the others are found by `flow sessions --all`."""


class Column(NamedTuple):
    """One group of the board."""

    group: Group
    entries: Sequence[BoardEntry]
    more: int


class Fact(NamedTuple):
    """A name and its value as text."""

    name: str
    value: str


class Lane(NamedTuple):
    """The handoffs of one piece of work, from its first skill to its last."""

    trace_id: str
    skills: tuple[str, ...]
    handoffs: Sequence[HandoffTimeline]


class StepRow(NamedTuple):
    """What the sessions of a skill did at one step."""

    number: int
    id: str
    title: str
    entered: int
    median: str
    failed: int
    stuck: int
    transitions: str


class Pages:
    """Renders each page from the store of *world*."""

    def __init__(
        self, world: World, handoffs: Handoffs, roots: Sequence[Root], keys: Keys, board: Board
    ) -> None:
        self._world = world
        self._store = world.store
        self._handoffs = handoffs
        self._roots = roots
        self._board = board
        self._templates = Environment(
            loader=PackageLoader("flowrail.web"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_printable,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals.update(csrf=keys.csrf, colours=Markup(_colours()), meaning=MEANING)  # noqa: S704
        self._templates.filters.update(
            ago=lambda at: ago(at, self._world.now()), duration=duration, counted=count, words=in_words
        )

    def stamps(self) -> dict[str, tuple[int, int]]:
        """Return a value for each session and handoff that changes with each record."""
        sessions = {f"session:{key}": stamp for key, stamp in self._store.stamps().items()}
        return sessions | {f"handoff:{key}": stamp for key, stamp in self._handoffs.stamps().items()}

    def board(self, entries: Sequence[BoardEntry]) -> str:
        """Return the board: what needs a person comes first."""
        columns = []
        for group in Group:
            members = [entry for entry in entries if entry.group is group]
            shown = members[:MOST_ENDED] if group is Group.ENDED else members
            columns.append(Column(group, shown, len(members) - len(shown)))
        return self._render("board.html", columns=columns, total=len(entries), store=self._store.path)

    def session(self, session_id: str, seq: int | None) -> str:
        """Return the page of a session, at one of its records."""
        shown = view(self._store, session_id, seq)
        entries = self._board.refresh(self._world.now())
        entry = next(entry for entry in entries if entry.session == session_id)
        report = audit(self._store, self._handoffs, with_sessions=False)
        return self._render(
            "session.html",
            view=shown,
            entry=entry,
            drawing=self._drawing(_without_counts(shown.picture)),
            text=as_text.render(shown.guidance) if shown.guidance else "",
            facts=_facts(shown.then),
            params=[Fact(name, in_words(value)) for name, value in shown.then.params.items()],
            children=[child for child in entries if child.parent == session_id],
            handoffs=[handoff for handoff in report.handoffs if _concerns(handoff, session_id)],
            files=working_files.listed(self._world, shown.now),
            rows=_path(shown.records),
            titles={node.id: node.title for node in shown.picture.nodes},
        )

    def handoffs(self) -> str:
        """Return the page of handoffs, one lane for each piece of work."""
        report = audit(self._store, self._handoffs, with_sessions=False)
        by_trace = sorted(report.handoffs, key=lambda handoff: handoff.trace_id)
        lanes = [
            _lane(trace_id, list(members))
            for trace_id, members in groupby(by_trace, key=lambda h: h.trace_id)
        ]
        lanes.sort(key=lambda lane: lane.handoffs[-1].ended_at, reverse=True)
        return self._render("handoffs.html", lanes=lanes, phases=PHASES, report=report)

    def skill(self, address: str) -> str:
        """Return the page of a skill: its drawing with how often each transition was taken."""
        workflow, _ = definition_of(address, self._roots)
        life = coverage.of_sessions(workflow, histories(self._store, address))
        entries = [entry for entry in self._board.refresh(self._world.now()) if entry.skill == address]
        return self._render(
            "skill.html",
            address=address,
            workflow=workflow,
            life=life,
            drawing=self._drawing(drawn(workflow, life.coverage) if life.sessions else picture(workflow)),
            rows=_step_rows(workflow, life),
            entries=entries,
        )

    def entry(self) -> str:
        """Return the page that a browser gets for a valid token. It moves on to the board."""
        return self._render("entry.html")

    def refused_entry(self) -> str:
        """Return the page for a token that is wrong or was used before."""
        return self._render("refused.html")

    def error(self, error: FlowError) -> str:
        """Return the page of an error: what happened, and what to do next."""
        return self._render("error.html", error=error, hint=str(error.hint))

    def _drawing(self, image: Picture) -> Markup:
        return Markup(svg.render(image, name="drawing", scheme="around"))  # noqa: S704 - the renderer escapes

    def _render(self, name: str, **values: object) -> str:
        return self._templates.get_template(name).render(**values, now=self._world.now())


def _printable(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _colours() -> str:
    return f":root{{{LIGHT}}}\n@media (prefers-color-scheme: dark){{:root{{{DARK}}}}}"


def _without_counts(image: Picture) -> Picture:
    return image._replace(trace=image.trace._replace(counted=False)) if image.trace else image


def _facts(session: Session) -> list[Fact]:
    """Return the facts that steps reported, without the parameters."""
    return [
        Fact(name, in_words(value))
        for name, value in session.state.items()
        if name not in session.params or session.params[name] != value
    ]


def _path(records: Sequence[TraceEntry]) -> list[Mapping[str, object]]:
    """Return a row for each record, for the timeline."""
    longest = max((record.seconds or 0.0 for record in records), default=0.0) or 1.0
    return [
        {
            "record": record,
            "share": round(100 * (record.seconds or 0.0) / longest),
            "facts": shortened(
                ", ".join(f"{name}={in_words(value)}" for name, value in record.facts.items()), 300
            ),
        }
        for record in records
    ]


def _concerns(handoff: HandoffTimeline, session_id: str) -> bool:
    receiver = handoff.receiver.session if handoff.receiver else ""
    return session_id in {handoff.session, receiver}


def _lane(trace_id: str, members: list[HandoffTimeline]) -> Lane:
    members.sort(key=lambda handoff: handoff.started_at)
    return Lane(trace_id, (members[0].source, *(handoff.target for handoff in members)), members)


def _step_rows(workflow: Workflow, life: SessionCoverage) -> list[StepRow]:
    rows = []
    for number, step in enumerate(workflow.steps, start=1):
        taken = {
            outcome: times for (source, outcome), times in life.coverage.counts.items() if source == step.id
        }
        rows.append(
            StepRow(
                number=number,
                id=step.id,
                title=step.name,
                entered=sum(taken.values()) + life.stops.get(step.id, 0),
                median=duration(life.dwell.get(step.id)),
                failed=taken.get("fail", 0),
                stuck=life.stops.get(step.id, 0),
                transitions=", ".join(f"{outcome} {times}" for outcome, times in taken.items()),
            )
        )
    return rows
