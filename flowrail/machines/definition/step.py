"""Steps as an author writes them: instructions, transitions, facts, conditions.

These classes accept invalid values, so that the validation can
report all of them at once.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import StrEnum
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, get_type_hints

from flowrail.errors import UsageError
from flowrail.machines.definition.evidence import Evidence, StepCommand
from flowrail.machines.definition.parts import (
    DefinitionPart,
    Frozen,
    FrozenObject,
    Key,
    freeze,
    freeze_deep,
    freeze_items,
)
from flowrail.machines.definition.step_parts import OUTCOME, Dispatch, GateConfig, Question
from flowrail.machines.definition.values import Arg, arg_from, part_from

if TYPE_CHECKING:
    from types import EllipsisType

    from flowrail.machines.loading.skill_folder import ResourceProvider


class Outcome(StrEnum):
    """The result of a step.

    ``DEFAULT`` is the transition of every outcome that a step does not name. It is never reported.
    """

    OK = "ok"
    FAIL = "fail"
    SKIP = "skip"
    ITERATE = "iterate"
    DEFAULT = "_default"


REPORTABLE = (Outcome.OK, Outcome.FAIL, Outcome.SKIP, Outcome.ITERATE)
UNWRITTEN = "..."
"""Instructions that are still to be written, such as ``actions=[...]``."""
DONE = "done"
"""The word that an agent reports if the step itself decides the outcome."""

BUILT_IN = frozenset({"visit", "limit", "item", "session", "work", "notes", "scripts"})
"""Built-in names. Texts may use all of them, expressions only `visit` and `limit`."""
TEXT_NAMES = BUILT_IN - {"item"}
"""The built-in names that every text may use; `item` is only for dispatches over a list."""

STEP_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
WORKFLOW_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*(?:/[a-z0-9]+(?:-[a-z0-9]+)*)?\Z")
NAMES = "use lower-case words parted by hyphens, such as `problem-analysis`"
VALUE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
LONGEST_NAME = 64
LARGEST_TOGETHER = 4_000_000
"""Characters of all instructions of one workflow; a text counts each time that it is used."""


class MissingValueError(KeyError):
    """A function reads a value that was neither given at the start nor reported."""


class ContextValues(Frozen[str, object]):
    """Values that a function reads by name."""

    __slots__ = ()

    def __missing__(self, name: str) -> object:
        raise MissingValueError(name)


class _NoResources:
    """The resources of a workflow that was not loaded from a skill's folder: reading one is an error."""

    def _refuse(self, name: str, *_: str) -> NoReturn:
        raise UsageError(
            f"the workflow has no resources, so `{name}` cannot be read",
            hint="load the workflow from a skill's folder, or run it with a store",
        )

    get_convention = read_file = get_resource = get_workflow = get_step = _refuse


NO_RESOURCES: "ResourceProvider" = _NoResources()  # type: ignore[assignment]  # it refuses every method


class StepContext(FrozenObject):
    """The state of a session, as a handler or a text function sees it.

    ``workflow_params`` has for each name the reported fact, if a step reports it or if it is not a parameter, otherwise
    the parameter's fixed value. ``step_state`` is every fact reported and value returned so far. Both are read-only.
    ``session`` is the id of the run, ``work`` the folder for its working files, ``scripts`` that of the skill's
    scripts. ``evidence`` holds the result of each
    check of the step by id, with ``passed`` and ``verdict``. ``resources`` reads what the skill quotes:
    conventions, files, resources, other workflows and their steps.
    """

    step_id: str
    workflow_params: Mapping[str, Any] = Frozen()
    step_state: Mapping[str, Any] = Frozen()
    visit: int = 1
    limit: int | None = None
    session: str = ""
    work: str = ""
    scripts: str = ""
    evidence: Mapping[str, Any] = Frozen()
    resources: "ResourceProvider" = field(default=NO_RESOURCES, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "workflow_params", _context_values(self.workflow_params))
        object.__setattr__(self, "step_state", _context_values(self.step_state))


