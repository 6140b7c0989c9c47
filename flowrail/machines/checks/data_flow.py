"""Checks of the data flow: the facts and placeholders that are known at each step.

All findings here are warnings: the workflow runs, but probably not as its author meant it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, reduce
from operator import or_
from typing import NamedTuple

from flowrail.machines import graph
from flowrail.machines.checks.scope import Scope
from flowrail.machines.expressions import EVIDENCE, parse
from flowrail.machines.findings import Path, UnplacedFinding
from flowrail.machines.parts import conditions_of, texts_of
from flowrail.machines.step import StepDef
from flowrail.text import placeholders

MOST_FOLLOWED = 500_000
"""Transitions that are followed in one workflow. Then the search ends."""
Names = int
"""A set of names as bits of an integer, because thousands of names follow thousands of transitions."""


class Guard(NamedTuple):
    """What a condition guarantees: names that have a value, and that the step is entered again."""

    names: frozenset[str]
    again: bool


def guard_of(when: object) -> Guard:
    """Return what the condition *when* guarantees; nothing if it is a function."""
    if not isinstance(when, str):
        return Guard(frozenset(), again=False)
    expression = parse(when)
    again = any(
        name == "visit" and ((mark == ">" and value >= 1) or (mark == ">=" and value >= 2))  # noqa: PLR2004
        for name, mark, value in expression.comparisons()
        if isinstance(value, int)
    )
    return Guard(expression.names, again)


class NameUse(NamedTuple):
    """A name that a step uses. In a text, a missing value leaves a gap; in a condition, it is null."""

    name: str
    path: Path
    part: str
    is_text: bool
    variant: str | None = None
    """The condition of the variant that uses the name."""


class _TooMuchError(Exception):
    """There are more paths than `MOST_FOLLOWED`."""


class _Paths:
    """The facts that have certainly been reported when a step is entered."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.left = MOST_FOLLOWED
        steps = scope.workflow.steps
        self.bits: dict[str, Names] = {}
        for name in (name for step in steps for name in step.reports):
            self.bits.setdefault(name, 1 << len(self.bits))
        self.required = {
            step.id: reduce(or_, (self.bits[name] for name, arg in step.reports.items() if arg.required), 0)
            for step in steps
        }
        self.arrivals: dict[str, list[tuple[str, bool]]] = {step.id: [] for step in steps}
        """For each step, the next steps, and whether it is skipped on the way there."""
        for source, targets in scope.possible_edges.after.items():
            self.arrivals[source] += [(target, False) for target in targets]
        for step in steps:
            outcome = graph.skip_outcome(step) if step.when is not None else None
            target = step.next_step(outcome) if outcome is not None else None
            if target is not None:
                self.arrivals[step.id].append((target, True))
        self.before: dict[str, list[str]] = defaultdict(list)
        for source, arrivals in self.arrivals.items():
            for target, _ in arrivals:
                self.before[target].append(source)
        self.entry = str(scope.workflow.entry)
        self.under = lru_cache(maxsize=64)(self._under)
        self.always = self._under(None)

    def known(self, step: StepDef, variant: str | None) -> Names:
        """Return the facts that are certain at *step*, in a variant of its text if the condition *variant* holds."""
        known = self.always[step.id]
        for condition in (step.when, variant):
            if isinstance(condition, str) and self._is_fixed(condition):
                known |= self.under(condition).get(step.id, 0)
        if guard_of(variant).again:
            known |= self._follow(step.id, known).get(step.id, known)
        return known

    def ever(self, step_id: str) -> set[str]:
        """Return the facts that may have been reported before a step is entered."""
        sources = graph.reach(self.before[step_id], self.before)
        return {name for source in sources for name in self.scope.workflow.step(source).reports}

    def _is_fixed(self, condition: str) -> bool:
        """Return whether *condition* uses only parameters, which never change."""
        params = self.scope.workflow.params
        return all(name in params and name not in self.bits for name in parse(condition).names)

    def _under(self, condition: str | None) -> dict[str, Names]:
        """Return the facts that are certain at each step if a *condition* over parameters holds."""
        return {self.entry: 0} | self._follow(self.entry, 0, condition, {self.entry: 0})

    def _follow(
        self, source: str, first: Names, condition: str | None = None, known: dict[str, Names] | None = None
    ) -> dict[str, Names]:
        """Return the facts that are certain at each step after *source*, which is entered with the names *first*.

        A step adds the facts that it requires. A fact is certain if all paths add it.
        """
        known = known or {}
        waiting = [(source, first)]
        while waiting:
            step_id, entered = waiting.pop()
            if known.get(step_id, entered) != entered:
                continue  # another path has reached it with fewer facts since
            when = self.scope.workflow.step(step_id).when
            for target, is_skipped in self.arrivals[step_id]:
                if is_skipped and condition is not None and when == condition:
                    continue
                self.left -= 1
                if self.left < 0:
                    raise _TooMuchError
                left = entered if is_skipped else entered | self.required[step_id]
                common = known.get(target, left) & left
                if known.get(target) != common:
                    known[target] = common
                    waiting.append((target, common))
        return known


