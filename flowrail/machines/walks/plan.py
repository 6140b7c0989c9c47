"""Plan walks through a workflow in memory, with the real machine, that take every transition.

A search follows a session only if that shows something new: a transition never taken, an attempt never counted, an answer
never given, a value never seen at a step. Its cost therefore depends on the size of the workflow and not on the number of
its possible runs. If a workflow is very large, only a part of it is walked, and the plan says so.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from flowrail.errors import FlowError
from flowrail.machines.frozen import Frozen
from flowrail.machines.next_step import TransitionKey, followed_transitions
from flowrail.machines.session import Session
from flowrail.machines.step import StepDef
from flowrail.machines.transition import start
from flowrail.machines.walks.actions import Act, acts, perform, read_in, starts
from flowrail.machines.workflow import Workflow

ROUNDS = 5
"""How many attempts of a step without a limit are tried."""
MOST_SEEN = 24
"""A search distinguishes so many values of a name at a step: a function may count forever."""
MOST_SESSIONS = 600
"""A search for an end gives up after this many sessions."""
EFFORT = 1_500_000
"""For a workflow of a few steps, 20,000 moves: a hundred times what the bundled workflows need."""
MOVE = 75
"""The cost of a move, without the values that the session holds after it."""
MOST_ACTS = 10_000
"""Acts of all walks together; a bundled workflow takes at most a thousand."""
STEPS_PER_ACT = 40
"""A command reads the whole workflow; this many steps take as long to read as a command takes to run."""

Atom = tuple[Any, ...]
"""One thing that a walk can show: its kind, and what it is about."""


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
    """Return walks that take every possible transition, give every answer, and repeat every loop."""
    planner = _Planner(workflow)
    walks = sorted(planner.covering(), key=lambda walk: (len(walk.acts), walk.name))
    entered = {atom[1] for atom in planner.first if atom[0] == "entered"}
    unentered = tuple(step.id for step in workflow.steps if step.id not in entered)
    names: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    numbered = ((walk, next(names[walk.name])) for walk in walks)
    named = (
        walk if number == 1 else replace(walk, name=f"{walk.name}-{number}") for walk, number in numbered
    )
    return Plan(tuple(named), unentered, planner.is_part)


def transitions_between(before: Session, after: Session, workflow: Workflow) -> tuple[TransitionKey, ...]:
    """Return the transitions that one report took."""
    if after.revision == before.revision or after.last is None:
        return ()
    return followed_transitions(workflow, after.last)


@dataclass(frozen=True, eq=False)
class _Node:
    """A session that the search has reached, and how."""

    session: Session | None
    """`None` if the act was refused."""
    before: _Node | None = None
    act: Act | None = None
    """What was done in the session before."""
    transitions: tuple[TransitionKey, ...] = ()
    """The transitions that the act took."""
    error: str | None = None
    """The code of the refusal."""
    params: Mapping[str, object] = Frozen()
    """At a start: the parameters that are given."""

    def path(self) -> list[_Node]:
        """Return the nodes from the start to this one."""
        nodes, node = [self], self.before
        while node is not None:
            nodes.append(node)
            node = node.before
        return nodes[::-1]


class _Planner:
    """What the search has shown first where, and the walks that show it."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.first: dict[Atom, _Node] = {}
        self._shown: dict[_Node, list[Atom]] = {}
        self._values: defaultdict[tuple[str | None, str], set[str]] = defaultdict(set)
        self._left = EFFORT
        for _ in self._search(self._starts(), self._is_new):
            pass
        self.is_part = self._left <= 0
        self._left = EFFORT

    def covering(self) -> list[Walk]:
        """Return a small set of walks that show every transition, round, answer and refusal of the search."""
        order = {node: number for number, node in enumerate(self._shown)}
        wanted = [(atom, node) for atom, node in self.first.items() if self._wants(*atom)]
        shown: set[Atom] = set()
        walks: list[Walk] = []
        acts_left = MOST_ACTS // (1 + self.workflow.total_steps // STEPS_PER_ACT)
        for atom, node in sorted(wanted, key=lambda item: -order[item[1]]):
            if atom in shown:
                continue
            kind, step, *about = atom
            name = "-".join((step, kind, *map(str, about)))
            walk = self._walk(node, name.lower().replace(" ", "-"))
            acts_left -= len(walk.acts) if walk is not None else 0
            if walk is None or (walks and acts_left < 0):
                self.is_part = True
                break
            walks.append(walk)
            shown.update(chain.from_iterable(self._shown[passed] for passed in node.path()))
            shown |= {("taken", *transition) for transition in walk.transitions}
        return walks

    def _search(
        self,
        nodes: Iterable[_Node],
        is_new: Callable[[_Node], bool],
        distance: Callable[[Session], int] = lambda _: 0,
    ) -> Iterator[_Node]:
        """Yield what can follow from *nodes*, the nearest to the goal first. Only nodes that are new are followed."""
        order = count()
        heap: list[tuple[int, int, _Node]] = []

        def add(node: _Node) -> None:
            after = node.session
            self._left -= MOVE + (len(after.visits) + len(after.state) + len(after.params) if after else 0)
            if is_new(node):
                heapq.heappush(heap, (distance(after) if after else 0, next(order), node))

        for node in nodes:
            add(node)
            if self._left <= 0:
                break
        while heap and self._left > 0:
            node = heapq.heappop(heap)[2]
            yield node
            if node.session is not None and node.session.is_open:
                for act in acts(self.workflow, node.session):
                    add(self._after(node, node.session, act))

    def _starts(self) -> Iterator[_Node]:
        for params in starts(self.workflow):
            yield _Node(start(self.workflow, params), params=params)

    def _after(self, node: _Node, session: Session, act: Act) -> _Node:
        try:
            after = perform(self.workflow, session, act)
        except FlowError as error:
            return _Node(None, node, act, error=error.code)
        return _Node(after, node, act, transitions_between(session, after, self.workflow))

    def _is_new(self, node: _Node) -> bool:
        atoms = list(self._atoms(node))
        new = [atom for atom in atoms if atom not in self.first]
        if new:
            self.first.update(dict.fromkeys(new, node))
            self._shown[node] = atoms
        return bool(new)

    def _atoms(self, node: _Node) -> Iterator[Atom]:
        """Yield what a node shows. The order is the same in every process, because walks are named after atoms."""
        before, act, after = node.before, node.act, node.session
        if before is not None and before.session is not None and act is not None:
            yield from (("taken", *transition) for transition in node.transitions)
            step, visit = self.workflow.step(str(before.session.step)), before.session.visit
            about = [*(label for _, label in act.answers), *(severity for severity, _ in act.findings)]
            about += ["-".join(sorted({*act.agents}))] if act.agents else []
            about += [] if about or node.transitions or node.error else ["asks"]
            yield from (("reported", step.id, act.report, word, min(visit, _most(step))) for word in about)
            yield from (("refused", step.id, error) for error in [node.error] if error)
        if after is not None and after.step is not None:
            yield "status", after.step, after.status
            yield "entered", after.step, min(after.visit, _most(self.workflow.step(after.step)))
            values = {**after.params, **after.state}
            for name in sorted(read_in(self.workflow) & values.keys()):
                seen = self._values[after.step, name]
                if len(seen) < MOST_SEEN:
                    seen.add(repr(values[name]))
                if repr(values[name]) in seen:
                    yield "value", after.step, name, repr(values[name])

    def _wants(self, kind: str, step_id: str, *about: Any) -> bool:
        """Return whether a walk must show something. If rounds are equal, the first few and the last are shown."""
        bound = self.workflow.step(step_id).bound or 0
        fewest = {"entered": ROUNDS, "reported": 2}.get(kind, 0)
        return kind in {"taken", "refused"} or (fewest > 0 and (about[-1] < fewest or about[-1] >= bound > 0))

    def _walk(self, node: _Node, name: str) -> Walk | None:
        """Return the walk to a node and from there to an end; `None` if the limit is reached."""
        path = node.path()
        tail = [] if node.session is None else self._tail(node.session)
        if tail is None and self._left <= 0:
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

    def _tail(self, session: Session) -> list[_Node] | None:
        """Return the nodes from *session* to an end; later steps are tried first. `None` if no end was found."""
        numbers = {step.id: number for number, step in enumerate(reversed(self.workflow.steps))}
        seen: set[str] = set()

        def is_new(node: _Node) -> bool:
            after, known = node.session, len(seen)
            if after is not None:
                state = (after.step, after.status, after.visits, after.state, after.questions, after.findings)
                seen.add(repr(state))
            return len(seen) > known

        for node in self._search([_Node(session)], is_new, lambda after: numbers.get(str(after.step), -1)):
            if len(seen) >= MOST_SESSIONS:
                break
            if node.session is not None and not node.session.is_open:
                return node.path()
        return None


def _most(step: StepDef) -> int:
    """Return how many attempts of a step are distinguished: its limit, and each round beyond it."""
    return step.bound + 4 if step.bound else ROUNDS
