"""A workflow written as YAML: the shape of the file, and the definition it stands for.

The shape is judged by pydantic, the graph by `checks`; both look at the same file, so that every
mistake in it is named at once. What is misshapen is left out of the definition and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from flowrail.errors import DocumentError
from flowrail.machines.checks import check_workflow
from flowrail.machines.definition import (
    BUILT_IN,
    Definition,
    Delegation,
    GateDef,
    OptionDef,
    QuestionDef,
    Rule,
    StepDef,
    Variant,
)
from flowrail.machines.findings import Finding, Path
from flowrail.machines.frozen import freeze
from flowrail.machines.params import KINDS, arg_from
from flowrail.machines.wording import did_you_mean

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
OUTCOMES = ["ok", "fail", "skip", "iterate"]

Text = str
ReadText = Callable[[str], str]
"""Returns the text of a file of the skill's folder by its relative path; raises `DocumentError`."""

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
Scalar = str | int | float | bool
Value = Scalar | list[Scalar] | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ValueSpec(_Part):
    """A parameter of the workflow, or a fact that a step reports."""

    type: Literal["string", "integer", "number", "boolean", "list"] | None = Field(
        None, description="What kind of value it is; without it the choices or the default tell."
    )
    description: str = ""
    choices: list[Scalar] | None = Field(None, description="The only values it takes.")
    default: Value = Field(None, description="What stands in where none is given.")
    required: bool = Field(False, description="Whether one must be given.")
    example: Value = Field(None, description="One value that fits, shown where one is asked for.")
    min: int | float | None = None
    max: int | float | None = None
    min_length: int | None = Field(None, ge=0)
    max_length: int | None = Field(None, ge=0)


class RuleSpec(_Part):
    """The outcome, and the expression that calls for it; without one it always holds."""

    if_: str | None = Field(None, alias="if")
    outcome: RuleOutcome


class VariantSpec(_Part):
    """Other text for the step, told when its condition holds: a file, or lines."""

    when: str
    text: str | None = Field(None, description="A file of the skill's folder, such as steps/look.again.md.")
    actions: list[str] | None = None


class DispatchSpec(_Part):
    """Work for agents: one for each item of `over`, or one."""

    agent: Literal["explore", "general-purpose", "developer", "quality-reviewer", "technical-writer"]
    run: str | None = Field(None, description="The workflow that the agent runs, such as planner/explore.")
    over: str | list[Scalar] | None = Field(None, description="A list, or the fact that is one.")
    vars: dict[str, Value] = Field(
        default={}, description="The workflow's parameters; $item is the item, a name alone keeps its kind."
    )
    join: str = Field("all", description="How many must succeed: all, any, or at least N.")
    model: Literal["haiku", "sonnet", "opus"] | None = Field(None, description="Which model is advised.")
    prompt: str | None = Field(
        None, description="Without `run`: the file that tells the agent what to do; else the step's own text."
    )


class OptionSpec(_Part):
    """One way to answer; its outcome must be a way on of the step."""

    label: str
    outcome: RuleOutcome | None = None
    description: str = ""


class QuestionSpec(_Part):
    """A question to the user, opened when the step is entered."""

    id: str
    header: str = Field(description="At most 12 characters.")
    text: str
    options: list[OptionSpec] = Field(description="Two or three.")
    multi: bool = Field(False, description="Whether several options may be chosen.")
    other: RuleOutcome | None = Field(None, description="The outcome of an answer in other words.")
    default: str | None = Field(None, description="The label that stands once the deadline has passed.")
    deadline: int | float | None = Field(None, description="Seconds after which the default stands.")


class GateSpec(_Part):
    """A gate: its outcome follows from the findings that its review recorded."""

    name: str
    review: str = Field(description="The step that reviews.")
    limit: int = Field(5, ge=1, description="How many rounds before the user is asked.")
    policy: str | None = Field(None, description="Which severities block in which round.")


