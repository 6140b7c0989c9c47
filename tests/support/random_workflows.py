"""Random workflows and reports, and `Table`, a model of the engine.

The model reads only the mappings that the author wrote, so that the compiled machine can be compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from hypothesis import strategies as st
from support.loop_model import counted, loop_of, reached_from
from support.workflows import DEFAULT, FAIL, ITERATE, OK, REPORTED, SKIP, step, workflow

from flowrail.machines.session import Report
from flowrail.machines.step import StepContext, StepDef
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

NAMES = (
    *("look", "send", "class", "model", "ok", "report_ok", "step_ok", "end_completed", "state", "states"),
    *("current_state_value", "a-b", "a_b", "None", "history_values", "on_enter_state", "workflow", "initial"),
)
MODES, CONFIDENCES = ("quick", "full"), ("low", "high")
Values = Mapping[str, Any]


def _more(name: str, bound: int) -> Callable[[Values], bool]:
    return lambda values: values.get(name) is not None and values[name] > bound


CONDITIONS: Mapping[str, Callable[[Values], bool]] = {
    "mode == 'full'": lambda values: bool(values["mode"] == "full"),
    "mode in ['quick']": lambda values: bool(values["mode"] == "quick"),
    "confidence == 'high'": lambda values: values.get("confidence") == "high",
    "confidence != 'high' and mode != 'quick'": lambda values: (
        values.get("confidence") != "high" and values["mode"] != "quick"
    ),
    "count > 1": _more("count", 1),
    "not count > 0": lambda values: not _more("count", 0)(values),
    "'auth' in areas": lambda values: "auth" in (values.get("areas") or ()),
    "visit > 1": _more("visit", 1),
    "visit >= 2 or count == 3": lambda values: values["visit"] >= 2 or values.get("count") == 3,
    "visit == limit": lambda values: bool(values["visit"] == values["limit"]),
    "false": lambda _: False,
    "true": lambda _: True,
}
"""Expressions with their meaning."""

PARAMS = {"mode": Arg(choices=MODES, default="full")}
FACTS = {
    "confidence": (Arg(choices=CONFIDENCES), st.sampled_from(CONFIDENCES)),
    "count": (Arg(type="integer", min=0, max=3), st.integers(0, 3)),
    "areas": (Arg(type="list"), st.lists(st.sampled_from(["auth", "data"]), max_size=2)),
}


class Condition:
    """An expression as a function of the context."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __call__(self, context: StepContext) -> bool:
        """Return whether it is true."""
        return CONDITIONS[self.source](seen(context))


class Decider:
    """A handler that returns its outcomes in turn. It counts its calls in the state."""

    def __init__(self, outcomes: tuple[Outcome, ...]) -> None:
        self.outcomes = outcomes

    def __call__(self, context: StepContext) -> tuple[Outcome, dict[str, Any]] | Outcome:
        """Return an outcome, with the new count for the first calls."""
        asked = context.step_state.get("asked", 0)
        outcome = self.outcomes[(asked + context.visit) % len(self.outcomes)]
        return (outcome, {"asked": asked + 1}) if asked < 3 else outcome


def seen(context: StepContext) -> dict[str, Any]:
    """Return the values that conditions can read."""
    told = {**context.workflow_params, **context.step_state}
    return {**told, "visit": context.visit, "limit": context.limit}


@st.composite
def workflows(draw: st.DrawFn, *, functions: bool = True, most: int = 6) -> Workflow:
    """Return a random valid workflow with loops, limits, defaults, conditions, rules and handlers.

    Every step has a transition to the one defined after it, so that all can be reached and left.
    """
    ids = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=most, unique=True))
    steps = [_step(draw, ids, place, functions=functions) for place in range(len(ids))]
    return workflow(*steps, name="at-random", params=PARAMS)


def _step(draw: st.DrawFn, ids: list[str], place: int, *, functions: bool) -> StepDef:
    after = ids[place + 1] if place + 1 < len(ids) else None
    limit = draw(st.none() | st.integers(1, 3))
    when = draw(st.none() | _conditions(functions=functions)) if place else None
    always_ok = limit is not None or when is not None
    onward = OK if always_ok else draw(st.sampled_from((OK, OK, DEFAULT, FAIL, SKIP, ITERATE)))
    ways: dict[str, str | None] = {
        outcome: draw(st.sampled_from([*ids, None]))
        for outcome in draw(st.sets(st.sampled_from((*REPORTED, DEFAULT)), max_size=4))
    }
    ways[onward] = after
    if when is not None and SKIP in ways:  # skipping leads forward, or it might never end
        ways[SKIP] = draw(st.sampled_from([*ids[place + 1 :], None]))
    if all(outcome in ways for outcome in REPORTED):
        ways.pop(ITERATE if onward == DEFAULT else DEFAULT, None)
    chosen = next(each for each in REPORTED if each not in ways) if onward == DEFAULT else onward
    decides = draw(st.sampled_from(("agent", "agent", "rules", "handler" if functions else "rules")))
    return step(
        ids[place],
        next=ways,
        limit=limit,
        when=when,
        reports=draw(_reports(every=place == 0)),
        rules=_rules(draw, ways, chosen) if decides == "rules" else (),
        handler=Decider(_decided(draw, ways, chosen)) if decides == "handler" else None,
    )


def _conditions(*, functions: bool) -> st.SearchStrategy[Any]:
    sources = st.sampled_from(sorted(CONDITIONS))
    return sources | sources.map(Condition) if functions else sources


