"""What an author writes: steps, the ways on from each, what they report, when they apply.

Values only, and lenient on purpose: a mistake is kept as it was written, so that `checks` can
name every one of them at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from flowrail.machines.definition.frozen import Frozen, freeze, freeze_deep
from flowrail.machines.definition.values import Arg, arg_from

if TYPE_CHECKING:
    from flowrail.machines.definition.delegation import Dispatch


class Outcome(StrEnum):
    """How a step went; where that leads is the workflow's business.

    ``DEFAULT`` is a way on for every outcome that a step does not name. It is never reported.
    """

    OK = "ok"
    FAIL = "fail"
    SKIP = "skip"
    ITERATE = "iterate"
    DEFAULT = "_default"


REPORTABLE = (Outcome.OK, Outcome.FAIL, Outcome.SKIP, Outcome.ITERATE)
DONE = "done"
"""What is reported where the step itself decides the outcome."""

BUILT_IN = frozenset({"visit", "limit", "item", "session"})
"""Names that nobody declares: texts may use all of them, expressions `visit` and `limit`."""
TEXT_NAMES = BUILT_IN - {"item"}
"""Those that every text may use; `item` only where work goes over a list."""

STEP_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
WORKFLOW_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*(?:/[a-z0-9]+(?:-[a-z0-9]+)*)?\Z")
NAMES = "use lower-case words parted by hyphens, such as `problem-analysis`"
VALUE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
LONGEST_NAME = 64
LARGEST_TOGETHER = 4_000_000
"""Characters that the steps of one workflow tell together, a text counting each time that it is told."""
LEASE_SECONDS = 3_600
"""How long a piece of work is held without a sign of life, unless its step says otherwise."""


@dataclass(frozen=True)
class StepContext:
    """Where a run stands, as a handler or a text function sees it.

    ``workflow_params`` are the parameters given at the start, shadowed by facts of the same
    name; ``step_state`` is every fact reported and value returned so far. Both are read-only.
    ``session`` is the id of the run, for names of files that no other run uses.
    """

    step_id: str
    workflow_params: Mapping[str, Any] = field(default_factory=Frozen)
    step_state: Mapping[str, Any] = field(default_factory=Frozen)
    visit: int = 1
    limit: int | None = None
    session: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "workflow_params", freeze_deep(dict(self.workflow_params)))
        object.__setattr__(self, "step_state", freeze_deep(dict(self.step_state)))


Handler: TypeAlias = "Callable[..., Outcome | tuple[Outcome, Mapping[str, Any]]] | Dispatch"
TextFunction: TypeAlias = Callable[[StepContext], str]
ActionsFunction: TypeAlias = Callable[[StepContext], Sequence[str]]
Condition: TypeAlias = "str | Callable[[StepContext], bool]"


class Rule(NamedTuple):
    """One line of a step's own judgement: the outcome, and the expression that calls for it.

    Without an expression it always holds.
    """

    outcome: str
    when: str | None = None


class Delegation(NamedTuple):
    """Work that a step gives to agents: to whom, what they run, how many, and how many must succeed.

    ``run`` is the address of a workflow; without it an agent works from ``prompt``. ``over`` is a list,
    or the name of a fact that is one: one agent for each item. ``join`` is all, any or at least N.
    Who claims a piece of it holds it for ``lease`` seconds, and longer while there are signs of life.
    """

    agent: str
    run: str | None = None
    over: str | Sequence[Any] | None = None
    vars: Mapping[str, Any] = Frozen()
    join: str = "all"
    model: str | None = None
    prompt: tuple[str, ...] = ()
    lease: float = LEASE_SECONDS


class OptionDef(NamedTuple):
    """One way to answer a question, and the outcome that follows from it."""

    label: str
    outcome: str | None = None
    description: str = ""


class QuestionDef(NamedTuple):
    """A question that a step puts to the user; ``other`` is the outcome of an answer in other words.

    After ``deadline`` seconds the ``default``, one of the labels, stands.
    """

    id: str
    header: str
    text: str
    options: tuple[OptionDef, ...] = ()
    multi: bool = False
    other: str | None = None
    default: str | None = None
    deadline: float | None = None


class GateDef(NamedTuple):
    """A gate: the step that reviews, how many rounds, and by which policy findings block."""

    name: str
    review: str
    limit: int = 5
    policy: str | None = None


class Variant(NamedTuple):
    """Other text for a step, told when its condition holds."""

    when: Condition
    actions: tuple[str, ...]


@dataclass(frozen=True)
class StepDef:
    """One step: what to do, and which outcome leads where.

    ``next`` maps outcomes to step ids; `None` ends the run. ``handler`` or ``rules`` decide the
    outcome from what is known; without them the agent names it. ``when`` is the condition under
    which the step applies at all, ``limit`` how often it may be entered. ``forbids`` names tools that the
    step does without, as `forbids` reads them.
    """

    id: str
    title: str | TextFunction = ""
    actions: Sequence[str] | ActionsFunction = ()
    handler: Any = None
    next: Mapping[Any, str | None] = field(default_factory=Frozen)
    phase: str | None = None
    when: Condition | None = None
    limit: int | None = None
    reports: Mapping[str, Arg] = field(default_factory=Frozen)
    rules: Sequence[Rule] = ()
    variants: Sequence[Variant] = ()
    dispatch: Delegation | None = None
    questions: Sequence[QuestionDef] = ()
    gate: GateDef | None = None
    forbids: Sequence[str] = ()
    origin: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "id", str(self.id))
        ways = dict(self.next).items()
        put(self, "next", freeze({_outcome_or_as_written(key): _step_or_end(to) for key, to in ways}))
        if isinstance(self.actions, str):
            put(self, "actions", (self.actions,))
        elif not callable(self.actions):
            put(self, "actions", tuple(self.actions))
        put(self, "rules", tuple(_rule(each) for each in self.rules))
        put(self, "variants", tuple(_variant(each) for each in self.variants))
        put(self, "questions", tuple(self.questions))
        put(self, "forbids", (self.forbids,) if isinstance(self.forbids, str) else tuple(self.forbids))
        if self.dispatch is not None and isinstance(self.dispatch.over, list):
            put(self, "dispatch", self.dispatch._replace(over=tuple(self.dispatch.over)))
        put(self, "reports", freeze({name: arg_from(spec) for name, spec in dict(self.reports).items()}))
        if self.origin is None:
            put(self, "origin", sys_caller(3))

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
    def work(self) -> Delegation | None:
        """What the step gives to agents, whether declared or as a `Dispatch` in place of a handler."""
        if self.dispatch is not None or self.handler is None or callable(self.handler):
            return self.dispatch
        handed = self.handler
        runs = (
            handed.script
            if handed.script and not handed.free_form and WORKFLOW_NAME.match(handed.script)
            else None
        )
        named = "" if runs or not handed.script else f"Run {handed.script}.\n\n"
        told = tuple(str(each) for each in self.actions) if not callable(self.actions) else ()
        return Delegation(
            str(handed.agent), runs, None, freeze(handed.context_vars), prompt=(named + "\n\n".join(told),)
        )

    @property
    def name(self) -> str:
        """The title where it is a plain text, else the id."""
        return self.title if isinstance(self.title, str) and self.title else self.id

    def way(self, outcome: Outcome) -> str | None:
        """Return where *outcome* leads; `KeyError` where it leads nowhere."""
        if outcome in self.next:
            return self.next[outcome]
        return self.next[Outcome.DEFAULT]

    @property
    def ways(self) -> dict[Outcome, str | None]:
        """Every outcome that leads on, ``DEFAULT`` spelled out, in a fixed order."""
        return {
            outcome: self.way(outcome)
            for outcome in REPORTABLE
            if outcome in self.next or Outcome.DEFAULT in self.next
        }


def handler_args(step: StepDef) -> dict[str, Arg]:
    """Return the parameters that a step's handler declares with `Arg`, by name."""
    return {name: arg for name, arg in handler_signature(step.handler).items() if isinstance(arg, Arg)}