class StepSpec(_Part):
    """One step; what it tells stands in steps/ID.md, in the file `text` names, or in `actions`."""

    id: str
    title: str = ""
    phase: str | None = None
    text: str | None = Field(None, description="The file that holds the text, if it is not steps/ID.md.")
    actions: list[str] | None = Field(None, description="The text itself, a paragraph an item.")
    variants: list[VariantSpec] = Field(default=[])
    when: str | None = Field(None, description="The step applies only where this expression holds.")
    limit: int | None = Field(None, description="How often the step may be entered.")
    reports: dict[str, ValueSpec] = Field(default={}, description="Facts that come with the report.")
    rules: list[RuleSpec] = Field(default=[], description="They decide the outcome; the first true one.")
    dispatch: DispatchSpec | None = Field(None, description="Work that the step gives to agents.")
    questions: list[QuestionSpec] = Field(default=[], description="What the user is asked, three at most.")
    gate: GateSpec | None = Field(None, description="The step decides from recorded findings.")
    next: Ways


class WorkflowSpec(_Part):
    """A workflow: the file workflow.yaml of a skill's folder, or workflows/NAME.yaml for its agents."""

    name: str = Field(description="The folder's name; FOLDER/NAME for a workflow of its agents.")
    description: str = ""
    entry: str | None = Field(None, description="The step to start at, if it is not the first.")
    params: dict[str, ValueSpec] = Field(default={}, description="Fixed when a session starts.")
    steps: list[StepSpec] = Field(min_length=1)
    then: str | None = Field(None, description="The workflow that is offered when this one is complete.")


class Parsed(NamedTuple):
    """A definition as far as the file gives one, and everything found in it."""

    definition: Definition
    findings: tuple[Finding, ...]


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
    """Return the definition that *value*, a document's data, stands for, and all findings.

    *name* is the workflow's address, *place* tells where a path of the document stands, and
    *text_folder* holds the steps' texts unless a step says otherwise.
    """
    findings = _shape(value, place)
    data = value if isinstance(value, dict) else {}
    if data is not value:
        return Parsed(Definition(name, (), origin=place(())), tuple(findings))
    builder = _Builder(place, read_text, text_folder, findings)
    definition = builder.definition(data, name)
    written = data.get("name")
    if isinstance(written, str) and written != name:
        findings.append(
            Finding(
                "FR107",
                "error",
                f"the file says `name: {written}` but stands for `{name}`",
                f"write `name: {name}`, or rename the folder",
                place(("name",)),
            )
        )
    told = {(finding.code, finding.place) for finding in findings}
    for finding in check_workflow(definition, locate=lambda path: place(builder.as_written(path))):
        covered = (finding.code, finding.place) in told or (
            finding.code == "FR112" and finding.step in builder.misshapen
        )
        if not covered:
            findings.append(finding)
    return Parsed(definition, tuple(findings))


def _shape(value: object, place: Callable[[Path], str]) -> list[Finding]:
    if not isinstance(value, dict):
        return [
            Finding(
                "FR100", "error", "the file holds no mapping", "start with `name:` and `steps:`", place(())
            )
        ]
    try:
        WorkflowSpec.model_validate(value)
    except ValidationError as error:
        return [_shape_finding(each, place) for each in _united(error.errors(include_url=False), value)]
    return []


def _united(errors: list[Any], value: object) -> list[Any]:
    """Return the errors with those of a union's branches as one, at the path that *value* has."""
    seen: dict[tuple[Any, ...], Any] = {}
    for each in errors:
        path: tuple[str | int, ...] = ()
        here: Any = value
        for part in each["loc"]:
            if part in (
                here if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
            ):
                path, here = (*path, part), here[part]
        missing = each["loc"][-1:] if each["type"] == "missing" else ()
        seen.setdefault((*path, *missing), {**each, "loc": (*path, *missing)})
    return list(seen.values())