def unknown_values(scope: Scope) -> Iterator[UnplacedFinding]:
    """Find values that are read before they are known, unless a handler may return them."""
    if scope.is_open:
        return
    with suppress(_TooMuchError):
        paths = _Paths(scope)
        for index, step in enumerate(scope.workflow.steps):
            if step.id in paths.always:
                for raw in _in_step(step, paths, scope):
                    yield replace(raw, path=("steps", index, *raw.path))


def _in_step(step: StepDef, paths: _Paths, scope: Scope) -> Iterator[UnplacedFinding]:
    params = scope.workflow.params
    seen: set[tuple[str, str]] = set()
    known = cache(lambda variant: paths.known(step, variant))
    for use in _uses(step):
        name, part = use.name, use.part
        if name == "limit" and step.bound is None and use.is_text:
            message = f"{part} has `$limit`, and step `{step.id}` has no limit"
            yield UnplacedFinding("FR161", use.path, message, "add a `limit` to the step, or remove `$limit`")
        arg = params.get(name)
        is_given = arg is not None and (arg.required or arg.has_default)
        is_in_this_report = use.path[0] == "rules" and name in step.reports
        if name not in scope.values or (name, part) in seen or is_given or is_in_this_report:
            continue
        if known(use.variant) & paths.bits.get(name, 0):
            continue
        seen.add((name, part))
        is_reported = name in paths.ever(step.id) or (guard_of(use.variant).again and name in step.reports)
        if arg is None and not is_reported:
            message = f"{part} reads `{name}`, which no step before `{step.id}` reports"
            yield UnplacedFinding("FR126", use.path, message)
        elif use.path == ("dispatch", "over"):
            message = f"step `{step.id}` goes over `{name}`, which is not reported on every path to it"
            yield UnplacedFinding("FR160", use.path, message)
        elif use.is_text:
            message = f"{part} has `${name}`, which has no value on every path to `{step.id}`"
            yield UnplacedFinding("FR161", use.path, message)


def _uses(step: StepDef) -> Iterator[NameUse]:
    variants = [variant.when if isinstance(variant.when, str) else None for variant in step.variants]
    for text in texts_of(step):
        variant = variants[int(text.path[1])] if text.key == "variants" else None
        for name in sorted(placeholders.placeholders(text.value) - text.names - guard_of(variant).names):
            yield NameUse(name, (*text.path, f"${name}"), text.label, is_text=True, variant=variant)
    for part in conditions_of(step):
        if part.kind == "condition":
            variant = part.value if part.key == "variants" else None
            for name in sorted(name for name in parse(part.value).names if not name.startswith(EVIDENCE)):
                yield NameUse(name, part.path, part.label, is_text=False, variant=variant)
    if step.dispatch is not None and isinstance(step.dispatch.over, str):
        yield NameUse(step.dispatch.over, ("dispatch", "over"), "`over`", is_text=True)
