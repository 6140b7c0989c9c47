"""Steps as an author writes them: instructions, transitions, facts, conditions.

These classes accept invalid values, so that the validation can
report all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, get_type_hints

from flowrail.errors import UsageError
from flowrail.machines.demanded_evidence import Evidence, StepCommand
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.frozen import (
    CONDITION,
    FILLED,
    TEXT,
    Definition,
    Frozen,
    NotInFiles,
    freeze_deep,
    freeze_items,
    put,
)
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Question
from flowrail.machines.values import Arg, kind_of_type
from flowrail.outcome import REPORTABLE, Outcome, Reportable
from flowrail.text.validation import Bounds

if TYPE_CHECKING:
    from flowrail.machines.loading.skill_folder import ResourceProvider

UNWRITTEN = "..."
"""Instructions that are still to be written, such as ``actions=[...]``."""
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


NO_RESOURCES: ResourceProvider = _NoResources()  # type: ignore[assignment]  # it refuses every method


@dataclass(frozen=True)
class StepContext:
    """The state of a session, as a handler or a text function sees it.

    ``workflow_params`` has for each name the reported fact, if a step reports it or if it is not a parameter, otherwise
    the parameter's fixed value. ``step_state`` is every fact reported and value returned so far. Both are read-only.
    ``session`` is the id of the run, ``work`` the folder for its working files, ``scripts`` that of the skill's
    scripts. ``resources`` reads what the skill quotes: conventions, files, resources, other workflows and their steps.
    """

    step_id: str
    workflow_params: Mapping[str, Any] = Frozen()
    step_state: Mapping[str, Any] = Frozen()
    visit: int = 1
    limit: int | None = None
    session: str = ""
    work: str = ""
    scripts: str = ""
    resources: ResourceProvider = field(default=NO_RESOURCES, repr=False, compare=False)

    def __post_init__(self) -> None:
        put(
            self,
            workflow_params=_context_values(self.workflow_params),
            step_state=_context_values(self.step_state),
        )


def _context_values(values: Mapping[str, object]) -> ContextValues:
    if isinstance(values, ContextValues):
        return values
    return ContextValues({name: freeze_deep(value) for name, value in values.items()})


_TRANSITIONS = {
    "properties": {str(outcome): {"type": ["string", "null"]} for outcome in Outcome},
    "additionalProperties": False,
    "minProperties": 1,
}
Handler: TypeAlias = Callable[..., Outcome | tuple[Outcome, Mapping[str, object]]]
TextFunction: TypeAlias = Callable[[StepContext], str]
ActionsFunction: TypeAlias = Callable[[StepContext], Sequence[str]]
Condition: TypeAlias = str | Callable[[StepContext], bool]


@dataclass(frozen=True)
class Rule(Definition):
    """One rule of a step: the outcome if an expression holds. Without an expression it always holds."""

    outcome: Reportable | str
    """The outcome if the rule holds."""
    when: str | None = field(default=None, metadata={**CONDITION, "alias": "if"})
    """The expression, such as failures == 0."""

    def __post_init__(self) -> None:
        put(self, outcome=str(self.outcome))


@dataclass(frozen=True)
class Variant(Definition):
    """Other instructions for a step, used if a condition holds."""

    when: Condition = field(metadata=CONDITION)
    """The expression that must hold."""
    actions: Sequence[str] = field(default=(), metadata=FILLED)
    """The instructions, one paragraph per item."""
    text: str | None = None
    """The file with the instructions, such as steps/again.md."""

    def __post_init__(self) -> None:
        super().__post_init__()
        put(self, actions=_actions(self.actions))


@dataclass(frozen=True)
class StepDef(Definition):
    """One step: its instructions and its transitions.

    The instructions are in steps/ID.md, in the file that `text` names, or in `actions`. ``next`` maps outcomes to
    step ids; `None` ends the session. ``handler`` or ``rules`` decide the outcome; without them the agent reports it.
    """

    id: str
    """A name for it: letters, digits, hyphens and underscores."""
    title: str | TextFunction = field(default="", metadata={**TEXT, **FILLED})
    """The name that people and agents see. May contain $fact."""
    actions: Sequence[str] | ActionsFunction = field(default=(), metadata={**TEXT, **FILLED})
    """The instructions, one paragraph per item."""
    handler: Annotated[Handler | Dispatch | None, NotInFiles()] = None
    """The function that decides the outcome."""
    next: Mapping[Any, str | None] = field(
        default=Frozen(), metadata={"kind": "transition", "json_schema_extra": _TRANSITIONS}
    )
    """For each outcome, the id of the next step, or null to end the session."""
    phase: str | None = field(default=None, metadata=TEXT)
    """The phase of the procedure that the step is part of."""
    when: Condition | None = field(default=None, metadata=CONDITION)
    """The step is skipped unless this expression holds."""
    limit: Annotated[int, Bounds(ge=1)] | None = None
    """How often the step may be entered."""
    reports: Mapping[str, Arg] = Frozen()
    """Facts that come with the report."""
    rules: Sequence[Rule] = ()
    """Rules that decide the outcome. The first that holds counts."""
    variants: Sequence[Variant] = field(default=(), metadata=TEXT)
    """Other instructions. The first variant that applies is used."""
    dispatch: Dispatch | None = None
    """Work that the step gives to sub-agents."""
    questions: Sequence[Question] = ()
    """Questions to the user, at most three."""
    gate: GateConfig | None = None
    """Makes the step a review gate: findings decide the outcome."""
    forbids: Sequence[str] = field(default=(), metadata=TEXT)
    """Tools that the step must not use, such as Edit or Bash(git push*)."""
    evidence: Mapping[str, Sequence[Evidence]] = field(default=Frozen(), metadata={"kind": "demand"})
    """For an outcome, the checks that must pass before it is accepted."""
    commands: Mapping[str, StepCommand] = Frozen()
    """Commands that `flow run NAME` runs, by name."""
    text: str | None = field(default=None, metadata=TEXT)
    """The file with the instructions. By default steps/ID.md."""

    def __post_init__(self) -> None:
        super().__post_init__()
        put(
            self,
            id=str(self.id),
            actions=_actions(self.actions),
            next=_transitions(self.next),
            rules=_items(Rule, self.rules),
            variants=_items(Variant, self.variants),
            evidence=_checks(self.evidence),
        )

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
        """The work that the step gives to agents: its `dispatch`, or the `Dispatch` in place of its handler."""
        return self.handler if self.dispatch is None and isinstance(self.handler, Dispatch) else self.dispatch

    @property
    def checks(self) -> dict[str, Evidence]:
        """The evidence of all outcomes by id; a check of several outcomes is included once."""
        return {check.id: check for checks in self.evidence.values() for check in checks}

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


def _with_default(arg: Arg, default: Any, hint: Any) -> Arg:
    """Return *arg* with the default and the type that the handler's signature gives it."""
    base = hint.__origin__
    kind = arg.type or kind_of_type(getattr(base, "__origin__", base))
    return replace(arg, type=kind, default=arg.default if arg.has_default else default)


