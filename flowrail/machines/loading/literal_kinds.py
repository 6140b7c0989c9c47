"""Whether what a step was given in Python is of its kind, before anybody looks at the step.

A file that is run is refused where a part is not; one that is only read has its step left out and told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flowrail.machines.definition.step import (
    Delegation,
    GateDef,
    OptionDef,
    QuestionDef,
    StepDef,
    Variant,
)

_PLAIN = (str, int, float, bool, type(None))


def made_of(values: Mapping[str, Any]) -> StepDef | None:
    """Return the step of these values, or `None` where some are of another kind: running would refuse them."""
    try:
        step = StepDef(**values)
        return step if _has_shape(step) else None
    except (TypeError, ValueError, AttributeError):
        return None


def _has_shape(step: StepDef) -> bool:
    """Whether all that a step is made of is of its kind, as those who look at it take for granted."""
    gate, work = step.gate, step.work
    conditions = (step.when, *(each.when for each in step.variants if isinstance(each, Variant)))
    return (
        all(callable(each) or _is_text(each) for each in (step.title, *conditions))
        and _is_text(step.phase)
        and _are_texts(step.forbids)
        and all(_is_text(each.when) for each in step.rules)
        and (step.limit is None or isinstance(step.limit, int))
        and all(isinstance(each, Variant) and _are_texts(each.actions) for each in step.variants)
        and all(map(_is_question, step.questions))
        and (gate is None or _is_gate(gate))
        and (work is None or _is_work(work))
    )


def _is_gate(gate: object) -> bool:
    return (
        isinstance(gate, GateDef)
        and _is_text(gate.name, gate.review, gate.policy)
        and isinstance(gate.limit, int)
    )


def _is_work(work: object) -> bool:
    return (
        isinstance(work, Delegation)
        and _is_text(work.agent, work.run, work.join, work.model)
        and _are_texts(work.prompt)
        and (work.over is None or isinstance(work.over, (str, list, tuple)))
        and isinstance(work.vars, Mapping)
        and _is_plain((work.over, work.vars))
        and isinstance(work.lease, (int, float))
    )


def _is_question(question: object) -> bool:
    return (
        isinstance(question, QuestionDef)
        and _is_text(question.id, question.header, question.text, question.other, question.default)
        and all(isinstance(each, OptionDef) and _is_text(*each) for each in question.options)
        and (question.deadline is None or isinstance(question.deadline, (int, float)))
    )


def _is_plain(value: object) -> bool:
    if isinstance(value, Mapping):
        return _are_texts(value) and all(map(_is_plain, value.values()))
    return all(map(_is_plain, value)) if isinstance(value, (list, tuple)) else isinstance(value, _PLAIN)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(each, str) for each in values)


def _is_text(*values: object) -> bool:
    return all(each is None or isinstance(each, str) for each in values)
