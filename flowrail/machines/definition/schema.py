"""A workflow written as YAML: the shape of the file, and the definition it stands for.

The shape is judged by pydantic, the graph by `checks`; both look at the same file, so that every
mistake in it is named at once. What is misshapen is left out of the definition and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from flowrail.machines.definition import suppressions
from flowrail.machines.definition.findings import (
    MOST_FOUND,
    Finding,
    Locate,
    Path,
    Raw,
    first,
)
from flowrail.machines.definition.step import LEASE_SECONDS, NAMES, WORKFLOW_NAME
from flowrail.machines.definition.suppressions import Excepted
from flowrail.machines.definition.validation import raw_findings
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading.yaml_file import Builder, ReadText
from flowrail.text.safe_text import in_quotes
from flowrail.text.suggestions import did_you_mean

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
OUTCOMES = ["ok", "fail", "skip", "iterate"]

Ways = Annotated[
    dict[str, str | None],
    WithJsonSchema(
        {
            "type": "object",
            "description": "Where each outcome leads: the id of a step, or null to end the run.",
            "properties": {name: {"type": ["string", "null"]} for name in [*OUTCOMES, "_default"]},
            "additionalProperties": False,
            "minProperties": 1,
        }
    ),
]
RuleOutcome = Annotated[str, WithJsonSchema({"enum": OUTCOMES})]


def _scalar(value: object, _: ValidatorFunctionWrapHandler) -> object:
    if isinstance(value, str | int | float):
        return value
    raise PydanticCustomError("scalar", "a text, a number, true or false")


def _number(value: object, inner: ValidatorFunctionWrapHandler) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return inner(value)  # which knows the bounds of a field
    raise PydanticCustomError("number", "a number")


def _value(value: object, inner: ValidatorFunctionWrapHandler) -> object:
    return _SCALARS.validate_python(value) if isinstance(value, list) else _scalar(value, inner)


def _over(value: object, inner: ValidatorFunctionWrapHandler) -> object:
    if isinstance(value, str | list):
        return _value(value, inner)
    raise PydanticCustomError("over", "a text or a list")


Scalar = Annotated[str | int | float | bool, WrapValidator(_scalar)]
"""Judged as one: of the members of a union each would tell why it is not meant, for every value of a long list."""
Number = Annotated[int | float, WrapValidator(_number)]
_SCALARS = TypeAdapter(list[Scalar])
Value = Annotated[Scalar | list[Scalar], WrapValidator(_value)] | None
Over = Annotated[str | list[Scalar], WrapValidator(_over)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ValueSpec(_Part):
    """A parameter of the workflow, or a fact that a step reports."""

    type: Literal["string", "integer", "number", "boolean", "list"] | None = Field(
        None, description="What kind of value it is; without it the choices or the default tell."
    )
    description: str = Field("", description="What it is, told where it is asked for.")
    choices: list[Scalar] | None = Field(None, description="The only values it takes.")
    default: Value = Field(None, description="What stands in where none is given.")
    required: bool = Field(False, description="Whether one must be given.")
    example: Value = Field(None, description="One value that fits, shown where one is asked for.")
    min: Number | None = Field(None, description="The smallest number.")
    max: Number | None = Field(None, description="The largest number.")
    min_length: int | None = Field(None, ge=0, description="The shortest text or list.")
    max_length: int | None = Field(None, ge=0, description="The longest text or list.")


class RuleSpec(_Part):
    """The outcome, and the expression that calls for it; without one it always holds."""

    if_: str | None = Field(None, alias="if", description="What must hold, such as failures == 0.")
    outcome: RuleOutcome = Field(description="The outcome then.")


class VariantSpec(_Part):
    """Other text for the step, told when its condition holds: a file, or lines."""

    when: str = Field(description="What must hold for it to be told.")
    text: str | None = Field(None, description="A file of the skill's folder, such as steps/look.again.md.")
    actions: list[str] | None = Field(None, description="The text itself, a paragraph an item.")


class DispatchSpec(_Part):
    """Work for agents: one for each item of `over`, or one."""

    agent: Literal["explore", "general-purpose", "developer", "quality-reviewer", "technical-writer"] = Field(
        description="The role of whoever does it."
    )
    run: str | None = Field(None, description="The workflow that the agent runs, such as planner/explore.")
    over: Over | None = Field(None, description="A list, or the fact that is one.")
    vars: dict[str, Value] = Field(
        default={}, description="The workflow's parameters; $item is the item, a name alone keeps its kind."
    )
    join: str = Field("all", description="How many must succeed: all, any, or at least N.")
    model: Literal["haiku", "sonnet", "opus"] | None = Field(None, description="Which model is advised.")
    prompt: str | None = Field(
        None, description="Without `run`: the file that tells the agent what to do; else the step's own text."
    )
    lease: Number = Field(
        LEASE_SECONDS, ge=1, description="How many seconds it is held without a sign of life."
    )


class OptionSpec(_Part):
    """One way to answer; its outcome must be a way on of the step."""

    label: str = Field(description="The answer, in a few words.")
    outcome: RuleOutcome | None = Field(None, description="The outcome that follows from it.")
    description: str = Field("", description="What it would mean.")


class QuestionSpec(_Part):
    """A question to the user, opened when the step is entered."""

    id: str = Field(description="A name for it: lower-case letters, digits and underscores.")
    header: str = Field(description="At most 12 characters.")
    text: str = Field(description="The question, as the user reads it.")
    options: list[OptionSpec] = Field(description="Two or three.")
    multi: bool = Field(False, description="Whether several options may be chosen.")
    other: RuleOutcome | None = Field(None, description="The outcome of an answer in other words.")
    default: str | None = Field(None, description="The label that stands once the deadline has passed.")
    deadline: Number | None = Field(None, description="Seconds after which the default stands.")


class GateSpec(_Part):
    """A gate: its outcome follows from the findings that its review recorded."""

    name: str = Field(description="What the review is for, in a few words.")
    review: str = Field(description="The step that reviews.")
    limit: int = Field(5, ge=1, description="How many rounds before the user is asked.")
    policy: str | None = Field(None, description="Which severities block in which round.")


class StepSpec(_Part):
    """One step; what it tells stands in steps/ID.md, in the file `text` names, or in `actions`."""

    id: str = Field(description="A name for it: letters, digits, hyphens and underscores.")
    title: str = Field("", description="A few words that name it; may hold $fact.")
    phase: str | None = Field(None, description="The part of the procedure that it belongs to.")
    text: str | None = Field(None, description="The file that holds the text, if it is not steps/ID.md.")
    actions: list[str] | None = Field(None, description="The text itself, a paragraph an item.")
    variants: list[VariantSpec] = Field(default=[], description="Other texts; the first that holds is told.")
    when: str | None = Field(None, description="The step applies only where this expression holds.")
    limit: int | None = Field(None, description="How often the step may be entered.")
    reports: dict[str, ValueSpec] = Field(default={}, description="Facts that come with the report.")
    rules: list[RuleSpec] = Field(default=[], description="They decide the outcome; the first true one.")
    dispatch: DispatchSpec | None = Field(None, description="Work that the step gives to agents.")
    questions: list[QuestionSpec] = Field(default=[], description="What the user is asked, three at most.")
    gate: GateSpec | None = Field(None, description="The step decides from recorded findings.")
    forbids: list[str] = Field(
        default=[], description="Tools that the step does without, such as Edit or Bash(git push*)."
    )
    next: Ways


class IgnoreSpec(_Part):
    """Warnings of one code that are let pass, of one step or all, and why."""

    code: str = Field(description="Such as FR163.")
    reason: str = Field(min_length=1, description="Why it is let pass.")
    step: str | None = Field(None, description="Of this step only.")


class WorkflowSpec(_Part):
    """A workflow: the file workflow.yaml of a skill's folder, or workflows/NAME.yaml for its agents."""

    name: str = Field(description="The folder's name; FOLDER/NAME for a workflow of its agents.")
    description: str = Field("", description="What it is for, in one sentence.")
    entry: str | None = Field(None, description="The step to start at, if it is not the first.")
    params: dict[str, ValueSpec] = Field(default={}, description="Fixed when a session starts.")
    steps: list[StepSpec] = Field(min_length=1, description="In the order in which they are counted.")
    then: str | None = Field(None, description="The workflow that is offered when this one is complete.")
    ignore: list[IgnoreSpec] = Field(default=[], description="Warnings of `flow check` that are let pass.")


