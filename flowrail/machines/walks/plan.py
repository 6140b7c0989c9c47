"""Plan walks through a workflow in memory, with the real machine, that take every transition and every pair.

A breadth-first search over acts. It continues from a session only if that shows something
new: a transition or a pair never taken, an attempt never counted, a value never seen at a step. Its cost therefore
depends on the size of the workflow and not on the number of its possible runs, and the first walk that it finds is
a shortest one. If a workflow is very large, only a part of it is walked, and the plan says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any, NamedTuple

from flowrail.errors import FlowError
from flowrail.machines.frozen import Frozen
from flowrail.machines.reported_values import EvidenceMissingError
from flowrail.machines.session import Session
from flowrail.machines.statechart import TransitionKey, followed_transitions
from flowrail.machines.step import StepDef
from flowrail.machines.transition import start
from flowrail.machines.walks.actions import Act, acts, perform, read_in, starts
from flowrail.machines.walks.endings import Effort, to_end
from flowrail.machines.workflow import Workflow

FUNCTION_ROUNDS = 5
"""How many attempts are tried of a step without a limit that has functions."""
ROUNDS = 3
"""How many attempts of a step without a limit are tried."""
MOST_ACTS = 10_000
"""Acts of all walks together; a bundled workflow takes at most a thousand."""
STEPS_PER_ACT = 40
"""A command reads the whole workflow; this many steps take as long to read as a command takes to run."""

Atom = tuple[Any, ...]
STOP = "stop"
_MEANS = frozenset({"status", "value"})
"""Kinds of atoms that lead to others; no walk is made to show one."""


class Walk(NamedTuple):
    """One session from start to end: its parameters, the act at each step, and its purpose.

    ``error`` is the code of the refusal of its last act, ``loose`` is true if no end was found.
    """

    name: str
    params: Mapping[str, Any]
    acts: tuple[Act, ...]
    transitions: tuple[TransitionKey, ...] = ()
    error: str | None = None
    loose: bool = False


class Plan(NamedTuple):
    """Walks, shortest first, with the steps that all of them skip.

    ``is_part`` says that the workflow is too large for all of it to be walked.
    """

    walks: tuple[Walk, ...]
    unentered: tuple[str, ...] = ()
    is_part: bool = False


class _SearchNode(NamedTuple):
    session: Session | None
    before: int | None
    act: Act | None
    transitions: tuple[TransitionKey, ...]
    atoms: tuple[Atom, ...]
    """Their order is the same in every process, because walks are named after them."""
    last: TransitionKey | None = None
    """The last transition before the session of this node, by whichever act."""
    error: str | None = None
    params: Mapping[str, Any] = Frozen()


class _Tail(NamedTuple):
    acts: tuple[Act, ...] = ()
    transitions: tuple[TransitionKey, ...] = ()


def plan(workflow: Workflow) -> Plan:
    """Return walks that take every possible transition and pair of transitions, and repeat every loop."""
    search = _Search(workflow)
    search.run()
    chosen = _covering(search)
    chosen.sort(key=lambda walk: (len(walk.acts), walk.name))
    entered = {atom[1] for atom in search.first if atom[0] == "visits"}
    unentered = tuple(step.id for step in workflow.steps if step.id not in entered)
    return Plan(tuple(_named(chosen)), unentered, search.is_part)


def transitions_between(before: Session, after: Session, workflow: Workflow) -> tuple[TransitionKey, ...]:
    """Return the transitions that one report took."""
    move = after.last
    if after.revision == before.revision or move is None:
        return ()
    return followed_transitions(workflow, move)


class _Search:
    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.nodes: list[_SearchNode] = []
        self.first: dict[Atom, int] = {}
        self.tails: dict[bytes, _Tail | None] = {}
        self.effort = Effort()
        self.values: dict[tuple[str | None, str], set[str]] = {}
        self.is_part = False

    def run(self) -> None:
        waiting: deque[int] = deque()
        for params in starts(self.workflow):
            self._put(self._begin(params), waiting)
            if self.effort.is_used_up:
                break
        while waiting and not self.effort.is_used_up:
            number = waiting.popleft()
            session = self.nodes[number].session
            if session is not None and session.is_open:
                for act in acts(self.workflow, session):
                    node = self._next(number, session, act)
                    if node.error != EvidenceMissingError.code:  # the refusal is intended
                        self._put(node, waiting)
        self.is_part = bool(waiting)
        self.effort = Effort()

    def wants(self, atom: Atom) -> bool:
        """Return whether a walk must show *atom*. If rounds are equal, the first few and the last are shown."""
        if atom[0] not in {"answer", "found", "visits"}:
            return atom[0] not in _MEANS
        step = self.workflow.get(atom[1])
        bound = step.bound if step is not None and step.bound else 0
        visit = int(atom[-1])
        return visit < ROUNDS or visit >= bound > 0

    def path(self, number: int | None) -> list[_SearchNode]:
        """Return the nodes from the start to a node."""
        nodes: list[_SearchNode] = []
        while number is not None:
            nodes.append(self.nodes[number])
            number = nodes[-1].before
        return nodes[::-1]

    def walk(self, number: int, name: str) -> Walk | None:
        """Return the walk to a node and from there to the nearest end; `None` if the limit is reached."""
        nodes = self.path(number)
        last = nodes[-1]
        acts_taken = tuple(node.act for node in nodes if node.act is not None)
        transitions = tuple(transition for node in nodes for transition in node.transitions)
        tail: _Tail | None = _Tail() if last.session is None else self._tail(last.session)
        if tail is None:
            loose = Walk(name, nodes[0].params, acts_taken, transitions, loose=True)
            return None if self.effort.is_used_up else loose
        all_acts, all_transitions = (*acts_taken, *tail.acts), (*transitions, *tail.transitions)
        return Walk(name, nodes[0].params, all_acts, all_transitions, error=last.error)

    def _tail(self, session: Session) -> _Tail | None:
        """Return the acts and transitions from *session* to the nearest end, searched once for equivalent sessions."""
        mark = _mark(session)
        if mark not in self.tails:
            path = to_end(self.workflow, session, effort=self.effort)
            sessions = [session, *(after for _, after in path or ())]
            transitions = (transitions_between(*pair, self.workflow) for pair in pairwise(sessions))
            self.tails[mark] = (
                None if path is None else _Tail(tuple(act for act, _ in path), tuple(chain(*transitions)))
            )
        return self.tails[mark]

    def _begin(self, params: Mapping[str, object]) -> _SearchNode:
        session = start(self.workflow, params)
        self.effort.spend(session)
        return _SearchNode(session, None, None, (), tuple(self._atoms(session, ())), params=params)

    def _next(self, number: int, session: Session, act: Act) -> _SearchNode:
        after = self._performed(session, act)
        if not isinstance(after, Session):
            return _SearchNode(None, number, act, (), (("error", str(session.step), after),), error=after)
        transitions = transitions_between(session, after, self.workflow)
        before = self.nodes[number].last
        atoms = [*self._atoms(after, transitions, session)]
        if transitions and before:
            atoms.append(("pair", before, transitions[0]))
        step = self.workflow.step(str(session.step))
        visit = min(session.visit, _most(step))
        if not transitions:
            atoms.append(("asks", session.step, visit))
        atoms += [("answer", session.step, name, *labels, visit) for name, labels in act.answers]
        atoms += [("found", session.step, visit)] if act.findings else []
        atoms += [("ended", session.step, tuple(sorted(set(act.agents))), act.report)] if act.agents else []
        return _SearchNode(
            after, number, act, transitions, tuple(atoms), transitions[-1] if transitions else before
        )

    def _performed(self, session: Session, act: Act) -> Session | str:
        try:
            after = perform(self.workflow, session, act)
        except FlowError as error:
            self.effort.spend(session)
            return error.code
        self.effort.spend(after)
        return after

    def _atoms(
        self, session: Session, transitions: tuple[TransitionKey, ...], before: Session | None = None
    ) -> Iterator[Atom]:
        """Yield what *session* shows, without the attempts that it has in common with the one *before*."""
        yield from (("transition", transition) for transition in transitions)
        yield "status", session.step, session.status
        known = before.visits if before is not None else Frozen()
        for step_id, visits in session.visits.items():
            step = self.workflow.get(step_id)
            if step is not None and known.get(step_id) != visits:
                yield "visits", step_id, min(visits, _most(step))
        values = {**session.params, **session.state}
        for name in sorted(read_in(self.workflow)):
            if name in values and self._is_distinguished(session.step, name, repr(values[name])):
                yield "value", session.step, name, repr(values[name])

    def _is_distinguished(self, step_id: str | None, name: str, value: str) -> bool:
        """Return whether a value is one of the first few of *name* in a step: a function may count forever."""
        if name in self.workflow.params or name in self.workflow.reported:
            return True
        known = self.values.setdefault((step_id, name), set())
        step = self.workflow.get(step_id)
        if value not in known and len(known) < _rounds(step):
            known.add(value)
        return value in known

    def _put(self, node: _SearchNode, waiting: deque[int]) -> None:
        new = [atom for atom in node.atoms if atom not in self.first]
        if not new:
            return
        number = len(self.nodes)
        self.nodes.append(node._replace(atoms=tuple(atom for atom in node.atoms if atom[0] not in _MEANS)))
        self.first.update(dict.fromkeys(new, number))
        waiting.append(number)


def _mark(session: Session) -> bytes:
    """Return a value that is equal for sessions with the same possible continuations, regardless of their history.

    With reviews, questions or agents, the revisions count too. With reviews, so does the outcome of the last step: a
    gate does not pass after a review that failed without findings.
    """
    events = (session.entered, session.decided, session.dispatches, session.questions, session.findings)
    alike = replace(session, last=None, revision=session.revision if any(events) else 0)
    ended = (session.last.step, session.last.outcome) if session.entered and session.last else None
    return sha256(repr((alike, ended)).encode("utf-8", "backslashreplace")).digest()


def _rounds(step: StepDef | None) -> int:
    """Return how many attempts of a step without a limit are distinguished."""
    parts = () if step is None else (step.handler, step.when, step.title, step.actions)
    return FUNCTION_ROUNDS if any(map(callable, parts)) else ROUNDS


def _most(step: StepDef) -> int:
    """Return how many attempts of a step are distinguished: its limit, and each round beyond it."""
    return step.bound + 4 if step.bound else _rounds(step)


def _covering(search: _Search) -> list[Walk]:
    """Return a small set of walks that show every transition, pair, round, answer and refusal of the search."""
    wanted = {atom: number for atom, number in search.first.items() if search.wants(atom)}
    shown: set[Atom] = set()
    walks: list[Walk] = []
    acts_left = MOST_ACTS // (1 + search.workflow.total_steps // STEPS_PER_ACT)
    for atom, number in sorted(wanted.items(), key=lambda item: -item[1]):
        if atom in shown:
            continue
        walk = search.walk(number, _purpose(atom))
        acts_left -= len(walk.acts) if walk is not None else 0
        if walk is None or (walks and acts_left < 0):
            search.is_part = True
            break
        walks.append(walk)
        for node in search.path(number):
            shown.update(node.atoms)
        shown |= {("transition", transition) for transition in walk.transitions}
        shown |= {("pair", *pair) for pair in pairwise(walk.transitions)}
    return walks


def _purpose(atom: Atom) -> str:
    kind, *parts = atom
    if kind == "transition":
        return f"{parts[0][0]}.{parts[0][1]}"
    if kind == "pair":
        return f"{parts[0][0]}.{parts[0][1]}-then-{parts[1][0]}.{parts[1][1]}"
    if kind == "visits" and parts[1] == 1:
        return f"reaches-{parts[0]}"
    if kind == "visits":
        return f"{parts[0]}-entered-{parts[1]}-times"
    if kind == "answer":
        return f"{parts[0]}-answered-{'-'.join(parts[2].lower().split())}"
    if kind == "found":
        return f"{parts[0]}-finds-in-round-{parts[-1]}"
    if kind == "ended":
        return f"{parts[0]}-agents-{'-and-'.join(parts[1])}"
    return f"{parts[0]}-{kind}"


def _named(walks: list[Walk]) -> Iterator[Walk]:
    """Yield *walks* with unique names."""
    seen: dict[str, int] = {}
    for walk in walks:
        number = seen[walk.name] = seen.get(walk.name, 0) + 1
        yield walk if number == 1 else walk._replace(name=f"{walk.name}-{number}")