def _transitions(targets: object) -> object:
    """Return transitions by `Outcome`; an unknown outcome, or anything but a mapping, as it is, for the validation."""
    if not isinstance(targets, Mapping):
        return targets
    outcomes = {str(outcome): outcome for outcome in Outcome}
    return Frozen(
        {
            outcomes.get(str(outcome), outcome): target if target is None else str(target)
            for outcome, target in targets.items()
        }
    )


def _items(part: type[Any], items: object) -> Any:
    """Return a list with each tuple of arguments of *part* converted; the validation reports anything else."""
    most = len(fields(part))
    if not isinstance(items, tuple):
        return items
    return tuple(
        part(*item) if isinstance(item, tuple) and 1 <= len(item) <= most else item for item in items
    )


def _actions(actions: object) -> object:
    """Return instructions as a tuple; ``...``, which the author still has to write, as a text."""
    return (
        tuple(UNWRITTEN if item is ... else item for item in actions)
        if isinstance(actions, tuple)
        else actions
    )


def _checks(evidence: object) -> object:
    """Return evidence with a tuple of checks for each outcome; the validation reports anything else."""
    if not isinstance(evidence, Mapping):
        return evidence
    return Frozen(
        {
            str(outcome): (checks,) if isinstance(checks, Evidence) else freeze_items(checks)
            for outcome, checks in evidence.items()
        }
    )
