"""Validate the registry strictly and report all errors at once.

Additional keys belong to the user and are always allowed. This module imports pydantic, so only the commands that check
or write the registry import it.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from flowrail.discovery.compatibility import VERSIONS, normal_version
from flowrail.discovery.diagnostics import Note
from flowrail.text import yaml as yaml_text
from flowrail.text.safe_text import in_quotes


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _version(text: str) -> str:
    if normal_version(text) not in VERSIONS:
        raise ValueError(f"must be one of {', '.join(VERSIONS)}")
    return text


_OF_THE_SKILL = frozenset({"description", "handoff", "categories"})

Moment = Annotated[str, AfterValidator(_moment)]
SchemaVersion = Annotated[str, AfterValidator(_version)]
Text = Annotated[str, Field(min_length=1)]


class _OpenModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class HandoffBlock(_OpenModel):
    """The skills from which a workflow accepts work, and those to which it provides work."""

    accepts_from: list[Text]
    provides_to: list[Text] = []
    schema_version: SchemaVersion = "3.0"
    schema_type: Text = "universal"


class WorkflowMeta(_OpenModel):
    """Properties that help to choose a workflow."""

    estimated_duration: Text | None = None
    complexity: Text | None = None
    autonomous: bool | None = None


class WorkflowEntry(_OpenModel):
    """One workflow. If it has no `skill_path`, or a URL there, it is remote.

    The required fields are required only for remote workflows: a local skill declares them itself.
    """

    name: Text
    version: Text | None = None
    description: Text
    skill_path: Text | None = None
    handoff: HandoffBlock
    categories: Annotated[list[Text], Field(min_length=1)]
    input_requirements: list[Text] = []
    output_types: list[Text] = []
    meta: WorkflowMeta = WorkflowMeta()
    priority: Annotated[int, Field(ge=0, le=999_999)] | None = None
    notes: Text | list[Text] | None = None
    tags: list[Text] = []
    remote: bool = False


class RegistryMeta(_OpenModel):
    """Properties of the registry."""

    total_workflows: Annotated[int, Field(ge=0)] | None = None
    last_scan: Moment | None = None
    discovery_mode: Literal["hybrid", "frontmatter", "registry"] | None = None


class RegistryDocument(_OpenModel):
    """The whole file."""

    version: Literal["1.0"]
    updated_at: Moment | None = None
    workflows: list[WorkflowEntry]
    meta: RegistryMeta = RegistryMeta()


def mistakes(document: yaml_text.Document, local: Collection[str] = ()) -> list[Note]:
    """Return every error of *document* with its line. *local* are the skills on this machine."""
    try:
        RegistryDocument.model_validate(document.value)
    except ValidationError as error:
        return [
            Note(
                "REGISTRY_ENTRY_INVALID",
                f"`{in_quotes('.'.join(map(str, problem['loc']))) or 'the registry'}`: {_lower(problem['msg'])}",
                document.source,
                document.line(problem["loc"]),
            )
            for problem in error.errors(include_url=False, include_context=False, include_input=False)
            if not (problem["type"] == "missing" and _declares_itself(document.value, problem["loc"], local))
        ]
    return []


def _declares_itself(value: Any, location: tuple[int | str, ...], local: Collection[str]) -> bool:
    """Whether the local skill itself declares the field that is missing at *location*."""
    if len(location) != len(("workflows", 0, "handoff")) or location[-1] not in _OF_THE_SKILL:
        return False
    item = value["workflows"][location[1]]
    skill_path = item.get("skill_path") or ""
    if item.get("remote") or not isinstance(skill_path, str) or "://" in skill_path:
        return False
    return (os.path.basename(os.path.dirname(skill_path)) or item.get("name")) in local


def _lower(message: str) -> str:
    text = message.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]
