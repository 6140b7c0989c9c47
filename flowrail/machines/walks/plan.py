"""Plan walks through a workflow in memory, with the real machine, that take every transition and every pair.

A search follows a session only if that shows something new: a transition or a pair never taken, an attempt never counted,
a value never seen at a step. Its cost therefore depends on the size of the workflow and not on the number of its possible
runs, and the first walk that it finds is a shortest one. If a workflow is very large, only a part of it is walked, and the
plan says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any

from flowrail.machines.frozen import Frozen
from flowrail.machines.session import Session
from flowrail.machines.step import StepDef
from flowrail.machines.transition import start
from flowrail.machines.transition_table import TransitionKey
from flowrail.machines.walks.actions import Act, read_in, starts
from flowrail.machines.walks.search import Effort, Node, search, to_end
from flowrail.machines.workflow import Workflow

ROUNDS = 5
"""How many attempts of a step without a limit are tried."""
MOST_ACTS = 10_000
"""Acts of all walks together; a bundled workflow takes at most a thousand."""
STEPS_PER_ACT = 40
"""A command reads the whole workflow; this many steps take as long to read as a command takes to run."""

Atom = tuple[Any, ...]
"""One thing that a walk can show: its kind, and what it is about."""
_MEANS = frozenset({"status", "value"})
"""Kinds of atoms that lead to others; no walk is made to show one."""


@dataclass(frozen=True)
class Walk:
    """One session from start to end."""

    name: str
    """Its purpose."""
    params: Mapping[str, Any]
    acts: tuple[Act, ...]
    """What is done at each step."""
    transitions: tuple[TransitionKey, ...] = ()
    error: str | None = None
    """The code of the refusal of its last act."""
    loose: bool = False
    """Whether no end was found."""


@dataclass(frozen=True)
class Plan:
    """The walks through a workflow."""

    walks: tuple[Walk, ...]
    """The shortest first."""
    unentered: tuple[str, ...] = ()
    """The steps that all walks skip."""
    is_part: bool = False
    """Whether the workflow is too large for all of it to be walked."""


def plan(workflow: Workflow) -> Plan:
    """Return walks that take every possible transition and pair of transitions, and repeat every loop."""
    planner = _Planner(workflow)
    walks = sorted(planner.covering(), key=lambda walk: (len(walk.acts), walk.name))
    entered = {atom[1] for atom in planner.first if atom[0] == "entered"}
    unentered = tuple(step.id for step in workflow.steps if step.id not in entered)
    return Plan(tuple(_named(walks)), unentered, planner.is_part)


class _Planner:
    """What the search has shown first where, and the walks that show it."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.effort = Effort()
        self.first: dict[Atom, Node] = {}
        self.shown: dict[Node, list[Atom]] = {}
        self.tails: dict[bytes, list[Node] | None] = {}
        self.values: dict[tuple[str | None, str], set[str]] = {}
        for _ in search(workflow, self._starts(), self._is_new, self.effort):
            pass
        self.is_part = self.effort.is_used_up
        self.effort = Effort()

    def covering(self) -> list[Walk]:
        """Return a small set of walks that show every transition, pair, round, answer and refusal of the search."""
        order = {node: number for number, node in enumerate(self.shown)}
        wanted = [(atom, node) for atom, node in self.first.items() if self._wants(atom)]
        shown: set[Atom] = set()
        walks: list[Walk] = []
        acts_left = MOST_ACTS // (1 + self.workflow.total_steps // STEPS_PER_ACT)
        for atom, node in sorted(wanted, key=lambda item: -order[item[1]]):
            if atom in shown:
                continue
            walk = self._walk(node, _purpose(atom))
            acts_left -= len(walk.acts) if walk is not None else 0
            if walk is None or (walks and acts_left < 0):
                self.is_part = True
                break
            walks.append(walk)
            shown.update(chain.from_iterable(self.shown[passed] for passed in node.path()))
            shown |= {("transition", transition) for transition in walk.transitions}
            shown |= {("pair", *pair) for pair in pairwise(walk.transitions)}
        return walks

    def _starts(self) -> Iterator[Node]:
        for params in starts(self.workflow):
            session = start(self.workflow, params)
            self.effort.spend(session)
            yield Node(session, params=params)

    def _is_new(self, node: Node) -> bool:
        atoms = list(self._atoms(node))
        new = [atom for atom in atoms if atom not in self.first]
        if new:
            self.first.update(dict.fromkeys(new, node))
            self.shown[node] = atoms
        return bool(new)

    def _wants(self, atom: Atom) -> bool:
        """Return whether a walk must show *atom*. If rounds are equal, the first few and the last are shown."""
        if atom[0] not in {"answered", "found", "entered"}:
            return atom[0] not in _MEANS
        step = self.workflow.get(atom[1])
        bound = step.bound if step is not None and step.bound else 0
        visit = int(atom[-1])
        return visit < ROUNDS or visit >= bound > 0

    def _walk(self, node: Node, name: str) -> Walk | None:
        """Return the walk to a node and from there to the nearest end; `None` if the limit is reached."""
        path = node.path()
        tail = [] if node.session is None else self._tail(node.session)
        if tail is None and self.effort.is_used_up:
            return None
        nodes = [*path, *(tail or ())]
        return Walk(
            name,
            path[0].params,
            tuple(node.act for node in nodes if node.act is not None),
            tuple(chain.from_iterable(node.transitions for node in nodes)),
            error=node.error,
            loose=tail is None,
        )

    def _tail(self, session: Session) -> list[Node] | None:
        """Return the nodes from *session* to the nearest end, searched once for equivalent sessions."""
        mark = _mark(session)
        if mark not in self.tails:
            self.tails[mark] = to_end(self.workflow, session, self.effort)
        return self.tails[mark]

    def _atoms(self, node: Node) -> Iterator[Atom]:
        """Yield what a node shows. The order is the same in every process, because walks are named after atoms."""
        before, act, after = node.before, node.act, node.session
        if before is None or before.session is None or act is None:
            yield from self._state(node, Frozen())
            return
        step = self.workflow.step(str(before.session.step))
        if after is None:
            yield "error", step.id, node.error
            return
        yield from (("transition", transition) for transition in node.transitions)
        yield from self._state(node, before.session.visits)
        passed: Node | None = before
        while passed is not None and not passed.transitions:
            passed = passed.before
        if node.transitions and passed is not None:
            yield "pair", passed.transitions[-1], node.transitions[0]
        visit = min(before.session.visit, _most(step))
        if not node.transitions:
            yield "asks", step.id, visit
        for name, label in act.answers:
            yield "answered", step.id, name, label, visit
        if act.findings:
            yield "found", step.id, visit
        if act.agents:
            yield "agents", step.id, *sorted(set(act.agents)), act.report

    def _state(self, node: Node, known: Mapping[str, int]) -> Iterator[Atom]:
        """Yield the state of a node's session, without the attempts that are *known*."""
        session = node.session
        assert session is not None  # noqa: S101 - the callers checked it
        yield "status", session.step, session.status
        for step_id, visits in session.visits.items():
            step = self.workflow.get(step_id)
            if step is not None and known.get(step_id) != visits:
                yield "entered", step_id, min(visits, _most(step))
        values = {**session.params, **session.state}
        for name in sorted(read_in(self.workflow)):
            if name in values and self._is_distinguished(session.step, name, repr(values[name])):
                yield "value", session.step, name, repr(values[name])

    def _is_distinguished(self, step_id: str | None, name: str, value: str) -> bool:
        """Return whether a value is one of the first few of *name* in a step: a function may count forever."""
        if name in self.workflow.params or name in self.workflow.reported:
            return True
        known = self.values.setdefault((step_id, name), set())
        if len(known) < ROUNDS:
            known.add(value)
        return value in known


