"""Checks of the data flow: which facts and placeholders are known at which step.

All findings here are warnings: the workflow runs, but probably not as its author meant it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import reduce
from operator import and_, or_
from typing import NamedTuple

from flowrail.machines.checks.loops import guard_of
from flowrail.machines.definition import graph
from flowrail.machines.definition.expressions import EVIDENCE, RuleError, parse
from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.text import placeholders

MOST_STEPS = 2_000
"""Beyond so many steps the paths are not followed."""
MOST_FOLLOWED = 500_000
"""So often a way is followed in one workflow; then nothing more is said."""
MOST_KEPT = 64
"""For so many conditions it is kept what is certain under them."""
Names = int
"""Names as bits, of which each has its own: thousands of them are carried along thousands of ways."""
_OVER = "`over`"


class NameUse(NamedTuple):
    """A name that a step uses: where, in which text, and whether a missing value leaves a gap."""

    name: str
    path: Path
    what: str
    gap: bool
    again: bool = False
    guard: str | None = None


class _TooMuchError(Exception):
    """There are more paths than `MOST_FOLLOWED`."""


class _Paths:
    """What has been reported when a step is entered: certainly, possibly, and when it is entered again."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.left = MOST_FOLLOWED
        names = dict.fromkeys(name for step in workflow.steps for name in step.reports)
        self.facts: dict[str, Names] = {name: 1 << place for place, name in enumerate(names)}
        self.certain = {
            step.id: self._bits(name for name, arg in step.reports.items() if arg.required)
            for step in workflow.steps
        }
        self.any = {step.id: self._bits(step.reports) for step in workflow.steps}
        self.arrivals = list(_arrivals(workflow))
        entry = str(workflow.entry_point)
        self.entry = entry
        self._under: dict[str | None, dict[str, Names]] = {}
        self.always = self.under(None)
        self.ever = self._flow({entry: 0}, entry, gained=self.any, meet=or_)

    def under(self, condition: str | None) -> dict[str, Names]:
        """Return what is certain at each step if a *condition* over parameters holds."""
        if condition not in self._under:
            if len(self._under) > MOST_KEPT:
                self._under.clear()
            self._under[condition] = self._flow({self.entry: 0}, self.entry, condition=condition)
        return self._under[condition]

    def has(self, known: Names, name: str) -> bool:
        """Return whether *name* is among those that are *known*."""
        return bool(known & self.facts.get(name, 0))

    def _bits(self, names: Iterable[str]) -> Names:
        return reduce(or_, map(self.facts.__getitem__, names), 0)

    def holding(self, step: StepDef, *conditions: object) -> Names:
        """Return what is certain at *step* if its own and these conditions hold."""
        known = self.always[step.id]
        for each in (step.when, *conditions):
            if isinstance(each, str) and self._fixed(each):
                known |= self.under(each).get(step.id, 0)
        return known

    def _fixed(self, condition: str) -> bool:
        """Return whether *condition* uses only parameters, which never change."""
        try:
            names = parse(condition).names
        except RuleError:
            return False
        return all(name in self.workflow.params and name not in self.facts for name in names)

    def again(self, step_id: str) -> Names:
        """Return what has certainly been reported when *step_id* is entered again."""
        known = self.always.get(step_id, 0)
        around = self._flow({}, step_id, first=known)
        return around.get(step_id, known)

    def _flow(
        self,
        begin: Mapping[str, Names],
        source: str,
        *,
        first: Names | None = None,
        condition: str | None = None,
        gained: Mapping[str, Names] | None = None,
        meet: Callable[[Names, Names], Names] = and_,
    ) -> dict[str, Names]:
        """Return the names that are known at each step that can be reached from *source*.

        By default, those that are certain: each step adds what it requires, and all ways to a step must add a name.
        """
        gained = self.certain if gained is None else gained
        known = dict(begin)
        ahead: dict[str, list[tuple[str, bool]]] = {}
        for step, target, passed in self.arrivals:
            if not (passed and condition is not None and self.workflow.step(step).when == condition):
                ahead.setdefault(step, []).append((target, passed))
        waiting = [source]
        started = first
        while waiting:
            here = waiting.pop()
            entered = started if started is not None else known[here]
            started = None
            for target, passed in ahead.get(here, ()):
                left = entered if passed else entered | gained[here]
                self.left -= 1
                if self.left < 0:
                    raise _TooMuchError
                met = left if target not in known else meet(known[target], left)
                if known.get(target) != met:
                    known[target] = met
                    waiting.append(target)
        return known


def _arrivals(workflow: Workflow) -> Iterator[tuple[str, str, bool]]:
    """Yield (step, next step, whether the first is skipped) for every transition that can be taken."""
    for source, _, target in graph.possible_edges(workflow):
        if target is not None and target in workflow:
            yield source, target, False
    for step in workflow.steps:
        over = graph.skip_outcome(step) if step.when is not None else None
        target = step.ways.get(over) if over is not None else None
        if target is not None and target in workflow:
            yield step.id, target, True


