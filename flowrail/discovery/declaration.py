"""The handoff declaration of a skill, in both dialects.

The older dialect (v2) keeps everything in its `handoff:` block. The newer one (v3) has other keys there and
`categories` beside it. They are distinguished by their keys, never by a version number; if both are present, the newer
one wins, field by field. The block may also be under `metadata.handoff`, because the open skill format allows
additional keys only there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, TypeAdapter, ValidationError

from flowrail.discovery.candidate import ANYONE
from flowrail.discovery.frontmatter import Frontmatter, Problem, unfolded
from flowrail.discovery.locations import Root
from flowrail.text.safe_text import in_quotes
from flowrail.text.validation import in_words

T = TypeVar("T")


def _none_if_blank(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() in {"", "~", "null"} else value


def _listed(value: object) -> object:
    value = _none_if_blank(value)
    return [value] if isinstance(value, str) else value


def _skills(value: object) -> object:
    """Return a list of skills; ``true`` means any skill, ``false`` none."""
    words: Mapping[object, list[str]] = {"true": [ANYONE], "yes": [ANYONE], "false": [], "no": [], "none": []}
    return words.get(value.strip().lower(), _listed(value)) if isinstance(value, str) else value


def _distinct(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(dict.fromkeys(filter(None, (name.strip() for name in names))))


Text = Annotated[
    str | None, AfterValidator(lambda text: text and text.strip()), BeforeValidator(_none_if_blank)
]
Truth = Annotated[bool | None, BeforeValidator(_none_if_blank)]
Names = Annotated[tuple[str, ...] | None, AfterValidator(_distinct), BeforeValidator(_listed)]
Skills = Annotated[tuple[str, ...] | None, AfterValidator(_distinct), BeforeValidator(_skills)]


@dataclass(frozen=True)
class Meta:
    """The keys of `meta:`; they may also be beside it."""

    estimated_duration: Text = None
    complexity: Text = None
    autonomous: Truth = None


@dataclass(frozen=True)
class Beside(Meta):
    """The keys that may be beside a `handoff:` block, or inside it."""

    version: Text = None
    categories: Names = None
    input_requirements: Names = None
    output_types: Names = None
    meta: Meta | None = None


@dataclass(frozen=True)
class HandoffBlock(Beside):
    """A `handoff:` block: the keys of the newer dialect, then those of the older one."""

    accepts_from: Skills = None
    provides_to: Names = None
    schema_version: Text = None
    schema_type: Text = None
    accepts_handoff: Truth = None
    handoff_categories: Names = None
    handoff_description: Text = None
    handoff_trigger: Text = None
    protocol_version: Text = None
    requires: Names = None
    optional_consumes: Names = None
    health_check: Text = None


@dataclass(frozen=True)
class Metadata(Beside):
    """The keys below `metadata:`."""

    handoff: HandoffBlock | None = None


@dataclass(frozen=True)
class Header(Metadata):
    """What a SKILL.md, or an entry of the registry, says about handoffs."""

    name: Text = None
    description: Text = None
    metadata: Metadata | None = None


SOURCES: Mapping[str, tuple[str, ...]] = {
    "name": ("name",),
    "version": ("version",),
    "accepts_from": ("accepts_from", "accepts_handoff"),
    "provides_to": ("provides_to",),
    "categories": ("categories", "handoff_categories"),
    "description": ("handoff_description", "description"),
    "trigger": ("handoff_trigger",),
    "schema_version": ("schema_version", "protocol_version"),
    "schema_type": ("schema_type",),
    "requires": ("requires",),
    "optional_consumes": ("optional_consumes",),
    "input_requirements": ("input_requirements",),
    "output_types": ("output_types",),
    "health_check": ("health_check",),
    "duration": ("estimated_duration",),
    "complexity": ("complexity",),
    "autonomous": ("autonomous",),
}
"""The fields of a candidate, each with its keys: the first one that has a value is used."""
_NEWER = (
    *("accepts_from", "provides_to", "schema_version", "schema_type"),
    *("categories", "input_requirements", "output_types"),
)
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


@dataclass(frozen=True)
class Declaration:
    """What a document declares about handoffs."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """The declared values by the name of a candidate's field."""
    is_newer: bool = True
    """Whether it uses a key of the newer dialect."""
    line: int = 0
    """The line of its `handoff:` block; 0 if it has none."""
    problems: tuple[Problem, ...] = ()
    """Why nothing of it is used."""

    @property
    def assumed_version(self) -> str:
        """The payload version of a skill that declares none."""
        return "3.0" if self.is_newer or not self.line else "2.0"