def _mark(session: Session) -> bytes:
    """Return a value that is equal for sessions with the same possible continuations, regardless of their history.

    With reviews, questions or agents, the revisions count too. With reviews, so does the outcome of the last step: a
    gate does not pass after a review that failed without findings.
    """
    events = (session.entered, session.decided, session.dispatches, session.questions, session.findings)
    alike = replace(session, last=None, revision=session.revision if any(events) else 0)
    ended = (session.last.step, session.last.outcome) if session.entered and session.last else None
    return sha256(repr((alike, ended)).encode("utf-8", "backslashreplace")).digest()


def _most(step: StepDef) -> int:
    """Return how many attempts of a step are distinguished: its limit, and each round beyond it."""
    return step.bound + 4 if step.bound else ROUNDS


def _purpose(atom: Atom) -> str:
    """Return the name of a walk that shows *atom*, such as `look.ok-then-tell.fail` or `look-entered-3`."""
    kind, *about = atom
    if kind == "transition":
        return ".".join(*about)
    if kind == "pair":
        return "-then-".join(map(".".join, about))
    step, *rest = map(str, about)
    return "-".join((step, kind, *rest)).lower().replace(" ", "-")


def _named(walks: list[Walk]) -> Iterator[Walk]:
    """Yield *walks* with unique names."""
    seen: dict[str, int] = {}
    for walk in walks:
        number = seen[walk.name] = seen.get(walk.name, 0) + 1
        yield walk if number == 1 else replace(walk, name=f"{walk.name}-{number}")