class Parsed(NamedTuple):
    """A definition as far as the file gives one, and everything found in it."""

    definition: Workflow
    findings: tuple[Finding, ...]


class Whole(NamedTuple):
    """The same, with the warnings that the file lets pass, and where a path of the definition stands."""

    definition: Workflow
    findings: tuple[Finding, ...]
    exceptions: tuple[Excepted, ...]
    locate: Locate


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a workflow file."""
    schema = WorkflowSpec.model_json_schema(by_alias=True)
    return {
        "$schema": SCHEMA_ID,
        "title": "flowrail workflow",
        **{k: v for k, v in schema.items() if k != "title"},
    }


def parse(
    value: object,
    *,
    name: str,
    place: Callable[[Path], str],
    read_text: ReadText,
    text_folder: str = "steps",
) -> Parsed:
    """Return the definition that *value* stands for, and all findings; see `read`."""
    whole = read(value, name=name, place=place, read_text=read_text, text_folder=text_folder)
    return Parsed(whole.definition, whole.findings)


def read(
    value: object,
    *,
    name: str,
    place: Callable[[Path], str],
    read_text: ReadText,
    text_folder: str = "steps",
) -> Whole:
    """Return the definition that *value*, a document's data, stands for, and all findings.

    *name* is the workflow's address, *place* tells where a path of the document stands, and
    *text_folder* holds the steps' texts unless a step says otherwise.
    """
    value = _to_be_quoted(value)
    wrong = _shape(value)
    findings = [*first([(_shape_finding(each, place) for each in wrong)])]
    if not isinstance(value, dict):
        return Whole(Workflow(name, validate=False, origin=place(())), tuple(findings), (), place)
    builder = Builder(place, read_text, text_folder, findings)
    definition = builder.definition(value, name)
    written = value.get("name")
    if isinstance(written, str) and written != name:
        what = f"the file says `name: {in_quotes(written)}` but stands for `{in_quotes(name)}`"
        usable = WORKFLOW_NAME.match(name)
        hint = f"write `name: {name}`, or rename the folder" if usable else f"rename the folder: {NAMES}"
        findings.append(Finding("FR107", "error", what, hint, place(("name",))))
    told = {(finding.code, finding.place) for finding in findings}
    misshapen = {each["loc"] for each in wrong}
    above = {path[:length] for path in misshapen for length in range(len(path) + 1)}
    for raw in raw_findings(definition):
        path = builder.as_written(raw.path)
        covered = (raw.code, place(path)) in told or _follows(raw, path, builder, misshapen, above)
        if not covered:
            findings.append(raw.at(builder.where(raw.path)))
    passed = suppressions.written(value.get("ignore"), place)
    return Whole(definition, tuple(findings), passed, builder.where)


_IDS = frozenset(
    {"agent", "code", "entry", "id", "join", "model", "other", "outcome", "over", "policy", "review", "run"}
    | {"step", "then", "type"}
)
"""Keys of which the value, where it is a text, is a name."""


def _to_be_quoted(value: object, key: object = "") -> object:
    """Return a document's data with names that findings can quote; no name that can be used has a back quote in it."""
    if isinstance(value, dict):
        inside = {"vars": "", "next": "id"}.get(str(key))  # values of any kind; names all of them
        return {
            in_quotes(name) if isinstance(name, str) else name: _to_be_quoted(
                each, name if inside is None else inside
            )
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_to_be_quoted(each) for each in value]
    return in_quotes(value) if key in _IDS and isinstance(value, str) else value


