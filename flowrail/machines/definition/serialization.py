"""A definition as plain data and back: what a session keeps of the workflow it runs.

Functions cannot be kept. The places of those that decide are marked, so that the prints of what was kept
are those of what was given; in `from_plain` something stands there that refuses to be called.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NoReturn
from xml.parsers import expat

from flowrail.errors import FlowError
from flowrail.machines.definition.frozen import freeze
from flowrail.machines.definition.shape import check_shape
from flowrail.machines.definition.step import (
    Delegation,
    GateDef,
    OptionDef,
    QuestionDef,
    Rule,
    StepContext,
    StepDef,
    Variant,
)
from flowrail.machines.definition.values import arg_to_plain
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.markup import Markup

LARGEST_SHARED = 1_000_000
"""Of what has more characters as JSON the workflow is made anew each time."""
_DECIDING = ("handler", "when")


class NotKeptError(FlowError):
    """Code would have to run that is not there."""

    code = "CODE_NOT_KEPT"


def to_plain(workflow: Workflow) -> dict[str, Any]:
    """Return *workflow* as plain data, what is empty left out."""
    return {
        "name": workflow.name,
        "description": workflow.description,
        "entry": workflow.entry_point,
        "params": {name: arg_to_plain(arg) for name, arg in workflow.params.items()},
        "steps": [step_to_plain(step) for step in workflow.steps],
        **({"then": workflow.then} if workflow.then else {}),
        **({"resources": dict(workflow.resources)} if workflow.resources else {}),
    }


def from_plain(data: dict[str, Any]) -> Workflow:
    """Return the workflow that `to_plain` made *data* of; it was checked before it was kept.

    TypeError where it has not even the form of one: it may have come with a clone. Equal data give the same
    workflow, which nobody can change: who takes many steps makes it, and its machine, once.
    """
    text = json.dumps(data, default=_no_data)
    return _made(text) if len(text) <= LARGEST_SHARED else _from_plain(data)


def _no_data(value: Any) -> NoReturn:
    raise TypeError(f"a {type(value).__name__} is no plain data")


@lru_cache(maxsize=4)
def _made(text: str) -> Workflow:
    return _from_plain(json.loads(text))


def _from_plain(data: dict[str, Any]) -> Workflow:
    check_shape(data)
    workflow = Workflow(
        data["name"],
        *(_step_from_plain(step) for step in data["steps"]),
        entry_point=data["entry"],
        description=data["description"],
        params=data["params"],
        validate=False,
        origin="definition.json",
        then=data.get("then"),
        resources=data.get("resources"),
    )
    workflow.derived["checked"] = True
    return workflow


def has_functions(workflow: Workflow) -> bool:
    """Return whether anything of *workflow* is code, which plain data cannot hold."""
    return any(
        callable(part)
        for step in workflow.steps
        for part in (
            step.title,
            step.actions,
            step.handler,
            step.when,
            *(each.when for each in step.variants),
        )
    )


def step_to_plain(step: StepDef) -> dict[str, Any]:
    """Return one step as plain data."""
    plain: dict[str, Any] = {
        "id": step.id,
        "title": step.name if callable(step.title) else step.title,
        "actions": [] if callable(step.actions) else [_text_to_plain(each) for each in step.actions],
        "next": {str(outcome): target for outcome, target in step.next.items()},
        "phase": step.phase,
        "when": None if callable(step.when) else step.when,
        "limit": step.limit,
        "reports": {name: arg_to_plain(arg) for name, arg in step.reports.items()},
        "rules": [[rule.outcome, rule.when] for rule in step.rules],
        "variants": [
            [variant.when, [_text_to_plain(each) for each in variant.actions]]
            for variant in step.variants
            if not callable(variant.when)
        ],
        "dispatch": _work_to_plain(step),
        "questions": [
            {**question._asdict(), "options": [option._asdict() for option in question.options]}
            for question in step.questions
        ],
        "gate": step.gate._asdict() if step.gate else None,
        "forbids": list(step.forbids),
        "code": [name for name in _DECIDING if callable(getattr(step, name))],
    }
    return {key: value for key, value in plain.items() if value not in (None, {}, [])}


def not_kept(context: StepContext) -> NoReturn:
    """Stand where a function stood that plain data cannot hold."""
    raise NotKeptError(
        f"step `{context.step_id}` is decided by code, which a session does not keep",
        hint="put the skill's folder back",
        step=context.step_id,
    )


def _step_from_plain(data: dict[str, Any]) -> StepDef:
    code = data.get("code", ())
    return StepDef(
        id=data["id"],
        title=data.get("title", ""),
        actions=tuple(_text_from_plain(each) for each in data.get("actions", ())),
        next=data.get("next", {}),
        phase=data.get("phase"),
        handler=not_kept if "handler" in code else None,
        when=not_kept if "when" in code else data.get("when"),
        limit=data.get("limit"),
        reports=data.get("reports", {}),
        rules=[Rule(*rule) for rule in data.get("rules", ())],
        variants=[
            Variant(when, tuple(_text_from_plain(each) for each in actions))
            for when, actions in data.get("variants", ())
        ],
        dispatch=_work_from_plain(data["dispatch"]) if "dispatch" in data else None,
        questions=[_question_from_plain(each) for each in data.get("questions", ())],
        gate=GateDef(**data["gate"]) if "gate" in data else None,
        forbids=data.get("forbids", ()),
        origin="definition.json",
    )


def _text_to_plain(text: object) -> Any:
    return {"markup": str(text)} if isinstance(text, Markup) else str(text)


def _text_from_plain(text: Any) -> str:
    if not isinstance(text, dict):
        return str(text)
    markup = str(text["markup"])
    return Markup(markup) if _is_whole(markup) else markup


def _is_whole(markup: str) -> bool:
    """Return whether *markup* stays inside the element that it is put into."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<told>{markup}</told>".encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError:
        return False
    return True


def _work_to_plain(step: StepDef) -> dict[str, Any] | None:
    work = step.work
    if work is None:
        return None
    over = list(work.over) if isinstance(work.over, tuple) else work.over
    return {**work._asdict(), "over": over, "vars": dict(work.vars), "prompt": list(work.prompt)}


def _work_from_plain(data: dict[str, Any]) -> Delegation:
    over = tuple(data["over"]) if isinstance(data["over"], list) else data["over"]
    return Delegation(**{**data, "over": over, "vars": freeze(data["vars"]), "prompt": tuple(data["prompt"])})


def _question_from_plain(data: dict[str, Any]) -> QuestionDef:
    return QuestionDef(**{**data, "options": tuple(OptionDef(**option) for option in data["options"])})
