"""A workflow: steps and the transitions between them under one name, its fingerprints, and its form as plain data.

A fingerprint is a digest of the keys that decide the path of a session; texts do not count. Two are enough to judge
a change under a running session: that of the whole workflow, and that of the current step with its transitions.
Files contain plain data, and sessions store it.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from copy import copy
from dataclasses import field, is_dataclass, replace
from functools import cached_property, lru_cache
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Never

from flowrail.machines.definition.from_data import CODE, DECIDING, Reader
from flowrail.machines.definition.parts import (
    DefinitionPart,
    Frozen,
    FrozenObject,
    Key,
    freeze,
    freeze_items,
    is_default,
    keys_of,
)
from flowrail.machines.definition.step import StepDef, convert_values, handler_args, sys_caller
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


class Workflow(FrozenObject):
    """A name, steps, and the transitions between them. Immutable.

    Raises one `WorkflowError` with every finding of severity error. With ``validate=False`` the
    workflow is kept as it is written, so that `check_workflow` can list its findings; of several
    steps with the same id, look-up by id finds the first. ``entry_point`` is the first step by default.
    """

    name: Annotated[str, Key("The folder's name; FOLDER/NAME for a workflow of sub-agents.", decides=False)]
    description: Annotated[str, Key("The purpose, in one sentence.", decides=False)] = ""
    entry_point: Annotated[
        str | None, Key("The step to start at, by default the first.", is_name=True, name="entry")
    ] = None
    params: Annotated[Frozen[str, Arg], Key("Values that are fixed when a session starts.")] = Frozen()
    steps: Annotated[
        tuple[StepDef, ...],
        Key("The steps, in the order of their numbers.", required=True, schema={"minItems": 1}),
    ] = ()
    then: Annotated[
        str | None,
        Key(
            "The workflow that is offered when this one is complete. May contain $ placeholders.",
            is_name=True,
            decides=False,
        ),
    ] = None
    work_folder: Annotated[
        str | None,
        Key(
            "The folder for working files, from the project root; contains $session. By default the session's own.",
            decides=False,
        ),
    ] = None
    ignore: Annotated[
        tuple[Suppression, ...], Key("Warnings of `flow check` that are suppressed.", decides=False)
    ] = ()
    resources: Annotated[
        Frozen[str, str], Key("Texts of the skill that steps quote, by name.", decides=False, in_file=False)
    ] = Frozen()
    origin: str = field(init=False, compare=False)
    folder: str | None = field(init=False, compare=False)
    """The skill's folder that the workflow was loaded from; `None` if a program defines it."""
    provider: "ResourceProvider | None" = field(init=False, compare=False)
    """The source of `ctx.resources` in its functions."""
    handler_params: frozenset[str] = field(init=False, compare=False)
    """The names in ``params`` that only handlers declare: they may be given at the start or be reported."""
    derived: dict[str, Any] = field(init=False, compare=False)
    """Values that are computed once per workflow, such as its machine and its fingerprints."""
    unknown_arguments: Mapping[str, object] = field(init=False, compare=False)
    """Misspelt arguments. The validation lists them with all other findings, so they do not raise `TypeError`."""
    written_steps: tuple[object, ...] = field(init=False, compare=False)
    """The arguments for steps. ``steps`` contains those that are a `StepDef`."""
    _by_id: dict[str, StepDef] = field(init=False, compare=False)

    def __init__(
        self,
        /,
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
        known = tuple(_with_text(step) for step in steps if isinstance(step, StepDef))
        declared = convert_values(params or {}, arg_from)
        self.__dict__.update(
            name=name,
            steps=known,
            entry_point=str(entry_point) if entry_point else known[0].id if known else None,
            description=description,
            params=declared,
            then=then,
            resources=freeze(resources),
            ignore=freeze_items(ignore),
            work_folder=work_folder,
            origin=origin or sys_caller(2),
            folder=None,
            provider=None,
            handler_params=frozenset(),
            derived={},
            unknown_arguments=_unknown,
            written_steps=steps,
            _by_id={step.id: step for step in reversed(known)},
        )
        if isinstance(declared, Mapping):
            added: dict[str, Arg] = {}
            for step in known:
                for arg_name, arg in handler_args(step).items():
                    if arg_name not in declared and arg_name not in added and arg_name not in self.reported:
                        added[arg_name] = replace(arg, required=False)
            self.__dict__.update(params=freeze({**declared, **added}), handler_params=frozenset(added))
        if validate:
            self.check()
            self.derived["checked"] = True

    def check(self) -> None:
        """Raise `WorkflowError` with every error of the workflow, if there are any."""
        # Reads texts and expressions; a stored workflow was checked before it was stored.
        from flowrail.machines.definition.validation import validate

        validate(self)

    def located(self, folder: str | None, provider: "ResourceProvider | None" = None) -> "Workflow":
        """Return the same workflow as loaded from the skill's *folder*; its functions read from *provider*."""
        same = copy(self)
        derived = self.derived if provider is self.provider else same.derived  # the folder decides nothing
        same.__dict__.update(folder=folder, provider=provider, derived=derived)
        return same

    def with_resources(self, resources: Mapping[str, str]) -> "Workflow":
        """Return the same workflow with the texts that its steps quote."""
        same = copy(self)
        same.__dict__.update(resources=freeze(resources))
        return same

    def __getstate__(self) -> dict[str, object]:
        """Return the state of a copy: everything that is not derived."""
        checked = {"checked": True} if "checked" in self.derived else {}
        return {**self.__dict__, "derived": checked, "provider": None}

    def __hash__(self) -> int:
        return hash((self.name, *self._by_id))

    def _repr_svg_(self) -> str:
        from flowrail.diagrams.drawing import to_svg  # only a notebook draws a workflow by itself

        return to_svg(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.steps)} steps)"

    @property
    def total_steps(self) -> int:
        """How many steps are defined."""
        return len(self.steps)

    @cached_property
    def reported(self) -> frozenset[str]:
        """The names in the `reports` of any step. A report may change them, even if they are parameters."""
        return frozenset(
            name for step in self.steps if isinstance(step.reports, Mapping) for name in step.reports
        )

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The names of the parameters and facts whose values are not shown."""
        lists = (self.params, *(step.reports for step in self.steps))
        return tuple(sorted({name for args in lists for name, arg in args.items() if arg.secret}))

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


def _with_text(step: StepDef) -> StepDef:
    text_of = step_texts.get()
    if text_of is None or callable(step.actions) or step.actions:
        return step
    text = text_of(step.id)
    return step if text is None else replace(step, actions=(text,))


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
    """Return the keys of *step* that decide the next step, as plain data."""
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
        ranked = sorted(
            (declared for declared in keys if declared.key.rank), key=lambda declared: declared.key.rank
        )
        others = {
            name: form for name, form in _deciding(value).items() if not keys_of(type(value))[name].key.rank
        }
        return [
            *(_form(getattr(value, declared.field)) for declared in ranked),
            *([others] if others else []),
        ]
    if isinstance(value, Mapping):
        return {str(name): _form(item) for name, item in value.items()}
    return [_form(item) for item in value] if isinstance(value, (list, tuple)) else value


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256_hex(text.encode())[:LENGTH]


def to_plain(part: object, *, sparse: bool = True) -> Any:
    """Return a definition, or a part of one, as plain data.

    Without *sparse*, it includes keys that have their default. Functions are left out.
    """
    if is_dataclass(part):
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

    TypeError if *data* is not a workflow. Equal data give the same workflow object, so that its machine is
    compiled once.
    """
    return _from_text(json.dumps(data))


@lru_cache(maxsize=16)
def _from_text(text: str) -> Workflow:
    reader = Reader(is_stored=True)
    workflow: Workflow = reader.part(json.loads(text), Workflow, ())
    if reader.problems:
        path, message, *_ = reader.problems[0]
        raise TypeError(f"`{'.'.join(str(part)[:60] for part in path)}` {message}")
    workflow.derived["checked"] = True
    return workflow
