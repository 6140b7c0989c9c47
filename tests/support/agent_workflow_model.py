"""Random workflows with dispatches, questions and gates, and `Reading`, a model of their runs.

The model reads only what the author wrote, so that the compiled machine can be compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st
from support.loop_model import counted, loop_of, reached_from
from support.workflows import FAIL, ITERATE, OK, step, workflow

from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow

TABLES: Mapping[str | None, Sequence[str]] = {
    None: ("MSC", "MSC", "MS", "MS", "M"),
    "1-2 / 3-4 / 5+": ("MSC", "MSC", "MS", "MS", "M"),
    "none / 1-4 / 5+": ("MS", "MS", "MS", "MS", "M"),
}
"""The severities that block in each round, by first letter."""
OUTCOMES = st.sampled_from((OK, FAIL, ITERATE))


@st.composite
def mixed(draw: st.DrawFn) -> Workflow:
    """Return a valid workflow: parts of each kind in a row, with transitions back to the start of earlier ones."""
    kinds = draw(st.lists(st.sampled_from(("plain", "fan", "ask", "gate")), min_size=1, max_size=4))
    starts = [f"{kind}{number}" for number, kind in enumerate(kinds)]
    steps: list[StepDef] = []
    for number, kind in enumerate(kinds):
        after = starts[number + 1] if number + 1 < len(kinds) else "last"
        back = draw(st.sampled_from([*starts[: number + 1], None]))
        steps += _PARTS[kind](draw, starts[number], after, back)
    return workflow(*steps, step("last"), name="mixed")


def _plain(draw: st.DrawFn, here: str, after: str, back: str | None) -> list[StepDef]:
    targets = {OK: after, FAIL: back, ITERATE: here}
    return [step(here, next=targets, limit=draw(st.integers(1, 3)))]


def _fan(draw: st.DrawFn, here: str, after: str, back: str | None) -> list[StepDef]:
    items = tuple("abcd"[: draw(st.integers(1, 4))])
    join = draw(st.sampled_from(["all", "any", f"at least {draw(st.integers(1, len(items)))}"]))
    work = Dispatch("explore", None, items, join=join, prompt=("Look at $item.",))
    return [step(here, dispatch=work, next={OK: after, FAIL: back}, limit=draw(st.integers(1, 3)))]


def _ask(draw: st.DrawFn, here: str, after: str, back: str | None) -> list[StepDef]:
    asked = [
        Question(
            f"q{number}",
            "Header",
            f"Which {number}?",
            (
                Option("A", outcome=draw(st.sampled_from([OK, None]))),
                Option("B", outcome=draw(OUTCOMES | st.none())),
            ),
            multi=draw(st.booleans()),
            other=draw(OUTCOMES | st.none()),
        )
        for number in range(draw(st.integers(1, 2)))
    ]
    targets = {OK: after, FAIL: back, ITERATE: here}
    return [step(here, questions=asked, next=targets, limit=draw(st.integers(1, 3)))]


def _gate(draw: st.DrawFn, here: str, after: str, back: str | None) -> list[StepDef]:
    gate = GateConfig(
        "Quality", review=here, limit=draw(st.integers(1, 3)), policy=draw(st.sampled_from(list(TABLES)))
    )
    return [
        step(here, next={OK: f"{here}-decides"}),
        step(f"{here}-decides", gate=gate, next={OK: after, FAIL: here if back is None else back}),
    ]


_PARTS = {"plain": _plain, "fan": _fan, "ask": _ask, "gate": _gate}


@dataclass
class Reading:
    """The state of a run."""

    definition: Workflow
    step: str | None = field(init=False)
    status: str = "active"
    visits: dict[str, int] = field(default_factory=dict)
    rounds: dict[str, int] = field(default_factory=dict)
    another: dict[str, int] = field(default_factory=dict)
    asked_limit: bool = False
    decided: str = FAIL

    def __post_init__(self) -> None:
        self.step = self.definition.steps[0].id
        self.visits[self.step] = 1
        self.table = {
            each.id: {str(key): to for key, to in each.next.items()} for each in self.definition.steps
        }
        bounded = [
            each.id for each in self.definition.steps if each.gate is not None or each.limit is not None
        ]
        self.loops = {name: loop_of(self.table, name) for name in bounded}

    @property
    def here(self) -> StepDef:
        """The current step."""
        return self.definition.step(str(self.step))

    def open_after(self, ends: Sequence[str]) -> set[str]:
        """Return the outcomes that can be reported if dispatches ended so. Missing dispatches have not ended."""
        work = self.here.dispatch
        assert work is not None
        assert isinstance(work.over, tuple)
        total = len(work.over)
        needed = total if work.join == "all" else int(work.join.removeprefix("at least ").replace("any", "1"))
        good = sum(end == "ok" for end in ends)
        if good >= needed:
            return {OK, FAIL}
        return {FAIL} if len(ends) == total else set()

    def said(self, answers: Mapping[str, Sequence[str]]) -> str:
        """Return the outcome of the answers: the first one that is not `ok`."""
        outcomes = [self._answer(each, answers[each.id]) for each in self.here.questions]
        return next((each for each in outcomes if each not in {None, OK}), None) or OK

    def _answer(self, question: Question, words: Sequence[str]) -> str | None:
        outcomes = [option.outcome for option in question.options if option.label in words]
        if any(word.startswith("other:") for word in words):
            outcomes += [question.other] if question.other else [each.outcome for each in question.options]
        named = [each for each in outcomes if each]
        return next((each for each in named if each != OK), named[0] if named else None)

    def found(self, severities: Sequence[str]) -> str:
        """Return the outcome of the gate for the findings of its review."""
        gate = self.here.gate
        assert gate is not None
        table = TABLES[gate.policy]
        blocking = table[min(self.visits[self.here.id], len(table)) - 1]
        return FAIL if any(each[0] in blocking for each in severities) else OK

    def go(self, outcome: str) -> None:
        """Take the transition of *outcome*, unless the limit changes it or asks its question."""
        here = self.here
        bound = here.gate.limit if here.gate is not None else here.limit
        allowed = None if bound is None else bound + self.rounds.get(here.id, 0)
        back = outcome in {FAIL, ITERATE} and here.id in reached_from(self.table, here.next[outcome])
        spent = back and allowed is not None and self.visits[here.id] >= allowed
        if spent and (outcome == FAIL or here.questions):
            self.asked_limit, self.status, self.decided = True, "waiting", outcome
            return
        self._enter(here.next[OK if spent else outcome], "failed" if outcome == FAIL else "completed")

    def offered(self) -> list[str]:
        """Return the options of the limit's question."""
        if self.here.questions:
            return ["another-round", "stop"]
        another = self.another.get(self.here.id, 0) < 2
        return [*(["another-round"] if another else []), "accept-the-risk", "stop"]

    def answer_limit(self, answer: str) -> None:
        """Continue with the user's answer to the limit's question."""
        here = self.here
        self.asked_limit, self.status = False, "active"
        if answer == "stop":
            self._enter(None, "failed")
        elif answer == "accept-the-risk":
            self._enter(here.next[OK], "completed")
        else:
            bound = here.gate.limit if here.gate is not None else here.limit
            spent = self.visits[here.id] - int(bound or 0)
            self.rounds[here.id] = max(self.rounds.get(here.id, 0), spent) + 1
            self.another[here.id] = self.another.get(here.id, 0) + 1
            self._enter(here.next[self.decided], "failed")

    def _enter(self, target: str | None, end: str) -> None:
        left, self.step = str(self.step), target
        if target is None:
            self.status = end
        else:
            before = self.visits
            self.visits = counted(self.loops, [left, target], before)
            for gone in before.keys() - self.visits.keys():
                self.rounds.pop(gone, None)
                self.another.pop(gone, None)
            self.visits[target] = self.visits.get(target, 0) + 1
