"""A workflow: steps and the transitions between them under one name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

from flowrail.machines.frozen import TEXT, Definition, Frozen, NotInFiles, freeze_items, put
from flowrail.machines.step import StepDef, fact_args, handler_args
from flowrail.machines.values import Arg
from flowrail.rules.order_rule import OrderRule, OrderSyntaxError, parse_rule


@dataclass(frozen=True)
class Workflow(Definition):
    """A name, steps, and the transitions between them. Immutable.

    Raises one `WorkflowError` with every finding of severity error. With ``validate=False`` the
    workflow is kept as it is written, so that `check` can list its findings; of several
    steps with the same id, look-up by id finds the first. ``entry`` is the first step by default.
    """

    name: str = field(metadata=TEXT)
    """The folder's name; FOLDER/NAME for a workflow of sub-agents."""
    description: str = field(default="", metadata=TEXT)
    """The purpose, in one sentence."""
    entry: str | None = None
    """The step to start at, by default the first."""
    params: Mapping[str, Arg] = Frozen()
    """Values that are fixed when a session starts."""
    steps: Sequence[StepDef] = ()
    """The steps, in the order of their numbers."""
    then: str | None = field(default=None, metadata=TEXT)
    """The workflow that is offered when this one is complete. May contain $ placeholders."""
    order: Sequence[str] = field(default=(), metadata=TEXT)
    """What must come before, after or never after what, such as review before publish."""
    guards: Mapping[str, Sequence[str]] = field(default=Frozen(), metadata=TEXT)
    """Tool calls that are denied, such as Bash(git push*), and the steps that allow them."""
    resources: Annotated[Mapping[str, str], NotInFiles()] = field(default=Frozen(), metadata=TEXT)
    """Texts of the skill that steps quote, by name."""

    handler_params: ClassVar[frozenset[str]] = frozenset()
    """The names in ``params`` that only handlers declare: they may be given at the start or be reported."""
    is_checked: ClassVar[bool] = False
    """Whether the workflow has no errors. It is checked once."""
    folder: ClassVar[str | None] = None
    """The skill's folder that the workflow was loaded from; `None` if a program defines it."""
    provider: ClassVar[Any] = None
    """The `ResourceProvider` of ``ctx.resources`` in its functions."""

    def __init__(
        self,
        name: str,
        /,
        *steps: StepDef,
        description: str = "",
        entry: str | None = None,
        params: Mapping[str, Arg] | None = None,
        then: str | None = None,
        order: Sequence[str] = (),
        guards: Mapping[str, Sequence[str]] | None = None,
        resources: Mapping[str, str] | None = None,
        validate: bool = True,
    ) -> None:
        put(self, name=name, steps=steps, description=description, entry=entry, then=then)
        put(self, params=params, order=order, guards=guards, resources=resources)
        self.__post_init__()
        if validate:
            self.check()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.guards, Mapping):
            put(self, guards=Frozen({pattern: freeze_items(ids) for pattern, ids in self.guards.items()}))
        known = [step for step in self.steps if isinstance(step, StepDef)]
        if self.entry is None and known:
            put(self, entry=known[0].id)
        if isinstance(self.params, Mapping):
            added: dict[str, Arg] = {}
            for step in known:
                for name, arg in handler_args(step).items():
                    if name not in self.params and name not in added and name not in self.reported:
                        added[name] = replace(arg, required=False)
            put(self, params=Frozen({**self.params, **added}), handler_params=frozenset(added))

    def check(self) -> None:
        """Raise `WorkflowError` with every error of the workflow, if there are any."""
        # Reads texts and expressions. A stored workflow was checked before it was stored.
        from flowrail.machines.checks.validation import validate

        validate(self)
        put(self, is_checked=True)

    def changed(self, **values: object) -> Workflow:
        """Return a copy with other *values* of its attributes. The copy is not checked."""
        same = copy(self)
        for derived in ("_by_id", "reported", "order_rules"):
            same.__dict__.pop(derived, None)
        put(same, **values)
        return same

    def __hash__(self) -> int:
        return hash((self.name, len(self.steps)))

    def __getstate__(self) -> dict[str, object]:
        """Return the state of a copy, which another folder may provide."""
        return {**self.__dict__, "provider": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.steps)} steps)"

    @property
    def total_steps(self) -> int:
        """How many steps are defined."""
        return len(self.steps)

    @cached_property
    def reported(self) -> frozenset[str]:
        """The names in the `reports` of any step. A report may change them, even if they are parameters."""
        reports = (step.reports for step in self.steps if isinstance(step, StepDef))
        return frozenset(name for names in reports if isinstance(names, Mapping) for name in names)

    @property
    def fact_args(self) -> dict[str, Arg]:
        """The facts that the reports of all steps may contain."""
        return {name: arg for step in self.steps for name, arg in fact_args(step).items()}

    @cached_property
    def order_rules(self) -> tuple[OrderRule, ...]:
        """The rules of `order`, without those that cannot be read, which the validation reports."""
        rules: list[OrderRule] = []
        for text in self.order:
            with suppress(OrderSyntaxError):
                rules.append(parse_rule(text, self._by_id))
        return tuple(rules)

    @cached_property
    def _by_id(self) -> dict[str, StepDef]:
        return {step.id: step for step in reversed(self.steps)}

    def __contains__(self, step_id: object) -> bool:
        return step_id in self._by_id

    def step(self, step_id: str) -> StepDef:
        """Return the step with that id; `KeyError` if it is unknown."""
        return self._by_id[step_id]

    def get(self, step_id: str | None) -> StepDef | None:
        """Return the step with that id, or `None`."""
        return self._by_id.get(step_id) if step_id is not None else None

    def number(self, step_id: str) -> int:
        """Return the position of a step in the order of definition, from 1."""
        return next(number for number, step in enumerate(self.steps, start=1) if step.id == step_id)
