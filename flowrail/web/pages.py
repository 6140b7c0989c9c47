"""The pages as HTML. Jinja2 escapes every value; control characters are made visible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import jinja2
from markupsafe import Markup

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import svg
from flowrail.diagrams.renderers.style import page_colours
from flowrail.errors import FlowError
from flowrail.formatters.guidance import step_output
from flowrail.handoff.store import Handoffs
from flowrail.handoff.timelines import audit
from flowrail.machines.asked_questions import NEEDS_REASON, NOT_YET, OWN
from flowrail.machines.evidence_results import EvidenceResult
from flowrail.machines.guidance.agent_work import QuestionToUser
from flowrail.machines.session import RELAYED, WAYS
from flowrail.machines.session_store import UnknownSessionError
from flowrail.machines.walks import coverage
from flowrail.machines.walks.coverage import SessionCoverage
from flowrail.operations.board import SHOWN_SECONDS, Board, Group, ListedSession
from flowrail.operations.environment import Environment
from flowrail.operations.sessions.notifications import Notifications
from flowrail.operations.skills.taken_transitions import drawn, histories
from flowrail.operations.steps import evidence_decisions, working_files
from flowrail.operations.steps.decisions import awaited, decision, made_decisions, suspect_checks
from flowrail.session_status import OPEN
from flowrail.text.phrases import ago, count, duration, in_words, moment_after
from flowrail.text.report import plain_text
from flowrail.text.safe_text import shortened, visible
from flowrail.web import markdown
from flowrail.web.access import Keys
from flowrail.web.session_page import SessionPage, view

_SEVERITIES = {"MUST": "must be fixed", "SHOULD": "should be fixed", "COULD": "could be better"}
MOST_ENDED = 50
"""Ended sessions on the board; the others are found by `flow sessions --all`."""


class Pages:
    """Renders each page from the store of *environment*."""

    def __init__(self, environment: Environment, keys: Keys, *, is_person: bool) -> None:
        self.environment = environment
        self.board = Board(self.environment.store)
        self.is_person = is_person
        self._notifications = Notifications(environment, on_desktop=is_person)
        self._watched = Board(self.environment.store)
        self._store = self.environment.store
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("flowrail.web"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_printable,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals.update(
            csrf=keys.csrf,
            colours=Markup(page_colours()),  # noqa: S704
            most_ended=MOST_ENDED,
            is_person=is_person,
            needs_reason=NEEDS_REASON,
            not_yet=NOT_YET,
            own=OWN,
            ways=WAYS,
            relayed=RELAYED,
        )
        self._templates.filters.update(
            ago=lambda at: ago(at, self.environment.now),
            duration=duration,
            counted=count,
            words=in_words,
            facts=_facts_text,
            severity=lambda word: _SEVERITIES.get(word, word),
            shortened=shortened,
            md=markdown.block,
            mdline=markdown.inline,
        )

    def stamps(self) -> dict[str, tuple[int, int]]:
        """Return a value for each session that changes with each record."""
        sessions = self._store.stamps_since(moment_after(self.environment.now, -SHOWN_SECONDS))
        return {f"session:{key}": stamp for key, stamp in sessions.items()}

    def notify(self) -> None:
        """Tell the user which sessions have started to wait for a person since the last call."""
        with suppress(FlowError):  # a store that cannot be read now is named on the board
            self._notifications.update(self._watched.refresh(self.environment.now))

    def start(self) -> str:
        """Return the board: what needs a person comes first."""
        entries = self.board.refresh(self.environment.now)
        groups = {group: [entry for entry in entries if entry.group is group] for group in Group}
        return self.render("board.html", groups=groups, store=self._store.path)

    def session(self, session_id: str, seq: int | None) -> str:
        """Return the page of a session: what waits for a person now, otherwise what happened, also at one record."""
        shown = view(self._store, session_id, seq)
        entries = self.board.refresh(self.environment.now)
        entry = self.board.row(session_id, self.environment.now)
        if entry is None:
            raise UnknownSessionError(f"unknown session `{session_id}`", hint="go back to the board")
        results, problem = self._evidence(shown)
        values = {
            "view": shown,
            "entry": entry,
            "evidence": results,
            "titles": shown.titles,
            "me": self.environment.by,
            "made": made_decisions(self.environment, session_id) if shown.is_newest else (),
            "suspects": self._suspects(shown, results),
        }
        asked = self._awaited(shown)
        if asked and seq is None:
            found = decision(self.environment, session_id, asked)
            return self.render("decision.html", **values, decision=found)
        audited = audit(self._store, Handoffs(self._store), with_sessions=False)
        handoffs = [known for known in audited.handoffs if session_id in known.handoff.sessions]
        return self.render(
            "session.html",
            **values,
            evidence_problem=problem,
            is_asked=bool(asked),
            drawing=self._drawing(shown.picture),
            actions="\n\n".join(shown.guidance.actions) if shown.guidance else "",
            text=plain_text(step_output.report(shown.guidance)) if shown.guidance else "",
            children={child.session: child for child in entries if child.parent == session_id},
            handoffs=handoffs,
            resume=str(self.environment.command("resume", session_id)),
            files=working_files.listed(self.environment, shown.now),
            longest=max(record.seconds or 0.0 for record in shown.records),
            newest_records={record.to: record.seq for record in shown.records},
        )

    def _awaited(self, shown: SessionPage) -> Sequence[QuestionToUser]:
        """Return what waits for a person in a session; nothing if its skill may not run."""
        session, step = shown.now, shown.workflow.get(shown.now.step)
        needs_person = step is not None and any(check.person for check in step.checks.values())
        if not session.is_open or not (session.questions or session.dispatches or needs_person):
            return ()
        try:
            return awaited(self.environment, session.id)
        except FlowError:
            return ()

    def skill(self, address: str) -> str:
        """Return the page of a skill: its drawing with how often each transition was taken."""
        workflow = self.environment.loader.load(address).definition
        session_coverage = coverage.of_sessions(workflow, histories(self._store, address))
        entries = [entry for entry in self.board.refresh(self.environment.now) if entry.skill == address]
        return self.render(
            "skill.html",
            address=address,
            workflow=workflow,
            coverage=session_coverage,
            drawing=self._drawing(
                drawn(workflow, session_coverage.coverage) if session_coverage.sessions else picture(workflow)
            ),
            states=_states(session_coverage),
            taken=_outcomes_taken(session_coverage),
            entries=entries,
        )

    def skills(self) -> str:
        """Return the list of the skills that have sessions."""
        skills: dict[str, list[ListedSession]] = {}
        for entry in self.board.refresh(self.environment.now):
            if not entry.code:
                skills.setdefault(entry.skill, []).append(entry)
        return self.render("skills.html", skills=dict(sorted(skills.items())))

    def _evidence(self, shown: SessionPage) -> tuple[tuple[EvidenceResult, ...], str]:
        """Return the evidence that the current step demands, as it is now, or why it cannot be shown."""
        step = shown.workflow.get(shown.now.step) if shown.now.is_open and shown.is_newest else None
        if step is None or not step.evidence:
            return (), ""
        try:
            return evidence_decisions.judged(self.environment, shown.now.id)[1], ""
        except FlowError as error:
            return (), f"{error.message}. {error.hint}"

    def _suspects(
        self, shown: SessionPage, results: Sequence[EvidenceResult]
    ) -> Mapping[tuple[str, str], str]:
        """Return the checks of an open session whose file has no content now, although they may have passed."""
        if not shown.now.is_open:
            return {}
        checks = [(step, result.check) for step, result in shown.checks]
        current = [(str(shown.now.step), result.check) for result in results]
        try:
            return suspect_checks(self.environment, shown.workflow, shown.now, [*checks, *current])
        except FlowError:  # the project's folder cannot be read
            return {}

    def error(self, error: FlowError) -> str:
        """Return the page of an error: what happened, and what to do next."""
        return self.render("error.html", error=error, hint=str(error.hint))

    def _drawing(self, image: Picture) -> Markup:
        return Markup(svg.render(image, name="drawing", own_colours=False))  # noqa: S704 - the renderer escapes

    def render(self, name: str, **values: object) -> str:
        """Return a template with these values."""
        return self._templates.get_template(name).render(**values, now=self.environment.now)


def _printable(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _facts_text(facts: Mapping[str, object]) -> str:
    return shortened(", ".join(f"{name}={in_words(value)}" for name, value in facts.items()), 300)


def _states(session_coverage: SessionCoverage) -> Mapping[str, int]:
    """Return how many sessions are open, and how many ended in which way."""
    ended = {status: number for status, number in session_coverage.statuses.items() if status not in OPEN}
    return {"open": session_coverage.sessions - sum(ended.values()), **ended}


def _outcomes_taken(session_coverage: SessionCoverage) -> Mapping[str, Mapping[str, int]]:
    """Return for each step how often each of its outcomes was taken."""
    taken: dict[str, dict[str, int]] = {}
    for (step, outcome), times in session_coverage.coverage.counts.items():
        taken.setdefault(step, {})[outcome] = times
    return taken