@dataclass(frozen=True)
class FoundSkill:
    """A skill, and what its SKILL.md or its entry in the registry declares."""

    skill: str
    """Its key: the name of its folder, or its own name if it has no folder here."""
    path: str
    """The path of its SKILL.md, the address of a remote one, or empty."""
    root: Root
    declaration: Declaration


def line_of_block(front: Frontmatter) -> int:
    """Return the line of the `handoff:` block; 0 without one."""
    return front.lines.get(("handoff",), 0) or front.lines.get(("metadata", "handoff"), 0)


def read_declaration(front: Frontmatter) -> Declaration:
    """Return the declaration in *front*. Errors matter only if handoffs are mentioned."""
    line = line_of_block(front)
    front = unfolded(front)
    header, problems = validate(Header, front.values, front)
    if front.problem:
        problems = (front.problem,)
    if header is None or problems:
        name = front.values.get("name")
        values = {"name": name} if isinstance(name, str) else {}
        return Declaration(values, line=line, problems=problems if line or front.problem else ())
    return declared(header, line)


def declared(header: Header, line: int = 0) -> Declaration:
    """Return the values of *header* by the names of a candidate's fields."""
    below = header.metadata or Metadata()
    parts: list[object] = [
        part for part in (header, header.handoff, below, below.handoff) if part is not None
    ]
    parts += [part.meta for part in parts if isinstance(part, Beside) and part.meta]
    values = {name: _first(parts, keys) for name, keys in SOURCES.items()}
    if isinstance(values["accepts_from"], bool):
        values["accepts_from"] = (ANYONE,) if values["accepts_from"] else ()
    is_newer = any(_first(parts, (key,)) is not None for key in _NEWER)
    return Declaration({name: value for name, value in values.items() if value is not None}, is_newer, line)


def validate(
    kind: type[T], value: object, front: Frontmatter, *above: str | int
) -> tuple[T | None, tuple[Problem, ...]]:
    """Return *value*, which is below the path *above* of *front*, as a *kind*, or every problem with its line."""
    try:
        adapter = _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))
        checked: T = adapter.validate_python(value)
    except ValidationError as error:
        found = [(detail["loc"], in_words(detail)) for detail in error.errors()]
    else:
        return checked, ()
    return None, tuple(
        Problem(
            f"`{in_quotes('.'.join(map(str, path)))}` {message}".replace("`` ", ""), front.line(*above, *path)
        )
        for path, message in found
    )


def unknown_keys(front: Frontmatter) -> Iterator[tuple[str, int]]:
    """Yield the keys of handoff blocks that are in neither dialect, each with its line."""
    known = {field.name for field in fields(HandoffBlock)}
    front = unfolded(front)
    metadata = front.values.get("metadata")
    for path, holder in ((), front.values), (("metadata",), metadata):
        block = holder.get("handoff") if isinstance(holder, Mapping) else None
        for key in block if isinstance(block, Mapping) else ():
            if key not in known:
                yield ".".join((*path, "handoff", key)), front.line(*path, "handoff", key)


def _first(parts: list[object], keys: tuple[str, ...]) -> Any:
    """Return the first value of the first key that any part has."""
    values = (getattr(part, key, None) for key in keys for part in parts)
    return next((value for value in values if value is not None), None)