def _follows(
    raw: Raw, path: Path, builder: Builder, misshapen: Collection[Path], above: Collection[Path]
) -> bool:
    """Return whether a finding only follows from a shape that is wrong, which is told already."""
    if raw.code == "FR112":
        return raw.step in builder.misshapen
    return raw.code in _OF_ITS_SHAPE and (
        path in above or any(path[:length] in misshapen for length in range(len(path)))
    )


_OF_ITS_SHAPE = {"FR114", "FR140", "FR142", "FR144", "FR145", "FR146", "FR147", "FR148", "FR150", "FR153"}
"""What is found in steps, work, questions and gates where a part of them was left out."""


def _shape(value: object) -> list[Any]:
    if not isinstance(value, dict):
        return [{"type": "no_mapping", "loc": ()}]
    try:
        WorkflowSpec.model_validate(value)
    except ValidationError as error:
        return _united(error.errors(include_url=False, include_input=False)[:MOST_FOUND], value)
    return []


def _united(errors: list[Any], value: object) -> list[Any]:
    """Return the errors with those of a union's branches as one, at the path that *value* has."""
    seen: dict[tuple[Any, ...], Any] = {}
    for each in errors:
        path: tuple[str | int, ...] = ()
        here: Any = value
        for part in each["loc"]:
            listed = isinstance(here, list) and isinstance(part, int) and 0 <= part < len(here)
            if listed or (isinstance(here, dict) and part in here):
                path, here = (*path, part), here[part]
        missing = each["loc"][-1:] if each["type"] == "missing" else ()
        seen.setdefault((*path, *missing), {**each, "loc": (*path, *missing)})
    return list(seen.values())