def _context_values(values: Mapping[str, object]) -> ContextValues:
    if isinstance(values, ContextValues):
        return values
    return ContextValues({name: freeze_deep(value) for name, value in values.items()})


Handler: TypeAlias = Callable[..., Outcome | tuple[Outcome, Mapping[str, object]]]
TextFunction: TypeAlias = Callable[[StepContext], str]
ActionsFunction: TypeAlias = Callable[[StepContext], Sequence[str]]
Condition: TypeAlias = str | Callable[[StepContext], bool]


class Rule(DefinitionPart):
    """One rule of a step: the outcome if an expression holds. Without an expression it always holds."""

    outcome: Annotated[
        str, Key("The outcome if the rule holds.", is_name=True, rank=1, schema=OUTCOME, code="FR110")
    ]
    when: Annotated[str | None, Key("The expression, such as failures == 0.", name="if", rank=2)] = None


class Variant(DefinitionPart):
    """Other instructions for a step, used if a condition holds."""

    when: Annotated[Condition, Key("The expression that must hold.")]
    actions: Annotated[Sequence[str], Key("The instructions, one paragraph per item.", file="text")] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "actions", _actions(self.actions))


class StepDef(DefinitionPart):
    """One step: its instructions and its transitions.

    The instructions are in steps/ID.md, in the file that `text` names, or in `actions`. ``next`` maps outcomes to
    step ids; `None` ends the session. ``handler`` or ``rules`` decide the outcome; without them the agent reports it.
    """

    id: Annotated[str, Key("A name for it: letters, digits, hyphens and underscores.", is_name=True)]
    title: Annotated[
        str | TextFunction, Key("The name that people and agents see. May contain $fact.", decides=False)
    ] = ""
    actions: Annotated[
        Sequence[str] | ActionsFunction,
        Key("The instructions, one paragraph per item.", file="text", decides=False),
    ] = ()
    handler: Annotated[
        Handler | Dispatch | None, Key("The function that decides the outcome.", in_file=False)
    ] = None
    next: Annotated[
        Mapping[Any, str | None],
        Key(
            "For each outcome, the id of the next step, or null to end the session.",
            is_name=True,
            required=True,
            schema={
                "properties": {str(outcome): {"type": ["string", "null"]} for outcome in Outcome},
                "additionalProperties": False,
                "minProperties": 1,
            },
        ),
    ] = Frozen()
    phase: Annotated[
        str | None, Key("The phase of the procedure that the step is part of.", decides=False)
    ] = None
    when: Annotated[Condition | None, Key("The step is skipped unless this expression holds.")] = None
    limit: Annotated[
        int | None, Key("How often the step may be entered.", schema={"minimum": 1}, code="FR117")
    ] = None
    reports: Annotated[Mapping[str, Arg], Key("Facts that come with the report.")] = Frozen()
    rules: Annotated[Sequence[Rule], Key("Rules that decide the outcome. The first that holds counts.")] = ()
    variants: Annotated[
        Sequence[Variant], Key("Other instructions. The first variant that applies is used.", decides=False)
    ] = ()
    dispatch: Annotated[Dispatch | None, Key("Work that the step gives to sub-agents.")] = None
    questions: Annotated[Sequence[Question], Key("Questions to the user, at most three.")] = ()
    gate: Annotated[GateConfig | None, Key("Makes the step a review gate: findings decide the outcome.")] = (
        None
    )
    forbids: Annotated[
        Sequence[str],
        Key("Tools that the step must not use, such as Edit or Bash(git push*).", decides=False),
    ] = ()
    evidence: Annotated[
        Mapping[str, Sequence[Evidence]],
        Key(
            "For an outcome, the checks that must pass before it is accepted.",
            schema={"propertyNames": OUTCOME},
        ),
    ] = Frozen()
    commands: Annotated[Mapping[str, StepCommand], Key("Commands that `flow run NAME` runs, by name.")] = (
        Frozen()
    )
    origin: str | None = field(default=None, repr=False, compare=False)

    if TYPE_CHECKING:  # the types that an author may write; the fields have the types after conversion

        def __init__(
            self,
            id: str,  # noqa: A002 - the key
            title: str | TextFunction = "",
            actions: str | Sequence[str] | EllipsisType | Sequence[EllipsisType] | ActionsFunction = (),
            handler: Handler | Dispatch | None = None,
            next: Mapping[Any, str | None] = ...,  # noqa: A002 - the key
            phase: str | None = None,
            when: Condition | None = None,
            limit: int | None = None,
            reports: Mapping[str, Arg | Mapping[str, object]] = ...,
            rules: Sequence[Rule | Mapping[str, str] | tuple[str, str | None]] = (),
            variants: Sequence[Variant | tuple[Condition, str | Sequence[str]]] = (),
            dispatch: Dispatch | None = None,
            questions: Sequence[Question] = (),
            gate: GateConfig | None = None,
            forbids: str | Sequence[str] = (),
            evidence: Mapping[object, Evidence | Sequence[Evidence]] = ...,
            commands: Mapping[str, StepCommand] = ...,
            origin: str | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "id", str(self.id))
        put(self, "evidence", convert_values(self.evidence, _checks))
        put(self, "next", _transitions(self.next))
        put(self, "actions", _actions(self.actions))
        put(self, "rules", _convert_items(self.rules, partial(_by_position, Rule)))
        put(self, "variants", _convert_items(self.variants, partial(_by_position, Variant)))
        put(self, "questions", freeze_items(self.questions))
        put(self, "forbids", freeze_items(self.forbids))
        put(self, "commands", freeze(self.commands))
        put(self, "reports", convert_values(self.reports, arg_from))
        if self.origin is None:
            put(self, "origin", sys_caller(4))

    @property
    def decides(self) -> bool:
        """Whether the step itself decides the outcome, so that `done` is the only report."""
        return bool(self.rules or self.questions) or self.gate is not None or callable(self.handler)

    @property
    def bound(self) -> int | None:
        """How often the step may be entered before its limit is reached, a gate's rounds included."""
        if self.limit is None and self.gate is not None:
            return self.gate.limit
        return self.limit

    @property
    def work(self) -> Dispatch | None:
        """The work that the step gives to agents: its `dispatch`, or the `Dispatch` in place of its handler.

        The prompt of a `Dispatch` in place of a handler is the Python module to run and the step's own text.
        """
        dispatch = self.handler
        if self.dispatch is not None or not isinstance(dispatch, Dispatch):
            return self.dispatch
        if dispatch.prompt or dispatch.run is not None:
            return dispatch
        introduction = f"Run {dispatch.script}.\n\n" if dispatch.script else ""
        text = () if callable(self.actions) else self.actions
        return replace(dispatch, script=None, prompt=(introduction + "\n\n".join(map(str, text)),))

    @property
    def checks(self) -> dict[str, Evidence]:
        """The evidence of all outcomes by id; a check of several outcomes is included once."""
        return {check.id: check for checks in self.evidence.values() for check in checks}

    def as_written(self) -> "StepDef":
        """Return the step as a file could contain it, functions aside."""
        if not callable(self.title) and not isinstance(self.handler, Dispatch):
            return self
        handler = self.handler if callable(self.handler) else None
        return replace(
            self, title=self.name if callable(self.title) else self.title, handler=handler, dispatch=self.work
        )

    @property
    def name(self) -> str:
        """The title if it is a plain text, otherwise the id."""
        return self.title if isinstance(self.title, str) and self.title else self.id

    def next_step(self, outcome: Outcome) -> str | None:
        """Return the step that follows *outcome*, `None` for the end; `KeyError` if the step does not accept it."""
        if outcome in self.next:
            return self.next[outcome]
        return self.next[Outcome.DEFAULT]

    @property
    def transitions(self) -> dict[Outcome, str | None]:
        """The next step for each accepted outcome, those that ``DEFAULT`` covers included, in a fixed order."""
        return {
            outcome: self.next_step(outcome)
            for outcome in REPORTABLE
            if outcome in self.next or Outcome.DEFAULT in self.next
        }


