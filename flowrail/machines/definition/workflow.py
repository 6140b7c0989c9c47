"""A workflow: steps and the transitions between them under one name, its fingerprints, and its form as plain data.

A fingerprint is a digest of the keys that decide where a session leads; texts do not count. Two are enough to judge
a change under a running session: that of the whole workflow, and that of the current step with its transitions.
Plain data is what files contain and what a session stores.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field, is_dataclass, replace
from functools import lru_cache
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Never, NoReturn

from flowrail.machines.definition.from_data import CODE, DECIDING, Reader
from flowrail.machines.definition.parts import (
    DefinitionPart,
    Frozen,
    Key,
    freeze,
    freeze_items,
    is_default,
    keys_of,
)
from flowrail.machines.definition.step import StepDef, handler_args, sys_caller
from flowrail.machines.definition.values import Arg, arg_from
from flowrail.storage.files import sha256_hex
from flowrail.text.safe_text import Markup, parts

if TYPE_CHECKING:
    from flowrail.machines.loading.skill_folder import ResourceProvider


step_texts: ContextVar[Callable[[str], str | None] | None] = ContextVar("step_texts", default=None)
"""While a skill's Python is loaded: returns the text in the file of a step that has no `actions`, by the step's id."""


class Suppression(DefinitionPart):
    """The author's reason to accept warnings with one code, in one step or in all. Errors cannot be suppressed.

    In a workflow file: `ignore: [{code: FR163, step: look, reason: …}]`. In Python, a comment says the same:
    `# flow: ignore FR163 of look: …`. A suppression without a matching warning is a finding.
    """

    code: Annotated[str, Key("The code, such as FR163.", is_name=True)]
    reason: Annotated[str, Key("Why the warning is accepted.", schema={"minLength": 1})]
    step: Annotated[str | None, Key("Only for this step.", is_name=True)] = None
    origin: str = field(default="", repr=False, compare=False)


class Workflow:
    """A name, steps, and the transitions between them. Immutable.

    Raises one `WorkflowError` with every finding of severity error. With ``validate=False`` the
    workflow is kept as it is written, so that `check_workflow` can list its findings; of several
    steps with the same id, look-up by id finds the first. ``entry_point`` is the first step by default.
    """

    __slots__ = (
        "__weakref__",
        "_by_id",
        "_params",
        "_step_order",
        "derived",
        "description",
        "entry_point",
        "folder",
        "handler_params",
        "ignore",
        "name",
        "origin",
        "params",
        "provider",
        "resources",
        "steps",
        "then",
        "unknown_arguments",
        "work_folder",
        "written_steps",
    )

    name: Annotated[str, Key("The folder's name; FOLDER/NAME for a workflow of sub-agents.", decides=False)]
    description: Annotated[str, Key("The purpose, in one sentence.", decides=False)]
    entry_point: Annotated[
        str | None, Key("The step to start at, by default the first.", is_name=True, name="entry")
    ]
    params: Annotated[Frozen[str, Arg], Key("Values that are fixed when a session starts.")]
    steps: Annotated[
        tuple[StepDef, ...],
        Key("The steps, in the order of their numbers.", required=True, schema={"minItems": 1}),
    ]
    then: Annotated[
        str | None,
        Key(
            "The workflow that is offered when this one is complete. May contain $ placeholders.",
            is_name=True,
            decides=False,
        ),
    ]
    work_folder: Annotated[
        str | None,
        Key(
            "The folder for working files, from the project root; contains $session. By default the session's own.",
            decides=False,
        ),
    ]
    ignore: Annotated[
        tuple[Suppression, ...], Key("Warnings of `flow check` that are suppressed.", decides=False)
    ]
    resources: Annotated[
        Frozen[str, str], Key("Texts of the skill that steps quote, by name.", decides=False, in_file=False)
    ]
    origin: str | None
    folder: str | None
    """The skill's folder that the workflow was loaded from; `None` if a program defines it."""
    if TYPE_CHECKING:  # the keys of a workflow are read from its annotations, which must be there at run time
        provider: ResourceProvider | None
        """Where `ctx.resources` of its functions reads from."""
    defaults: ClassVar[Mapping[str, Any]] = {
        "description": "",
        "entry_point": None,
        "params": Frozen(),
        "steps": (),
        "then": None,
        "work_folder": None,
        "ignore": (),
        "resources": Frozen(),
    }
    _by_id: dict[str, StepDef]
    _params: dict[str, dict[str, Arg]]
    _step_order: tuple[str, ...]
    handler_params: frozenset[str]
    """The names in ``params`` that only handlers declare: they may be given at the start or be reported."""
    derived: dict[str, Any]
    """Values that are computed once per workflow, such as its machine and its fingerprints."""
    unknown_arguments: Mapping[str, object]
    """Misspelt arguments. The validation lists them with everything else, so they do not raise `TypeError`."""
    written_steps: tuple[object, ...]
    """What was given as steps; ``steps`` are those that are a `StepDef`."""

    def __init__(
        self,
        name: str,
        *steps: StepDef,
        entry_point: str | None = None,
        description: str = "",
        params: Mapping[str, Arg | Mapping[str, object]] | None = None,
        validate: bool = True,
        origin: str | None = None,
        then: str | None = None,
        resources: Mapping[str, str] | None = None,
        ignore: Sequence[Suppression] = (),
        work_folder: str | None = None,
        **_unknown: Never,
    ) -> None:
        put = object.__setattr__
        put(self, "unknown_arguments", _unknown)
        put(self, "name", name)
        put(self, "then", then)
        put(self, "work_folder", work_folder)
        put(self, "resources", freeze(resources))
        put(self, "ignore", freeze_items(ignore))
        put(self, "derived", {})
        put(self, "written_steps", steps)
        steps = tuple(_with_text(step) for step in steps if isinstance(step, StepDef))
        put(self, "steps", steps)
        first = steps[0].id if steps else None
        put(self, "entry_point", str(entry_point) if entry_point else first)
        put(self, "description", description)
        put(self, "origin", origin or sys_caller(2))
        put(self, "folder", None)
        put(self, "provider", None)
        put(self, "_by_id", {step.id: step for step in reversed(steps)})
        put(self, "_step_order", tuple(step.id for step in steps))
        put(self, "_params", {step.id: handler_args(step) for step in steps if callable(step.handler)})
        declared = params or {}
        put(self, "params", self._all_params(declared))
        put(self, "handler_params", frozenset(self.params).difference(declared))
        if validate:
            self.check()
            self.derived["checked"] = True

    def check(self) -> None:
        """Raise `WorkflowError` with every error of the workflow, if there are any."""
        # Reads texts and expressions; a stored workflow was checked before it was stored.
        from flowrail.machines.definition.validation import validate

        validate(self)

    def with_parts(self, **parts: object) -> "Workflow":
        """Return the same workflow with other *parts*, not validated again."""
        same = {name: getattr(self, name) for name in (*self.defaults, "origin")}
        same["params"] = {name: arg for name, arg in self.params.items() if name not in self.handler_params}
        same |= parts
        changed = Workflow(same.pop("name", self.name), *same.pop("steps"), validate=False, **same)
        return changed.located(self.folder, self.provider)

    def located(self, folder: str | None, provider: "ResourceProvider | None" = None) -> "Workflow":
        """Return the same workflow as loaded from the skill's *folder*; its functions read from *provider*."""
        same = object.__new__(type(self))
        for name in self.__slots__:
            if name != "__weakref__" and hasattr(self, name):
                object.__setattr__(same, name, getattr(self, name))
        object.__setattr__(same, "folder", folder)
        object.__setattr__(same, "provider", provider)
        object.__setattr__(same, "derived", {"checked": True} if "checked" in self.derived else {})
        return same

    def _all_params(self, declared: object) -> object:
        """Return the declared parameters and those that only handlers declare."""
        if not isinstance(declared, Mapping):
            return declared
        params = {name: arg_from(spec) for name, spec in declared.items()}
        for args in self._params.values():
            for name, arg in args.items():
                if name not in self.reported:
                    params.setdefault(name, replace(arg, required=False) if arg.required else arg)
        return freeze(params)

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"a workflow cannot be changed: `{name}`")

    __delattr__ = __setattr__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workflow):
            return NotImplemented
        return self._parts == other._parts

    def __hash__(self) -> int:
        return hash((self.name, self._step_order))

    def __copy__(self) -> "Workflow":
        return self

    def __deepcopy__(self, memo: object) -> "Workflow":
        return self

    def __reduce__(self) -> tuple[object, ...]:
        declared = {name: arg for name, arg in self.params.items() if name not in self.handler_params}
        parts = {**self._parts, "params": declared}
        return _unpickled, (parts, self.origin, self.folder, "checked" in self.derived)

    @property
    def _parts(self) -> dict[str, object]:
        """Everything that makes two workflows equal: not where they were written or loaded."""
        return {name: getattr(self, name) for name in ("name", *self.defaults)}

    def _repr_svg_(self) -> str:
        from flowrail.diagrams.drawing import to_svg  # only a notebook draws a workflow by itself

        return to_svg(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.steps)} steps)"

    @property
    def total_steps(self) -> int:
        """How many steps are defined."""
        return len(self.steps)

    @property
    def reported(self) -> frozenset[str]:
        """The names in the `reports` of any step. A report may change them, even if they are parameters."""
        found: frozenset[str] | None = self.derived.get("reported")
        if found is None:
            lists = [step.reports for step in self.steps if isinstance(step.reports, Mapping)]
            found = self.derived["reported"] = frozenset(name for reports in lists for name in reports)
        return found

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the parameters and facts whose values are not shown."""
        found: tuple[str, ...] | None = self.derived.get("secrets")
        if found is None:
            lists = (self.params, *(step.reports for step in self.steps))
            names = {name for args in lists for name, arg in args.items() if arg.secret}
            found = self.derived["secrets"] = tuple(sorted(names))
        return found

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
        return self._step_order.index(step_id) + 1


def _with_text(step: StepDef) -> StepDef:
    text_of = step_texts.get()
    if text_of is None or callable(step.actions) or step.actions:
        return step
    text = text_of(step.id)
    return step if text is None else replace(step, actions=(text,))


def _unpickled(parts: dict[str, Any], origin: str | None, folder: str | None, checked: bool) -> Workflow:
    workflow = Workflow(parts.pop("name"), *parts.pop("steps"), validate=False, origin=origin, **parts)
    if checked:
        workflow.derived["checked"] = True
    return workflow.located(folder)


LENGTH = 16
_ALWAYS: Mapping[str, object] = {
    "when": None,
    "limit": None,
    "reports": {},
    "rules": [],
    "handler": None,
    "next": {},
}
"""Keys of a step that are part of its fingerprint although they have their default, since the first format."""


def step_fingerprint(workflow: Workflow, step_id: str | None) -> str:
    """Return the fingerprint of one step and its transitions; empty for the end."""
    return "" if step_id is None else _all(workflow)[step_id]


def workflow_fingerprint(workflow: Workflow) -> str:
    """Return the fingerprint of the whole graph."""
    return _all(workflow)[""]


def _all(workflow: Workflow) -> dict[str, str]:
    known: dict[str, str] | None = workflow.derived.get("prints")
    if known is None:
        known = {step.id: _digest(structure(step)) for step in workflow.steps}
        params = {name: _form(arg) for name, arg in workflow.params.items()}
        known[""] = _digest([workflow.entry_point, params, list(known.items())])
        workflow.derived["prints"] = known
    return known


def structure(step: StepDef) -> dict[str, Any]:
    """Return the keys of *step* that decide where it leads, as plain data."""
    return {**_ALWAYS, **_deciding(step.as_written())}


def _deciding(part: object) -> dict[str, object]:
    """Return the deciding keys of a part that do not have their default."""
    return {
        name: _form(value)
        for name, declared in keys_of(type(part)).items()
        if declared.key.decides
        and not is_default(declared, value := getattr(part, declared.field))
        and value is not Parameter.empty
    }


def _form(value: object) -> object:
    """Return *value* in the form whose digest is taken: a nested part is the list of its ranked keys."""
    if callable(value) and value is not Parameter.empty:
        return {"function": True}
    if isinstance(value, Arg):
        return _deciding(value.as_written())
    if is_dataclass(value):
        keys = keys_of(type(value)).values()
        ranked = sorted((each for each in keys if each.key.rank), key=lambda each: each.key.rank)
        others = {
            name: form for name, form in _deciding(value).items() if not keys_of(type(value))[name].key.rank
        }
        return [*(_form(getattr(value, each.field)) for each in ranked), *([others] if others else [])]
    if isinstance(value, Mapping):
        return {str(name): _form(item) for name, item in value.items()}
    return [_form(item) for item in value] if isinstance(value, (list, tuple)) else value


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256_hex(text.encode())[:LENGTH]


LARGEST_CACHED = 1_000_000
"""A definition with more characters as JSON is not kept in memory."""


def to_plain(part: object, *, sparse: bool = True) -> Any:
    """Return a definition, or a part of one, as plain data.

    Without *sparse* also the keys that have their default. Functions are left out.
    """
    if isinstance(part, Workflow) or is_dataclass(part):
        return _part_to_plain(part, sparse=sparse)
    if isinstance(part, str):
        return _text_to_plain(part)
    if isinstance(part, Mapping):
        return {str(name): to_plain(value, sparse=sparse) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [to_plain(item, sparse=sparse) for item in part if not _has_code(item)]
    return part


def _text_to_plain(text: str) -> object:
    pieces = [{"markup": str(piece)} if isinstance(piece, Markup) else str(piece) for piece in parts(text)]
    return {"parts": pieces} if len(pieces) > 1 else pieces[0] if pieces else ""


def _part_to_plain(part: object, *, sparse: bool) -> dict[str, object]:
    code = [name for name in DECIDING if callable(getattr(part, name))] if isinstance(part, StepDef) else []
    written = part.as_written() if hasattr(part, "as_written") else part
    plain: dict[str, object] = {}
    for name, declared in keys_of(type(part)).items():
        value = getattr(written, declared.field)
        if (
            value is not Parameter.empty
            and not callable(value)
            and not (sparse and is_default(declared, value))
        ):
            plain[name] = to_plain(value, sparse=sparse)
    if code:
        plain[CODE] = code
    return plain


def _has_code(item: object) -> bool:
    return (
        not isinstance(item, StepDef)
        and is_dataclass(item)
        and any(callable(getattr(item, declared.field)) for declared in keys_of(type(item)).values())
    )


def has_functions(workflow: Workflow) -> bool:
    """Return whether *workflow* contains functions, which plain data cannot hold."""
    return any(
        callable(part)
        for step in workflow.steps
        for part in (
            step.title,
            step.actions,
            step.handler,
            step.when,
            *(variant.when for variant in step.variants),
        )
    )


def from_plain(data: Mapping[str, object]) -> Workflow:
    """Return the workflow that `to_plain` made *data* from. It was validated before it was stored.

    TypeError if *data* is not a workflow: it may come from a cloned repository. Equal data give the same
    workflow object, so that its machine is compiled once.
    """
    text = json.dumps(data, default=_refuse)
    return _cached(text) if len(text) <= LARGEST_CACHED else _from_plain(data)


def _refuse(value: object) -> NoReturn:
    raise TypeError(f"a {type(value).__name__} is not plain data")


@lru_cache(maxsize=4)
def _cached(text: str) -> Workflow:
    return _from_plain(json.loads(text))


def _from_plain(data: Mapping[str, object]) -> Workflow:
    if not isinstance(data, Mapping):
        raise TypeError("the workflow is not a mapping")
    reader = Reader(is_stored=True)
    workflow: Workflow = reader.part(data, Workflow, ())
    if reader.problems:
        path, what, *_ = reader.problems[0]
        raise TypeError(f"`{'.'.join(str(part)[:60] for part in path)}` {what}")
    for step in workflow.steps:
        if any(target is not None and target not in workflow for target in step.next.values()):
            raise TypeError(f"`next` of step `{step.id[:60]}` leads to an unknown step")
    workflow.derived["checked"] = True
    return workflow