_WORDS = {
    "missing": ("is missing", "add it"),
    "string_type": ("is no text", "write a text; quote it where YAML takes it for something else"),
    "scalar": ("is neither a text nor a number, true or false", "write one of them, such as quick or 10"),
    "number": ("is no number", "write a number, such as 10 or 0.5"),
    "over": ("is neither a list nor the name of a fact", "write `over: [a, b]`, or the fact that is one"),
    "int_type": ("is no whole number", "write a whole number"),
    "bool_type": ("is neither true nor false", "write true or false"),
    "list_type": ("is no list", "write a list: `[a, b]`, or a line `- a` for each"),
    "dict_type": ("is no mapping", "write `key: value` pairs"),
    "model_type": ("is no mapping", "write `key: value` pairs"),
    "too_short": ("is empty", "write at least one"),
}


def _shape_finding(error: Any, place: Callable[[Path], str]) -> Finding:
    path: Path = error["loc"]
    if error["type"] == "no_mapping":
        remedy = "start with `name:` and `steps:`"
        return Finding("FR100", "error", "the file holds no mapping", remedy, place(()))
    name = ".".join(str(part) for part in path) or "the file"
    if error["type"] == "extra_forbidden":
        known = _known_keys(path[:-1])
        hint = did_you_mean(str(path[-1]), known, f"the keys here are {', '.join(known)}")
        return Finding("FR130", "error", f"`{name}` is no key here", hint, place(path))
    if error["type"] == "literal_error":
        return Finding(
            "FR130",
            "error",
            f"`{name}` is none of the values that it can have",
            f"use one of {str(error['ctx']['expected']).replace(' or ', ', ').replace(chr(39), '`')}",
            place(path),
        )
    what, remedy = _WORDS.get(error["type"], (f"does not fit: {error['msg']}", "see `flow schema workflow`"))
    at = path[:-1] if error["type"] == "missing" else path
    return Finding("FR130", "error", f"`{name}` {what}", remedy, place(at))


def _known_keys(path: Path) -> list[str]:
    models: dict[str, type[BaseModel]] = {
        "steps": StepSpec,
        "params": ValueSpec,
        "reports": ValueSpec,
        "rules": RuleSpec,
        "variants": VariantSpec,
        "dispatch": DispatchSpec,
        "questions": QuestionSpec,
        "options": OptionSpec,
        "gate": GateSpec,
    }
    names = [part for part in path if part in models]
    model = models[str(names[-1])] if names else WorkflowSpec
    return [field.alias or name for name, field in model.model_fields.items()]