def handler_args(step: StepDef) -> dict[str, Arg]:
    """Return the parameters that a step's handler declares with `Arg`, by name."""
    return {name: arg for name, arg in handler_signature(step.handler).items() if isinstance(arg, Arg)}


def fact_args(step: StepDef, params: Collection[str] = ()) -> Mapping[str, Arg]:
    """Return the facts that a report of a step may contain: declared ones, and the parameters of its handler.

    A value in *params*, given at the start, is not asked for again unless the step lists it in `reports`.
    """
    taken = {name: arg for name, arg in handler_args(step).items() if name not in params}
    return {**taken, **step.reports} if taken else step.reports


def accepts_any_fact(step: StepDef) -> bool:
    """Return whether a report of *step* may contain any fact: its handler declares none, so it may read any."""
    return callable(step.handler) and not step.reports and not handler_args(step)


def handler_signature(handler: object) -> dict[str, Arg | bool]:
    """Return the named parameters of *handler* after the context.

    The value of a name is its `Arg`, or whether it has a default if it declares none.
    """
    parameters = (parameters_of(handler) or [])[1:]
    hints = hints_of(handler) if parameters else {}
    args: dict[str, Arg | bool] = {}
    for parameter in parameters:
        if parameter.kind not in {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}:
            hint = hints.get(parameter.name)
            arg = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Arg)), None)
            has_default = parameter.default is not Parameter.empty
            args[parameter.name] = has_default if arg is None else _with_default(arg, parameter.default, hint)
    return args