def _reports(*, every: bool) -> st.SearchStrategy[dict[str, Arg]]:
    facts = {name: st.sampled_from([arg, replace(arg, required=True)]) for name, (arg, _) in FACTS.items()}
    return st.fixed_dictionaries(facts) if every else st.fixed_dictionaries({}, optional=facts)


def _named(ways: Mapping[str, Any]) -> list[str]:
    return [outcome for outcome in REPORTED if outcome in ways or DEFAULT in ways]


def _rules(draw: st.DrawFn, ways: Mapping[str, Any], onward: str) -> list[tuple[str, str | None]]:
    sources = st.sampled_from(sorted(CONDITIONS))
    rules = draw(st.lists(st.tuples(st.sampled_from(_named(ways)), sources), max_size=3))
    return [*rules, (onward, None)]


def _decided(draw: st.DrawFn, ways: Mapping[str, Any], onward: str) -> tuple[Outcome, ...]:
    chosen = draw(st.lists(st.sampled_from(_named(ways)), max_size=3))
    return tuple(Outcome(each) for each in [*chosen, onward])


def facts_of(step_def: StepDef) -> st.SearchStrategy[dict[str, Any]]:
    """Return valid facts for a step: always the required ones, sometimes the others."""
    required = {name: FACTS[name][1] for name, arg in step_def.reports.items() if arg.required}
    others = {name: FACTS[name][1] for name, arg in step_def.reports.items() if not arg.required}
    return st.fixed_dictionaries(required, optional=others)


MODE = st.fixed_dictionaries({}, optional={"mode": st.sampled_from(MODES)})
WORDS = st.sampled_from((*REPORTED, "done", "done"))


# --- the model


class Refused(NamedTuple):
    """The code with which a report is refused."""

    code: str


@dataclass(frozen=True)
class Standing:
    """The state of a run."""

    step: str | None
    status: str = "active"
    facts: Values = field(default_factory=dict)
    visits: Mapping[str, int] = field(default_factory=dict)
    outcome: str = ""
    capped: bool = False
    passed: tuple[str, ...] = ()


class Table:
    """A workflow as the mappings that the author wrote."""

    def __init__(self, definition: Workflow, params: Values) -> None:
        self.steps = {each.id: each for each in definition.steps}
        self.next = {each.id: {str(key): to for key, to in each.next.items()} for each in definition.steps}
        self.params = {"mode": "full", **params}
        self.first = definition.steps[0].id
        self.loops = {
            name: loop_of(self.next, name) for name, each in self.steps.items() if each.limit is not None
        }

    def start(self) -> Standing:
        """Return the state in which every run starts."""
        return Standing(self.first, visits={self.first: 1})

    def after(self, now: Standing, report: Report) -> Standing | Refused:
        """Return the state after *report*, or the refusal."""
        if now.step is None:
            return Refused("SESSION_ENDED")
        here = self.steps[now.step]
        facts = {**now.facts, **report.facts}
        if here.rules or here.handler is not None:
            if report.outcome not in {"done", OK}:
                return Refused("OUTCOME_NOT_OPEN")
            outcome, more = self._decided(here, facts, now.visits)
            facts = {**facts, **more}
        elif self._way(here.id, report.outcome) == "nowhere":
            return Refused("OUTCOME_NOT_OPEN")
        else:
            outcome = report.outcome
        back = outcome in {ITERATE, FAIL} and here.id in reached_from(self.next, self._way(here.id, outcome))
        spent = back and here.limit is not None and now.visits[here.id] >= here.limit
        if spent and outcome == FAIL:
            return replace(now, status="waiting", facts=facts)
        target = self._way(here.id, OK if spent else outcome)
        landed, passed = self._landed(here.id, target, facts, now.visits)
        visits = dict(now.visits)
        if landed is not None:
            visits = counted(self.loops, [here.id, *passed, landed], visits)
        status = "active"
        if landed is None:
            status = "failed" if outcome == FAIL and not passed else "completed"
            visits[f":{status}"] = 1
        else:
            visits[landed] = visits.get(landed, 0) + 1
        return Standing(landed, status, facts, visits, outcome, spent, passed)

    def _way(self, here: str, outcome: str) -> str | None:
        ways = self.next[here]
        return ways.get(outcome, ways.get(DEFAULT, "nowhere") if outcome in REPORTED else "nowhere")

    def _values(self, here: StepDef, facts: Values, visits: Mapping[str, int]) -> dict[str, Any]:
        return {**self.params, **facts, "visit": visits.get(here.id, 0), "limit": here.limit}

    def _decided(
        self, here: StepDef, facts: Values, visits: Mapping[str, int]
    ) -> tuple[str, Mapping[str, Any]]:
        if here.rules:
            values = self._values(here, facts, visits)
            chosen = (
                str(rule.outcome) for rule in here.rules if rule.when is None or CONDITIONS[rule.when](values)
            )
            return next(chosen), {}
        assert callable(here.handler)
        answer: Any = here.handler(StepContext(here.id, self.params, facts, visits[here.id], here.limit))
        return (answer[0], answer[1]) if isinstance(answer, tuple) else (answer, {})

    def _landed(
        self, source: str, target: str | None, facts: Values, visits: Mapping[str, int]
    ) -> tuple[str | None, tuple[str, ...]]:
        passed: list[str] = []
        while target is not None:
            here = self.steps[target]
            when = here.when.source if isinstance(here.when, Condition) else here.when
            counts = counted(self.loops, [source, *passed, target], visits)
            if when is None or CONDITIONS[str(when)](self._values(here, facts, counts)):
                break
            passed.append(target)
            target = self.next[target][SKIP] if SKIP in self.next[target] else self._way(target, OK)
        return target, tuple(passed)