_WORDS = {
    "missing": ("is missing", "add it"),
    "string_type": ("is no text", "write a text; quote it where YAML takes it for something else"),
    "int_type": ("is no whole number", "write a whole number"),
    "bool_type": ("is neither true nor false", "write true or false"),
    "list_type": ("is no list", "write a list: `[a, b]`, or a line `- a` for each"),
    "dict_type": ("is no mapping", "write `key: value` pairs"),
    "model_type": ("is no mapping", "write `key: value` pairs"),
    "too_short": ("is empty", "write at least one"),
}


def _shape_finding(error: Any, place: Callable[[Path], str]) -> Finding:
    path: Path = error["loc"]
    name = ".".join(str(part) for part in path) or "the file"
    if error["type"] == "extra_forbidden":
        known = _known_keys(path[:-1])
        hint = did_you_mean(str(path[-1]), known, f"the keys here are {', '.join(known)}")
        return Finding("FR130", "error", f"`{name}` is no key here", hint, place(path))
    if error["type"] == "literal_error":
        return Finding(
            "FR130",
            "error",
            f"`{name}` is {error['msg'][0].lower()}{error['msg'][1:]}",
            "use one of them",
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


class _Builder:
    """Builds a definition out of whatever has the right shape."""

    def __init__(
        self, place: Callable[[Path], str], read_text: ReadText, text_folder: str, findings: list[Finding]
    ) -> None:
        self.place = place
        self.read_text = read_text
        self.text_folder = text_folder
        self.findings = findings
        self.indexes: list[int] = []
        self.misshapen: set[str | None] = set()

    def as_written(self, path: Path) -> Path:
        """Return a path into the definition as a path into the document."""
        if path[:1] == ("entry_point",):
            return ("entry",)
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
            return ("steps", self.indexes[path[1]], *path[2:])
        return path

    def definition(self, data: Mapping[str, Any], name: str) -> Definition:
        entry = data.get("entry")
        description = data.get("description")
        written = data.get("steps")
        steps = [
            self._step(step, index)
            for index, step in enumerate(written if isinstance(written, list) else [])
            if isinstance(step, dict) and isinstance(step.get("id"), str)
        ]
        return Definition(
            name,
            steps,
            entry_point=entry if isinstance(entry, str) else None,
            description=description if isinstance(description, str) else "",
            params=self._values(data.get("params")),
            origin=self.place(()),
            then=data["then"] if isinstance(data.get("then"), str) else None,
        )

    def _step(self, data: Mapping[str, Any], index: int) -> StepDef:
        self.indexes.append(index)
        ways = data.get("next")
        if ways != {}:  # whatever else has come to nothing is told as it was written
            self.misshapen.add(data["id"])
        limit = data.get("limit")
        return StepDef(
            id=data["id"],
            title=_text(data.get("title")),
            actions=self._told(data, index),
            next={
                outcome: target
                for outcome, target in (ways if isinstance(ways, dict) else {}).items()
                if target is None or isinstance(target, str)
            },
            phase=data["phase"] if isinstance(data.get("phase"), str) else None,
            when=data["when"] if isinstance(data.get("when"), str) else None,
            limit=limit if isinstance(limit, int) and not isinstance(limit, bool) else None,
            reports=self._values(data.get("reports")),
            rules=[
                Rule(rule["outcome"], rule.get("if") if isinstance(rule.get("if"), str) else None)
                for rule in _dicts(data.get("rules"))
                if isinstance(rule.get("outcome"), str)
            ],
            variants=[
                Variant(variant["when"], self._variant_text(variant, index, at))
                for at, variant in enumerate(_dicts(data.get("variants")))
                if isinstance(variant.get("when"), str)
            ],
            dispatch=self._dispatch(data.get("dispatch"), index),
            questions=[
                _question(question) for question in _dicts(data.get("questions")) if _is_text(question, "id")
            ],
            gate=_gate(data.get("gate")),
            origin=self.place(("steps", index)),
        )

    def _dispatch(self, data: object, index: int) -> Delegation | None:
        if not isinstance(data, dict) or not _is_text(data, "agent"):
            return None
        over, prompt = data.get("over"), data.get("prompt")
        return Delegation(
            agent=data["agent"],
            run=data["run"] if _is_text(data, "run") else None,
            over=tuple(over) if isinstance(over, list) else over if isinstance(over, str) else None,
            vars=freeze(data["vars"] if isinstance(data.get("vars"), dict) else {}),
            join=data["join"] if _is_text(data, "join") else "all",
            model=data["model"] if _is_text(data, "model") else None,
            prompt=self._file(prompt, ("steps", index, "dispatch", "prompt"))
            if isinstance(prompt, str)
            else (),
        )

    def _told(self, data: Mapping[str, Any], index: int) -> tuple[str, ...]:
        actions = data.get("actions")
        if isinstance(actions, list):
            return tuple(each for each in actions if isinstance(each, str))
        named = data.get("text")
        step_id = data["id"]
        path = named if isinstance(named, str) else f"{self.text_folder}/{step_id}.md"
        return self._file(path, ("steps", index, "text" if isinstance(named, str) else "id"), step_id)

    def _variant_text(self, data: Mapping[str, Any], index: int, at: int) -> tuple[str, ...]:
        actions = data.get("actions")
        if isinstance(actions, list):
            return tuple(each for each in actions if isinstance(each, str))
        path = data.get("text")
        return self._file(path, ("steps", index, "variants", at, "text")) if isinstance(path, str) else ()

    def _file(self, name: str, path: Path, step_id: str | None = None) -> tuple[str, ...]:
        try:
            return (self.read_text(name).strip("\n"),)
        except DocumentError as error:
            self.findings.append(
                Finding("FR125", "error", f"no text: {error.fact}", error.hint, self.place(path), step_id)
            )
            return (f"(no text: {name})",)

    def _values(self, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            return {}
        values: dict[str, Any] = {}
        for name, spec in data.items():
            kind = spec.get("type") if isinstance(spec, dict) else None
            known = isinstance(spec, dict) and (kind is None or kind in KINDS)
            values[name] = arg_from(_plausible(spec) if known else {})
        return {name: value for name, value in values.items() if name not in BUILT_IN or data}


def _question(data: Mapping[str, Any]) -> QuestionDef:
    deadline = data.get("deadline")
    return QuestionDef(
        id=data["id"],
        header=_text(data.get("header")),
        text=_text(data.get("text")),
        options=tuple(
            OptionDef(
                option["label"],
                option["outcome"] if _is_text(option, "outcome") else None,
                _text(option.get("description")),
            )
            for option in _dicts(data.get("options"))
            if _is_text(option, "label")
        ),
        multi=data.get("multi") is True,
        other=data["other"] if _is_text(data, "other") else None,
        default=data["default"] if _is_text(data, "default") else None,
        deadline=deadline if _is_number(deadline) else None,
    )


def _gate(data: object) -> GateDef | None:
    if not isinstance(data, dict) or not _is_text(data, "review"):
        return None
    limit = data.get("limit", 5)
    return GateDef(
        name=_text(data.get("name")),
        review=data["review"],
        limit=limit if isinstance(limit, int) and not isinstance(limit, bool) else 5,
        policy=data["policy"] if _is_text(data, "policy") else None,
    )


def _is_text(data: Mapping[str, Any], key: str) -> bool:
    return isinstance(data.get(key), str)


def _plausible(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a value's declaration that have the right shape."""
    fits: dict[str, Callable[[Any], bool]] = {
        "type": lambda value: isinstance(value, str),
        "description": lambda value: isinstance(value, str),
        "choices": lambda value: isinstance(value, list),
        "default": lambda value: isinstance(value, (str, int, float, list)),
        "required": lambda value: isinstance(value, bool),
        "example": lambda _: True,
        "min": _is_number,
        "max": _is_number,
        "min_length": _is_number,
        "max_length": _is_number,
    }
    return {key: value for key, value in spec.items() if key in fits and fits[key](value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