def parameters_of(function: object) -> list[Parameter] | None:
    """Return the parameters of *function*; `None` if it is not a function, or if its signature is unknown."""
    try:
        return list(signature(function).parameters.values()) if callable(function) else None
    except (TypeError, ValueError):
        return None


def hints_of(function: object) -> dict[str, Any]:
    """Return the annotations of *function* with their marks; none if they cannot be evaluated."""
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - an annotation is an author's code and may raise anything
        return {}


def _with_default(arg: Arg, default: object, hint: Any) -> Arg:
    """Return *arg* with the default and the type that the handler's signature gives it."""
    kinds = {str: "string", int: "integer", float: "number", bool: "boolean", list: "list", tuple: "list"}
    base = hint.__origin__
    kind = arg.type or kinds.get(getattr(base, "__origin__", base))
    return replace(arg, type=kind, default=arg.default if arg.has_default else default)


def _transitions(targets: object) -> object:
    """Return transitions by `Outcome`; an unknown outcome, or anything but a mapping, as it is, for the validation."""
    if not isinstance(targets, Mapping):
        return targets
    outcomes = {str(outcome): outcome for outcome in Outcome}
    return freeze(
        {
            outcomes.get(str(outcome), outcome): target if target is None else str(target)
            for outcome, target in targets.items()
        }
    )


def convert_values(values: object, convert: Callable[[Any], object]) -> Any:
    """Return a mapping with each value converted; anything else as it is, for the validation."""
    if not isinstance(values, Mapping):
        return values
    return freeze({name: convert(value) for name, value in values.items()})


def _convert_items(items: object, convert: Callable[[object], object]) -> object:
    """Return a list with each item converted; anything else as it is, for the validation."""
    listed = freeze_items(items)
    return tuple(map(convert, listed)) if isinstance(listed, tuple) else items


def _actions(actions: object) -> object:
    """Return instructions as a tuple; ``...``, which the author still has to write, as a text."""
    if callable(actions):
        return actions
    return _convert_items(actions, lambda item: UNWRITTEN if item is ... else item)


def _checks(checks: object) -> object:
    return (checks,) if isinstance(checks, Evidence) else freeze_items(checks)


def _by_position(part: type[Any], value: object) -> object:
    """Return a tuple of the arguments of *part*, or a mapping of them, as the part; anything else as it is."""
    if isinstance(value, (list, tuple)) and 1 <= len(value) <= len(fields(part)):
        return part(*value)
    return part_from(part, value) if part is Rule else value


def sys_caller(depth: int) -> str:
    """Return ``file:line`` of the code *depth* calls above this function."""
    frame = sys._getframe(depth)  # noqa: SLF001 - there is no other way to know an author's line
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