def handler_signature(handler: Any) -> dict[str, Arg | bool]:
    """Return the named parameters of *handler* after the context.

    A name stands for its `Arg`, or for whether it has a default where it declares none.
    """
    if not callable(handler):
        return {}
    import inspect
    import typing

    try:
        parameters = list(inspect.signature(handler).parameters.values())[1:]
    except (TypeError, ValueError):
        return {}
    try:
        hints = typing.get_type_hints(handler, include_extras=True)
    except Exception:  # noqa: BLE001 - an annotation is an author's code and may raise anything
        hints = {}
    found: dict[str, Arg | bool] = {}
    for parameter in parameters:
        if parameter.kind in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
            continue
        marks = getattr(hints.get(parameter.name), "__metadata__", ())
        arg = next((mark for mark in marks if isinstance(mark, Arg)), None)
        has_default = parameter.default is not inspect.Parameter.empty
        found[parameter.name] = (
            has_default if arg is None else _with_default(arg, parameter.default, hints[parameter.name])
        )
    return found


def _with_default(arg: Arg, default: Any, hint: Any) -> Arg:
    """Return *arg* with the default and the type that the handler's signature gives it."""
    from dataclasses import replace

    kinds = {str: "string", int: "integer", float: "number", bool: "boolean", list: "list", tuple: "list"}
    base = getattr(hint, "__origin__", None)
    kind = arg.type or kinds.get(getattr(base, "__origin__", base) or object)
    return replace(arg, type=kind, default=arg.default if arg.has_default else default)


def _outcome_or_as_written(key: Any) -> Any:
    try:
        return Outcome(key)
    except ValueError:
        return key


def _step_or_end(target: Any) -> str | None:
    return target if target is None or isinstance(target, str) else str(target)


def _rule(each: Any) -> Rule:
    if isinstance(each, Mapping):
        return Rule(str(each.get("outcome")), each.get("if", each.get("when")))
    if isinstance(each, Rule):
        return Rule(str(each.outcome), each.when)
    outcome, when = each
    return Rule(str(outcome), when)


def _variant(each: Any) -> Variant:
    when, actions = each
    return Variant(when, (actions,) if isinstance(actions, str) else tuple(actions))


def sys_caller(depth: int) -> str:
    """Return ``file:line`` of the code *depth* calls above the one that asks."""
    frame = sys._getframe(depth)  # noqa: SLF001 - there is no other way to know an author's line
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
