"""What an author's functions read, found by calling them with values that record each name.

A declared name that a function reads is varied in walks and inputs. If a handler declares no facts, each name that it
reads from `workflow_params` is tried with the texts in its code. Numbers in the code say how many attempts matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from flowrail.machines.definition.step import (
    BUILT_IN,
    VALUE_NAME,
    ContextValues,
    Outcome,
    StepContext,
    StepDef,
)
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import Call

FEWEST_ROUNDS = 5
"""How often a step with a function is entered at least, if it has no limit."""
MOST_ROUNDS = 30
MOST_TEXTS = 12
_MISSING = object()


class FunctionReads:
    """The names that the functions of a workflow read so far."""

    def __init__(self) -> None:
        self.literals: dict[str, set[object]] = {}
        """Each name with the literals in the code that reads it."""
        self.facts: dict[str, dict[str, Fact]] = {}
        """For each step, the names that its handler reads from `workflow_params`."""
        self.is_observed = False
        """Whether walks have called the functions."""

    @property
    def size(self) -> int:
        """How much is known; it grows with every name and literal."""
        return sum(1 + len(entries) for entries in (*self.literals.values(), *self.facts.values()))

    def recording(self, call: Call) -> Call:
        """Return *call* so that what each function reads is noted."""

        def record(
            function: Callable[..., object], context: StepContext, arguments: Mapping[str, object]
        ) -> object:
            params, state = _Recorder(context.workflow_params), _Recorder(context.step_state)
            try:
                recorded = replace(context, workflow_params=params, step_state=state)
                return call(function, recorded, arguments)
            finally:
                self._note(function, context.step_id, params, state, arguments)

        return record

    def _note(
        self,
        function: Callable[..., object],
        step_id: str,
        params: _Recorder,
        state: _Recorder,
        arguments: Mapping[str, object],
    ) -> None:
        names = {*params.read, *state.read, *arguments}
        literals = {literal for literal in literals_of(function) if literal not in names}
        for name in names:
            self.literals.setdefault(name, set()).update(literals)
        texts = sorted(literal for literal in literals if type(literal) is str)[:MOST_TEXTS]
        facts = self.facts.setdefault(step_id, {})
        for name, default in params.read.items():
            is_text = default in (_MISSING, None) or isinstance(default, str)
            if is_text and VALUE_NAME.match(name) and name not in BUILT_IN:
                facts.setdefault(name, Fact(tuple(texts), required=default is _MISSING))


class Fact(NamedTuple):
    """An undeclared fact that a handler reads: the texts to try, and whether the handler needs it."""

    texts: tuple[str, ...]
    required: bool


@lru_cache(maxsize=64)
def reads_of(workflow: Workflow) -> FunctionReads:
    """Return what is known about the functions of *workflow*. It grows while they are called."""
    del workflow
    return FunctionReads()


def rounds(step: StepDef) -> int:
    """Return how many attempts of a step without a limit are distinguished, because of its functions."""
    functions = [part for part in (step.handler, step.when, step.title, step.actions) if callable(part)]
    numbers = [literal for function in functions for literal in literals_of(function)]
    whole = [number for number in numbers if type(number) is int and number < MOST_ROUNDS]
    return max([FEWEST_ROUNDS, *(number + 1 for number in whole)]) if functions else 0


def literals_of(function: Callable[..., object]) -> set[object]:
    """Return the texts, numbers, true and false in the code of *function*, those of its module's constants included."""
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "func", function)
    code = getattr(function, "__code__", None)
    if code is None:
        function = getattr(type(function), "__call__", function)  # noqa: B004 - its code is read
        code = getattr(function, "__code__", None)
    if code is None:
        return set()
    module: Mapping[str, object] = getattr(function, "__globals__", {})
    codes = list(_codes(code))
    literals = set(_plain(constant for nested in codes for constant in _constants(nested)))
    for name in dict.fromkeys(name for nested in codes for name in nested.co_names):
        value = module.get(name)
        literals.update(_plain(value if isinstance(value, (list, tuple, set, frozenset)) else [value]))
        if isinstance(value, type) and issubclass(value, Enum) and value is not Outcome:
            literals.update(_plain(member.value for member in value))
    return literals - {function.__doc__}


def _codes(code: Any) -> Iterator[Any]:
    """Yield *code* and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_consts"):
            yield from _codes(constant)


def _constants(code: Any) -> Iterator[object]:
    for constant in code.co_consts:
        if isinstance(constant, (tuple, frozenset)):
            yield from constant
        else:
            yield constant


def _plain(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, str):
            yield str(value)
        elif isinstance(value, (bool, int, float)):
            yield value


class _Recorder(ContextValues):
    """Values that note which names are read, with the default that is given for each."""

    __slots__ = ("read",)
    read: dict[str, object]

    def __init__(self, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.read = {}

    def __getitem__(self, name: str) -> object:
        self.read.setdefault(name, None if super().__contains__(name) else _MISSING)
        return super().__getitem__(name)

    def get(self, name: str, default: object = None) -> object:
        """Return the value of *name*, or *default*."""
        self.read.setdefault(name, default)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.read.setdefault(str(name), None)
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        for name in super().__iter__():
            self.read.setdefault(name, None)
        return super().__iter__()

    def keys(self) -> Any:
        """Return all names, which counts as reading each."""
        iter(self)
        return super().keys()

    def values(self) -> Any:
        """Return all values, which counts as reading each."""
        iter(self)
        return super().values()

    def items(self) -> Any:
        """Return all names and values, which counts as reading each."""
        iter(self)
        return super().items()