def _values(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Find values that are read before they are known, except those that a handler returns."""
    handled = any(callable(step.handler) for step in workflow.steps)
    if handled or workflow.entry_point not in workflow or len(workflow.steps) > MOST_STEPS:
        return
    with suppress(_TooMuchError):
        yield from _along(workflow, _Paths(workflow))


def _along(workflow: Workflow, paths: _Paths) -> Iterator[UnplacedFinding]:
    given = {name for name, arg in workflow.params.items() if arg.required or arg.has_default}
    declared = paths.facts.keys() | workflow.params.keys()
    for index, step in enumerate(workflow.steps):
        if workflow.step(step.id) is step and step.id in paths.always:
            yield from _step_values(index, step, paths, given, declared)


def _step_values(
    index: int, step: StepDef, paths: _Paths, given: Collection[str], declared: Collection[str]
) -> Iterator[UnplacedFinding]:
    certain, ever = paths.holding(step), paths.ever[step.id]
    again: Names | None = None
    reported: set[tuple[str, str]] = set()
    for read in _reads(index, step):
        if read.name == "limit" and step.bound is None and read.gap:
            what = f"{read.what} has `$limit`, and step `{step.id}` has no limit"
            yield UnplacedFinding("FR161", read.path, what, "add a `limit` to the step, or remove `$limit`")
        if read.name not in declared or (read.name, read.what) in reported:
            continue
        if read.again:
            again = again if again is not None else paths.again(step.id)
        known = certain | again if read.again and again is not None else certain
        if read.guard is not None:
            known |= paths.holding(step, read.guard)
        own = step.reports.keys() if not read.gap and "rule" in read.what else ()
        if read.name in given or paths.has(known, read.name) or read.name in own:
            continue
        reported.add((read.name, read.what))
        before = paths.has(ever, read.name) or read.name in paths.workflow.params
        if not before and not (read.again and read.name in step.reports):
            what = f"{read.what} reads `{read.name}`, which no step before `{step.id}` reports"
            yield UnplacedFinding("FR126", read.path, what, "report it earlier, or declare it in `params`")
        elif read.what == _OVER:
            what = f"step `{step.id}` goes over `{read.name}`, which is not reported on every path to it"
            hint = "make it required where it is reported"
            yield UnplacedFinding("FR160", read.path, what, hint)
        elif read.gap:
            what = f"{read.what} has `${read.name}`, which has no value on every path to `{step.id}`"
            hint = "make it required where it is reported, or write a variant for the case without it"
            yield UnplacedFinding("FR161", read.path, what, hint)


def _reads(index: int, step: StepDef) -> Iterator[NameUse]:
    at: Path = ("steps", index)
    texts: list[tuple[Path, str, object]] = [((*at, "title"), "the title", step.title)]
    if not callable(step.actions):
        texts += [((*at, "actions", place), "the text", each) for place, each in enumerate(step.actions)]
    for number, question in enumerate(step.questions):
        parts = (question.text, *(option.label for option in question.options))
        texts += [((*at, "questions", number), f"question `{question.id}`", each) for each in parts]
    for path, what, text in texts:
        yield from _placed(path, what, text)
    for number, variant in enumerate(step.variants):
        path = (*at, "variants", number)
        guard = guard_of(variant.when)
        for text in variant.actions:
            for read in _placed((*path, "text"), f"variant {number + 1}", text):
                if read.name not in guard.names:
                    yield read._replace(
                        again=guard.again, guard=variant.when if isinstance(variant.when, str) else None
                    )
        yield from _named((*path, "when"), f"variant {number + 1}", variant.when, again=guard.again)
    yield from _named((*at, "when"), "`when`", step.when)
    for number, rule in enumerate(step.rules):
        yield from _named((*at, "rules", number), f"rule {number + 1}", rule.when)
    yield from _work(at, step)


def _work(at: Path, step: StepDef) -> Iterator[NameUse]:
    work = step.dispatch
    if work is None:
        return
    if isinstance(work.over, str):
        yield NameUse(work.over, (*at, "dispatch", "over"), _OVER, gap=True)
    for name, value in work.context_vars.items():
        for read in _placed((*at, "dispatch", "vars", name), f"variable `{name}`", value):
            if read.name != "item":
                yield read
    for text in work.prompt:
        for read in _placed((*at, "dispatch", "prompt"), "the prompt", text):
            if read.name != "item" and read.name not in work.context_vars:
                yield read


def _placed(path: Path, what: str, text: object) -> Iterator[NameUse]:
    if isinstance(text, str) and "$" in text:
        names = sorted(placeholders.placeholders(text))
        yield from (NameUse(name, (*path, f"${name}"), what, gap=True) for name in names)


def _named(path: Path, what: str, source: object, *, again: bool = False) -> Iterator[NameUse]:
    try:
        names = parse(source).names if isinstance(source, str) else frozenset()
    except RuleError:
        return
    facts = sorted(name for name in names if not name.startswith(EVIDENCE))
    yield from (NameUse(name, path, what, gap=False, again=again) for name in facts)


PATH_RULES = (_values,)
